//! What a scenario claims: limits on what is measured over all its seeds.

use super::ScenarioError;
use super::check::{Reader, choose};
use super::raw::{RawExpect, RawLimit};
use super::values::{Share, Time, Whole};
use crate::checker;
use crate::queue::Micros;
use toml::Spanned;

/// What a scenario claims.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expect {
    /// Limits on times.
    pub limits: Vec<Limit>,
    /// The share of its time that every node has a leader, at least.
    pub availability: Option<f64>,
    /// How often a node may come to lead after the network first agreed, in one run.
    pub leader_changes: Option<u64>,
    /// How often locks are granted in one run, at least.
    pub grants: Option<u64>,
    /// Which of the checkers of locks watch; all of them where nothing is said.
    pub locks: Option<Vec<&'static str>>,
    /// How many snapshots are taken in one run, at least.
    pub snapshots: Option<u64>,
    /// How often nodes find in one run that a job is over, or that nobody can know, at least.
    pub ends: Option<u64>,
    /// How many nodes there are and what all their tokens come to, where the application is a bank.
    pub tokens: Option<(u32, u64)>,
}

/// A limit on a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Which time.
    pub measure: &'static str,
    /// For which percentile, in thousandths.
    pub per_mille: u16,
    /// How long it may be.
    pub most: Micros,
}

pub(super) fn expect(
    reader: &Reader<'_>,
    tokens: Option<(u32, u64)>,
    raw: Option<RawExpect>,
) -> Result<Expect, ScenarioError> {
    let Some(raw) = raw else { return Ok(Expect { tokens, ..Expect::default() }) };
    let times = [
        ("time_to_leader_us", raw.time_to_leader),
        ("failover_us", raw.failover),
        ("merge_us", raw.merge),
        ("split_us", raw.split),
        ("rejoin_us", raw.rejoin),
        ("handover_us", raw.handover),
        ("change_us", raw.change),
        ("election_us", raw.election),
        ("lock_wait_us", raw.lock_wait),
        ("lock_recovery_us", raw.lock_recovery),
        ("end_known_us", raw.end_known),
        ("clocks_apart_us", raw.clocks_apart),
    ];
    let mut limits = Vec::new();
    for (measure, limit) in times {
        if let Some(limit) = limit {
            limits.extend(percentiles(reader, measure, limit)?);
        }
    }
    Ok(Expect {
        limits,
        availability: raw.availability.map(|Share(share)| share),
        leader_changes: raw.leader_changes.map(|Whole(changes)| changes as u64),
        grants: raw.grants.map(|Whole(grants)| grants as u64),
        locks: raw.locks.map(|words| checkers(reader, &words)).transpose()?,
        snapshots: raw.snapshots.map(|Whole(snapshots)| snapshots as u64),
        ends: raw.ends.map(|Whole(ends)| ends as u64),
        tokens,
    })
}

fn checkers(reader: &Reader<'_>, words: &[Spanned<String>]) -> Result<Vec<&'static str>, ScenarioError> {
    let chosen = words.iter().map(|word| choose(reader, "checker", word, checker::OF_LOCKS.into_iter()));
    chosen.map(|choice| choice.map(|choice| checker::OF_LOCKS[choice])).collect()
}

fn percentiles(
    reader: &Reader<'_>,
    measure: &'static str,
    raw: Spanned<RawLimit>,
) -> Result<Vec<Limit>, ScenarioError> {
    let span = raw.span();
    let RawLimit { p50, p99, p999, max } = raw.into_inner();
    let given = [(500, p50), (990, p99), (999, p999), (1_000, max)];
    let limit = |(per_mille, most): (u16, Option<Time>)| Some(Limit { measure, per_mille, most: most?.0 });
    let limits: Vec<Limit> = given.into_iter().filter_map(limit).collect();
    if limits.is_empty() {
        return Err(reader.error(span, "a limit needs one of \"p50\", \"p99\", \"p999\" and \"max\"".to_owned()));
    }
    Ok(limits)
}
