//! The claims, over many seeds. Each scenario says what it claims under `[expect]`; a broken claim is a violation.
//!
//! Percentiles need seeds: the p99.9 of a cold start is judged over a thousand, the p99 of the rest over a hundred.

use host_sim::Scenario;
use host_sim::campaign::{Report, campaign_of};
use std::path::Path;

fn load(name: &str) -> Scenario {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios").join(format!("{name}.toml"));
    Scenario::load(&path).unwrap()
}

fn run(name: &str, seeds: u64) -> Report {
    campaign_of(&load(name), 0..seeds, || {})
}

/// Every run ends with one leader known to all, and nothing is violated.
fn ends_well(name: &str, seeds: u64) -> Report {
    let report = run(name, seeds);
    assert_eq!(report.violations.iter().map(|violation| &violation.text).collect::<Vec<_>>(), [""; 0], "{name}");
    assert_eq!(report.converged, report.seeds, "{name}");
    report
}

/// And the leader is the true best, every time.
fn holds(name: &str, seeds: u64) -> Report {
    let report = ends_well(name, seeds);
    assert_eq!(report.leader_is_best, report.seeds, "{name}");
    report
}

#[test]
fn a_grid_of_64_elects_its_best_from_a_cold_start() {
    holds("grid64-cold-start", 1_000);
}

#[test]
fn a_grid_of_64_replaces_a_crashed_leader() {
    holds("grid64-leader-crash", 200);
}

#[test]
fn a_grid_of_64_splits_and_heals() {
    holds("grid64-split-heal", 100);
}

#[test]
fn a_hundred_scattered_nodes_elect_their_best_from_a_cold_start() {
    holds("geometric100-cold-start", 1_000);
}

#[test]
fn a_hundred_scattered_nodes_replace_a_crashed_leader() {
    holds("geometric100-leader-crash", 100);
}

#[test]
fn a_hundred_scattered_nodes_split_and_heal() {
    holds("geometric100-split-heal", 100);
}

#[test]
fn a_line_of_30_elects_its_best_from_a_cold_start() {
    holds("line30-cold-start", 1_000);
}

#[test]
fn a_line_of_30_replaces_a_crashed_leader() {
    holds("line30-leader-crash", 200);
}

#[test]
fn a_line_of_30_splits_and_heals() {
    holds("line30-split-heal", 200);
}

#[test]
fn noise_in_the_capacities_changes_no_leader_in_an_hour() {
    let report = holds("capacity-noise", 2);
    assert_eq!(report.measures["leader_changes"].max, 0);
}

#[test]
fn nodes_that_walk_about_have_a_leader_nearly_all_the_time() {
    let report = run("geometric100-mobility", 1);
    assert!(report.availability.min >= 995.0, "{} per mille", report.availability.min);
}

#[test]
fn the_hard_cases_all_end_well() {
    let names = [
        "bad-weather",
        "hidden-terminals",
        "lan20-leader-crash",
        "leader-churn",
        "one-way-links",
        "paused-leader",
        "restart-blank",
        "simultaneous-boot",
        "unfit-leader",
    ];
    for name in names {
        ends_well(name, 50);
    }
}

#[test]
fn one_election_costs_a_flood_each_way_and_a_report_per_node() {
    for name in ["cost-grid64", "cost-line30", "cost-geometric100"] {
        let report = holds(name, 20);
        let nodes = f64::from(report.nodes);
        for (kind, count) in [("election", nodes), ("leader", nodes), ("ack", nodes - 1.0)] {
            let sent = report.frames[kind];
            assert!((sent - count).abs() < 0.001, "{name}: {sent} frames of kind {kind}, not {count}");
        }
        let stretch = report.measures["stretch_per_mille"].max;
        assert!(stretch <= 1_500, "{name}: {stretch} thousandths of three traversals of the depth");
    }
}

#[test]
fn the_flat_election_elects_the_best_too_at_a_higher_price() {
    let (flat, diffusing) = (holds("cost-grid64-flat", 5), holds("cost-grid64", 5));
    assert!(flat.frames["answer"] > 2.0 * diffusing.frames["ack"], "{:?}", flat.frames);
}
