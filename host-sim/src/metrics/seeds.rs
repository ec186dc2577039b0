//! Campaigns: a scenario over many seeds, on all cores. The report does not depend on the number of cores.

use crate::check::convergence::LeaderTime;
use crate::metrics::distribution::Distribution;
use crate::metrics::expectations;
use crate::metrics::frames::SteadyReport;
use crate::metrics::run::{Outcome, run, run_of};
use crate::nodes::ScenarioNode;
use crate::scenario::Scenario;
use rayon::prelude::*;
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::Range;

/// The report on a scenario over many seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The scenario's name.
    pub scenario: String,
    /// What it shows, in a sentence.
    pub about: String,
    /// Its claims, in words.
    pub claims: Vec<String>,
    /// The number of seeds.
    pub seeds: usize,
    /// The number of nodes.
    pub nodes: u32,
    /// How many runs ended with one leader per component, known to all its nodes.
    pub converged: usize,
    /// How many runs ended with the best node of every component leading it.
    pub leader_is_best: usize,
    /// The distributions of the measured values, over all seeds.
    pub measures: BTreeMap<&'static str, Distribution>,
    /// How much of their time nodes had a leader.
    pub availability: Availability,
    /// Frames that a node sends in a minute while the network is calm, if it ever was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steady_frames_per_node_minute: Option<SteadyReport>,
    /// Frames sent, by kind: means per seed.
    pub frames: BTreeMap<&'static str, f64>,
    /// Bytes sent, by kind: means per seed.
    pub bytes: BTreeMap<&'static str, f64>,
    /// The mean time from queueing a frame of each kind to its end on the air, in microseconds.
    pub hop_us: BTreeMap<&'static str, f64>,
    /// Frames on the medium: means per seed.
    pub medium: MediumReport,
    /// The hash of the trace, if one seed ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_hash: Option<String>,
    /// The properties and expectations that did not hold.
    pub violations: Vec<Violation>,
}

/// How much of their time nodes had a leader, in percent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Availability {
    /// The mean over all nodes of the time they followed a node that was up.
    pub mean: f64,
    /// The same of the worst node.
    pub min: f64,
    /// The mean over all nodes of the time they followed a node that was up and could be reached.
    pub(crate) reached_mean: f64,
    /// The same of the worst node.
    pub(crate) reached_min: f64,
}

/// Frames on the medium: means per seed, once per receiver or per frame dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct MediumReport {
    /// Received.
    pub received: f64,
    /// Destroyed by a collision.
    pub collided: f64,
    /// Lost to distance, loss or noise.
    pub lost: f64,
    /// Dropped because the queue was full.
    pub queue_full: f64,
    /// Dropped because the medium stayed busy.
    pub medium_busy: f64,
}

/// A property that did not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// The run's seed.
    pub seed: u64,
    /// When, in microseconds.
    pub time: u64,
    /// The checker's name.
    pub checker: &'static str,
    /// The violation in words.
    pub text: String,
    /// The command that replays the run.
    pub command: String,
}

/// Runs a scenario over `seeds` with the type of node it needs; calls `progress` after each run.
pub fn run_seeds_of(scenario: &Scenario, seeds: Range<u64>, progress: impl Fn() + Sync) -> Report {
    each_seed(scenario, seeds, progress, |seed| run_of(scenario, seed, &mut ()))
}

/// Runs a scenario with each of `seeds`, on all cores; calls `progress` after each run.
pub fn outcomes_of(scenario: &Scenario, seeds: Vec<u64>, progress: impl Fn() + Sync) -> Vec<Outcome> {
    seeds.into_par_iter().map(|seed| run_of(scenario, seed, &mut ())).inspect(|_| progress()).collect()
}

/// Runs a scenario over `seeds` with nodes of type `M`; calls `progress` after each run.
pub fn run_seeds<M: ScenarioNode>(scenario: &Scenario, seeds: Range<u64>, progress: impl Fn() + Sync) -> Report {
    each_seed(scenario, seeds, progress, |seed| run::<M>(scenario, seed, &mut ()))
}

fn each_seed(
    scenario: &Scenario,
    seeds: Range<u64>,
    progress: impl Fn() + Sync,
    run: impl Fn(u64) -> Outcome + Sync,
) -> Report {
    let outcomes = seeds.into_par_iter().map(&run).inspect(|_| progress());
    report(scenario, &outcomes.collect::<Vec<_>>())
}

/// Returns the report on runs of a scenario, in the order of their seeds.
#[must_use]
pub fn report(scenario: &Scenario, outcomes: &[Outcome]) -> Report {
    let seeds = outcomes.len();
    let mean = |sum: u64| (sum as f64 * 100.0 / seeds.max(1) as f64).round() / 100.0;
    let mut values: BTreeMap<&'static str, Vec<u64>> = BTreeMap::new();
    values.insert("time_to_leader_us", Vec::new());
    let mut kinds: BTreeMap<&'static str, (u64, u64, u64)> = BTreeMap::new();
    for outcome in outcomes {
        for &(name, value) in &outcome.samples {
            values.entry(name).or_default().push(value);
        }
        for (kind, count) in outcome.frames.kinds() {
            let sum = kinds.entry(kind).or_default();
            *sum = (sum.0 + count.frames, sum.1 + count.bytes, sum.2 + count.micros);
        }
    }
    let total = |of: fn(&Outcome) -> u64| mean(outcomes.iter().map(of).sum());
    Report {
        scenario: scenario.name.clone(),
        about: scenario.about.clone(),
        claims: scenario.expect.claims(),
        seeds,
        nodes: scenario.world.nodes,
        converged: outcomes.iter().filter(|outcome| outcome.converged).count(),
        leader_is_best: outcomes.iter().filter(|outcome| outcome.leader_is_best).count(),
        measures: values.into_iter().map(|(name, values)| (name, Distribution::of(values))).collect(),
        availability: availability(outcomes),
        steady_frames_per_node_minute: SteadyReport::of(
            &outcomes.iter().map(|outcome| outcome.steady).collect::<Vec<_>>(),
        ),
        frames: kinds.iter().map(|(&kind, sum)| (kind, mean(sum.0))).collect(),
        bytes: kinds.iter().map(|(&kind, sum)| (kind, mean(sum.1))).collect(),
        hop_us: kinds.iter().map(|(&kind, sum)| (kind, (sum.2 as f64 / sum.0 as f64).round())).collect(),
        medium: MediumReport {
            received: total(|outcome| outcome.frames.received),
            collided: total(|outcome| outcome.frames.collided),
            lost: total(|outcome| outcome.frames.lost),
            queue_full: total(|outcome| outcome.frames.queue_full),
            medium_busy: total(|outcome| outcome.frames.medium_busy),
        },
        trace_hash: match outcomes {
            [one] => Some(format!("{:016x}", one.hash)),
            _ => None, // one hash cannot stand for many runs
        },
        violations: violations(scenario, outcomes),
    }
}

/// Returns what the checkers found, then the expectations that were not met.
fn violations(scenario: &Scenario, outcomes: &[Outcome]) -> Vec<Violation> {
    let violation = |seed, time, checker, text| {
        let command = format!("conclave run {}{} --seed {seed}", scenario.file, scenario.overrides);
        Violation { seed, time, checker, text, command }
    };
    let findings = outcomes.iter().flat_map(|outcome| outcome.findings.iter().map(|finding| (outcome.seed, finding)));
    let found = findings.map(|(seed, finding)| violation(seed, finding.at, finding.checker, finding.text.clone()));
    let unmet = expectations::unmet(&scenario.expect, outcomes).into_iter();
    let flooded = scenario.expect.calm_frames.and_then(|most| expectations::flooded(most, outcomes));
    let flooded = flooded.map(|(seed, text)| violation(seed, 0, "frames-bounded", text));
    found.chain(unmet.map(|(seed, text)| violation(seed, 0, "expect", text))).chain(flooded).collect()
}

pub(super) fn availability(outcomes: &[Outcome]) -> Availability {
    let percent = |part: u64, whole: u64| (part as f64 * 10_000.0 / whole.max(1) as f64).round() / 100.0;
    let times = || outcomes.iter().flat_map(|outcome| &outcome.leader_times).filter(|time| time.up > 0);
    let sum = |of: fn(&LeaderTime) -> u64| times().map(of).sum::<u64>();
    let min = |of: fn(&LeaderTime) -> u64| times().map(|time| percent(of(time), time.up)).fold(100.0, f64::min);
    let up = sum(|time| time.up);
    Availability {
        mean: percent(sum(|time| time.led), up),
        min: min(|time| time.led),
        reached_mean: percent(sum(|time| time.reached), up),
        reached_min: min(|time| time.reached),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nodes::toy_node::ToyNode;

    fn report_of(rest: &str, seeds: Range<u64>) -> Report {
        let head = "name = \"test\"\nnodes = 12\nduration = \"3s\"\nsettle_time = \"1s\"\n";
        let radio = "[topology]\nshape = \"geometric\"\n[medium]\nloss = \"10%\"\n";
        let scenario = Scenario::parse("test.toml", &format!("{head}{radio}{rest}"), &[]).unwrap();
        run_seeds::<ToyNode>(&scenario, seeds, || {})
    }

    #[test]
    fn the_report_does_not_depend_on_the_number_of_threads() {
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| report_of("", 0..30))
        };
        assert_eq!(on(1), on(4));
    }

    #[test]
    fn a_report_has_all_documented_fields() {
        let report = report_of("[capacity]\nrule = \"rising\"\n", 5..6);
        assert_eq!((report.seeds, report.nodes, report.converged, report.leader_is_best), (1, 12, 1, 1));
        let json = serde_json::to_value(&report).unwrap();
        for key in ["scenario", "measures", "frames", "bytes", "trace_hash", "violations"] {
            assert!(json.get(key).is_some(), "{key}");
        }
        let time = &json["measures"]["time_to_leader_us"];
        assert!(["count", "p50", "p99", "p999", "max"].iter().all(|key| time[key].is_u64()));
    }

    #[test]
    fn a_violation_names_the_command_that_replays_it() {
        let report = report_of("[capacity]\nrule = \"falling\"\n", 7..8);
        let violation = report.violations.iter().find(|violation| violation.checker == "best-leads").unwrap();
        assert_eq!((violation.seed, violation.time), (7, 1_000_000));
        assert_eq!(violation.command, "conclave run test.toml --seed 7");
    }

    #[test]
    fn frames_in_a_calm_network_are_bounded() {
        let calm = |rest: &str| -> Vec<_> { report_of(rest, 0..2).violations.iter().map(|at| at.checker).collect() };
        let long = "[capacity]\nrule = \"rising\"\n[expect]\ncalm_frames";
        assert_eq!(calm(&format!("{long} = 0\n")), ["frames-bounded"], "no stretch of the run is long enough");
    }

    #[test]
    fn an_expectation_that_is_not_met_is_a_violation() {
        let rising = "[capacity]\nrule = \"rising\"\n[expect]\n";
        let expectations = [
            ("time_to_leader = { max = \"1ms\" }", true),
            ("time_to_leader = { p50 = \"1ms\" }", true),
            ("time_to_leader = { p999 = \"1ms\" }", false), // twenty seeds are too few
            ("time_to_leader = { max = \"3s\" }", false),
            ("availability = \"99%\"\n[[faults]]\nat = \"2s\"\ndo = \"crash\"\nnode = \"leader\"", true),
            ("availability = \"99%\"", false),
            ("leader_changes = 0", false),
            // The toy nodes send no messages.
            ("received = 1", true),
            ("delivered = \"98%\"", true),
            ("merge = { max = \"3s\" }", true), // there is no partition to heal
            ("merge = { p999 = \"3s\" }", true),
            // The toy nodes follow a leader that crashed for ever.
            ("failover = { max = \"500ms\" }\n[[faults]]\nat = \"2s\"\ndo = \"crash\"\nnode = \"leader\"", true),
        ];
        for (expectation, breaks) in expectations {
            let report = report_of(&format!("{rising}{expectation}\n"), 0..20);
            let found = report.violations.iter().any(|violation| violation.checker == "expect");
            assert_eq!(found, breaks, "{expectation}");
        }
    }
}
