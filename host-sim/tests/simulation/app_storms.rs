//! Snapshots, termination detection and the shared clock over many seeds, checked by omniscient observers.

use crate::support::{finds, load, passes, seeds, survives};
use host_sim::base::rng::Probability;
use host_sim::metrics::run::run_of;
use host_sim::metrics::seeds::run_seeds_of;
use host_sim::trace::{AppEvent, EventKind};
use host_sim::{Scenario, TraceEvent};
use rayon::prelude::*;

pub(crate) fn storm_seeds() -> u64 {
    seeds(60, 200)
}

#[test]
fn s1_s3_concurrent_snapshots_find_every_token_despite_loss_duplicates_and_reordering() {
    let report = passes(&load("snapshot-tokens"), seeds(150, 2_000));
    assert!(report.measures["snapshots"].p50 >= 20, "{:?}", report.measures);
}

#[test]
fn tokens_are_conserved_though_members_are_suspected_falsely_at_any_loss() {
    let lossy = |loss: u32| {
        let text = include_str!("../../scenarios/snapshot-tokens.toml");
        let text = text.replacen(
            "probability = \"10%\"\nfor = \"11s\"",
            &format!("probability = \"{loss}%\"\nfor = \"11s\""),
            1,
        );
        // Snapshots are taken once the loss is over: while members are suspected, they are aborted.
        let text = text.replace("\"12s\"", "\"20s\"").replace("snapshots = 10", "snapshots = 1");
        Scenario::parse("lossy.toml", &text, &[]).unwrap()
    };
    for loss in [30, 50, 70, 90] {
        let report = passes(&lossy(loss), seeds(30, 500));
        assert!(report.measures["snapshots_aborted"].p50 > 0, "members are suspected: {:?}", report.measures);
    }
}

#[test]
fn s2_a_snapshot_in_a_storm_is_aborted_for_a_reason_or_consistent() {
    let report = survives(&load("snapshot-storm"), storm_seeds());
    assert!(report.measures["snapshots_aborted"].p50 > 0, "the storm aborts some: {:?}", report.measures);
    assert!(report.measures["snapshots"].p50 > 10, "and others complete: {:?}", report.measures);
}

#[test]
fn s1_a_link_without_fifo_order_is_found() {
    let mut reordering = load("snapshot-tokens");
    reordering.world.app.as_mut().unwrap().reordering = Probability::new(0.05);
    let report = run_seeds_of(&reordering, 0..20, || {});
    assert!(finds(&report, "sum-conserved"), "{:?}", report.violations);
    assert!(finds(&report, "consistent-cuts"), "{:?}", report.violations);
}

#[test]
fn t1_t2_waves_detect_the_end_of_a_job_never_early_and_by_the_second_after_it() {
    let report = passes(&load("termination-diffusing"), seeds(300, 2_000));
    assert!(report.measures["waves_after_end"].max <= 2, "{:?}", report.measures);
}

#[test]
fn t1_dijkstra_scholten_detects_the_end_of_a_job_never_early() {
    let scenario = load("termination-diffusing").with_detection("dijkstra-scholten").unwrap();
    let report = passes(&scenario, seeds(400, 2_000));
    let detected = report.measures["terminations"];
    assert!(detected.p50 == 1 && detected.max == 1, "most detect it, and none twice: {:?}", report.measures);
}

#[test]
fn t3_every_node_is_notified_of_the_end_despite_crashes_and_partitions() {
    let scenario = load("termination-storm");
    survives(&scenario, storm_seeds());
    (0..seeds(20, 50)).into_par_iter().for_each(|seed| {
        let mut notified = vec![false; scenario.world.nodes as usize];
        run_of(&scenario, seed, &mut |event: &TraceEvent| {
            if let (EventKind::App { event: AppEvent::Terminated { .. } }, Some(node)) = (event.kind, event.node) {
                notified[node as usize] = true;
            }
        });
        assert!(notified.iter().all(|&notified| notified), "seed {seed}: {notified:?}");
    });
}

#[test]
fn t1_dijkstra_scholten_detects_no_early_end_in_a_storm_either() {
    let mut scenario = load("termination-storm").with_detection("dijkstra-scholten").unwrap();
    scenario.expect.terminations = None; // if the root crashes, the end cannot be detected
    let report = survives(&scenario, storm_seeds());
    assert!(report.measures["undetectable"].max > 0, "{:?}", report.measures);
}

#[test]
fn e2_a_storm_leaves_one_order() {
    let report = passes(&load("sequencer-storm"), seeds(20, 2_000));
    assert!(report.measures["ordered"].p50 > 500, "{:?}", report.measures);
    assert!(report.measures["failover_us"].count > 0, "leaders crash: {:?}", report.measures);
}

#[test]
fn e1_a_storm_leaves_no_transaction_committed_by_some_and_aborted_by_others() {
    let report = passes(&load("commit-storm"), seeds(20, 2_000));
    let measures = &report.measures;
    assert!(measures["committed"].p50 > 100 && measures["aborted"].p50 > 5, "{measures:?}");
    assert!(measures["blocked_us"].count > 0, "coordinators crash before they tell: {measures:?}");
    assert_eq!(measures["blocked_at_end"].max, 0, "and everybody finds out: {measures:?}");
}

#[test]
fn e11_an_appointed_leader_leads_until_it_is_released_or_fails() {
    passes(&load("appointed-leader"), seeds(5, 200));
    let text = include_str!("../../scenarios/appointed-leader.toml").replace("\"bully\"", "\"wireless\"");
    passes(&Scenario::parse("appointed-wireless.toml", &text, &[]).unwrap(), seeds(5, 200));
}

#[test]
fn clocks_of_thirty_two_nodes_stay_together_over_the_crash_of_their_leader() {
    let report = passes(&load("berkeley-clock"), seeds(2, 20));
    assert!(report.measures["failover_us"].count > 0, "the leader crashes: {:?}", report.measures);
    assert!(report.measures["clock_skew_us"].count > 100, "and clocks are compared: {:?}", report.measures);
}
