//! An application of one's own on emulated boards, from a crate outside the workspace.

use crate::emulator::{Share, image};
use crate::support::Swarm;
use host_sim::swarm::{Image, own_scenario};
use std::path::{Path, PathBuf};
use std::process::Command;

const TARGET: &str = "thumbv7m-none-eabi";
/// What three boards count together.
const SUM: &str = "the counter is at 15";

fn template() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../template")
}

/// Builds the template's image as its README says, beside those of the shipped applications, whose dependencies it shares.
fn built() -> Image {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../swarm");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--offline", "--quiet", "--package", "my-board", "--target", TARGET, "--profile", "firmware"]);
    let output = cargo.arg("--target-dir").arg(&folder).current_dir(template()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Image::open(folder.join(TARGET).join("firmware/my-board")).unwrap()
}

#[test]
fn boards_with_an_image_of_ones_own_count_and_agree() {
    if image().is_none() {
        return;
    }
    let core = Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]).output().unwrap();
    if !Path::new(String::from_utf8_lossy(&core.stdout).trim()).exists() {
        println!("skipped: the target {TARGET} is not installed; `rustup target add {TARGET}` does that");
        return;
    }
    let image = {
        let _share = Share::take(4);
        built()
    };
    let scenario = own_scenario(3);
    let swarm = Swarm { image: Some(image), ..Swarm::new(&scenario) };
    let report = swarm.passes().unwrap();
    for node in &report.nodes {
        let last = node.log.iter().rev().find(|line| line.text.starts_with("the counter"));
        assert_eq!(last.map(|line| line.text.as_str()), Some(SUM), "node {}", node.node);
    }
}

#[test]
fn the_board_of_the_template_is_the_example() {
    let read = |path: &str| std::fs::read_to_string(template().join(path)).unwrap();
    let (example, own) = (read("../firmware/qemu/examples/embassy_node.rs"), read("board/src/main.rs"));
    assert!(example.lines().count() <= 120, "an example is short");
    let after = |text: &str| text.split_once("#![no_main]\n").unwrap().1.to_owned();
    let lines = |text: &str| {
        let mut lines: Vec<String> =
            after(text).lines().map(|line| line.replace("my_app::counter", "counter")).collect();
        lines.retain(|line| !line.is_empty() && !line.starts_with("#[path") && line != "mod counter;");
        lines.sort_unstable(); // imports are in another order
        lines
    };
    assert_eq!(lines(&own), lines(&example));
}
