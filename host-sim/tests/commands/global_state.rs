//! `conclave snapshot` and `conclave terminate`.

use crate::support::{conclave, file, refused, succeeds, survives_a_closed_pipe};

/// Returns the first numbers of the lines after a heading.
fn numbers<'a>(text: &'a str, from: &str) -> impl Iterator<Item = u64> + use<'a> {
    let lines = text.lines().skip_while(|line| !line.starts_with(from)).skip(1).collect::<Vec<_>>();
    lines.into_iter().map_while(|line| line.split_whitespace().next()?.parse().ok())
}

/// Returns the counted and the expected number of a message in the table of costs.
fn cost(text: &str, message: &str) -> (u64, u64) {
    let line = text.lines().find(|line| line.split_whitespace().next() == Some(message));
    let mut numbers = line.unwrap().split_whitespace().skip(1).map(|number| number.parse().unwrap());
    (numbers.next().unwrap(), numbers.next().unwrap())
}

#[test]
fn a_snapshot_finds_every_token_at_the_expected_cost_whatever_the_seed() {
    let mut in_flight = 0;
    for seed in 0..20 {
        let nodes = 2 + seed % 7;
        let text = succeeds(&["snapshot", "--seed", &seed.to_string(), "--nodes", &nodes.to_string()]);
        let mut found: Vec<u64> = numbers(&text, "snapshot 1, ").collect();
        assert_eq!(found.pop(), Some(nodes * 100), "seed {seed}");
        assert_eq!(found.iter().sum::<u64>(), nodes * 100, "seed {seed}");
        in_flight += text.matches(" in flight from node ").count();
        for (message, expected) in [("marker", nodes * (nodes - 1)), ("done", nodes - 1)] {
            assert_eq!(cost(&text, message), (expected, expected), "seed {seed}: {message}");
        }
        let (parts, expected) = cost(&text, "fragment");
        assert_eq!(parts, expected, "seed {seed}");
        assert!(!text.contains("sent after the cut"), "seed {seed}");
        assert!(text.lines().all(|line| line.chars().count() < 80), "seed {seed}: {text}");
    }
    assert!(in_flight > 10, "messages cross the cut: {in_flight}");
}

#[test]
fn the_picture_shows_the_cut_and_the_messages_that_cross_it() {
    let text = succeeds(&["snapshot"]);
    assert_eq!(text, succeeds(&["snapshot", "--seed", "0", "--nodes", "4", "--snapshots", "1", "--loss", "0%"]));
    let picture = text.split("before the cut").next().unwrap();
    assert_eq!(picture.matches('◆').count(), 4);
    let crossing = text.matches(" in flight from node ").count();
    let entering = picture.matches(">║").count() + picture.matches("║<").count();
    assert!(entering >= crossing, "each enters a line after the cut:\n{text}");
    let ascii = succeeds(&["snapshot", "--ascii"]);
    assert!(ascii.is_ascii() && ascii != text);
}

#[test]
fn several_snapshots_at_a_time_find_every_token_each() {
    for seed in ["1", "2"] {
        let text = succeeds(&["snapshot", "--snapshots", "4", "--nodes", "5", "--seed", seed]);
        for number in 1..=4 {
            assert_eq!(numbers(&text, &format!("snapshot {number}, ")).last(), Some(500), "seed {seed}");
        }
        assert_eq!(cost(&text, "marker"), (80, 80), "seed {seed}");
    }
}

#[test]
fn a_link_without_fifo_order_is_found() {
    let wrong = (0..10).filter(|seed| {
        let (code, _, error) = conclave(&["snapshot", "--reordering", "30%", "--seed", &seed.to_string()]);
        let found = code == Some(1);
        assert_eq!(found, error.starts_with("Snapshot 1 is wrong: it found "), "seed {seed}: {error}");
        found
    });
    assert!(wrong.count() > 0);
}

#[test]
fn termination_is_detected_after_the_end_at_the_expected_cost_whatever_the_seed() {
    for seed in 0..20 {
        for detection in ["wave", "dijkstra-scholten"] {
            let (nodes, units) = (2 + seed % 7, 4 + seed * 3);
            let [seed, nodes_text, units] = [seed, nodes, units].map(|number| number.to_string());
            let flags = ["--seed", &seed, "--nodes", &nodes_text, "--units", &units, "--detection", detection];
            let text = succeeds(&[&["terminate"], &flags[..]].concat());
            assert_eq!(cost(&text, "terminate"), (nodes - 1, nodes - 1), "{flags:?}");
            let (counted, expected) = cost(&text, if detection == "wave" { "query" } else { "signal" });
            assert!(counted == expected || (detection != "wave" && counted < expected), "{flags:?}");
            if detection == "wave" {
                assert_eq!(cost(&text, "answer"), (expected, expected), "{flags:?}");
            }
            assert!(text.contains("The true end was at ") && !text.contains("before."), "{flags:?}: {text}");
            assert!(!text.contains(", by wave "), "the first wave after the end finds it: {flags:?}: {text}");
            let rows: Vec<&str> = text.lines().collect();
            assert!(rows.iter().all(|row| row.chars().count() < 80), "{flags:?}: {text}");
            let row = |words: &str| rows.iter().position(|row| row.ends_with(words)).unwrap();
            assert!(row("the true end") < row("TERMINATE"), "{flags:?}: {text}");
            assert_eq!(text.matches('■').count() as u64, nodes + 1, "with the legend's: {flags:?}");
        }
    }
}

#[test]
fn an_svg_file_is_written_and_replaces_the_one_before() {
    for command in ["snapshot", "terminate"] {
        let path = file(&format!("{command}.svg"));
        let name = path.to_str().unwrap();
        let text = succeeds(&[command, "--svg", name]);
        assert!(text.ends_with(&format!("\ndrawn into {name}\n")), "{text}");
        let first = std::fs::read_to_string(&path).unwrap();
        assert!(first.starts_with("<svg ") && first.ends_with("</svg>\n"));
        succeeds(&[command, "--svg", name, "--nodes", "12"]);
        let second = std::fs::read_to_string(&path).unwrap();
        assert!(second.contains("node 11") && !first.contains("node 11"));
    }
}

#[test]
fn a_snapshot_of_more_nodes_than_fit_is_summed_without_a_picture() {
    let text = succeeds(&["snapshot", "--nodes", "9"]);
    assert!(text.contains("has room for 8 nodes, not for 9: draw it with --svg FILE."), "{text}");
    assert_eq!(numbers(&text, "snapshot 1, ").last(), Some(900));
}

#[test]
fn bad_input_is_refused_with_a_sentence() {
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
        (&["snapshot", "--loss", "much"], "expected a percentage from 0% to 100%, such as 10%"),
        (&["snapshot", "--svg", "no/such/a.svg"], "no/such/a.svg: there is no folder no/such: make it first"),
        (&["terminate", "--svg", env!("CARGO_TARGET_TMPDIR")], ": this is a folder: name a file in it."),
    ];
    for (arguments, sentence) in refusals {
        let error = refused(arguments);
        assert!(error.contains(sentence), "{arguments:?}: {error}");
    }
}

#[test]
fn a_snapshot_that_did_not_complete_is_exit_code_1_with_a_sentence() {
    let (code, _, error) = conclave(&["snapshot", "--loss", "100%"]);
    assert_eq!(code, Some(1));
    assert!(error.contains("Another seed may do better"), "{error}");
}

#[test]
fn help_has_examples_that_work() {
    for command in ["snapshot", "terminate"] {
        let help = succeeds(&[command, "--help"]);
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
            let code = i32::from(words.contains(&"--reordering"));
            assert_eq!(conclave(&words).0, Some(code), "{example}");
            count += 1;
        }
        assert!(count >= 3, "{help}");
    }
}

#[test]
fn a_closed_pipe_is_no_failure() {
    survives_a_closed_pipe(&["snapshot"]);
}
