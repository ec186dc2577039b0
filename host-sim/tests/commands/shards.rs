//! `--shard`, `--outcomes`, `conclave merge` and `conclave campaign`.

use crate::support::{conclave, file, json, refused, succeeds};

const STORM: [&str; 4] = ["run", "storm", "--seeds", "3..10"];

/// Runs a command in so many parts; returns the files of their outcomes.
fn parts(name: &str, command: &[&str], count: usize) -> Vec<String> {
    let part = |number| {
        let path = file(&format!("{name}-{number}-{count}.jsonl")).to_str().unwrap().to_owned();
        let shard = format!("{number}/{count}");
        let arguments = [command, &["--shard", &shard, "--outcomes", &path]].concat();
        assert_eq!(succeeds(&arguments), "");
        path
    };
    (1..=count).map(part).collect()
}

fn merged<'a>(files: &'a [String], flags: &[&'a str]) -> Vec<&'a str> {
    ["merge"].into_iter().chain(files.iter().map(String::as_str)).chain(flags.iter().copied()).collect()
}

#[test]
fn three_parts_are_reported_on_as_one_machine_would_byte_for_byte() {
    let mut files = parts("storm", &STORM, 3);
    files.rotate_left(1);
    for flags in [&[][..], &["--json"], &["--csv"]] {
        let one = succeeds(&[&STORM, flags].concat());
        assert_eq!(succeeds(&merged(&files, flags)), one, "{flags:?}");
    }
}

#[test]
fn a_percentile_is_judged_by_the_outcomes_of_all_parts() {
    let path = file("percentile.toml");
    let claim = "[expect]\ntime_to_leader = { p99 = \"1us\" }\n";
    let text = format!("name = \"p\"\nnodes = 2\nduration = \"5s\"\n[topology]\nshape = \"complete\"\n{claim}");
    std::fs::write(&path, text).unwrap();
    let command = ["run", path.to_str().unwrap(), "--seeds", "0..120"];
    let files = parts("percentile", &command, 3);
    let (code, out, _) = conclave(&merged(&files, &[]));
    assert_eq!((code, &out), (Some(1), &conclave(&command).1));
    assert!(out.contains("p99 of time_to_leader_us is"), "{out}");
}

#[test]
fn a_missing_part_a_doubled_one_and_one_of_something_else_are_refused() {
    let files = parts("refused", &STORM, 3);
    assert_eq!(refused(&merged(&files[1..], &[])), "these seeds are in no file: 3, 6, 9\n");
    let doubled = refused(&merged(&[files.clone(), vec![files[0].clone()]].concat(), &[]));
    assert!(doubled.contains(":2: seed 3 is in "), "{doubled}");
    let others = [
        ("is a part of other seeds", parts("seeds", &["run", "storm", "--seeds", "3..11"], 3)),
        ("is about another scenario", parts("mutex", &[&STORM[..], &["--election", "ring"]].concat(), 3)),
    ];
    for (reason, other) in others {
        let mixed = [files[0].clone(), other[1].clone(), files[2].clone()];
        let sentence = refused(&merged(&mixed, &[]));
        assert!(sentence.contains(reason), "{sentence}");
    }
    let text = std::fs::read_to_string(&files[0]).unwrap();
    let foreign = text.replacen("{\"program\":\"", "{\"program\":\"9.", 1);
    std::fs::write(&files[0], foreign).unwrap();
    assert!(refused(&merged(&files, &[])).contains("was written by another program"));
    assert!(refused(&["run", "storm", "--shard", "4/3", "--outcomes", "x"]).contains("from 1/N to N/N"));
}

#[test]
fn a_campaign_in_parts_is_reported_on_as_one_and_has_the_documented_keys() {
    let command = ["campaign", "--runs", "6", "--seed", "1"];
    let one = json(&[&command[..], &["--json"]].concat());
    for key in ["hours", "faults", "scenarios", "violations", "frames", "missing"] {
        assert!(one.get(key).is_some(), "{key}");
    }
    assert_eq!((&one["scenarios"], one["violations"].as_array().map(Vec::len)), (&6.into(), Some(0)));
    let files = parts("campaign", &command, 2);
    assert_eq!(succeeds(&merged(&files, &[])), succeeds(&command));
    assert!(refused(&["campaign", "--only", "buly"]).contains("the nearest is \"bully\""));
}
