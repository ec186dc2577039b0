//! Metrics of two-phase commit.

use crate::base::Micros;
use crate::trace::TransactionStep;
use std::collections::{BTreeMap, BTreeSet};

/// A transaction: the term of its coordinator and its number in it.
type Id = (u32, u32, u32);

#[derive(Clone, Debug, Default)]
pub(super) struct Transactions {
    /// When each was proposed.
    proposed: BTreeMap<Id, Micros>,
    committed: BTreeSet<Id>,
    aborted: BTreeSet<Id>,
    /// Since when each node is blocked.
    blocked: BTreeMap<u32, (Id, Micros)>,
    times: Vec<(&'static str, u64)>,
}

impl Transactions {
    pub(super) fn on_step(&mut self, at: Micros, node: u32, step: TransactionStep, id: Id) {
        match step {
            TransactionStep::Proposed => _ = self.proposed.insert(id, at),
            TransactionStep::Blocked => _ = self.blocked.entry(node).or_insert((id, at)),
            TransactionStep::Committed => {
                let proposed = self.proposed.get(&id).filter(|_| self.committed.insert(id));
                self.times.extend(proposed.map(|since| ("decision_us", at - since)));
                self.end_doubt(at, node, id);
            }
            TransactionStep::Aborted => {
                self.aborted.insert(id);
                self.end_doubt(at, node, id);
            }
            TransactionStep::Completed => {
                self.times.extend(self.proposed.get(&id).map(|since| ("completion_us", at - since)));
            }
            TransactionStep::Voted => {}
        }
    }

    fn end_doubt(&mut self, at: Micros, node: u32, id: Id) {
        if self.blocked.get(&node).is_some_and(|(of, _)| *of == id) {
            self.times.extend(self.blocked.remove(&node).map(|(_, since)| ("blocked_us", at - since)));
        }
    }

    pub(super) fn samples(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = [
            ("committed", self.committed.len()),
            ("aborted", self.aborted.len()),
            ("blocked_at_end", self.blocked.len()),
        ];
        let counted = counts.into_iter().filter(|_| !self.proposed.is_empty());
        self.times.iter().copied().chain(counted.map(|(name, count)| (name, count as u64)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_are_counted_once_and_doubts_until_they_end() {
        let mut metrics = Transactions::default();
        assert_eq!(metrics.samples().count(), 0, "a run without transactions has nothing to measure");
        let steps = [
            (10, 0, TransactionStep::Proposed, 1),
            (12, 1, TransactionStep::Blocked, 1),
            (15, 0, TransactionStep::Committed, 1),
            (19, 1, TransactionStep::Committed, 1),
            (20, 0, TransactionStep::Completed, 1),
            (30, 0, TransactionStep::Proposed, 2),
            (31, 2, TransactionStep::Blocked, 2),
            (33, 0, TransactionStep::Aborted, 2),
        ];
        for (at, node, step, number) in steps {
            metrics.on_step(at, node, step, (1, 0, number));
        }
        let expected = [
            ("decision_us", 5),
            ("blocked_us", 7),
            ("completion_us", 10),
            ("committed", 1),
            ("aborted", 1),
            ("blocked_at_end", 1),
        ];
        assert!(metrics.samples().eq(expected), "{:?}", metrics.samples().collect::<Vec<_>>());
    }
}
