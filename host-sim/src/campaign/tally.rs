//! Counts of faults by kind.

use super::draft::{Draft, get};
use crate::trace::{EventKind, Observer, TraceEvent};
use std::collections::{BTreeMap, BTreeSet};

/// Faults of links, which hit no node: they are counted as often as they begin.
const OF_LINKS: [&str; 9] =
    ["partition", "loss", "burst", "duplicate", "reorder", "delay", "corrupt", "attack", "one-way"];

/// Counts the faults of one run.
pub(super) struct Tally {
    faults: BTreeMap<&'static str, u64>,
    booted: BTreeSet<Option<u32>>,
}

impl Tally {
    pub(super) fn new(draft: &Draft) -> Self {
        let mut faults: BTreeMap<&'static str, u64> = BTreeMap::new();
        for fault in &draft.faults {
            let action = get(fault, "do").map(|action| action.trim_matches('"')).unwrap_or_default();
            if let Some(kind) = OF_LINKS.into_iter().find(|&kind| kind == action) {
                *faults.entry(kind).or_default() += 1;
            }
        }
        Self { faults, booted: BTreeSet::new() }
    }

    pub(super) fn faults(self) -> BTreeMap<String, u64> {
        self.faults.into_iter().map(|(kind, count)| (kind.to_owned(), count)).collect()
    }
}

impl Observer for Tally {
    fn observe(&mut self, event: &TraceEvent) {
        let kind = match event.kind {
            EventKind::Boot { blank } => match (self.booted.insert(event.node), blank) {
                (true, _) => return, // the first boot is no fault
                (false, true) => "reboot-blank",
                (false, false) => "reboot",
            },
            EventKind::Crash => "crash",
            EventKind::Pause => "pause",
            EventKind::Command { command } => command,
            EventKind::CapacityFault => "capacity",
            EventKind::Moved => "move",
            _ => return, // no fault of a node
        };
        *self.faults.entry(kind).or_default() += 1;
    }
}
