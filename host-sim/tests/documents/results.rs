//! The page of results is what `conclave results` prints, but for the figures.

use crate::root;
use std::fs;
use std::process::Command;

/// The lines outside of code blocks, without their figures.
fn shape(page: &str) -> Vec<String> {
    let mut in_code = false;
    let lines = page.lines().filter(|line| {
        let fence = line.starts_with("```");
        in_code ^= fence;
        !in_code && !fence && !line.is_empty()
    });
    lines.map(|line| line.split(|c: char| c.is_ascii_digit() || "., -".contains(c)).collect()).collect()
}

#[test]
fn the_page_of_results_is_what_the_command_prints() {
    let page = fs::read_to_string(root().join("docs/RESULTS.md")).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_conclave")).args(["results", "--quick"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (shown, printed) = (shape(&page), shape(&String::from_utf8_lossy(&output.stdout)));
    let mut shown = shown.iter();
    for line in &printed {
        let rest = "after the lines before it; `conclave results > docs/RESULTS.md` prints the page again";
        assert!(shown.any(|shown| shown == line), "the page has no line `{line}` {rest}");
    }
    // A quick page leaves out large networks, and everything about boards.
    assert!(shown.next().is_some_and(|heading| heading.starts_with("##Emulatedboards")), "the page has other lines");
}

#[test]
fn the_page_of_verification_has_the_section_that_the_command_prints() {
    let page = fs::read_to_string(root().join("docs/VERIFICATION.md")).unwrap();
    let arguments = ["results", "--quick", "verification"];
    let output = Command::new(env!("CARGO_BIN_EXE_conclave")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (shown, printed) = (shape(&page), shape(&String::from_utf8_lossy(&output.stdout)));
    let mut shown = shown.iter();
    for line in &printed {
        assert!(shown.any(|shown| shown == line), "the page has no line `{line}` after the lines before it");
    }
    assert!(printed.len() > 20, "every algorithm has a row");
}
