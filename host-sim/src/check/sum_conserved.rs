//! Always: a snapshot of all nodes finds all tokens, on nodes and in flight; checked until a node crashes and loses its
//! tokens.

use super::Always;
use crate::base::Micros;
use crate::scenario::Expect;
use crate::trace::{AppEvent, EventKind, TraceEvent};
use protocol::service::snapshot;
use std::collections::BTreeMap;

#[derive(Default)]
pub(super) struct Checker {
    /// The number of nodes and the sum of their tokens; `None` if there are no tokens or some were lost.
    all: Option<(u32, u64)>,
    /// Tokens that each snapshot has found so far.
    found: BTreeMap<snapshot::Id, u64>,
}

impl Always for Checker {
    const NAME: &'static str = "sum-conserved";

    fn configure(&mut self, expect: &Expect, _: Micros) {
        self.all = expect.tokens;
    }

    fn observe(&mut self, event: &TraceEvent) -> Option<String> {
        match event.kind {
            EventKind::Crash => self.all = None,
            EventKind::App {
                event: AppEvent::State { snapshot, amount, .. } | AppEvent::Channel { snapshot, amount, .. },
            } => {
                *self.found.entry(snapshot).or_default() += u64::from(amount);
            }
            EventKind::App { event: AppEvent::Aborted { snapshot, .. } } => _ = self.found.remove(&snapshot),
            EventKind::App { event: AppEvent::Completed { snapshot, nodes } } => {
                let found = self.found.remove(&snapshot).unwrap_or(0);
                let (_, sum) = self.all.filter(|&(all, _)| nodes == all)?;
                let (number, initiator) = (snapshot.number, snapshot.initiator.0);
                return (found != sum)
                    .then(|| format!("snapshot {number} of node {initiator} found {found} tokens of {sum}"));
            }
            _ => {} // not part of a snapshot
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{ID, NOTHING, app, event};
    use super::*;

    #[test]
    fn a_snapshot_that_lacks_a_token_is_reported_and_one_that_was_aborted_is_not() {
        let state = |of, amount| app(0, AppEvent::State { snapshot: ID, of, amount });
        let channel = app(0, AppEvent::Channel { snapshot: ID, from: 0, to: 1, amount: 3 });
        let taken = app(0, AppEvent::Completed { snapshot: ID, nodes: 2 });
        let aborted = app(0, AppEvent::Aborted { snapshot: ID, reason: snapshot::AbortReason::TimedOut });
        let mut checker = Checker { all: Some((2, 20)), ..Checker::default() };
        let mut found =
            |events: &[TraceEvent]| events.iter().filter_map(|event| checker.observe(event)).collect::<Vec<_>>();
        assert_eq!(found(&[state(0, 8), channel, state(1, 9), taken]), NOTHING);
        assert_eq!(found(&[state(0, 8), aborted, state(0, 20), taken]), NOTHING);
        assert_eq!(found(&[state(0, 8), state(1, 9), taken]), ["snapshot 1 of node 0 found 17 tokens of 20"]);
        let fewer = app(0, AppEvent::Completed { snapshot: ID, nodes: 1 });
        assert_eq!(found(&[state(0, 8), fewer]), NOTHING, "the others have the rest");
        assert_eq!(found(&[event(0, EventKind::Crash), state(1, 9), taken]), NOTHING, "some were lost");
    }
}
