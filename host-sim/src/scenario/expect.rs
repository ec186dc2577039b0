//! The table `[expect]`: limits on the measures over all seeds.

use super::ScenarioError;
use super::raw::{RawExpect, RawLimit};
use super::read::Spanned;
use super::validate::{Reader, choose};
use super::values::{Share, Time, Whole};
use crate::base::Micros;

/// The claims of a scenario.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expect {
    /// Limits on times.
    pub limits: Vec<Limit>,
    /// The least share of its time that every node has a leader.
    pub(crate) availability: Option<f64>,
    /// How often nodes may come to lead after the first agreement, in one run.
    pub(crate) leader_changes: Option<u64>,
    /// How many frames a node may send in a minute while the network is calm, on average over all nodes.
    pub(crate) calm_frames: Option<u64>,
    /// The least number of locks granted in one run.
    pub(crate) grants: Option<u64>,
    /// The lock checkers that run; all of them if the scenario names none.
    pub(crate) lock_checkers: Option<Vec<&'static str>>,
    /// The least number of snapshots completed in one run.
    pub(crate) snapshots: Option<u64>,
    /// The least number of terminations that nodes detect in one run, or find undetectable.
    pub terminations: Option<u64>,
    /// The least number of messages that the sequencer orders in one run.
    pub(crate) ordered: Option<u64>,
    /// The least number of transactions that are committed in one run.
    pub(crate) committed: Option<u64>,
    /// The least number of changes of the list of members that are decided in one run.
    pub(crate) lists: Option<u64>,
    /// The number of nodes and the sum of their tokens, if the application is a bank.
    pub(crate) tokens: Option<(u32, u64)>,
    /// The least share of requests that are answered, of those that end in one run.
    pub(crate) answered: Option<f64>,
    /// The least share of messages to single clients that these acknowledge, of those that end in one run.
    pub(crate) delivered: Option<f64>,
    /// The least number of messages that clients receive in one run.
    pub(crate) received: Option<u64>,
}

impl Expect {
    /// Returns the claims in words, besides that the network agrees on its best node.
    #[must_use]
    pub fn claims(&self) -> Vec<String> {
        let limits = self.limits.iter().map(|limit| {
            let measure = limit.measure.trim_end_matches("_us").replace('_', " ");
            let percentile = match limit.per_mille {
                1_000 => "max".to_owned(),
                999 => "p99.9".to_owned(),
                per_mille => format!("p{}", per_mille / 10),
            };
            format!("{measure}: {percentile} at most {} s", limit.max as f64 / 1e6)
        });
        let counts = [
            self.leader_changes.map(|most| format!("changes of leader in a run: at most {most}")),
            self.calm_frames.map(|most| format!("frames a node and minute in a calm network: at most {most}")),
            self.grants.map(|least| format!("locks granted in a run: at least {least}")),
            self.snapshots.map(|least| format!("snapshots completed in a run: at least {least}")),
            self.terminations.map(|least| format!("terminations detected in a run: at least {least}")),
            self.ordered.map(|least| format!("messages ordered in a run: at least {least}")),
            self.committed.map(|least| format!("transactions committed in a run: at least {least}")),
            self.lists.map(|least| format!("changes of the list decided in a run: at least {least}")),
            self.received.map(|least| format!("messages received by clients in a run: at least {least}")),
        ];
        let availability =
            self.availability.map(|share| format!("every node has a leader for {} % of its time", share * 100.0));
        let answered = self.answered.map(|share| format!("requests answered: at least {} %", share * 100.0));
        let delivered =
            self.delivered.map(|share| format!("messages to one client delivered: at least {} %", share * 100.0));
        limits.chain(availability).chain(answered).chain(delivered).chain(counts.into_iter().flatten()).collect()
    }
}

/// A limit on a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The name of the measure.
    pub measure: &'static str,
    /// The percentile, in thousandths.
    pub per_mille: u16,
    /// The longest time.
    pub max: Micros,
}

pub(super) fn expect(
    reader: &Reader<'_>,
    lock_checkers: &[&'static str],
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
        ("capacity_change_us", raw.capacity_change),
        ("election_us", raw.election),
        ("lock_wait_us", raw.lock_wait),
        ("lock_recovery_us", raw.lock_recovery),
        ("detection_delay_us", raw.detection_delay),
        ("clock_skew_us", raw.clock_skew),
        ("round_trip_us", raw.round_trip),
        ("ordering_us", raw.ordering),
        ("list_change_us", raw.list_change),
        ("list_decision_us", raw.list_decision),
    ];
    let mut limits = Vec::new();
    for (measure, limit) in times {
        if let Some(limit) = limit {
            limits.extend(percentiles(reader, measure, limit)?);
        }
    }
    let named = raw.locks.map(|names| {
        let named = |name| Ok(lock_checkers[choose(reader, "checker", name, lock_checkers.iter().copied())?]);
        names.iter().map(named).collect::<Result<_, _>>()
    });
    Ok(Expect {
        limits,
        availability: raw.availability.map(|Share(share)| share),
        leader_changes: raw.leader_changes.map(|Whole(changes)| changes as u64),
        calm_frames: raw.calm_frames.map(|Whole(frames)| frames as u64),
        grants: raw.grants.map(|Whole(grants)| grants as u64),
        lock_checkers: named.transpose()?,
        snapshots: raw.snapshots.map(|Whole(snapshots)| snapshots as u64),
        terminations: raw.terminations.map(|Whole(terminations)| terminations as u64),
        ordered: raw.ordered.map(|Whole(ordered)| ordered as u64),
        committed: raw.committed.map(|Whole(committed)| committed as u64),
        lists: raw.lists.map(|Whole(lists)| lists as u64),
        tokens,
        answered: raw.answered.map(|Share(share)| share),
        delivered: raw.delivered.map(|Share(share)| share),
        received: raw.received.map(|Whole(received)| received as u64),
    })
}

fn percentiles(
    reader: &Reader<'_>,
    measure: &'static str,
    raw: Spanned<RawLimit>,
) -> Result<Vec<Limit>, ScenarioError> {
    let span = raw.span();
    let RawLimit { p50, p99, p999, max } = raw.into_inner();
    let given = [(500, p50), (990, p99), (999, p999), (1_000, max)];
    let limit = |(per_mille, max): (u16, Option<Time>)| Some(Limit { measure, per_mille, max: max?.0 });
    let limits: Vec<Limit> = given.into_iter().filter_map(limit).collect();
    if limits.is_empty() {
        return Err(reader.error(span, "a limit needs one of \"p50\", \"p99\", \"p999\" and \"max\""));
    }
    Ok(limits)
}
