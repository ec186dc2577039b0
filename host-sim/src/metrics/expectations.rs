//! Expectations of a scenario that its runs do not meet.

use super::distribution::Distribution;
use super::run::Outcome;
use super::seeds::availability;
use crate::scenario::{Expect, Limit};

/// Returns every expectation that is not met, as the worst seed and a sentence.
pub(super) fn unmet(expect: &Expect, outcomes: &[Outcome]) -> Vec<(u64, String)> {
    let mut unmet: Vec<_> = expect.limits.iter().filter_map(|limit| exceeded(limit, outcomes)).collect();
    if let Some(least) = expect.availability {
        let worst = outcomes.iter().map(|outcome| (availability(std::slice::from_ref(outcome)).min, outcome.seed));
        let worst = worst.min_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((share, seed)) = worst.filter(|(share, _)| *share < least * 100.0) {
            let least = least * 100.0;
            unmet.push((seed, format!("a node had a leader for {share} % of its time, below {least} %")));
        }
    }
    if let Some(most) = expect.leader_changes
        && let Some((count, seed)) = sums(outcomes, &["leader_changes"]).max().filter(|(count, _)| *count > most)
    {
        unmet.push((seed, format!("the leader changed {count} times, more than {most}")));
    }
    let shares = [
        (
            expect.answered,
            &["requests_answered", "requests_refused", "requests_timed_out"][..],
            "requests were answered",
        ),
        (expect.delivered, &["messages_delivered", "messages_undelivered"], "messages to one client were delivered"),
    ];
    for (least, names, what) in shares {
        let worst = least.and_then(|least| Some((too_small(least, names, outcomes)?, least * 100.0)));
        if let Some(((share, seed), least)) = worst {
            unmet.push((seed, format!("{share:.3} % of the {what}, below {least} %")));
        }
    }
    let counts = [
        (&["grants"][..], expect.grants, "locks were granted"),
        (&["snapshots"], expect.snapshots, "snapshots were taken"),
        (
            &["terminations", "undetectable"],
            expect.terminations,
            "the end of a job was detected, or found undetectable,",
        ),
        (&["ordered"], expect.ordered, "messages were ordered"),
        (&["committed"], expect.committed, "transactions were committed"),
        (&["list_changes"], expect.lists, "changes of the list were decided"),
        (&["messages_received"], expect.received, "clients received messages"),
    ];
    for (names, least, what) in counts {
        let fewest = sums(outcomes, names).min();
        if let Some(((count, seed), least)) = fewest.zip(least).filter(|((count, _), least)| count < least) {
            unmet.push((seed, format!("{what} {count} times, less than {least}")));
        }
    }
    unmet
}

/// Returns whether nodes send more frames in a calm network than they may, as the worst seed and a sentence.
pub(super) fn flooded(most: u64, outcomes: &[Outcome]) -> Option<(u64, String)> {
    let of_run = |outcome: &Outcome| {
        let samples = outcome.samples.iter().filter(|(name, _)| *name == "calm_frames");
        Some((samples.map(|(_, frames)| *frames).max()?, outcome.seed))
    };
    let Some((frames, seed)) = outcomes.iter().filter_map(of_run).max() else {
        return Some((
            outcomes.first()?.seed,
            "no run was calm: the claim about calm_frames was not tested".to_owned(),
        ));
    };
    (frames > most).then(|| (seed, format!("a node sent {frames} frames a minute in a calm network, more than {most}")))
}

/// Returns the smallest share in percent that the first of these sums has of all of them, and its seed, where it is too small.
fn too_small(least: f64, names: &[&str], outcomes: &[Outcome]) -> Option<(f64, u64)> {
    let share = |outcome: &Outcome| {
        let sum = |names| sums(std::slice::from_ref(outcome), names).map(|(count, _)| count).sum::<u64>();
        (sum(names.get(..1).unwrap_or_default()) as f64 / sum(names).max(1) as f64, outcome.seed)
    };
    let (share, seed) = outcomes.iter().map(share).min_by(|a, b| a.0.total_cmp(&b.0))?;
    (share < least).then_some((share * 100.0, seed))
}

/// The sum of the samples with these names in each run, and the run's seed.
fn sums(outcomes: &[Outcome], names: &[&str]) -> impl Iterator<Item = (u64, u64)> {
    outcomes.iter().map(|outcome| {
        let samples = outcome.samples.iter().filter(|(name, _)| names.contains(name));
        (samples.map(|(_, count)| count).sum(), outcome.seed)
    })
}

/// Returns whether the measured percentile is over its limit. Too few samples decide nothing: the 99.9th percentile of
/// ten is only their maximum. No sample at all is a claim that was never put to the test, and fails.
fn exceeded(limit: &Limit, outcomes: &[Outcome]) -> Option<(u64, String)> {
    // What had lasted too long when the run ended is over the limit, however long it would have gone on.
    let of_run = |outcome: &Outcome| {
        let unfinished = outcome.unfinished.iter().filter(|(_, lasted)| *lasted > limit.max);
        let samples = outcome.samples.iter().chain(unfinished).filter(|(name, _)| *name == limit.measure);
        samples.map(|&(_, value)| (value, outcome.seed)).collect::<Vec<_>>()
    };
    let samples: Vec<(u64, u64)> = outcomes.iter().flat_map(of_run).collect();
    let Some((worst, seed)) = samples.iter().copied().max() else {
        let first = outcomes.first()?.seed;
        return Some((first, format!("no run has a sample of {}: the claim about it was not tested", limit.measure)));
    };
    let needed = 1_000 / (1_000 - usize::from(limit.per_mille.min(999)));
    let enough = limit.per_mille == 1_000 || samples.len() >= needed.max(10);
    let value = Distribution::at(samples.into_iter().map(|(value, _)| value).collect(), limit.per_mille);
    (enough && value > limit.max).then(|| {
        let [value, most, worst] = [value, limit.max, worst].map(|micros| micros as f64 / 1e6);
        let (name, percentile) = (limit.measure, f64::from(limit.per_mille) / 10.0);
        (seed, format!("p{percentile} of {name} is {value} s, over {most} s; this seed took {worst} s"))
    })
}
