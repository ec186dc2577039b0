//! The searches of every algorithm: complete, within their bounds, and without a violation.
//!
//! A usual run leaves out those that take minutes; `CONCLAVE_STORMS=full cargo test` takes all of them.

use host_sim::explore::search::Limits;
use host_sim::explore::{self, Search};
use std::collections::BTreeSet;

fn full() -> bool {
    std::env::var("CONCLAVE_STORMS").is_ok_and(|storms| storms == "full")
}

fn prove(algorithm: &str) {
    let is_due = |search: &Search| search.algorithm == algorithm && (!search.is_long || full());
    prove_all(explore::all(3).into_iter().filter(is_due).collect());
}

fn prove_all(searches: Vec<Search>) {
    assert!(!searches.is_empty(), "there are searches");
    for search in searches {
        let algorithm = search.algorithm;
        let outcome = search.run(Limits::NONE);
        let details: Vec<_> =
            outcome.violation.iter().flat_map(|found| &found.steps).map(|step| &step.detail).collect();
        println!("{algorithm}, {}: {} states, {} cut", search.name, outcome.states, outcome.cut);
        assert_eq!(outcome.why(), None, "{algorithm}, {}: {details:#?}", search.name);
        assert!(outcome.complete, "{algorithm}, {}: bounds that end", search.name);
        assert!(search.is_cut || outcome.cut == 0, "{algorithm}, {}: {} cut", search.name, outcome.cut);
    }
}

macro_rules! prove_each {
    ($($name:ident in $module:ident = $number:literal: $word:literal, $about:literal;)+) => {$(
        #[test]
        fn $module() {
            super::prove($word);
        }
    )+};
}

mod no_term_has_two_leaders {
    protocol::for_each_election! { prove_each }
}

mod no_two_hold_the_lock_and_no_node_starves {
    protocol::for_each_mutex! { prove_each }
}

#[test]
fn no_two_nodes_act_at_once_whoever_the_election_names() {
    prove("lease");
}

#[test]
fn f4_each_list_is_one_and_no_two_nodes_act_across_a_change_in_every_order_of_events() {
    prove("members");
}

#[test]
fn s1_every_snapshot_of_a_bank_is_taken_and_conserves_the_sum_in_every_order_of_events() {
    prove("snapshot");
}

#[test]
fn t1_a_wave_announces_termination_and_never_early_in_every_order_of_events() {
    prove("wave");
}

#[test]
fn t1_a_tree_announces_termination_and_never_early_in_every_order_of_events() {
    prove("dijkstra-scholten");
}

#[test]
fn two_nodes_keep_every_promise_that_three_keep() {
    prove_all(explore::all(2));
}

#[test]
fn no_node_of_a_line_of_four_waits_for_ever_in_the_tree_although_no_time_passes() {
    let timeless = ["two ask twice", "three ask twice", "cancel and renew", "try"];
    let is_timeless = |search: &Search| search.algorithm == "raymond" && timeless.contains(&search.name);
    let searches: Vec<Search> = explore::all(4).into_iter().filter(is_timeless).collect();
    assert_eq!(searches.len(), timeless.len());
    prove_all(searches);
}

#[test]
fn every_search_has_a_name_of_its_own_and_every_algorithm_a_reboot_of_each_kind() {
    for nodes in 2..=4 {
        let mut names = BTreeSet::new();
        let searches = explore::all(nodes);
        for Search { algorithm, name, .. } in &searches {
            assert!(names.insert((*algorithm, *name)), "{algorithm}, {name}");
        }
        let locks_and_elections = explore::all(4).into_iter().map(|search| search.algorithm);
        for algorithm in locks_and_elections {
            for name in ["reboot", "reboot without records"] {
                assert!(names.contains(&(algorithm, name)), "{algorithm}, {name}, {nodes} nodes");
            }
        }
    }
}

#[test]
fn the_explorer_counts_the_states_that_another_model_checker_counted() {
    let searches = explore::all(3);
    for line in include_str!("../../../crosscheck/counts.txt").lines() {
        let (name, states) = line.split_once(": ").expect("a search and its states");
        let is_named = |search: &&Search| format!("{}, {}", search.algorithm, search.name) == name;
        let search = searches.iter().find(is_named).expect("the search exists");
        assert_eq!(search.run(Limits::NONE).states.to_string(), states, "{name}");
    }
}

#[test]
fn a_search_that_reaches_a_limit_is_not_complete() {
    let search = || explore::all(3).into_iter().find(|search| search.algorithm == "central").expect("it has searches");
    let whole = search().run(Limits::NONE);
    assert!(whole.complete && whole.states > 100, "{whole:?}");
    let shallow = search().run(Limits { depth: 3, ..Limits::NONE });
    assert!(!shallow.complete && shallow.depth == 3 && shallow.states < whole.states, "{shallow:?}");
    let small = search().run(Limits { states: 50, ..Limits::NONE });
    assert!(!small.complete && (50..whole.states).contains(&small.states), "{small:?}");
    let deep = search().run(Limits { depth: whole.depth + 1, ..Limits::NONE });
    assert_eq!((deep.complete, deep.states), (true, whole.states));
}
