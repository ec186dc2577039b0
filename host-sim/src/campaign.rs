//! A scenario over many seeds, on all cores. The report does not depend on how many cores there are.

use crate::machine::Machine;
use crate::measure::Measure;
use crate::run::{Outcome, run, run_of};
use crate::scenario::Scenario;
use crate::watch::Service;
use rayon::prelude::*;
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::Range;

/// What came of a campaign.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The scenario's name.
    pub scenario: String,
    /// How many seeds ran.
    pub seeds: usize,
    /// How many nodes each run had.
    pub nodes: u32,
    /// How many runs ended with one leader per component, known to all its nodes.
    pub converged: usize,
    /// How many runs ended with the best node of every component leading it.
    pub leader_is_best: usize,
    /// What was measured, over all seeds.
    pub measures: BTreeMap<&'static str, Measure>,
    /// How much of the time nodes had a leader.
    pub availability: Availability,
    /// Frames sent, by kind: means per seed.
    pub frames: BTreeMap<&'static str, f64>,
    /// Bytes sent, by kind: means per seed.
    pub bytes: BTreeMap<&'static str, f64>,
    /// How long a frame of each kind took to get out, on average, in microseconds.
    pub hop_us: BTreeMap<&'static str, f64>,
    /// What became of frames: means per seed.
    pub medium: MediumReport,
    /// The hash of all that happened, where one seed ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_hash: Option<String>,
    /// What did not hold.
    pub violations: Vec<Violation>,
}

/// How much of their time nodes had a leader, per mille.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Availability {
    /// All nodes: following a node that was up.
    pub mean: f64,
    /// The node worst off.
    pub min: f64,
    /// All nodes: following a node that was up and could be reached.
    pub reached_mean: f64,
    /// The node worst off.
    pub reached_min: f64,
}

/// What became of frames: means per seed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct MediumReport {
    /// Heard, once per hearer.
    pub heard: f64,
    /// Spoilt by another frame, once per hearer.
    pub collided: f64,
    /// Lost by distance, loss or noise, once per hearer.
    pub lost: f64,
    /// Dropped because too many waited.
    pub queue_full: f64,
    /// Dropped because the medium was always busy.
    pub medium_busy: f64,
}

/// A property that did not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// In which run.
    pub seed: u64,
    /// When, in microseconds.
    pub time: u64,
    /// Which property.
    pub checker: &'static str,
    /// What was wrong.
    pub text: String,
    /// How to see it again.
    pub command: String,
}

/// Runs a scenario over `seeds` with the nodes it is about; `progress` is called once for each that is done.
pub fn campaign_of(scenario: &Scenario, seeds: Range<u64>, progress: impl Fn() + Sync) -> Report {
    each_seed(scenario, seeds, progress, |seed| run_of(scenario, seed, &mut ()))
}

/// Runs a scenario over `seeds`; `progress` is called once for each that is done.
pub fn campaign<M: Machine>(scenario: &Scenario, seeds: Range<u64>, progress: impl Fn() + Sync) -> Report {
    each_seed(scenario, seeds, progress, |seed| run::<M>(scenario, seed, &mut ()))
}

fn each_seed(
    scenario: &Scenario,
    seeds: Range<u64>,
    progress: impl Fn() + Sync,
    run: impl Fn(u64) -> Outcome + Sync,
) -> Report {
    let outcomes: Vec<Outcome> = seeds
        .into_par_iter()
        .map(|seed| {
            let outcome = run(seed);
            progress();
            outcome
        })
        .collect();
    report(scenario, &outcomes)
}

/// The report on some runs of a scenario, in the order of their seeds.
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
        for &(kind, count) in &outcome.kinds {
            let sum = kinds.entry(kind).or_default();
            *sum = (sum.0 + count.frames, sum.1 + count.bytes, sum.2 + count.micros);
        }
    }
    let total = |of: fn(&Outcome) -> u64| mean(outcomes.iter().map(of).sum());
    Report {
        scenario: scenario.name.clone(),
        seeds,
        nodes: scenario.nodes,
        converged: outcomes.iter().filter(|outcome| outcome.converged).count(),
        leader_is_best: outcomes.iter().filter(|outcome| outcome.leader_is_best).count(),
        measures: values.into_iter().map(|(name, values)| (name, Measure::of(values))).collect(),
        availability: availability(outcomes),
        frames: kinds.iter().map(|(&kind, sum)| (kind, mean(sum.0))).collect(),
        bytes: kinds.iter().map(|(&kind, sum)| (kind, mean(sum.1))).collect(),
        hop_us: kinds.iter().map(|(&kind, sum)| (kind, (sum.2 as f64 / sum.0 as f64).round())).collect(),
        medium: MediumReport {
            heard: total(|outcome| outcome.tally.heard),
            collided: total(|outcome| outcome.tally.collided),
            lost: total(|outcome| outcome.tally.lost),
            queue_full: total(|outcome| outcome.tally.queue_full),
            medium_busy: total(|outcome| outcome.tally.medium_busy),
        },
        trace_hash: match outcomes {
            [one] => Some(format!("{:016x}", one.hash)),
            _ => None, // one number for many runs would say nothing
        },
        violations: outcomes
            .iter()
            .flat_map(|outcome| violations(scenario, outcome))
            .chain(broken_claims(scenario, outcomes))
            .collect(),
    }
}

fn violations(scenario: &Scenario, outcome: &Outcome) -> impl Iterator<Item = Violation> {
    let seed = outcome.seed;
    outcome.findings.iter().map(move |finding| Violation {
        seed,
        time: finding.at,
        checker: finding.checker,
        text: finding.text.clone(),
        command: replay(scenario, seed),
    })
}

/// What the scenario claims and the runs do not bear out, each with the seed that is farthest off.
fn broken_claims(scenario: &Scenario, outcomes: &[Outcome]) -> Vec<Violation> {
    let expect = &scenario.expect;
    let mut broken = Vec::new();
    let mut note = |seed: u64, time: u64, text: String| {
        let command = replay(scenario, seed);
        broken.push(Violation { seed, time, checker: "expect", text, command });
    };
    for limit in &expect.limits {
        let of_measure = |&(name, value): &(&'static str, u64)| (name == limit.measure).then_some(value);
        let seeds = outcomes
            .iter()
            .flat_map(|outcome| outcome.samples.iter().filter_map(of_measure).map(|value| (value, outcome.seed)));
        let Some((worst, seed)) = seeds.clone().max() else { continue };
        // The one-in-a-thousand of ten values is but their greatest: too few to judge by.
        let needed = 1_000 / (1_000 - usize::from(limit.per_mille.min(999)));
        let values: Vec<u64> = seeds.map(|(value, _)| value).collect();
        let enough = limit.per_mille == 1_000 || values.len() >= needed.max(10);
        let value = Measure::at(values, limit.per_mille);
        if enough && value > limit.most {
            let (value, most, worst) = (seconds(value), seconds(limit.most), seconds(worst));
            let percentile = f64::from(limit.per_mille) / 10.0;
            let name = limit.measure;
            note(
                seed,
                0,
                format!("the {percentile} % point of {name} is {value} s, over {most} s; this seed took {worst} s"),
            );
        }
    }
    if let Some(least) = expect.availability {
        let worst = outcomes.iter().map(|outcome| (availability(std::slice::from_ref(outcome)).min, outcome.seed));
        let worst = worst.min_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((share, seed)) = worst.filter(|(share, _)| *share < least * 1_000.0) {
            let (share, least) = (share / 10.0, least * 100.0);
            note(seed, 0, format!("a node had a leader for {share} % of its time, below {least} %"));
        }
    }
    if let Some(most) = expect.leader_changes {
        let changes = |outcome: &Outcome| {
            let count = outcome.samples.iter().find(|(name, _)| *name == "leader_changes");
            (count.map_or(0, |(_, count)| *count), outcome.seed)
        };
        if let Some((count, seed)) = outcomes.iter().map(changes).max().filter(|(count, _)| *count > most) {
            note(seed, 0, format!("the leader changed {count} times, more than {most}"));
        }
    }
    let counts = [
        (&["grants"][..], expect.grants, "locks were granted"),
        (&["snapshots"], expect.snapshots, "snapshots were taken"),
        (&["ends", "unknowable"], expect.ends, "the end of a job was found, or that nobody can know,"),
    ];
    for (names, least, what) in counts {
        let Some(least) = least else { continue };
        let count = |outcome: &Outcome| {
            let counts = outcome.samples.iter().filter(|(name, _)| names.contains(name));
            (counts.map(|(_, count)| count).sum::<u64>(), outcome.seed)
        };
        if let Some((count, seed)) = outcomes.iter().map(count).min().filter(|(count, _)| *count < least) {
            note(seed, 0, format!("{what} {count} times, less than {least}"));
        }
    }
    broken
}

fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}

fn replay(scenario: &Scenario, seed: u64) -> String {
    format!("conclave run {}{} --seed {seed}", scenario.file, scenario.choices)
}

fn availability(outcomes: &[Outcome]) -> Availability {
    let per_mille = |part: u64, whole: u64| (part as f64 * 10_000.0 / whole.max(1) as f64).round() / 10.0;
    let services = || outcomes.iter().flat_map(|outcome| &outcome.services).filter(|service| service.up > 0);
    let sum = |of: fn(&Service) -> u64| services().map(of).sum::<u64>();
    let min =
        |of: fn(&Service) -> u64| services().map(|service| per_mille(of(service), service.up)).fold(1_000.0, f64::min);
    let up = sum(|service| service.up);
    Availability {
        mean: per_mille(sum(|service| service.led), up),
        min: min(|service| service.led),
        reached_mean: per_mille(sum(|service| service.reached), up),
        reached_min: min(|service| service.reached),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gossip::Gossip;

    fn report_of(rest: &str, seeds: Range<u64>) -> Report {
        let head = "name = \"test\"\nnodes = 12\nduration = \"3s\"\ncalm = \"1s\"\n";
        let radio = "[topology]\nshape = \"geometric\"\n[medium]\nloss = \"10%\"\n";
        let scenario = Scenario::parse("test.toml", &format!("{head}{radio}{rest}")).unwrap();
        campaign::<Gossip>(&scenario, seeds, || {})
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
    fn a_report_has_all_that_is_promised() {
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
    fn a_violation_says_how_to_see_it_again() {
        let report = report_of("[capacity]\nrule = \"falling\"\n", 7..8);
        let violation = &report.violations[0];
        assert_eq!((violation.seed, violation.checker, violation.time), (7, "best-leads", 3_000_000));
        assert_eq!(violation.command, "conclave run test.toml --seed 7");
    }

    #[test]
    fn a_claim_that_does_not_hold_is_a_violation() {
        let rising = "[capacity]\nrule = \"rising\"\n[expect]\n";
        let claims = [
            ("time_to_leader = { max = \"1ms\" }", true),
            ("time_to_leader = { p50 = \"1ms\" }", true),
            ("time_to_leader = { p999 = \"1ms\" }", false), // twenty seeds are too few to tell
            ("time_to_leader = { max = \"3s\" }", false),
            ("availability = \"99%\"\n[[faults]]\nat = \"2s\"\ndo = \"crash\"\nnode = \"leader\"", true),
            ("availability = \"99%\"", false),
            ("leader_changes = 0", false),
        ];
        for (claim, breaks) in claims {
            let report = report_of(&format!("{rising}{claim}\n"), 0..20);
            assert_eq!(report.violations.iter().any(|violation| violation.checker == "expect"), breaks, "{claim}");
        }
    }
}
