//! The locks side by side.
//!
//! All nodes are worth the same, so the one with the highest name leads, and is the coordinator where there is one. It
//! never asks for the lock itself.
//!
//! | case | what |
//! | --- | --- |
//! | uncontended | every other node in turn asks, holds and gives back, three seconds apart: the mean over all of them |
//! | contended | all of them ask at the same moment |
//! | holder-crash | all of them ask again and again; one crashes while it holds the lock |
//! | coordinator-crash | the same, and the leader crashes |
//! | bystander-crash | the same, and a node crashes that wants nothing |
//!
//! Whoever crashes is back after four seconds. A lock is asked for a second and held for twenty message times. Crashes are
//! the mean over several moments. What tells somebody that others come first is counted apart: textbooks let it wait in
//! silence.

mod formula;
mod trial;

pub use formula::messages as formula;
pub use trial::{Trial, Verdict};

use super::{Column, Comparison, Figure, HOP, Row};
use crate::peer::{LOCKERS_MAX, MUTEXES};
use crate::queue::Micros;
use rayon::prelude::*;
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// How many nodes each lock is compared with, unless asked otherwise.
pub const SIZES: [u32; 3] = [4, 8, 16];

/// How many nodes can be compared.
pub const NODES: RangeInclusive<u32> = 2..=LOCKERS_MAX as u32;

/// What tells somebody that others come first.
const COURTESIES: [&str; 3] = ["waiting", "wait", "deferred"];

/// What members do, and who crashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Case {
    /// One asks at a time.
    Uncontended,
    /// All ask at once.
    Contended,
    /// Whoever holds the lock crashes.
    HolderCrash,
    /// The leader crashes.
    CoordinatorCrash,
    /// Somebody else crashes.
    BystanderCrash,
}

impl Case {
    /// Every case there is.
    pub const ALL: [Self; 5] =
        [Self::Uncontended, Self::Contended, Self::HolderCrash, Self::CoordinatorCrash, Self::BystanderCrash];

    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Uncontended => "uncontended",
            Self::Contended => "contended",
            Self::HolderCrash => "holder-crash",
            Self::CoordinatorCrash => "coordinator-crash",
            Self::BystanderCrash => "bystander-crash",
        }
    }

    /// Which part of the table it is in: what is undisturbed comes first.
    const fn part(self) -> u8 {
        match self {
            Self::Uncontended | Self::Contended => 0,
            Self::HolderCrash | Self::CoordinatorCrash | Self::BystanderCrash => 1,
        }
    }

    /// How often it is tried with this many nodes. Where one of two crashes, no majority is left.
    const fn trials(self, nodes: u32) -> u64 {
        match self {
            Self::Uncontended | Self::Contended => 1,
            Self::HolderCrash | Self::CoordinatorCrash | Self::BystanderCrash if nodes < 3 => 0,
            Self::HolderCrash | Self::CoordinatorCrash | Self::BystanderCrash => 3,
        }
    }
}

/// One lock in one case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MutexRow {
    /// The lock.
    pub algorithm: &'static str,
    /// How many nodes there are.
    pub nodes: u32,
    /// The case.
    pub case: Case,
    /// Messages for one entry and exit, one for each addressee.
    pub messages: Figure,
    /// What they should be.
    pub formula: Option<Figure>,
    /// How many message times it took from asking to getting the lock.
    pub delay_hops: Figure,
    /// How many it took from one that gave the lock back to the next that had asked for it before.
    pub sync_delay_hops: Option<Figure>,
    /// The longest that anybody waited, in microseconds: a message time is a thousand.
    pub max_wait: Micros,
    /// How much did not hold: two holders, a fence that did not grow, somebody who never got the lock.
    pub violations: usize,
    /// How often the lock was granted.
    pub entries: usize,
    /// Messages that tell somebody that others come first, for one entry and exit.
    pub courtesies: Figure,
    /// The messages for one entry and exit, by their words.
    pub said: BTreeMap<&'static str, Figure>,
    /// Frames sent again, for one entry and exit.
    pub resends: Figure,
    /// Frames that acknowledge letters, for one entry and exit.
    pub receipts: Figure,
}

impl Row for MutexRow {
    const COLUMNS: &'static [Column] = &[
        Column::words("algorithm"),
        Column::numbers("nodes"),
        Column::words("case"),
        Column::numbers("messages"),
        Column::numbers("formula"),
        Column::numbers("delay"),
        Column::numbers("sync delay"),
        Column::numbers("max wait"),
        Column::numbers("courtesies"),
        Column::numbers("receipts"),
        Column::numbers("violations"),
    ];

    fn cells(&self) -> Vec<String> {
        let none = || "-".to_owned();
        vec![
            self.algorithm.to_owned(),
            self.nodes.to_string(),
            self.case.name().to_owned(),
            self.messages.to_string(),
            self.formula.map_or_else(none, |formula| formula.to_string()),
            self.delay_hops.to_string(),
            self.sync_delay_hops.map_or_else(none, |hops| hops.to_string()),
            format!("{:.1} ms", self.max_wait as f64 / HOP as f64),
            self.courtesies.to_string(),
            self.receipts.to_string(),
            self.violations.to_string(),
        ]
    }

    fn is_beside(&self, before: &Self) -> bool {
        (self.case.part(), self.nodes) == (before.case.part(), before.nodes)
    }

    fn holds(&self) -> bool {
        self.violations == 0 && self.entries > 0
    }
}

/// How many trials [`compare`] makes with groups of these sizes.
#[must_use]
pub fn runs(sizes: &[u32]) -> usize {
    let of = |nodes: u32| Case::ALL.into_iter().map(move |case| case.trials(nodes) as usize);
    MUTEXES.len() * sizes.iter().flat_map(|&nodes| of(nodes)).sum::<usize>()
}

/// Compares all locks with groups of these sizes; `tick` is called once for each trial made.
///
/// # Panics
/// Where a size is not in [`NODES`].
pub fn compare(sizes: &[u32], tick: impl Fn() + Sync) -> Comparison<MutexRow> {
    assert!(sizes.iter().all(|nodes| NODES.contains(nodes)), "no groups of these sizes: {sizes:?}");
    let pairs: Vec<(u32, &'static str)> =
        sizes.iter().flat_map(|&nodes| MUTEXES.iter().map(move |&algorithm| (nodes, algorithm))).collect();
    let rows = pairs.par_iter().flat_map_iter(|&(nodes, algorithm)| rows(algorithm, nodes, &tick));
    let mut rows: Vec<MutexRow> = rows.collect();
    rows.sort_by_key(|row| row.case.part()); // stable: within a part they stay in order
    Comparison { rows }
}

/// All rows of one lock.
fn rows(algorithm: &'static str, nodes: u32, tick: &(impl Fn() + Sync)) -> Vec<MutexRow> {
    let mut set = None;
    let mut rows = Vec::new();
    for case in Case::ALL {
        let trials = (0..case.trials(nodes)).into_par_iter();
        let hold = |seed| {
            let verdict = Trial { algorithm, nodes, case, seed }.hold();
            tick();
            verdict
        };
        let verdicts: Vec<Verdict> = trials.map(hold).collect();
        if verdicts.is_empty() {
            continue;
        }
        let row = row(algorithm, nodes, case, &verdicts);
        // Whoever asks asks all others of its set, once, if nobody else does.
        if case == Case::Uncontended {
            set = row.said.get("request").map(|asked| asked.get() + 1.0);
        }
        let formula = formula(algorithm, nodes, case, set).map(Figure::new);
        rows.push(MutexRow { formula, ..row });
    }
    rows
}

/// What came of one case.
fn row(algorithm: &'static str, nodes: u32, case: Case, verdicts: &[Verdict]) -> MutexRow {
    let entries: usize = verdicts.iter().map(|verdict| verdict.waits.len()).sum();
    let per_entry = |count: u64| Figure::new(count as f64 / entries.max(1) as f64);
    let mut said: BTreeMap<&'static str, u64> = BTreeMap::new();
    for (&word, count) in verdicts.iter().flat_map(|verdict| &verdict.mail.said) {
        *said.entry(word).or_default() += count;
    }
    let courtesies: u64 = COURTESIES.iter().filter_map(|word| said.get(word)).sum();
    let messages: u64 = verdicts.iter().map(|verdict| verdict.mail.messages).sum();
    let hops = |times: Vec<Micros>| Figure::mean(times.into_iter().map(|time| time as f64 / HOP as f64));
    let waits: Vec<Micros> = verdicts.iter().flat_map(|verdict| verdict.waits.iter().copied()).collect();
    let handovers: Vec<Micros> = verdicts.iter().flat_map(|verdict| verdict.handovers.iter().copied()).collect();
    MutexRow {
        algorithm,
        nodes,
        case,
        messages: per_entry(messages - courtesies),
        formula: None,
        max_wait: waits.iter().copied().max().unwrap_or(0),
        delay_hops: hops(waits),
        sync_delay_hops: (!handovers.is_empty()).then(|| hops(handovers)),
        violations: verdicts.iter().map(|verdict| verdict.violations).sum(),
        entries,
        courtesies: per_entry(courtesies),
        said: said.into_iter().map(|(word, count)| (word, per_entry(count))).collect(),
        resends: per_entry(verdicts.iter().map(|verdict| verdict.mail.resends).sum()),
        receipts: per_entry(verdicts.iter().map(|verdict| verdict.mail.receipts).sum()),
    }
}
