//! `conclave firmware`, `flash-board`, `provision` and `sizes` on a machine without a board.

use crate::support::{command, conclave, file, finished, refused, succeeds, survives_a_closed_pipe};
use firmware::storage::config_page::access_point::{ACCESS_POINT_BYTES, AccessPoint, OFFSET};
use firmware::storage::config_page::blobs::Blobs;
use firmware::storage::config_page::{ConfigPage, PAGE_BYTES, Secret, options};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Stdio;

/// Provisions a board as these words say, into files of the folder.
fn provision(folder: &Path, words: &str) {
    let words: Vec<&str> = words.split(' ').collect();
    succeeds(&[&["provision"], &words[..], &["--output", folder.to_str().unwrap()]].concat());
}

/// Returns the file written for a region of a board's flash.
fn written(folder: &Path, board: &str, region: &str) -> Vec<u8> {
    std::fs::read(folder.join(format!("{board}-{region}.bin"))).unwrap()
}

fn page(bytes: &[u8]) -> ConfigPage {
    ConfigPage::decode(bytes[..PAGE_BYTES].try_into().unwrap()).unwrap()
}

#[test]
fn an_unknown_board_is_one_sentence_and_exit_code_2() {
    for command in ["firmware", "flash-board", "sizes"] {
        let error = refused(&[command, "picow"]);
        assert!(error.contains("there is no board \"picow\" here; the nearest is \"pico-w\""), "{command}: {error}");
    }
}

#[test]
fn a_missing_tool_is_reported_with_how_to_get_it_before_the_build() {
    let advised =
        [("nrf52840-dk", "cargo install probe-rs-tools"), ("pico-w", "BOOTSEL"), ("mps2-an385", "conclave swarm")];
    for (board, advice) in advised {
        let (code, out, error) = conclave(&["flash-board", board]);
        assert_eq!(code, Some(2), "{board}");
        assert!(error.contains(advice), "{board}: {error}");
        assert!(out.starts_with("1. build the image of "), "{board}");
    }
}

#[test]
fn a_dry_run_only_prints_the_steps() {
    let steps = succeeds(&["flash-board", "nucleo-h563zi", "--dry-run"]);
    assert!(steps.contains("firmware-stm32, for thumbv8m.main-none-eabihf"), "{steps}");
    let steps = succeeds(&["provision", "microbit-v2", "--id", "7", "--dry-run"]);
    assert!(steps.contains("80 bytes at 0x7b000"), "{steps}");
}

#[test]
fn a_provisioned_page_is_the_one_a_board_reads() {
    let folder = tempfile::tempdir().unwrap();
    provision(folder.path(), "nrf52840-dk --id 7 --channel 15 --pan beef");
    let page = page(&written(folder.path(), "nrf52840-dk", "config"));
    assert_eq!((page.id, page.channel, page.pan), (7, 15, 0xbeef));
    assert_eq!(page.key, Secret([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]));
    assert_eq!(page.options, options::FACTORY | options::MEASURED);
    assert_eq!(page.capacity_max, 0);
    provision(folder.path(), "nrf52840-dk --id 2 --members 5 --quorum --capacity-max 4000");
    let page = self::page(&written(folder.path(), "nrf52840-dk", "config"));
    assert_eq!((page.id, page.members, page.capacity_max), (2, 5, 4_000));
    assert_eq!(page.options, options::FACTORY | options::MEASURED | options::QUORUM);
}

#[test]
fn a_board_is_given_a_drawn_key_or_is_insecure() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("barn.key");
    assert!(succeeds(&["provision", "--new-key", file.to_str().unwrap(), "--dry-run"]).contains("barn.key"));
    assert!(!file.exists(), "a dry run draws nothing");
    let out = succeeds(&["provision", "--new-key", file.to_str().unwrap()]);
    let drawn = std::fs::read_to_string(&file).unwrap();
    assert!(out.contains("keep it secret") && !out.contains(drawn.trim()), "{out}");
    let (code, _, error) = conclave(&["provision", "--new-key", file.to_str().unwrap()]);
    assert!(code == Some(2) && error.contains("exists"), "a key is not written over: {error}");
    provision(folder.path(), &format!("nucleo-h563zi --id 1 --key-file {} --capacity 900 --used", file.display()));
    let secret = page(&written(folder.path(), "nucleo-h563zi", "config"));
    assert_eq!((secret.capacity, secret.options), (900, options::LAN));
    let digits = drawn.split(' ').next().unwrap();
    assert_eq!(secret.key.0, u128::from_str_radix(digits, 16).unwrap().to_be_bytes());
    assert_eq!((secret.key_number, secret.previous_key), (0, Secret::NONE));
    let next = folder.path().join("next.key");
    let files = format!("--new-key {} --previous-key-file {}", next.display(), file.display());
    provision(folder.path(), &format!("nucleo-h563zi --id 1 {files}"));
    let changing = page(&written(folder.path(), "nucleo-h563zi", "config"));
    assert!(changing.key != secret.key && !changing.has(options::INSECURE));
    assert_eq!((changing.key_number, changing.previous_key), (1, secret.key));
    provision(folder.path(), "nucleo-h563zi --id 1 --insecure --group barn --capacity 900 --used");
    let public = page(&written(folder.path(), "nucleo-h563zi", "config"));
    assert_eq!((public.key, public.options), (Secret::of_group("barn"), options::LAN | options::INSECURE));
    #[cfg(unix)]
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let mode = std::os::unix::fs::PermissionsExt::mode(&entry.unwrap().metadata().unwrap().permissions());
        assert_eq!(mode & 0o077, 0, "nobody else reads a key");
    }
}

#[test]
fn without_a_key_nothing_starts() {
    let commands: [&[&str]; 2] =
        [&["provision", "nrf52840-dk", "--id", "1", "--dry-run"], &["node", "--id", "1", "--peer", "127.0.0.1:9"]];
    for arguments in commands {
        let (code, out, error) = finished(command(arguments).env_remove("CONCLAVE_KEY"));
        assert_eq!((code, out.as_str()), (Some(2), ""));
        assert!(error.contains("--key-file") && error.contains("--insecure"), "{error}");
        let (code, _, error) = finished(command(arguments).env("CONCLAVE_KEY", "secret"));
        assert_eq!(
            (code, error.as_str()),
            (Some(2), "CONCLAVE_KEY: a key has 32 hexadecimal digits, and may have a number below 16\n")
        );
    }
}

#[test]
fn an_access_point_and_blobs_are_written_as_regions_and_as_uf2() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().to_str().unwrap();
    for (name, bytes) in [("43439A0.bin", &b"firmware"[..]), ("43439A0_clm.bin", b"clm"), ("nvram_rp2040.bin", b"a=1")]
    {
        std::fs::write(folder.path().join(name), bytes).unwrap();
    }
    let arguments =
        ["provision", "pico-w", "--id", "3", "--wifi", "home", "--wifi-firmware", output, "--output", output];
    let (code, out, error) = finished(command(&arguments).env("CONCLAVE_WIFI_KEY", "correct horse"));
    assert_eq!(code, Some(0), "{error}");
    assert!(!out.contains("horse"), "the key is not printed");
    let config = written(folder.path(), "pico-w", "config");
    let access = AccessPoint::decode(config[OFFSET..OFFSET + ACCESS_POINT_BYTES].try_into().unwrap()).unwrap();
    assert_eq!((page(&config).id, access.name(), access.key()), (3, "home", "correct horse"));
    let blobs = written(folder.path(), "pico-w", "blobs");
    assert_eq!(Blobs::decode(&blobs), Ok(Blobs { firmware: b"firmware", clm: b"clm", nvram: b"a=1" }));
    let drive = std::fs::read(folder.path().join("pico-w-provision.uf2")).unwrap();
    assert_eq!((drive.len() % 512, &drive[..4]), (0, &b"UF2\n"[..]));
}

#[test]
fn bad_input_is_one_sentence_and_exit_code_2() {
    let cases: [(&[&str], &str); 11] = [
        (&["pico-w", "--id", "1", "--wifi", "home", "--wifi-open"], "no drive"),
        (
            &["pico-w", "--id", "1", "--wifi", "home"],
            "no key of the access point: set CONCLAVE_WIFI_KEY, or say --wifi-open",
        ),
        (&["nrf52840-dk", "--id", "1", "--wifi", "home"], "nrf52840-dk has no Wi-Fi"),
        (&["nrf52840-dk", "--id", "1", "--key-file", "/nowhere"], "/nowhere"),
        (&["nrf52840-dk", "--id", "1", "--group", "barn"], "--insecure"),
        (&["nrf52840-dk", "--id", "1", "--pan", "ffff"], "a PAN id is from 1 to fffe"),
        (&["nrf52840-dk", "--id", "1", "--channel", "10"], "10 is not in 11..=26"),
        (&["nrf52840-dk", "--id", "5", "--members", "5"], "of 5 members the last is node 4, so node 5 is no member"),
        (&["nrf52840-dk", "--id", "1", "--quorum"], "--members"),
        (
            &["pico-w", "--id", "1", "--wifi", "", "--wifi-open", "--output", "/nowhere"],
            "an access point's name has 1 to 32 bytes",
        ),
        (&["pico-w", "--id", "1", "--wifi-firmware", "/nowhere", "--output", "/nowhere"], "43439A0.bin"),
    ];
    for (arguments, error) in cases {
        let (code, _, sentence) = conclave(&[&["provision"], arguments].concat());
        assert_eq!(code, Some(2), "{arguments:?}");
        assert!(sentence.contains(error), "{arguments:?}: {sentence}");
    }
}

#[test]
fn a_file_that_is_no_image_is_refused() {
    let error = refused(&["sizes", "--image", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")]);
    assert_eq!(error.lines().count(), 1);
}

#[test]
fn the_folder_of_provisioned_files_is_created() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("greenhouse/north");
    provision(&missing, "nrf52840-dk --id 7");
    assert_eq!(page(&written(&missing, "nrf52840-dk", "config")).id, 7);
    survives_a_closed_pipe(&["provision", "nrf52840-dk", "--id", "7", "--dry-run"]);
}

#[test]
fn more_desktops_than_nodes_are_refused() {
    let error = refused(&["swarm", "--nodes", "3", "--desktops", "4"]);
    assert_eq!(error, "--desktops 4 is more than the 3 nodes there are\n");
}

#[test]
fn a_desktop_node_needs_its_id_and_a_peer_by_name_or_address_and_no_more() {
    let help = succeeds(&["node", "--help"]);
    assert!(help.contains("Examples:") && help.contains("--id <ID> --peer <HOST[:PORT]>"), "{help}");
    let error = refused(&["node"]);
    assert!(error.contains("--id") && error.contains("--peer") && !error.contains("--capacity <"), "{error}");
    let error = refused(&["node", "--id", "1", "--peer", "no.such.host.invalid"]);
    assert!(error.contains("no address is known"), "{error}");
    // The address is in use by nobody, so that binding it fails: the names were understood before.
    let error = refused(&["node", "--id", "1", "--peer", "localhost", "--bind", "192.0.2.1:1"]);
    assert!(error.contains("192.0.2.1:1"), "{error}");
}

#[test]
fn a_desktop_node_without_records_says_why_it_waits_and_a_new_one_does_not() {
    for (new, says) in [(&[][..], true), (&["--new"], false)] {
        let words = [&["node", "--id", "1", "--bind", "127.0.0.1:0", "--peer", "127.0.0.1:9"], new].concat();
        let mut child = command(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // It leads alone, after its wait if there is one.
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.map_while(Result::ok).any(|line| line.contains(" leading: ")), "{new:?}");
        child.kill().unwrap();
        let error = String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap();
        assert_eq!(error.contains("--new says that it has never run"), says, "{error}");
    }
}

#[test]
fn two_desktop_nodes_with_one_id_are_warned_of_each_other() {
    let addresses =
        [(); 2].map(|()| std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string());
    let start = |own: usize| {
        let words = ["node", "--id", "4", "--bind", &addresses[own], "--peer", &addresses[1 - own], "--new"];
        command(&words).stdout(Stdio::piped()).spawn().unwrap()
    };
    let mut twins = [start(0), start(1)];
    // A node whose output nobody reads any more ends: both are read until both were warned.
    let mut lines = twins.each_mut().map(|twin| BufReader::new(twin.stdout.take().unwrap()).lines());
    let is_warning = |line: String| line.contains(" same-id: another node has this id");
    let warned = lines.each_mut().map(|lines| lines.map_while(Result::ok).any(is_warning));
    for twin in &mut twins {
        twin.kill().and_then(|()| twin.wait().map(drop)).unwrap();
    }
    assert_eq!(warned, [true; 2]);
}

#[test]
fn a_desktop_node_captures_what_it_sends_and_receives() {
    let peer = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    peer.set_read_timeout(Some(std::time::Duration::from_secs(60))).unwrap();
    let capture = file("node.pcapng");
    let to = peer.local_addr().unwrap().to_string();
    let arguments =
        ["node", "--id", "300", "--bind", "127.0.0.1:0", "--peer", &to, "--new", "--pcap", capture.to_str().unwrap()];
    let mut node = command(&arguments).stdout(std::process::Stdio::null()).spawn().unwrap();
    let mut buffer = [0; 256];
    let (count, from) = peer.recv_from(&mut buffer).unwrap();
    let foreign = [&[0x20, 7][..], b"received"].concat();
    peer.send_to(&foreign, from).unwrap();
    // The node received it before it sends again.
    let has = |bytes: &[u8]| std::fs::read(&capture).unwrap().windows(bytes.len()).any(|part| part == bytes);
    while !has(&foreign) {
        peer.recv_from(&mut buffer[count..]).unwrap();
    }
    assert!(has(&buffer[..count]), "what it sent");
    node.kill().unwrap();
    node.wait().unwrap();
}
