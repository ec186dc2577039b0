//! `conclave swarm`: what it prints, how it exits, and that it leaves nothing behind.

use crate::emulator::{Share, image};
use crate::support::{finished, json, refused};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

const SHORT: &str = r#"
    name = "short"
    nodes = 3
    duration = "5s"
    settle_time = "4s"
    [topology]
    shape = "complete"
    [medium]
    kind = "lan"
"#;

/// Returns a command whose files and emulators are identified by its folder.
fn swarm(folder: &TempDir, scenario: &str) -> Command {
    let (file, temporary) = (folder.path().join("scenario.toml"), folder.path().join("temporary"));
    fs::write(&file, scenario).unwrap();
    fs::create_dir_all(&temporary).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_conclave"));
    command.args(["swarm", "--scenario"]).arg(file).env("TMPDIR", temporary);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Counts the emulators started with files of this folder.
fn emulators(folder: &Path) -> usize {
    let name = folder.to_string_lossy().into_owned();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    lines.filter(|line| line.starts_with(b"qemu-system-arm") && String::from_utf8_lossy(line).contains(&name)).count()
}

fn assert_nothing_left(folder: &TempDir) {
    assert_eq!(emulators(folder.path()), 0);
    assert_eq!(fs::read_dir(folder.path().join("temporary")).unwrap().count(), 0);
}

/// Starts a swarm and waits until its boards run.
fn started(folder: &TempDir) -> Child {
    let mut child = swarm(folder, &SHORT.replace("5s", "10m")).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("starts"));
    assert_eq!(emulators(folder.path()), 3);
    child
}

#[test]
fn one_json_object_is_all_that_is_printed() {
    if image().is_none() {
        return;
    }
    let (folder, _share) = (tempfile::tempdir().unwrap(), Share::take(1));
    let [trace, capture] = ["trace.jsonl", "frames.pcapng"].map(|name| folder.path().join(name));
    let (code, out, error) =
        finished(swarm(&folder, SHORT).arg("--json").arg("--trace").arg(&trace).arg("--pcap").arg(&capture));
    assert_eq!(code, Some(0), "{error}");
    let (trace, capture) = (fs::read_to_string(trace).unwrap(), fs::read(capture).unwrap());
    let sent = trace.matches("\"event\":\"sent\"").count();
    let packets = capture.windows(4).filter(|bytes| *bytes == [0x08, 0x00, 0x45, 0x00]).count(); // IPv4 on Ethernet
    assert!(sent > 10 && packets >= sent, "{packets} of {sent}");
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&report["boards"], &report["leader_is_best"]), (&Value::from(3), &Value::from(true)));
    assert!(report["leader"].is_u64() && report["violations"].as_array().is_some_and(Vec::is_empty));
    assert_eq!(report["measures"]["time_to_leader_us"]["count"], Value::from(1));
    assert_nothing_left(&folder);
}

#[test]
fn an_interrupt_ends_every_emulator_and_leaves_no_file() {
    if image().is_none() {
        return;
    }
    for signal in [Signal::INT, Signal::TERM] {
        let (folder, _share) = (tempfile::tempdir().unwrap(), Share::take(1));
        let mut child = started(&folder);
        kill_process(Pid::from_child(&child), signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130));
        assert_nothing_left(&folder);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn no_emulator_outlives_a_swarm_that_was_killed() {
    if image().is_none() {
        return;
    }
    let (folder, _share) = (tempfile::tempdir().unwrap(), Share::take(1));
    let mut child = started(&folder);
    child.kill().unwrap();
    child.wait().unwrap();
    while emulators(folder.path()) > 0 {
        thread::sleep(Duration::from_millis(10)); // they end soon
    }
}

#[test]
fn an_unknown_application_or_one_that_conflicts_with_other_flags_is_refused() {
    let unknown = refused(&["swarm", "--app", "token"]);
    assert!(unknown.contains("there is no application \"token\" here; the nearest is \"tokens\""), "{unknown}");
    let both = refused(&["swarm", "--app", "tokens", "--mutex", "central"]);
    assert!(both.contains("'--app <NAME>' cannot be used with '--mutex <NAME>'"), "{both}");
    assert_eq!(
        refused(&["swarm", "--app", "tokens", "--desktops", "1"]),
        "nodes on this desktop have no locks and no applications\n"
    );
}

#[test]
fn a_swarm_without_boards_needs_neither_sources_nor_an_emulator() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = swarm(&folder, SHORT);
    command.args(["--desktops", "3"]).env("CONCLAVE_CHECKOUT", "/nowhere/at/all").env("PATH", "");
    let (code, out, error) = finished(&mut command);
    assert_eq!((code, error.as_str()), (Some(0), "booting; boards: 0, desktop nodes: 3\n"), "{out}");
}

#[test]
fn a_shipped_scenario_is_found_by_its_name() {
    let unknown = refused(&["swarm", "--scenario", "lan20-leader-cras"]);
    assert!(unknown.contains("the nearest is \"lan20-leader-crash\""), "{unknown}");
    let room = refused(&["swarm", "--scenario", "room200"]);
    assert!(room.starts_with("room200: 200 boards are too many"), "{room}");
}

#[test]
fn an_image_that_is_none_is_refused() {
    assert!(refused(&["swarm", "--image", "/nowhere/at/all"]).starts_with("/nowhere/at/all: "));
    let text = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    assert_eq!(refused(&["swarm", "--image", text]), format!("{text}: this is no ELF image with a log of defmt\n"));
    let both = refused(&["swarm", "--image", text, "--app", "tokens"]);
    assert!(both.contains("'--image <FILE>' cannot be used with '--app <NAME>'"), "{both}");
}

#[test]
fn a_scenario_that_boards_cannot_run_is_refused_before_the_build() {
    let folder = tempfile::tempdir().unwrap();
    let (code, _, text) = finished(&mut swarm(&folder, &SHORT.replace("nodes = 3", "nodes = 33")));
    assert_eq!(code, Some(2));
    assert!(text.ends_with("scenario.toml: 33 boards are too many: a swarm has at most 32.\n"), "{text}");
}

#[test]
fn the_image_fits_its_boards() {
    const KIB: u64 = 1_024;
    let Some(image) = image() else { return };
    let sizes = json(&["sizes", "--json", "--image", image.path().to_str().unwrap()]);
    let bytes = |value: &Value| value.as_u64().unwrap();
    assert!((16 * KIB..=128 * KIB).contains(&bytes(&sizes["flash"])), "{}", sizes["flash"]);
    assert!((4 * KIB..=48 * KIB).contains(&bytes(&sizes["ram"])), "{}", sizes["ram"]);
    let protocol = &sizes["crates"]["protocol"];
    assert!((4 * KIB..=35 * KIB).contains(&bytes(&protocol["flash"])), "{protocol}");
    assert!((KIB..=4 * KIB).contains(&bytes(&protocol["ram"])), "{protocol}");
}
