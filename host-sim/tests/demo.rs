//! `conclave demo` as a user meets it in a pipe.

use std::process::{Command, Output, Stdio};

fn conclave(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_conclave")).args(arguments).output().unwrap()
}

fn told(arguments: &[&str]) -> String {
    let output = conclave(arguments);
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The chapters of a tale, without what stands before the first.
fn chapters(text: &str) -> Vec<&str> {
    let starts: Vec<usize> = (1..=5).filter_map(|number| text.find(&format!("\n{number} "))).collect();
    let ends = starts[1..].iter().copied().chain([text.len()]);
    starts.iter().copied().zip(ends).map(|(start, end)| &text[start..end]).collect()
}

#[test]
fn without_a_command_the_demo_is_told_and_names_the_elected_node() {
    let text = told(&[]);
    assert_eq!(text, told(&["demo", "--seed", "0"]));
    let leader = text.lines().find_map(|line| line.split_once(" LEADS, ")).unwrap().0;
    let leader = leader.rsplit("node ").next().unwrap();
    assert!(text.contains(&format!("node {leader}, the leader, fails")), "node {leader}");
}

#[test]
fn in_a_pipe_there_are_only_letters_and_no_line_is_too_long() {
    let text = told(&["demo"]);
    assert!(text.chars().all(|letter| letter == '\n' || (' '..='~').contains(&letter)));
    for line in text.lines() {
        assert!(line.len() <= 80 && !line.ends_with(' '), "{line:?}");
    }
}

#[test]
fn the_same_seed_prints_the_same_text_and_another_one_does_not() {
    assert_eq!(told(&["demo", "--seed", "7"]), told(&["--seed", "7", "--plain", "--speed", "3"]));
    assert_ne!(told(&["demo", "--seed", "7"]), told(&["demo", "--seed", "8"]));
}

#[test]
fn every_stage_is_told_with_its_map_and_its_leaders_whatever_the_seed() {
    for seed in 0..20 {
        let text = told(&["demo", "--seed", &seed.to_string()]);
        let leaders: Vec<usize> = chapters(&text).iter().map(|chapter| chapter.matches("[*").count()).collect();
        assert_eq!(leaders, [0, 1, 1, 2, 1], "seed {seed}");
        let sentences =
            [" starts: ", " calls an election", " LEADS, ", ", the leader, fails", "IS CUT", "IS MENDED", "TRY NEXT"];
        for sentence in sentences {
            assert!(text.contains(sentence), "seed {seed}: {sentence}");
        }
        assert!(!text.contains("never"), "seed {seed}: a time was not measured");
    }
}

#[test]
fn a_wrong_flag_is_exit_code_2() {
    for wrong in
        [&["demo", "--sed", "1"][..], &["demo", "--speed", "0"], &["demo", "--seed", "x"], &["--sed"], &["dmo"]]
    {
        let output = conclave(wrong);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{wrong:?}");
    }
}

#[test]
fn whoever_reads_no_further_makes_no_failure() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_conclave")).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
