//! Snapshots, the end of a job and the shared clock, over many seeds, with somebody looking on who sees all nodes at once.
//! `CONCLAVE_SEEDS` makes the campaigns longer, or shorter.

use host_sim::Scenario;
use host_sim::campaign::{Report, campaign_of};
use host_sim::random::Chance;
use host_sim::run::run_of;
use rayon::prelude::*;
use std::path::Path;

fn load(name: &str) -> Scenario {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios").join(format!("{name}.toml"));
    Scenario::load(&path).unwrap()
}

/// So many seeds, or as many as are asked for.
fn seeds(usual: u64) -> u64 {
    std::env::var("CONCLAVE_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(usual)
}

fn goes_well(scenario: &Scenario, seeds: u64) -> Report {
    let report = campaign_of(scenario, 0..seeds, || {});
    let violations: Vec<_> = report.violations.iter().map(|violation| (violation.seed, &violation.text)).collect();
    assert_eq!(violations, [], "{}", scenario.name);
    report
}

fn found(report: &Report, checker: &str) -> bool {
    report.violations.iter().any(|violation| violation.checker == checker)
}

#[test]
fn s1_s3_snapshots_at_one_time_find_every_token_through_loss_echoes_and_overtaking() {
    let report = goes_well(&load("snapshot-tokens"), seeds(2_000));
    assert!(report.measures["snapshots"].p50 >= 20, "{:?}", report.measures);
}

#[test]
fn s2_a_snapshot_in_a_storm_is_given_up_for_a_reason_or_could_have_been() {
    let report = goes_well(&load("snapshot-storm"), seeds(200));
    assert!(report.measures["snapshots_aborted"].p50 > 0, "the storm brings some down: {:?}", report.measures);
    assert!(report.measures["snapshots"].p50 > 10, "and leaves some: {:?}", report.measures);
}

#[test]
fn s1_a_link_that_does_not_keep_order_is_found_out() {
    let mut careless = load("snapshot-tokens");
    careless.app.as_mut().unwrap().overtaking = Chance::new(0.05);
    let report = campaign_of(&careless, 0..20, || {});
    assert!(found(&report, "sum-conserved"), "{:?}", report.violations);
    assert!(found(&report, "consistent-cuts"), "{:?}", report.violations);
}

#[test]
fn t1_t2_waves_find_the_end_of_a_job_never_early_and_by_the_second_after_it() {
    let report = goes_well(&load("termination-diffusing"), seeds(2_000));
    assert!(report.measures["waves_after_end"].max <= 2, "{:?}", report.measures);
}

#[test]
fn t1_acknowledgements_find_the_end_of_a_job_never_early() {
    let scenario = load("termination-diffusing").with_detection("dijkstra-scholten").unwrap();
    let report = goes_well(&scenario, seeds(2_000));
    let found = report.measures["ends"];
    assert!(found.p50 == 1 && found.max == 1, "most find it, and nobody twice: {:?}", report.measures);
}

#[test]
fn t3_every_node_is_told_of_the_end_through_crashes_and_cuts() {
    use host_sim::TraceEvent;
    use host_sim::trace::{Act, What};
    let scenario = load("termination-storm");
    goes_well(&scenario, seeds(200));
    (0..50_u64).into_par_iter().for_each(|seed| {
        let mut told = vec![false; scenario.nodes as usize];
        run_of(&scenario, seed, &mut |event: &TraceEvent| {
            if let (What::App { act: Act::Over { .. } }, Some(node)) = (event.what, event.node) {
                told[node as usize] = true;
            }
        });
        assert!(told.iter().all(|&told| told), "seed {seed}: {told:?}");
    });
}

#[test]
fn t1_acknowledgements_find_no_early_end_in_a_storm_either() {
    let mut scenario = load("termination-storm").with_detection("dijkstra-scholten").unwrap();
    scenario.expect.ends = None; // where the job's first node crashes, nobody ever knows
    let report = goes_well(&scenario, seeds(200));
    assert!(report.measures["unknowable"].p50 > 0, "{:?}", report.measures);
}

#[test]
fn clocks_of_thirty_two_nodes_stay_together_over_the_crash_of_their_leader() {
    let report = goes_well(&load("berkeley-clock"), seeds(20));
    assert!(report.measures["failover_us"].count > 0, "the leader crashes: {:?}", report.measures);
    assert!(report.measures["clocks_apart_us"].count > 1_000, "and clocks are compared: {:?}", report.measures);
}
