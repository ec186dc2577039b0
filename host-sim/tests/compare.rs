//! `conclave compare`: what elections cost, beside the textbooks' formulas. A test is named after the row it shows.

use host_sim::compare::Comparison;
use host_sim::compare::elections::{Case, ElectionRow, algorithms, compare, runs};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

const SIZES: [u32; 3] = [4, 8, 16];

const CALM: [Case; 3] = [Case::Best, Case::Average, Case::Worst];

/// The comparison all tests here look at.
fn comparison() -> &'static Comparison<ElectionRow> {
    static COMPARISON: OnceLock<Comparison<ElectionRow>> = OnceLock::new();
    COMPARISON.get_or_init(|| compare(&SIZES, || {}))
}

fn row(algorithm: &str, nodes: u32, case: Case) -> &'static ElectionRow {
    let found = comparison().rows.iter().find(|row| (row.algorithm, row.nodes, row.case) == (algorithm, nodes, case));
    found.unwrap_or_else(|| panic!("no row for {algorithm}, {nodes} nodes, {}", case.name()))
}

/// The election takes exactly this many messages, and that is what the formula in its row says.
fn takes(algorithm: &str, case: Case, messages: impl Fn(u32) -> u32) {
    for nodes in SIZES {
        let row = row(algorithm, nodes, case);
        let expected = f64::from(messages(nodes));
        assert_eq!(row.messages.get().to_string(), expected.to_string(), "{row:?}");
        assert_eq!(row.formula, Some(row.messages), "{row:?}");
    }
}

fn conclave(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_conclave")).arg("compare").args(arguments).output().unwrap()
}

#[test]
fn b14_the_bully_elected_by_the_second_best_asks_the_dead_one_and_tells_the_others() {
    takes("bully", Case::Best, |n| n - 1);
}

#[test]
fn b15_x4_the_bully_elected_by_the_worst_takes_n_squared_less_n_less_one() {
    takes("bully", Case::Worst, |n| n * n - n - 1);
    let counts = SIZES.map(|nodes| row("bully", nodes, Case::Worst).messages.to_string());
    assert_eq!(counts, ["11", "55", "239"]);
}

#[test]
fn b15_the_bully_elected_by_any_takes_the_mean_over_all_starters() {
    for nodes in SIZES {
        let row = row("bully", nodes, Case::Average);
        let n = f64::from(nodes);
        let mean = n * (2.0 * n - 1.0) / 6.0 + n - 2.0;
        assert!((row.messages.get() - mean).abs() < 0.01, "{row:?}");
        assert_eq!((row.formula, row.runs), (Some(row.messages), nodes as usize - 1));
    }
}

#[test]
fn r8_x3_the_ring_takes_two_rounds_whoever_starts() {
    for case in CALM {
        takes("ring", case, |n| 2 * n);
    }
}

#[test]
fn c7_chang_and_roberts_take_three_rounds_less_one_at_worst() {
    takes("chang-roberts", Case::Worst, |n| 3 * n - 1);
}

#[test]
fn c7_chang_and_roberts_take_two_rounds_at_best() {
    takes("chang-roberts", Case::Best, |n| 2 * n);
}

#[test]
fn c9_chang_and_roberts_pass_n_times_the_harmonic_number_on_over_a_thousand_random_rings() {
    for nodes in SIZES {
        let row = row("chang-roberts", nodes, Case::Average);
        let passes = f64::from(nodes) * (1..=nodes).map(|k| 1.0 / f64::from(k)).sum::<f64>();
        assert_eq!(row.runs, 1_000);
        assert!((row.messages.get() / passes - 1.0).abs() < 0.02, "{row:?}");
        assert!((row.formula.unwrap().get() - passes).abs() < 0.01, "{row:?}");
        assert_eq!(row.said["elected"].to_string(), nodes.to_string(), "telling the result is counted apart");
    }
}

#[test]
fn l2_le_lann_takes_n_squared_whoever_starts() {
    for case in CALM {
        takes("lelann", case, |n| n * n);
    }
}

#[test]
fn w2_w3_a_wireless_election_floods_twice_and_reports_once_for_each_node() {
    for algorithm in ["wireless", "wireless-flat"] {
        for case in CALM {
            takes(algorithm, case, |n| 3 * n - 1);
        }
    }
}

#[test]
fn e6_the_best_that_is_up_leads_with_loss_and_after_a_crash_too() {
    for row in &comparison().rows {
        assert!(row.elected_best && row.time_us.is_some(), "{row:?}");
    }
    assert!(comparison().holds());
    assert_eq!(comparison().rows.len(), SIZES.len() * algorithms().len() * Case::ALL.len());
}

#[test]
fn b15_x2_under_loss_messages_are_sent_again_and_that_counts_apart() {
    for algorithm in ["bully", "ring", "chang-roberts", "lelann"] {
        let (calm, lossy) = (row(algorithm, 16, Case::Worst), row(algorithm, 16, Case::Loss));
        assert!(lossy.resends > calm.resends && lossy.frames > calm.frames, "{calm:?} {lossy:?}");
    }
}

#[test]
fn every_election_held_is_a_step_of_the_progress_bar() {
    let held = AtomicUsize::new(0);
    let _ = compare(&[2], || _ = held.fetch_add(1, Ordering::Relaxed));
    assert_eq!(held.into_inner(), runs(&[2]));
}

#[test]
fn json_is_one_object_with_a_row_for_each_election_and_case() {
    let output = conclave(&["elections", "--nodes", "4", "--json"]);
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
    let object: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = object["rows"].as_array().unwrap();
    assert_eq!((object.as_object().unwrap().len(), rows.len()), (1, algorithms().len() * Case::ALL.len()));
    for row in rows {
        for key in ["messages", "formula", "bytes", "receipts", "beats", "resends", "hellos"] {
            assert!(row[key].is_number(), "{key} in {row}");
        }
        assert!(row["time_us"].is_u64() && row["elected_best"] == true && row["nodes"] == 4, "{row}");
        assert!(algorithms().contains(&row["algorithm"].as_str().unwrap()), "{row}");
        assert!(Case::ALL.iter().any(|case| row["case"] == case.name()), "{row}");
    }
    let worst = rows.iter().find(|row| row["algorithm"] == "bully" && row["case"] == "worst").unwrap();
    assert_eq!((worst["messages"].as_u64(), worst["formula"].as_u64()), (Some(11), Some(11)), "whole numbers");
}

#[test]
fn the_table_in_a_pipe_has_no_colours_and_no_progress() {
    let output = conclave(&["elections", "--nodes", "3"]);
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.starts_with("algorithm") && !table.contains('\u{1b}'), "{table}");
    assert!(algorithms().iter().all(|name| table.contains(name)), "{table}");
}

#[test]
fn a_number_of_nodes_that_makes_no_group_is_one_sentence_and_exit_code_2() {
    for nodes in ["0", "1", "65", "5000000000"] {
        let output = conclave(&["elections", "--nodes", nodes]);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{nodes}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(said, format!("--nodes must be from 2 to 64, which {nodes} is not.\n"));
    }
}
