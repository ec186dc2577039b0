//! `conclave compare mutexes`: what locks cost, beside the textbooks' formulas. A test is named after the row it shows.

use host_sim::compare::Comparison;
use host_sim::compare::mutexes::{Case, MutexRow, SIZES, compare, runs};
use host_sim::peer::MUTEXES;
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The comparison all tests here look at.
fn comparison() -> &'static Comparison<MutexRow> {
    static COMPARISON: OnceLock<Comparison<MutexRow>> = OnceLock::new();
    COMPARISON.get_or_init(|| compare(&SIZES, || {}))
}

fn row(algorithm: &str, nodes: u32, case: Case) -> &'static MutexRow {
    let found = comparison().rows.iter().find(|row| (row.algorithm, row.nodes, row.case) == (algorithm, nodes, case));
    found.unwrap_or_else(|| panic!("no row for {algorithm}, {nodes} nodes, {}", case.name()))
}

/// One entry and exit takes exactly this many messages, alone and contended, and that is what the formula says.
fn takes(algorithm: &str, messages: impl Fn(u32) -> u32) {
    for nodes in SIZES {
        for case in [Case::Uncontended, Case::Contended] {
            let row = row(algorithm, nodes, case);
            assert_eq!(row.messages.to_string(), messages(nodes).to_string(), "{row:?}");
            assert_eq!(row.formula, Some(row.messages), "{row:?}");
        }
    }
}

/// How many message times it takes to get the lock when nobody else wants it, and to hand it over when somebody does.
fn delays(algorithm: &str, alone: &str, handover: &str) {
    for nodes in SIZES {
        assert_eq!(
            row(algorithm, nodes, Case::Uncontended).delay_hops.to_string(),
            alone,
            "{algorithm}, {nodes} nodes"
        );
        let contended = row(algorithm, nodes, Case::Contended);
        let hops = contended.sync_delay_hops.map(|hops| hops.to_string());
        assert_eq!(hops.as_deref(), Some(handover), "{contended:?}");
    }
}

fn conclave(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_conclave")).arg("compare").args(arguments).output().unwrap()
}

#[test]
fn mc3_the_central_lock_takes_three_messages() {
    takes("central", |_| 3);
    delays("central", "2", "2");
}

#[test]
fn ml4_the_lock_of_lamport_takes_three_messages_with_each_other_node() {
    takes("lamport", |n| 3 * (n - 1));
    delays("lamport", "2", "1");
}

#[test]
fn mr5_the_lock_of_ricart_and_agrawala_takes_two_messages_with_each_other_node() {
    takes("ricart-agrawala", |n| 2 * (n - 1));
    delays("ricart-agrawala", "2", "1");
}

#[test]
fn mk5_the_lock_of_maekawa_takes_three_to_six_messages_with_each_other_of_its_set() {
    for nodes in SIZES {
        let (alone, contended) = (row("maekawa", nodes, Case::Uncontended), row("maekawa", nodes, Case::Contended));
        let set = alone.said["request"].get() + 1.0;
        assert!(set < f64::from(nodes), "a set is not everybody: {alone:?}");
        assert!((alone.messages.get() - 3.0 * (set - 1.0)).abs() < 0.02, "{alone:?}");
        assert!(contended.messages.get() <= 6.0 * (set - 1.0), "{contended:?}");
        assert_eq!(alone.delay_hops.to_string(), "2", "{alone:?}");
    }
}

#[test]
fn md1_a_vote_takes_three_messages_with_each_other_node() {
    for nodes in SIZES {
        let row = row("voting", nodes, Case::Uncontended);
        assert_eq!(row.messages.to_string(), (3 * (nodes - 1)).to_string(), "{row:?}");
        assert_eq!(row.formula, Some(row.messages), "{row:?}");
    }
}

#[test]
fn mt3_the_token_of_a_ring_takes_one_message_or_more() {
    for nodes in SIZES {
        let contended = row("token-ring", nodes, Case::Contended);
        assert!(contended.messages.get() >= 1.0 && contended.formula.is_none(), "{contended:?}");
        assert_eq!(contended.sync_delay_hops.map(|hops| hops.get() < 2.0), Some(true), "{contended:?}");
    }
}

#[test]
fn m1_nobody_shares_a_lock_or_waits_for_ever_whoever_crashes() {
    for row in &comparison().rows {
        assert!(row.violations == 0 && row.entries > 0, "{row:?}");
    }
    assert!(comparison().holds());
    assert_eq!(comparison().rows.len(), SIZES.len() * MUTEXES.len() * Case::ALL.len());
}

#[test]
fn mc6_after_a_holders_crash_the_next_waits_for_the_lease_and_two_round_trips() {
    for nodes in SIZES {
        // A lease is a second, which the one that granted it counts three percent longer; a round trip is two
        // milliseconds; and everybody else may come first, for twenty milliseconds and a handover each.
        let most = 1_030_000 + 4_000 + u64::from(nodes) * 25_000;
        let row = row("central", nodes, Case::HolderCrash);
        assert!(row.max_wait <= most, "{row:?}");
    }
}

#[test]
fn every_trial_is_a_step_of_the_progress_bar() {
    let made = AtomicUsize::new(0);
    let _ = compare(&[2], || _ = made.fetch_add(1, Ordering::Relaxed));
    assert_eq!(made.into_inner(), runs(&[2]));
}

#[test]
fn json_is_one_object_with_a_row_for_each_lock_and_case() {
    let output = conclave(&["mutexes", "--nodes", "4", "--json"]);
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
    let object: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = object["rows"].as_array().unwrap();
    assert_eq!((object.as_object().unwrap().len(), rows.len()), (1, MUTEXES.len() * Case::ALL.len()));
    for row in rows {
        for key in ["messages", "delay_hops", "receipts", "courtesies"] {
            assert!(row[key].is_number(), "{key} in {row}");
        }
        assert!(row["max_wait"].is_u64() && row["violations"] == 0 && row["nodes"] == 4, "{row}");
        assert!(MUTEXES.contains(&row["algorithm"].as_str().unwrap()), "{row}");
        assert!(Case::ALL.iter().any(|case| row["case"] == case.name()), "{row}");
        assert!(
            row.as_object().unwrap().contains_key("formula")
                && row.as_object().unwrap().contains_key("sync_delay_hops")
        );
    }
    let central = rows.iter().find(|row| row["algorithm"] == "central" && row["case"] == "contended").unwrap();
    assert_eq!((central["messages"].as_u64(), central["formula"].as_u64()), (Some(3), Some(3)), "whole numbers");
}

#[test]
fn a_number_of_nodes_that_no_lock_works_with_is_one_sentence_and_exit_code_2() {
    for nodes in ["1", "17", "5000000000"] {
        let output = conclave(&["mutexes", "--nodes", nodes]);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{nodes}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(said, format!("--nodes must be from 2 to 16, which {nodes} is not.\n"));
    }
}
