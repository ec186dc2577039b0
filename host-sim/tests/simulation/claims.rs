//! The claims, over many seeds. Each scenario states its claims under `[expect]`; a claim that fails is a violation.

use crate::support::{converges, load, passes, seeds};
use host_sim::metrics::seeds::run_seeds_of;
use protocol::registry::AnyMutex;

#[test]
fn a_line_a_grid_and_a_random_graph_elect_their_best_from_a_cold_start() {
    converges(&load("line30-cold-start"), 1_000);
    converges(&load("grid64-cold-start"), seeds(150, 1_000));
    converges(&load("geometric100-cold-start"), seeds(60, 1_000));
}

#[test]
fn a_line_a_grid_and_a_random_graph_replace_a_crashed_leader() {
    converges(&load("line30-leader-crash"), 200);
    converges(&load("grid64-leader-crash"), seeds(50, 200));
    converges(&load("geometric100-leader-crash"), seeds(20, 100));
}

#[test]
fn a_line_a_grid_and_a_random_graph_split_and_merge() {
    converges(&load("line30-split-heal"), 200);
    converges(&load("grid64-split-heal"), seeds(30, 100));
    converges(&load("geometric100-split-heal"), 100);
}

#[test]
fn a_room_larger_than_a_table_has_one_leader() {
    converges(&load("room200"), seeds(2, 50));
}

#[test]
fn with_a_quorum_a_grid_and_a_line_have_one_leader_that_stays() {
    for name in ["quorum-grid16", "quorum-line12", "quorum-line30"] {
        converges(&load(name), seeds(40, 1_000));
    }
    converges(&load("quorum-grid64"), seeds(20, 100));
}

#[test]
fn every_lock_serves_16_members_in_one_range_without_a_pause() {
    // A lock, and how often it is granted in the minute at least.
    let least = [
        ("central", 1_000),
        ("token-ring", 1_200),
        ("raymond", 1_200),
        ("suzuki-kasami", 550),
        ("ricart-agrawala", 110),
        ("maekawa", 130),
        ("lamport", 110),
        ("voting", 100),
    ];
    assert_eq!(least.len(), AnyMutex::NAMES.len());
    for (mutex, grants) in least {
        let report = converges(&load("locks-room16").with_mutex(mutex).unwrap(), seeds(3, 20));
        let granted = report.measures["grants"].p50;
        assert!(granted >= grants, "{mutex}: {granted}");
    }
}

#[test]
fn a_best_node_that_reboots_or_is_cut_off_again_and_again_loses_the_leadership_for_good() {
    for name in ["rebooting-leader", "flapping-leader"] {
        let report = passes(&load(name), seeds(2, 20));
        assert!(report.availability.mean > 98.0, "{name}: {} %", report.availability.mean);
    }
}

#[test]
fn noise_in_the_capacities_changes_the_leader_at_most_once_in_an_hour() {
    let report = converges(&load("capacity-noise"), seeds(1, 2));
    assert!(report.measures["leader_changes"].max <= 1);
}

#[test]
fn moving_nodes_have_a_leader_nearly_all_the_time() {
    // Agreement comes and goes: properties of a settled network are not checked here.
    let report = run_seeds_of(&load("geometric100-mobility"), 0..1, || {});
    assert!(report.availability.min >= 99.0, "{} %", report.availability.min);
}

#[test]
fn every_hard_case_ends_with_one_leader_known_to_all() {
    let names = [
        "attack-flood",
        "attack-insider",
        "attack-locks",
        "attack-radio",
        "bad-weather",
        "hidden-terminals",
        "lan20-leader-crash",
        "leader-churn",
        "one-way-links",
        "paused-leader",
        "restart-blank",
        "simultaneous-boot",
        "torn-records",
        "unfit-leader",
    ];
    for name in names {
        let report = passes(&load(name), seeds(15, 50));
        assert_eq!(report.converged, report.seeds, "{name}");
    }
}

#[test]
fn one_election_costs_a_flood_each_way_and_a_reply_per_node() {
    for name in ["cost-grid64", "cost-line30", "cost-geometric100"] {
        let report = converges(&load(name), 20);
        let nodes = f64::from(report.nodes);
        for (kind, count) in [("election", nodes), ("leader", nodes), ("report", nodes - 1.0)] {
            let sent = report.frames[kind];
            assert!((sent - count).abs() < 0.001, "{name}: {sent} frames of kind {kind}, not {count}");
        }
        let stretch = report.measures["stretch_per_mille"].max;
        assert!(stretch <= 1_500, "{name}: {stretch} thousandths of three floods over the depth");
    }
}

#[test]
fn the_flat_election_elects_the_best_too_at_a_higher_price() {
    let (flat, diffusing) = (converges(&load("cost-grid64-flat"), 5), converges(&load("cost-grid64"), 5));
    assert!(flat.frames["answer"] > 2.0 * diffusing.frames["report"], "{:?}", flat.frames);
}

#[test]
fn f4_the_group_changes_while_it_runs_and_no_two_leaders_act() {
    converges(&load("group-change"), seeds(20, 100));
    passes(&load("group-storm"), seeds(60, 2_000));
}
