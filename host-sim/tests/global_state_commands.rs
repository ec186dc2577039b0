//! `conclave snapshot` and `conclave terminate` as a user meets them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn conclave(arguments: &[&str]) -> Output {
    // Whatever the machine that runs this speaks.
    Command::new(env!("CARGO_BIN_EXE_conclave")).args(arguments).env("LC_ALL", "C.UTF-8").output().unwrap()
}

fn told(arguments: &[&str]) -> String {
    let output = conclave(arguments);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), error.as_str()), (Some(0), ""), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// What a command refuses to do, and why.
fn refused(arguments: &[&str]) -> String {
    let output = conclave(arguments);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// A file that is not there yet.
fn file(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_file(&path);
    path
}

/// The lines between two headings, as their first numbers.
fn numbers<'a>(text: &'a str, from: &str) -> impl Iterator<Item = u64> + use<'a> {
    let lines = text.lines().skip_while(|line| !line.starts_with(from)).skip(1).collect::<Vec<_>>();
    lines.into_iter().map_while(|line| line.split_whitespace().next()?.parse().ok())
}

/// What the table of costs says was counted and expected of a message.
fn cost(text: &str, what: &str) -> (u64, u64) {
    let line = text.lines().find(|line| line.split_whitespace().next() == Some(what));
    let mut numbers = line.unwrap().split_whitespace().skip(1).map(|number| number.parse().unwrap());
    (numbers.next().unwrap(), numbers.next().unwrap())
}

#[test]
fn a_snapshot_finds_every_token_and_costs_what_it_should_whatever_the_seed() {
    let mut on_their_way = 0;
    for seed in 0..20 {
        let nodes = 2 + seed % 7;
        let text = told(&["snapshot", "--seed", &seed.to_string(), "--nodes", &nodes.to_string()]);
        let mut found: Vec<u64> = numbers(&text, "snapshot 1, ").collect();
        assert_eq!(found.pop(), Some(nodes * 100), "seed {seed}");
        assert_eq!(found.iter().sum::<u64>(), nodes * 100, "seed {seed}");
        on_their_way += text.matches(" on its way from node ").count();
        for (what, expected) in [("marker", nodes * (nodes - 1)), ("done", nodes - 1)] {
            assert_eq!(cost(&text, what), (expected, expected), "seed {seed}: {what}");
        }
        let (parts, expected) = cost(&text, "part");
        assert_eq!(parts, expected, "seed {seed}");
        assert!(!text.contains("said after the cut"), "seed {seed}");
        assert!(text.lines().all(|line| line.chars().count() < 80), "seed {seed}: {text}");
    }
    assert!(on_their_way > 10, "a picture in which nothing crosses the cut shows little: {on_their_way}");
}

#[test]
fn the_picture_shows_the_cut_and_what_crosses_it() {
    let text = told(&["snapshot"]);
    assert_eq!(text, told(&["snapshot", "--seed", "0", "--nodes", "4", "--snapshots", "1", "--loss", "0%"]));
    let picture = text.split("before the cut").next().unwrap();
    assert_eq!(picture.matches('◆').count(), 4);
    let crossing = text.matches(" on its way from node ").count();
    assert_eq!(picture.matches(">║").count().min(crossing), crossing, "each enters a line after the cut:\n{text}");
    let letters = told(&["snapshot", "--ascii"]);
    assert!(letters.is_ascii() && letters != text);
}

#[test]
fn several_snapshots_at_a_time_find_every_token_each() {
    for seed in ["1", "2"] {
        let text = told(&["snapshot", "--snapshots", "4", "--nodes", "5", "--seed", seed]);
        for number in 1..=4 {
            assert_eq!(numbers(&text, &format!("snapshot {number}, ")).last(), Some(500), "seed {seed}");
        }
        assert_eq!(cost(&text, "marker"), (80, 80), "seed {seed}");
    }
}

#[test]
fn a_link_that_does_not_keep_order_is_found_out() {
    let wrong = (0..10).filter(|seed| {
        let output = conclave(&["snapshot", "--overtaking", "30%", "--seed", &seed.to_string()]);
        let error = String::from_utf8(output.stderr).unwrap();
        let found = output.status.code() == Some(1);
        assert_eq!(found, error.starts_with("Snapshot 1 is wrong: it found "), "seed {seed}: {error}");
        found
    });
    assert!(wrong.count() > 3);
}

#[test]
fn the_end_of_a_job_is_found_after_it_and_costs_what_it_should_whatever_the_seed() {
    for seed in 0..20 {
        for detection in ["wave", "dijkstra-scholten"] {
            let (nodes, units) = (2 + seed % 7, 4 + seed * 3);
            let [seed, nodes_text, units] = [seed, nodes, units].map(|number| number.to_string());
            let flags = ["--seed", &seed, "--nodes", &nodes_text, "--units", &units, "--detection", detection];
            let text = told(&[&["terminate"], &flags[..]].concat());
            assert_eq!(cost(&text, "terminate"), (nodes - 1, nodes - 1), "{flags:?}");
            let (counted, expected) = cost(&text, if detection == "wave" { "query" } else { "signal" });
            assert!(counted == expected || (detection != "wave" && counted < expected), "{flags:?}");
            if detection == "wave" {
                assert_eq!(cost(&text, "answer"), (expected, expected), "{flags:?}");
            }
            assert!(text.contains("The true end was at ") && !text.contains("before."), "{flags:?}: {text}");
            assert!(!text.contains(", by wave "), "the first wave after the end finds it: {flags:?}: {text}");
            let rows: Vec<&str> = text.lines().collect();
            let row = |words: &str| rows.iter().position(|row| row.ends_with(words)).unwrap();
            assert!(row("the true end") < row("TERMINATE"), "{flags:?}: {text}");
            assert_eq!(text.matches('■').count() as u64, nodes + 1, "with the legend's: {flags:?}");
        }
    }
}

#[test]
fn a_drawing_is_written_and_replaces_the_one_before() {
    for command in ["snapshot", "terminate"] {
        let path = file(&format!("{command}.svg"));
        let name = path.to_str().unwrap();
        let text = told(&[command, "--svg", name]);
        assert!(text.ends_with(&format!("\ndrawn into {name}\n")), "{text}");
        let first = std::fs::read_to_string(&path).unwrap();
        assert!(first.starts_with("<svg ") && first.ends_with("</svg>\n"));
        told(&[command, "--svg", name, "--nodes", "12"]);
        let second = std::fs::read_to_string(&path).unwrap();
        assert!(second.contains("node 11") && !first.contains("node 11"));
    }
}

#[test]
fn more_nodes_than_fit_are_counted_all_the_same() {
    let text = told(&["snapshot", "--nodes", "9"]);
    assert!(text.contains("has room for 8 nodes, not for 9: draw it with --svg FILE."), "{text}");
    assert_eq!(numbers(&text, "snapshot 1, ").last(), Some(900));
}

#[test]
fn what_cannot_be_is_refused_with_a_sentence() {
    let refusals: [(&[&str], &str); 10] = [
        (&["snapshot", "--nodes", "1"], "--nodes must be from 2 to 32, which 1 is not."),
        (&["terminate", "--nodes", "33"], "--nodes must be from 2 to 32, which 33 is not."),
        (&["snapshot", "--snapshots", "5"], "--snapshots must be from 1 to 4, which 5 is not."),
        (&["snapshot", "--snapshots", "0"], "--snapshots must be from 1 to 4, which 0 is not."),
        (
            &["snapshot", "--snapshots", "3", "--nodes", "2"],
            "--snapshots must be from 1 to 2, as each is begun by another node, which 3 is not.",
        ),
        (&["terminate", "--units", "0"], "--units must be from 1 to 10000, which 0 is not."),
        (&["terminate", "--detection", "waves"], "there is no detection \"waves\" here; the nearest is \"wave\""),
        (&["snapshot", "--loss", "much"], "expected a share from 0% to 100%, such as 10%"),
        (&["snapshot", "--svg", "no/such/a.svg"], "no/such/a.svg: there is no folder no/such: make it first"),
        (&["terminate", "--svg", env!("CARGO_TARGET_TMPDIR")], ": this is a folder: name a file in it."),
    ];
    for (arguments, sentence) in refusals {
        let said = refused(arguments);
        assert!(said.contains(sentence), "{arguments:?}: {said}");
    }
}

#[test]
fn a_snapshot_that_did_not_come_about_is_exit_code_1_and_says_so() {
    let output = conclave(&["snapshot", "--loss", "100%"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("Another seed may do better"), "{said}");
}

#[test]
fn help_has_examples_that_work() {
    for command in ["snapshot", "terminate"] {
        let help = told(&[command, "--help"]);
        let examples = help.lines().skip_while(|line| *line != "Examples:").skip(1);
        let mut count = 0;
        for example in examples {
            let words = example.trim().split("   ").next().unwrap();
            let mut words: Vec<&str> = words.split_whitespace().skip(1).collect();
            assert_eq!(words.first(), Some(&command), "{example}");
            let svg = file(&format!("example-{command}.svg"));
            if let Some(at) = words.iter().position(|word| *word == "--svg") {
                words[at + 1] = svg.to_str().unwrap();
            }
            let code = i32::from(words.contains(&"--overtaking"));
            assert_eq!(conclave(&words).status.code(), Some(code), "{example}");
            count += 1;
        }
        assert!(count >= 3, "{help}");
    }
}

#[test]
fn whoever_reads_no_further_makes_no_failure() {
    let mut child =
        Command::new(env!("CARGO_BIN_EXE_conclave")).arg("snapshot").stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
