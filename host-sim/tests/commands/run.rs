//! `conclave run`.

use crate::support::{conclave, file, json, refused, succeeds, survives_a_closed_pipe};
use std::path::PathBuf;

const PAIR: &str = "name = \"pair\"\nnodes = 2\nduration = \"5s\"\n[topology]\nshape = \"complete\"\n";

/// Writes a scenario file.
fn scenario(name: &str, text: &str) -> String {
    let path = file(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn json_is_one_object_and_nothing_else() {
    let report = json(&["run", &scenario("json.toml", PAIR), "--seed", "3", "--json"]);
    assert_eq!((&report["scenario"], &report["seeds"], &report["nodes"]), (&"pair".into(), &1.into(), &2.into()));
    assert!(report["trace_hash"].is_string() && report["violations"].is_array());
}

#[test]
fn an_unknown_or_renamed_key_is_one_sentence_and_exit_code_2() {
    let file = scenario("typo.toml", &PAIR.replace("nodes", "nods"));
    let expected = format!("{file}:2: there is no key \"nods\" here; the nearest is \"nodes\".\n");
    assert_eq!(refused(&["run", &file]), expected);
    let file = scenario("renamed.toml", &format!("{PAIR}[timing]\nsettle = \"1s\"\n"));
    assert_eq!(refused(&["run", &file]), format!("{file}:7: the key \"settle\" is now called \"boot_wait\".\n"));
}

#[test]
fn a_missing_file_impossible_seeds_and_an_unknown_flag_are_exit_code_2() {
    refused(&["run", "no/such/file.toml"]);
    assert!(refused(&["run", &scenario("seeds.toml", PAIR), "--seeds", "5..5"]).contains("there is no seed in it"));
    refused(&["run", &scenario("trace.toml", PAIR), "--seeds", "0..2", "--trace", "x"]);
    assert!(refused(&["run", "x.toml", "--sed", "1"]).contains("unexpected argument '--sed' found"));
}

#[test]
fn a_failed_expectation_is_exit_code_1_with_the_command_that_replays_it() {
    let file = scenario("claim.toml", &format!("{PAIR}[expect]\ntime_to_leader = {{ max = \"1us\" }}\n"));
    let (code, text, _) = conclave(&["run", &file, "--seed", "4"]);
    assert_eq!(code, Some(1));
    assert!(text.contains(&format!("conclave run {file} --seed 4")), "{text}");
}

#[test]
fn a_trace_is_one_json_object_per_line() {
    let file = scenario("traced.toml", PAIR);
    let trace = PathBuf::from(&file).with_extension("jsonl");
    let (code, ..) = conclave(&["run", &file, "--seed", "4", "--trace", trace.to_str().unwrap()]);
    assert!(code.is_some_and(|code| code < 2));
    let text = std::fs::read_to_string(trace).unwrap();
    let events: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(events.len() > 10 && events.iter().all(|event| event["at"].is_u64() && event["event"].is_string()));
}

#[test]
fn a_capture_has_every_frame_that_was_sent_and_tshark_reads_each_with_the_dissector() {
    let lan = "[medium]\nkind = \"lan\"\n";
    for (name, text) in [("radio", PAIR.to_owned()), ("lan", format!("{PAIR}{lan}"))] {
        let [toml, trace, capture, script] =
            ["toml", "jsonl", "pcapng", "lua"].map(|end| file(&format!("capture-{name}.{end}")));
        std::fs::write(&toml, text).unwrap();
        let [toml, trace, capture] = [&toml, &trace, &capture].map(|path| path.to_str().unwrap());
        succeeds(&["run", toml, "--seed", "4", "--trace", trace, "--pcap", capture]);
        assert!(refused(&["run", toml, "--seeds", "0..2", "--pcap", "x"]).contains("a capture holds one run"));
        std::fs::write(&script, succeeds(&["dissector", toml])).unwrap();
        let script = format!("lua_script:{}", script.display());
        let fields = ["-T", "fields", "-Y", "conclave.kind", "-e", "conclave.sender", "-e", "_ws.expert.message"];
        let home = env!("CARGO_TARGET_TMPDIR");
        let tshark = std::process::Command::new("tshark")
            .env("HOME", home)
            .args(["-X", &script, "-r", capture])
            .args(fields)
            .output();
        let Ok(tshark) = tshark else {
            eprintln!("TSHARK IS MISSING: THE CAPTURE WAS NOT READ BACK. Install it with `apt install tshark`.");
            return;
        };
        let printed = String::from_utf8(tshark.stdout).unwrap();
        let read: Vec<_> = printed.lines().map(|line| line.trim_end().parse::<u32>().expect(line)).collect();
        let text = std::fs::read_to_string(trace).unwrap();
        let events = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let sent: Vec<_> = events.filter(|event| event["event"] == "sent").map(|event| event["node"].clone()).collect();
        assert!(sent.len() > 20);
        assert_eq!(read, sent, "{name}");
    }
}

#[test]
fn a_shipped_scenario_is_listed_printed_and_run_by_its_name() {
    let listed = succeeds(&["scenarios"]);
    assert!(listed.contains("\ngrid64-leader-crash\n    64 nodes on an 8 x 8 grid lose their leader"), "{listed}");
    assert!(listed.contains("    - failover: p99 at most 5 s"), "{listed}");
    let printed = succeeds(&["scenarios", "one-way-links"]);
    assert_eq!(printed, include_str!("../../scenarios/one-way-links.toml"));
    let by_name = json(&["run", "one-way-links", "--seed", "1", "--json"]);
    let from_file = json(&["run", &scenario("by-name.toml", &printed), "--seed", "1", "--json"]);
    assert_eq!(by_name["trace_hash"], from_file["trace_hash"]);
    let entries = json(&["scenarios", "--json"])["scenarios"].as_array().map_or(0, Vec::len);
    assert_eq!(entries, listed.matches("\n    ").count() - listed.matches("\n    - ").count());
    assert!(refused(&["run", "one-way-link"]).contains("the nearest is \"one-way-links\""));
    let sentence = "there is no scenario \"zzzzzzzzzzzz\" here; `conclave scenarios` lists them\n";
    assert_eq!(refused(&["run", "zzzzzzzzzzzz"]), sentence, "one sentence, not a list of all");
}

#[test]
fn a_report_fits_a_terminal_of_80_columns() {
    for name in ["grid64-leader-crash", "lock-storm", "geometric1k-cold-start"] {
        let text = succeeds(&["run", name, "--seed", "1"]);
        // The purpose is wrapped on a terminal.
        let wide: Vec<&str> = text.lines().skip(2).filter(|line| line.chars().count() > 80).collect();
        assert!(wide.is_empty() && text.lines().count() > 20, "{wide:?}");
    }
}

#[test]
fn the_text_has_the_purpose_the_claims_and_the_verdict() {
    let text = succeeds(&["run", "one-way-links", "--seed", "1"]);
    assert!(text.starts_with("one-way-links: "), "{text}");
    assert!(
        text.contains(", 1 seed\n  ")
            && text.ends_with("\nPASSED: no checker reports a violation, and every claim holds\n")
    );
    let claim = scenario("verdict.toml", &format!("{PAIR}[expect]\ntime_to_leader = {{ max = \"1us\" }}\n"));
    let (_, text, _) = conclave(&["run", &claim, "--seed", "4"]);
    assert!(text.contains("\n  claimed:\n  - time to leader: max at most 0.000001 s\n"), "{text}");
    assert!(text.ends_with("\nFAILED: 1 violation\n"), "{text}");
}

#[test]
fn a_claim_about_something_that_never_happens_fails() {
    let file = scenario("never.toml", &format!("{PAIR}[expect]\nfailover = {{ max = \"5s\" }}\n"));
    let (code, text, _) = conclave(&["run", &file, "--seed", "4"]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("FAILED") && text.contains("failover"), "{text}");
}

#[test]
fn more_seeds_than_fit_the_memory_are_refused() {
    let file = scenario("many.toml", PAIR);
    assert!(refused(&["run", &file, "--seeds", "0..99999999999"]).contains("at most 1000000 seeds at a time"));
}

#[test]
fn the_measures_are_printed_as_comma_separated_values() {
    let file = scenario("csv.toml", &PAIR.replace("\"pair\"", "'pair, \"small\"'"));
    let (report, csv) =
        (json(&["run", &file, "--seeds", "0..3", "--json"]), succeeds(&["run", &file, "--seeds", "0..3", "--csv"]));
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("scenario,seeds,measure,count,p50,p99,p999,max"));
    let p50 = &report["measures"]["time_to_leader_us"]["p50"];
    let expected = format!("\"pair, \"\"small\"\"\",3,time_to_leader_us,3,{p50},");
    assert!(lines.any(|line| line.starts_with(&expected)), "{expected} in {csv}");
    refused(&["run", &file, "--csv", "--json"]);
}

#[test]
fn a_reader_that_closes_the_pipe_is_no_failure() {
    let file = scenario("pipe.toml", PAIR);
    for words in [&["run", &file, "--seed", "1"][..], &["run", &file, "--seed", "1", "--json"], &["scenarios"]] {
        survives_a_closed_pipe(words);
    }
}

#[test]
fn the_manual_has_a_page_for_the_program_and_for_every_command() {
    let program = succeeds(&["man"]);
    for word in ["run", "scenarios", "compare", "provision", "flash\\-board", "man"] {
        assert!(program.contains(&format!("conclave\\-{word}(1)")), "{word}: {program}");
    }
    let page = succeeds(&["man", "run"]);
    assert!(
        page.contains(".TH conclave-run 1") && page.contains("\\-\\-seeds") && page.contains("Examples:"),
        "{page}"
    );
    assert_eq!(refused(&["man", "rn"]), "there is no command \"rn\" here; the nearest is \"run\"\n");
}

#[test]
fn every_shell_gets_completions_of_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = succeeds(&["completions", shell]);
        for word in ["run", "scenarios", "compare", "provision", "flash-board", "completions"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    refused(&["completions", "cmd"]);
}

#[test]
fn a_report_plots_scenarios_and_comparisons_in_one_page_and_as_values() {
    let folder = file("report");
    let _ = std::fs::remove_dir_all(&folder);
    let [run_json, compare_json] = ["report-run.json", "report-compare.json"].map(file);
    std::fs::write(&run_json, succeeds(&["run", "one-way-links", "--seeds", "0..3", "--json"])).unwrap();
    std::fs::write(&compare_json, succeeds(&["compare", "elections", "--nodes", "4", "--json"])).unwrap();
    let [run_file, compare_file, out] = [&run_json, &compare_json, &folder].map(|path| path.to_str().unwrap());
    let printed = succeeds(&["report", "grid64-leader-crash", run_file, compare_file, "--seeds", "0..5", "--out", out]);
    assert_eq!(printed, format!("{out}/report.html\n"));
    let page = std::fs::read_to_string(folder.join("report.html")).unwrap();
    for text in [
        "<h2>grid64-leader-crash</h2>",
        "Times over 5 seeds",
        "Times over 3 seeds",
        "bully: 11.0 (11.0)",
        "Failover against frames",
    ] {
        assert!(page.contains(text), "{text}");
    }
    assert!(!page.contains("http") && !page.contains("NaN") && !page.contains("inf"), "it needs nothing else");
    let values = std::fs::read_to_string(folder.join("report.csv")).unwrap();
    let crash = "\"grid64-leader-crash\",\"Times over 5 seeds: share of runs that took at most so long\",\"failover\",";
    let failovers: Vec<&str> = values.lines().filter_map(|line| line.strip_prefix(crash)).collect();
    assert_eq!(failovers.len(), 5, "{values}");
    assert!(failovers[4].ends_with(",100"), "{failovers:?}");
    assert!(values.contains(",\"OpenThread (from notes)\",12,124\n"), "{values}");
    assert!(values.contains("\"Messages, case worst\",\"bully\",4,11\n"), "{values}");
    assert!(refused(&["report", "no-such-scenario", "--out", out]).contains("no-such-scenario"));
    for (name, text) in [("nothing.json", "{}"), ("trace.jsonl", "{\"at\":0}\n{\"at\":1}\n")] {
        assert!(refused(&["report", &scenario(name, text), "--out", out]).contains("this is no output of"));
    }
}

#[test]
fn the_dissector_opens_the_frames_of_a_group_whose_list_of_members_changes() {
    let [capture, script] = ["capture-lists.pcapng", "capture-lists.lua"].map(file);
    succeeds(&["run", "group-change", "--seed", "1", "--pcap", capture.to_str().unwrap()]);
    std::fs::write(&script, succeeds(&["dissector"])).unwrap();
    let script = format!("lua_script:{}", script.display());
    let tshark = std::process::Command::new("tshark")
        .env("HOME", env!("CARGO_TARGET_TMPDIR"))
        .args(["-2", "-X", &script, "-r", capture.to_str().unwrap()])
        .args(["-T", "fields", "-e", "conclave.members.list.epoch", "-e", "_ws.expert.message", "-e", "_ws.col.Info"])
        .output();
    let Ok(tshark) = tshark else {
        eprintln!("TSHARK IS MISSING: THE CAPTURE WAS NOT READ BACK. Install it with `apt install tshark`.");
        return;
    };
    let printed = String::from_utf8(tshark.stdout).unwrap();
    for line in printed.lines() {
        let [_, malformed, information] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        assert!(malformed.is_empty() && information.contains(" to "), "{line}");
    }
    let epochs: std::collections::BTreeSet<_> = printed.lines().filter_map(|line| line.split('\t').next()).collect();
    assert_eq!(epochs, ["", "0", "1", "2", "3", "4", "5"].into());
    for message in ["members list", "members round", "lease grant", "bully heartbeat"] {
        assert!(printed.contains(&format!("to all: {message}")), "{message}");
    }
}

#[test]
#[cfg(unix)]
fn a_run_is_watched_on_a_terminal_and_ends_with_what_was_done() {
    assert_eq!(refused(&["run", "grid64-cold-start", "--watch"]), "--watch needs a terminal\n");
    assert!(refused(&["run", "grid64-cold-start", "--watch", "--json"]).contains("cannot be used with"));
    let text = crate::support::on_a_terminal(&["run", "grid64-cold-start", "--watch", "--seed", "1"], " kchrq");
    let (during, after) = text.split_once("\x1b[?1049l").unwrap();
    assert!(during.contains("grid64-cold-start, 64 nodes, seed 1") && during.contains("h heal  q quit"), "{during}");
    // Nobody leads yet: the first key is no fault.
    assert!(!after.contains("node = \"leader\""), "{after}");
    let order = ["cut = \"left-right\"", "do = \"heal\"", "do = \"restart\"", "trace hash "];
    let found: Vec<_> = order.iter().map(|part| after.find(part)).collect();
    assert!(found.iter().all(Option::is_some) && found.is_sorted(), "{after}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_report_that_cannot_be_written_is_an_error_in_words() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = crate::support::command(&["run", "demo", "--seed", "1", "--json"]).stdout(full).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(error.starts_with("the report cannot be written: No space left on device"), "{error}");
}

#[test]
#[cfg(unix)]
fn a_progress_bar_estimates_nothing_before_its_first_step() {
    let text = crate::support::on_a_terminal(&["run", "grid64-cold-start", "--seeds", "0..8"], "");
    assert!(text.contains("0/8 seeds, 0s, ? left") && !text.contains("0/8 seeds, 0s, 0s left"), "{text}");
}
