//! The template builds and runs as a crate outside the workspace, on the host and for a board.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../template")
}

fn cargo(arguments: &[&str]) -> Output {
    cargo_in(&folder(), arguments)
}

fn cargo_in(folder: &Path, arguments: &[&str]) -> Output {
    // The directory of the workspace: what both depend on is built once.
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("..");
    let mut command = Command::new(env!("CARGO"));
    command.args(arguments).arg("--offline").arg("--target-dir").arg(target).current_dir(folder);
    command.output().unwrap()
}

#[test]
fn the_template_runs_three_nodes_that_agree_over_udp() {
    let output = cargo(&["run"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    for node in 0..3 {
        assert!(printed.contains(&format!("node {node}: 15")), "{printed}");
    }
}

const TARGET: &str = "thumbv7em-none-eabihf";

/// Returns whether boards can be built for, and says so where they cannot.
fn has_target() -> bool {
    let rustc = Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]).output().unwrap();
    let found = PathBuf::from(String::from_utf8_lossy(&rustc.stdout).trim()).exists();
    if !found {
        println!("skipped: the target {TARGET} is not installed; `rustup target add {TARGET}` does that");
    }
    found
}

/// The block of the library guide that begins with these words.
fn block<'a>(guide: &'a str, start: &str) -> &'a str {
    let from = guide.find(start).unwrap_or_else(|| panic!("the guide has no {start}"));
    guide[from..].split("```").next().unwrap().split_once('\n').unwrap().1
}

#[test]
fn the_crate_of_the_library_guide_is_made_from_the_page_alone_and_runs() {
    let guide = fs::read_to_string(folder().join("../docs/library.md")).unwrap();
    let outside = tempfile::tempdir().unwrap();
    let new = ["new", "greenhouse", "--lib"];
    assert!(guide.contains(&format!("\ncargo {}\n", new.join(" "))));
    let made = Command::new(env!("CARGO")).args(new).current_dir(outside.path()).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let greenhouse = outside.path().join("greenhouse");
    let checkout = folder().join("..").canonicalize().unwrap();
    let manifest = fs::read_to_string(greenhouse.join("Cargo.toml")).unwrap();
    let dependencies = block(&guide, "# Cargo.toml").replace("../conclave", checkout.to_str().unwrap());
    // As the workspace has it: what both depend on is built once.
    let profile = "[profile.dev]\nopt-level = 2\ndebug = \"line-tables-only\"\n";
    let manifest = format!("{}{dependencies}{profile}", manifest.replace("[dependencies]\n", ""));
    fs::write(greenhouse.join("Cargo.toml"), manifest).unwrap();
    fs::copy(checkout.join("Cargo.lock"), greenhouse.join("Cargo.lock")).unwrap();
    fs::write(greenhouse.join("src/lib.rs"), format!("#![no_std]\n{}", block(&guide, "rust\n"))).unwrap();
    fs::write(greenhouse.join("src/main.rs"), block(&guide, "rust,ignore\n")).unwrap();
    let output = cargo_in(&greenhouse, &["run"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8_lossy(&output.stdout);
    for node in 0..3 {
        assert!(printed.contains(&format!("node {node}: Service(Application(31))")), "{printed}");
    }
    if has_target() {
        let output = cargo_in(&greenhouse, &["build", "--lib", "--target", TARGET]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn the_template_builds_for_a_board() {
    if !has_target() {
        return;
    }
    let output = cargo(&["build", "--lib", "--target", TARGET]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_template_is_the_example() {
    let read = |path: &str| fs::read_to_string(folder().join(path)).unwrap();
    assert_eq!(read("src/counter.rs"), read("../protocol/examples/counter/mod.rs"));
    let after = |text: String| text.split_once("use protocol::base").unwrap().1.to_owned();
    let example = after(read("../protocol/examples/own_application.rs"));
    let example = example.replace("pub(crate) fn", "fn").replace("own application", "my app");
    assert_eq!(after(read("src/main.rs")), example);
}
