//! The locks side by side.
//!
//! All capacities are equal, so the node with the highest id leads, and is the coordinator of locks that have one. It
//! never requests the lock itself.
//!
//! | case | what |
//! | --- | --- |
//! | uncontended | every other node in turn requests, holds and releases, three seconds apart: the mean over all |
//! | contended | all of them request at the same moment |
//! | holder-crash | all of them request again and again; one crashes while it holds the lock |
//! | coordinator-crash | the same, and the leader crashes |
//! | bystander-crash | the same, and a node crashes that requests nothing |
//!
//! A node that crashes restarts after four seconds. The lease is a second, and a lock is held for twenty message
//! times. The network is switched, or one shared cable on which frames follow each other ([`Cable`]): the tables of
//! textbooks count delays on the one or on the other. Crashes are the mean over several moments. Messages that report a place in the queue are counted apart: in
//! textbooks a requester waits without being notified.

mod trial;

use trial::{Trial, TrialResult};

use super::{Column, Comparison, Figure, Figures, HOP, MessageCount, Row, or_dash};
use crate::base::Micros;
use crate::workload::locks::LOCK_GROUP_MAX;
use protocol::registry::AnyMutex;
use rayon::prelude::*;
use serde::Serialize;
use std::ops::RangeInclusive;

/// The numbers of nodes that locks are compared with by default.
pub(crate) const SIZES: [u32; 3] = [4, 8, 16];

/// The numbers of nodes that locks can be compared with.
pub(crate) const NODES: RangeInclusive<u32> = 2..=LOCK_GROUP_MAX as u32;

/// The messages that report a place in the queue.
const EXTRA: [&str; 3] = ["waiting", "wait", "deferred"];

cases! {
    Uncontended = "uncontended" in 0,
    Contended = "contended" in 0,
    HolderCrash = "holder-crash" in 1,
    CoordinatorCrash = "coordinator-crash" in 1,
    BystanderCrash = "bystander-crash" in 1,
}

impl Case {
    /// Returns the number of trials with this many nodes. If one of two crashes, no quorum is left.
    const fn trials(self, nodes: u32) -> u64 {
        match self {
            Self::Uncontended | Self::Contended => 1,
            Self::HolderCrash | Self::CoordinatorCrash | Self::BystanderCrash if nodes < 3 => 0,
            Self::HolderCrash | Self::CoordinatorCrash | Self::BystanderCrash => 3,
        }
    }
}

pub(crate) type MutexRow = Row<Case, MutexFigures>;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct MutexFigures {
    /// Message times from request to grant.
    pub(crate) delay_hops: Figure,
    /// Message times from a release to the next grant, if that one was requested before.
    pub(crate) sync_delay_hops: Option<Figure>,
    /// The longest wait, in microseconds; a message time is 1,000.
    pub(crate) max_wait: Micros,
    /// Violations: two holders, a fence that did not grow, a request that was never granted.
    pub(crate) violations: usize,
    pub(crate) entries: usize,
    pub(crate) extra: Figure,
}

impl Figures for MutexFigures {
    const COLUMNS: &'static [Column] = &[
        Column::numbers("delay"),
        Column::numbers("sync delay"),
        Column::numbers("max wait"),
        Column::numbers("extra"),
        Column::numbers("violations"),
    ];

    fn cells(&self) -> Vec<String> {
        vec![
            self.delay_hops.to_string(),
            or_dash(self.sync_delay_hops),
            format!("{:.1} ms", self.max_wait as f64 / HOP as f64),
            self.extra.to_string(),
            self.violations.to_string(),
        ]
    }

    fn holds(&self) -> bool {
        self.violations == 0 && self.entries > 0
    }
}

/// The network that locks are compared on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cable {
    /// Frames to and from different nodes travel at the same time.
    Switched,
    /// One cable for all: frames follow each other, a message time each.
    Shared,
}

/// Returns how many trials [`compare`] runs with groups of these sizes.
pub(crate) fn runs(sizes: &[u32]) -> usize {
    let of = |nodes: u32| Case::ALL.into_iter().map(move |case| case.trials(nodes) as usize);
    AnyMutex::NAMES.len() * sizes.iter().flat_map(|&nodes| of(nodes)).sum::<usize>()
}

/// Compares all locks with groups of these sizes; calls `tick` after each trial.
pub(crate) fn compare(sizes: &[u32], cable: Cable, tick: impl Fn() + Sync) -> Comparison<Case, MutexFigures> {
    Comparison::of(sizes, &NODES, AnyMutex::NAMES, |algorithm, nodes| rows(algorithm, nodes, cable, &tick))
}

fn rows(algorithm: &'static str, nodes: u32, cable: Cable, tick: &(impl Fn() + Sync)) -> Vec<MutexRow> {
    let mut set = None;
    let mut rows = Vec::new();
    for case in Case::ALL {
        let trials = (0..case.trials(nodes)).into_par_iter().map(|seed| Trial { algorithm, nodes, case, cable, seed });
        let results: Vec<TrialResult> = trials.map(|trial| trial.run()).inspect(|_| tick()).collect();
        if results.is_empty() {
            continue;
        }
        let row = row(algorithm, nodes, case, &results);
        // Without contention a requester asks every other member of its set once.
        if case == Case::Uncontended {
            set = row.by_name.get("request").map(|requests| requests.get() + 1.0);
        }
        let formula = formula(algorithm, nodes, case, set).map(Figure::new);
        rows.push(MutexRow { formula, ..row });
    }
    rows
}

fn row(algorithm: &'static str, nodes: u32, case: Case, results: &[TrialResult]) -> MutexRow {
    let entries: usize = results.iter().map(|result| result.waits.len()).sum();
    let per_entry = |count: u64| Figure::new(count as f64 / entries.max(1) as f64);
    let mut sent = MessageCount::default();
    for result in results {
        sent.add(&result.sent);
    }
    let extra: u64 = EXTRA.iter().filter_map(|name| sent.by_name.get(name)).sum();
    let hops = |times: Vec<Micros>| Figure::mean(times.into_iter().map(|time| time as f64 / HOP as f64));
    let waits: Vec<Micros> = results.iter().flat_map(|result| result.waits.iter().copied()).collect();
    let handovers: Vec<Micros> = results.iter().flat_map(|result| result.handovers.iter().copied()).collect();
    let figures = MutexFigures {
        max_wait: waits.iter().copied().max().unwrap_or(0),
        delay_hops: hops(waits),
        sync_delay_hops: (!handovers.is_empty()).then(|| hops(handovers)),
        violations: results.iter().map(|result| result.violations).sum(),
        entries,
        extra: per_entry(extra),
    };
    Row {
        algorithm,
        nodes,
        case,
        messages: per_entry(sent.messages - extra),
        formula: None,
        by_name: sent.by_name.into_iter().map(|(name, count)| (name, per_entry(count))).collect(),
        retransmits: per_entry(sent.retransmits),
        acks: per_entry(sent.acks),
        figures,
    }
}

/// Returns the messages of one entry and exit by a node that is not the coordinator; `None` if no formula is known.
/// `set` is the mean size of a voting set, for locks that have them.
///
/// With a crash, it is the formula of the same contention without one. Maekawa's under contention is an upper bound.
fn formula(algorithm: &str, nodes: u32, case: Case, set: Option<f64>) -> Option<f64> {
    let others = f64::from(nodes) - 1.0;
    Some(match (algorithm, case) {
        // Request, grant, release.
        ("central", _) => 3.0,
        // Request and reply, with each other node.
        ("ricart-agrawala", _) => 2.0 * others,
        // Request, acknowledgement and release, with each other node.
        ("lamport", _) | ("voting", Case::Uncontended) => 3.0 * others,
        // Request, grant and release with the others of the set; at worst inquire, relinquish and failed too.
        ("maekawa", Case::Uncontended) => 3.0 * (set? - 1.0),
        ("maekawa", _) => 6.0 * (set? - 1.0),
        // Request to each other node, and the token; an idle token needs a fresh lease besides.
        ("suzuki-kasami", Case::Contended) => others + 1.0,
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
