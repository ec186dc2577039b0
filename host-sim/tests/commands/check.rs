//! `conclave check`.

use crate::support::{conclave, file, json, refused, succeeds};

#[test]
fn a_lock_is_explored_and_the_report_counts_its_states() {
    let text = succeeds(&["check", "central"]);
    assert!(text.contains("reboot without records"), "{text}");
    assert!(text.ends_with("PASSED: no violation, and every search is complete within its bounds\n"), "{text}");
    let report = json(&["check", "central", "--json"]);
    assert_eq!((&report["complete"], report["violations"].as_array().unwrap().len()), (&true.into(), 0));
    let searches = report["searches"].as_array().unwrap();
    let states: u64 = searches.iter().map(|search| search["states"].as_u64().unwrap()).sum();
    assert!(states > 10_000 && report["states"] == states, "{report}");
    assert_eq!(json(&["check", "central", "--json"]), report, "on any number of cores");
}

#[test]
fn limits_end_a_search_and_the_report_says_so() {
    for limit in [["--depth", "4"], ["--states", "300"]] {
        let report = json(&[&["check", "lamport", "--json"][..], &limit].concat());
        assert_eq!(report["complete"], false, "{limit:?}");
    }
    let text = succeeds(&["check", "lamport", "--depth", "4"]);
    assert!(text.ends_with("PASSED: no violation, but not every search is complete\n"), "{text}");
}

#[test]
fn the_lock_of_the_textbooks_fails_with_the_shortest_counterexample_drawn() {
    let folder = file("schedules");
    let out = ["--out", folder.to_str().unwrap()];
    let (code, text, _) = conclave(&[&["check", "textbook", "--nodes", "2"][..], &out].concat());
    assert_eq!(code, Some(1));
    let picture = "   8         |   :       '>*       reply from 0: holds the lock";
    assert!(text.contains(picture) && text.contains("VIOLATION in textbook"), "{text}");
    assert!(text.ends_with("FAILED: 1 search with a violation\n"), "{text}");
    let (code, text, _) = conclave(&[&["check", "textbook", "--nodes", "2", "--json"][..], &out].concat());
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((code, report["violations"][0]["why"].as_str()), (Some(1), Some("two hold the lock")));
    assert_eq!(report["violations"][0]["steps"].as_array().unwrap().len(), 9);
}

#[test]
fn a_counterexample_is_saved_as_a_schedule_that_replays_move_by_move() {
    let folder = file("replayed");
    let (_, found, _) = conclave(&["check", "textbook", "--out", folder.to_str().unwrap(), "--json"]);
    let mut found: serde_json::Value = serde_json::from_str(&found).unwrap();
    let name = found["violations"][0]["file"].take();
    let path = folder.join(name.as_str().expect("the schedule has a file"));
    let path = path.to_str().unwrap();
    let (code, again, _) = conclave(&["check", "--replay", path, "--json"]);
    let again: serde_json::Value = serde_json::from_str(&again).unwrap();
    assert_eq!((code, &again["violations"]), (Some(1), &found["violations"]));
    // Without the duplicate the rest is impossible; without the last move nothing is broken yet, but everything that can
    // follow is searched.
    let text = std::fs::read_to_string(path).unwrap();
    let without = |gone: &dyn Fn(&str) -> bool| text.lines().filter(|line| !gone(line)).collect::<Vec<_>>().join("\n");
    std::fs::write(path, without(&|line| line.contains("and will again"))).unwrap();
    assert!(refused(&["check", "--replay", path]).contains(" is impossible: "));
    let moves = text.lines().rev().nth(1).unwrap();
    std::fs::write(path, without(&|line| line == moves)).unwrap();
    let (code, again, _) = conclave(&["check", "--replay", path, "--json"]);
    let again: serde_json::Value = serde_json::from_str(&again).unwrap();
    assert_eq!((code, &again["violations"]), (Some(1), &found["violations"]));
}

#[test]
fn what_cannot_be_explored_is_refused_with_a_sentence() {
    assert!(refused(&["check", "centrl"]).contains("central"));
    assert!(refused(&["check", "--nodes", "5"]).contains("from 2 to 4"));
    assert!(refused(&["check", "--states", "100000001"]).contains("100000000"));
    let path = file("no-schedule.toml");
    std::fs::write(&path, "algorithm = \"central\"\nsearch = \"x\"\nnodes = 3\nproperty = \"\"\nmoves = []\n").unwrap();
    let sentence = refused(&["check", "--replay", path.to_str().unwrap()]);
    assert!(sentence.contains("there is no search \"x\" of central among 3 nodes"), "{sentence}");
}
