//! `conclave run` as a user meets it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const RIGHT: &str = "name = \"pair\"\nnodes = 2\nduration = \"5s\"\n[topology]\nshape = \"complete\"\n";

fn conclave(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_conclave")).args(arguments).output().unwrap()
}

/// A scenario file of this test.
fn file(name: &str, text: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn run(path: &Path, more: &[&str]) -> Output {
    conclave(&[&["run", path.to_str().unwrap()], more].concat())
}

#[test]
fn json_is_one_object_and_nothing_else() {
    let output = run(&file("json.toml", RIGHT), &["--seed", "3", "--json"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["scenario"], &report["seeds"], &report["nodes"]), (&"pair".into(), &1.into(), &2.into()));
    assert!(report["trace_hash"].is_string() && report["violations"].is_array());
    assert!(output.stderr.is_empty());
}

#[test]
fn a_typing_mistake_is_one_sentence_and_exit_code_2() {
    let path = file("typo.toml", &RIGHT.replace("nodes", "nods"));
    let output = run(&path, &[]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said, format!("{}:2: there is no key \"nods\" here; the nearest is \"nodes\".\n", path.display()));
}

#[test]
fn a_missing_file_and_impossible_seeds_are_exit_code_2() {
    assert_eq!(conclave(&["run", "no/such/file.toml"]).status.code(), Some(2));
    assert_eq!(run(&file("seeds.toml", RIGHT), &["--seeds", "5..5"]).status.code(), Some(2));
    assert_eq!(run(&file("trace.toml", RIGHT), &["--seeds", "0..2", "--trace", "x"]).status.code(), Some(2));
}

#[test]
fn a_claim_that_fails_is_exit_code_1_and_says_how_to_see_it_again() {
    let path = file("claim.toml", &format!("{RIGHT}[expect]\ntime_to_leader = {{ max = \"1us\" }}\n"));
    let output = run(&path, &["--seed", "4"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains(&format!("conclave run {} --seed 4", path.display())), "{said}");
}

#[test]
fn a_trace_is_one_json_object_a_line() {
    let path = file("traced.toml", RIGHT);
    let trace = path.with_extension("jsonl");
    let output = run(&path, &["--seed", "4", "--trace", trace.to_str().unwrap()]);
    assert!(output.status.code().is_some_and(|code| code < 2));
    let text = std::fs::read_to_string(trace).unwrap();
    let events: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(events.len() > 10 && events.iter().all(|event| event["at"].is_u64() && event["event"].is_string()));
}
