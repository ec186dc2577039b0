//! A run that is played and broken is the run of its scenario file.

use super::*;
use crate::metrics::run::run_of;
use crate::scenario::shipped;
use serde_json::{Value, json};

fn ask(play: &mut Option<Play>, question: &Value) -> Value {
    serde_json::from_str(&answer(play, &question.to_string())).unwrap()
}

/// Runs to a moment; returns the state there.
fn state(play: &mut Option<Play>, until: Micros) -> Value {
    let ran = ask(play, &json!({ "ask": "run", "until": until, "budget": 1_000_000 }));
    assert_eq!((&ran["reached"], &ran["now"]), (&json!(true), &json!(until)));
    ask(play, &json!({ "ask": "look", "samples": 0 }))
}

/// A shipped scenario, cut short.
fn short(name: &str) -> String {
    set_key(&without_table(shipped::text(name).unwrap(), "expect"), "", "duration", "\"13s\"")
}

/// Plays a scenario with these acts at these moments; returns the run at its end.
fn played(text: &str, seed: u64, acts: &[(Micros, &str)]) -> Play {
    let mut play = Play::open(text, seed).unwrap();
    for &(at, fault) in acts {
        // In pieces, as a page runs it.
        while !play.run(at, 1_000) {}
        play.act(fault).unwrap();
    }
    while !play.run(Micros::MAX, 100_000) {}
    play
}

const ACTS: &[(Micros, &str)] = &[
    (3_000_000, "do = \"crash\"\nnode = \"leader\""),
    (5_000_000, "do = \"move\"\nnode = 3\nposition = [200.5, 0.0]"),
    (5_000_000, "do = \"one-way\"\nfrom = [1]\nto = [2]"),
    (5_000_000, "do = \"one-way\"\nfrom = [2]\nto = [1]"),
    (7_500_000, "do = \"partition\"\nsets = [[0, 1]]"),
    (8_000_000, "do = \"heal\""),
    (9_000_000, "do = \"restart\"\nnode = \"last\""),
    (10_000_000, "do = \"loss\"\nprobability = \"30%\""),
    (10_500_000, "do = \"capacity\"\nnode = 2\ncapacity = 9999"),
    (11_000_000, "do = \"pause\"\nnode = 0"),
];

#[test]
fn a_run_that_was_broken_replays_to_the_same_trace_hash() {
    // Faults that come after the end are no part of a run cut short: these scenarios have none, or early ones.
    for name in ["geometric100-mobility", "line30-cold-start", "lock-storm", "snapshot-tokens"] {
        let text = short(name);
        let play = played(&text, 3, ACTS);
        let scenario = parse(play.text()).unwrap();
        assert_eq!(run_of(&scenario, 3, &mut ()).hash, play.trace_hash(), "{name}");
        let without = run_of(&parse(&text).unwrap(), 3, &mut ());
        assert_ne!(without.hash, play.trace_hash(), "{name}: the acts have an effect");
        assert_eq!(without.hash, played(&text, 3, &[]).trace_hash(), "{name}: watching has none");
    }
}

#[test]
fn an_act_is_refused_with_the_sentence_of_the_scenario_reader() {
    let mut play = Play::open(shipped::text("demo").unwrap(), 1).unwrap();
    let before = play.text().to_owned();
    let refused = play.act("do = \"crush\"\nnode = 1").unwrap_err();
    assert!(refused.contains("there is no fault \"crush\" here; the nearest is \"crash\""), "{refused}");
    assert_eq!(play.text(), before);
    while !play.run(Micros::MAX, 100_000) {}
    assert!(play.act("do = \"heal\"").unwrap_err().starts_with("the run has ended"));
}

#[test]
fn the_page_is_shown_leaders_frames_sentences_and_charts() {
    let mut play = None;
    let catalogue = ask(&mut play, &json!({ "ask": "catalogue" }));
    assert_eq!(catalogue["scenarios"].as_array().map(Vec::len), Some(shipped::SHIPPED.len()));
    assert_eq!(ask(&mut play, &json!({ "ask": "step" }))["error"], "no scenario is open");
    let text = shipped::text("grid64-leader-crash").unwrap();
    let opened = ask(&mut play, &json!({ "ask": "open", "text": text, "seed": 1 }));
    assert_eq!((&opened["nodes"], &opened["duration"]), (&json!(64), &json!(40_000_000)));
    let seen = state(&mut play, 10_000_000);
    let nodes = seen["nodes"].as_array().unwrap();
    let leader = nodes[0][4].as_i64().unwrap();
    assert!(leader >= 0 && nodes.iter().all(|node| node[4] == leader));
    assert_eq!(nodes.iter().filter(|node| node[6] == 1).count(), 1, "one acts");
    assert_eq!(seen["samples"].as_array().unwrap().last().unwrap()[2], 1.0, "all agree");
    assert!(!seen["frames"].as_array().unwrap().is_empty() && seen["links"].is_array());
    assert!(seen["tree"].as_array().unwrap().len() > 40);
    assert!(seen["sentences"].to_string().contains(&format!("node {leader} LEADS")));
    ask(&mut play, &json!({ "ask": "step" }));
    let again = ask(&mut play, &json!({ "ask": "look", "samples": 40 }));
    assert_eq!(again["samples"], json!([]), "samples are shown once");
    assert!(again["links"].is_null(), "links are shown when they changed");
    let acted = ask(&mut play, &json!({ "ask": "act", "fault": "do = \"crash\"\nnode = 1" }));
    assert!(acted["text"].as_str().unwrap().ends_with("us\"\ndo = \"crash\"\nnode = 1\n"));
    let seen = state(&mut play, 10_100_000);
    assert_eq!((&seen["nodes"][1][2], seen["links"].is_array()), (&json!(0), true));
    let more = ask(&mut play, &json!({ "ask": "add-node", "x": 5, "y": 80 }));
    let opened = ask(&mut play, &json!({ "ask": "open", "text": more["text"], "seed": 1 }));
    assert_eq!(opened["nodes"], 65);
}

#[test]
fn a_page_sees_who_holds_a_lock_and_who_waits() {
    let mut play = None;
    ask(&mut play, &json!({ "ask": "open", "text": shipped::text("lock-storm").unwrap(), "seed": 1 }));
    let (mut held, mut waited) = (false, false);
    for tenths in 1..100 {
        let seen = state(&mut play, tenths * 100_000);
        let locks = seen["locks"].as_array().unwrap();
        held |= locks.iter().any(|lock| lock[3].is_array());
        waited |= locks.iter().any(|lock| lock[2].is_u64());
    }
    assert!(held && waited);
}

#[test]
fn a_page_sees_clusters_and_how_requests_end() {
    let text = shipped::text("requests1k").unwrap().replace("nodes = 1000", "nodes = 100");
    let mut play = None;
    let opened = ask(&mut play, &json!({ "ask": "open", "text": text, "seed": 1 }));
    assert_eq!((&opened["horizon"], &opened["requests"]), (&json!(2), &json!(true)));
    let seen = state(&mut play, 60_000_000);
    let nodes = seen["nodes"].as_array().unwrap();
    let leaders: Vec<usize> = (0..nodes.len()).filter(|&id| nodes[id][4] == id).collect();
    assert!(leaders.len() > 1, "{leaders:?}");
    let served = nodes.iter().filter(|node| node[8] == 1).count();
    assert!(served > 90, "{served} follow a super-peer within two hops");
    let agreement = seen["samples"].as_array().unwrap().last().unwrap()[2].as_f64().unwrap();
    assert!(agreement > 0.9, "{agreement}: several leaders are no disagreement");
    let [made, answered] = [0, 1].map(|at| seen["requests"][at].as_u64().unwrap());
    assert!(made > 50 && answered > made / 2, "{answered} of {made}");
    assert!(seen["samples"].as_array().unwrap().iter().any(|sample| sample[6].as_u64() > Some(0)));
}

#[test]
fn messages_of_one_name_are_shown_by_the_part_that_sends_them() {
    let parts_of_answers = |text: &str| -> Vec<String> {
        let mut play = Some(Play::open(text, 1).unwrap());
        let state = state(&mut play, 12_000_000);
        let named = state["kinds"].as_array().unwrap().iter().zip(state["parts"].as_array().unwrap());
        named.filter(|(kind, _)| *kind == "answer").map(|(_, part)| part.as_str().unwrap().to_owned()).collect()
    };
    let flat = set_key(&short("line30-cold-start"), "", "election", "\"wireless-flat\"");
    assert_eq!(parts_of_answers(&flat), ["election"]);
    assert_eq!(parts_of_answers(shipped::text("berkeley-clock").unwrap()), ["clock-sync"]);
}

#[test]
fn the_diagram_of_a_snapshot_stays_until_the_next_one_begins() {
    let mut play = None;
    ask(&mut play, &json!({ "ask": "open", "text": shipped::text("snapshot-demo").unwrap(), "seed": 1 }));
    let mut words = |until| -> Vec<String> {
        let seen = state(&mut play, until);
        seen["app"].as_array().unwrap().iter().map(|mark| mark[2].as_str().unwrap().to_owned()).collect()
    };
    let count = |words: &[String], word: &str| words.iter().filter(|found| *found == word).count();
    for until in [4_500_000, 8_000_000, 12_000_000] {
        let words = words(until);
        assert_eq!([count(&words, "recorded"), count(&words, "completed")], [4, 1], "at {until} us");
        assert!(words.len() <= 1_200, "{} events at {until} us", words.len());
    }
}
