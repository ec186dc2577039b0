//! `conclave demo` in a pipe.

#[cfg(unix)]
use crate::support::on_a_terminal;
use crate::support::{refused, succeeds, survives_a_closed_pipe};

/// Returns the phases of the text, without its head.
fn phases(text: &str) -> Vec<&str> {
    let starts: Vec<usize> = (1..=5).filter_map(|number| text.find(&format!("\n{number} "))).collect();
    let ends = starts[1..].iter().copied().chain([text.len()]);
    starts.iter().copied().zip(ends).map(|(start, end)| &text[start..end]).collect()
}

#[test]
fn the_demo_is_the_default_command_and_names_the_elected_node() {
    let text = succeeds(&[]);
    assert_eq!(text, succeeds(&["demo", "--seed", "0"]));
    let leader = text.lines().find_map(|line| line.split_once(" LEADS, ")).unwrap().0;
    let leader = leader.rsplit("node ").next().unwrap();
    assert!(text.contains(&format!("node {leader}, the leader, fails")), "node {leader}");
}

#[test]
fn in_a_pipe_the_text_is_ascii_and_no_line_is_too_long() {
    let text = succeeds(&["demo"]);
    assert!(text.chars().all(|sign| sign == '\n' || (' '..='~').contains(&sign)));
    for line in text.lines() {
        assert!(line.len() <= 80 && !line.ends_with(' '), "{line:?}");
    }
}

#[test]
fn the_summary_fits_a_terminal_of_60_columns() {
    let text = succeeds(&["demo"]);
    let (_, summary) = text.split_once("\nSUMMARY").unwrap();
    assert!(summary.contains("crash to the next leader") && summary.contains("TRY NEXT"), "{summary}");
    for line in summary.lines() {
        assert!(line.len() <= 60, "{line:?}");
    }
}

#[test]
fn the_same_seed_prints_the_same_text_and_another_one_does_not() {
    assert_eq!(succeeds(&["demo", "--seed", "7"]), succeeds(&["--seed", "7", "--plain", "--speed", "3"]));
    assert_ne!(succeeds(&["demo", "--seed", "7"]), succeeds(&["demo", "--seed", "8"]));
}

#[test]
fn every_phase_is_printed_with_its_map_and_its_leaders_whatever_the_seed() {
    for seed in 0..5 {
        let text = succeeds(&["demo", "--seed", &seed.to_string()]);
        let leaders: Vec<usize> = phases(&text).iter().map(|phase| phase.matches("[*").count()).collect();
        assert_eq!(leaders, [0, 1, 1, 2, 1], "seed {seed}");
        let sentences = [
            " starts: ",
            " calls an election",
            " LEADS, ",
            ", the leader, fails",
            "IS PARTITIONED",
            "IS HEALED",
            "TRY NEXT",
        ];
        for sentence in sentences {
            assert!(text.contains(sentence), "seed {seed}: {sentence}");
        }
        assert!(!text.contains("never"), "seed {seed}: a time was not measured");
    }
}

#[test]
#[cfg(unix)]
fn on_a_terminal_a_key_ends_the_playback_and_the_last_map_stays() {
    let text = on_a_terminal(&["demo", "--speed", "2"], "q");
    let (during, after) = text.split_once("\x1b[?1049l").unwrap();
    assert!(during.contains("q ends") && !during.contains(" LEADS, "), "it ends before the election");
    let (map, summary) = after.split_once("SUMMARY").unwrap();
    assert!(map.contains('★') && summary.contains("TRY NEXT"), "{after}");
}

#[test]
fn a_wrong_flag_is_exit_code_2() {
    for wrong in
        [&["demo", "--sed", "1"][..], &["demo", "--speed", "0"], &["demo", "--seed", "x"], &["--sed"], &["dmo"]]
    {
        refused(wrong);
    }
}

#[test]
fn a_closed_pipe_is_no_failure() {
    survives_a_closed_pipe(&[]);
}
