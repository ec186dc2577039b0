//! The template builds and runs as a crate outside the workspace, on the host and for a board.

use std::path::PathBuf;
use std::process::{Command, Output};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../template")
}

fn cargo(arguments: &[&str]) -> Output {
    // The directory of the workspace: what both depend on is built once.
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("..");
    let mut command = Command::new(env!("CARGO"));
    command.args(arguments).arg("--offline").arg("--target-dir").arg(target).current_dir(folder());
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

#[test]
fn the_template_builds_for_a_board() {
    const TARGET: &str = "thumbv7em-none-eabihf";
    let rustc = Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]).output().unwrap();
    if !PathBuf::from(String::from_utf8_lossy(&rustc.stdout).trim()).exists() {
        println!("skipped: the target {TARGET} is not installed; `rustup target add {TARGET}` does that");
        return;
    }
    let output = cargo(&["build", "--lib", "--target", TARGET]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_template_is_the_example() {
    let read = |path: &str| std::fs::read_to_string(folder().join(path)).unwrap();
    assert_eq!(read("src/counter.rs"), read("../protocol/examples/counter/mod.rs"));
    let after = |text: String| text.split_once("use protocol::base").unwrap().1.to_owned();
    let example = after(read("../protocol/examples/own_application.rs"));
    let example = example.replace("pub(crate) fn", "fn").replace("own application", "my app");
    assert_eq!(after(read("src/main.rs")), example);
}
