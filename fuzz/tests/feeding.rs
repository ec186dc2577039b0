//! The loop feeds every target, and ends.

use std::process::Command;

fn conclave_fuzz(arguments: &[&str]) -> (bool, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_conclave-fuzz")).args(arguments).output().unwrap();
    (output.status.success(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn every_target_takes_its_share_of_the_inputs() {
    let (passes, printed) = conclave_fuzz(&["all", "--inputs", "2000"]);
    assert!(passes, "{printed}");
    let targets = conclave_fuzz::TARGETS.iter().map(|target| target.name);
    let fed: Vec<&str> = printed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(fed, targets.collect::<Vec<_>>());
}

#[test]
fn a_target_that_does_not_exist_is_refused() {
    assert_eq!(conclave_fuzz(&["nothing"]), (false, String::new()));
}
