//! Always: the tokens that a snapshot of all nodes found, on them and on their way, are all there are; judged while no node
//! has crashed and taken its tokens with it.

use crate::trace::{Act, TraceEvent, What};
use protocol::snapshot;
use std::collections::BTreeMap;

pub(super) const NAME: &str = "sum-conserved";

#[derive(Default)]
pub(super) struct SumConserved {
    /// How many nodes there are, and what all their tokens come to; `None` if there are none, or some were lost.
    all: Option<(u32, u64)>,
    /// What each snapshot has found so far.
    found: BTreeMap<snapshot::Id, u64>,
}

impl SumConserved {
    pub(super) fn of(all: Option<(u32, u64)>) -> Self {
        Self { all, found: BTreeMap::new() }
    }

    pub(super) fn see(&mut self, event: &TraceEvent) -> Option<String> {
        match event.what {
            What::Crash => self.all = None,
            What::App { act: Act::State { snapshot, amount, .. } | Act::Channel { snapshot, amount, .. } } => {
                *self.found.entry(snapshot).or_default() += u64::from(amount);
            }
            What::App { act: Act::Aborted { snapshot, .. } } => _ = self.found.remove(&snapshot),
            What::App { act: Act::Taken { snapshot, nodes } } => {
                let found = self.found.remove(&snapshot).unwrap_or(0);
                let (_, sum) = self.all.filter(|&(all, _)| nodes == all)?;
                let (number, initiator) = (snapshot.number, snapshot.initiator.0);
                return (found != sum)
                    .then(|| format!("snapshot {number} of node {initiator} found {found} tokens of {sum}"));
            }
            _ => {} // every other event finds nothing
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ID, NOTHING, acted};
    use super::*;

    #[test]
    fn a_snapshot_that_lacks_a_token_is_reported_and_one_that_was_aborted_is_not() {
        let state = |of, amount| acted(0, Act::State { snapshot: ID, of, amount });
        let channel = acted(0, Act::Channel { snapshot: ID, from: 0, to: 1, amount: 3 });
        let taken = acted(0, Act::Taken { snapshot: ID, nodes: 2 });
        let aborted = acted(0, Act::Aborted { snapshot: ID, why: snapshot::Why::Late });
        let mut checker = SumConserved::of(Some((2, 20)));
        let mut found =
            |events: &[TraceEvent]| events.iter().filter_map(|event| checker.see(event)).collect::<Vec<_>>();
        assert_eq!(found(&[state(0, 8), channel, state(1, 9), taken]), NOTHING);
        assert_eq!(found(&[state(0, 8), aborted, state(0, 20), taken]), NOTHING);
        assert_eq!(found(&[state(0, 8), state(1, 9), taken]), ["snapshot 1 of node 0 found 17 tokens of 20"]);
        let fewer = acted(0, Act::Taken { snapshot: ID, nodes: 1 });
        assert_eq!(found(&[state(0, 8), fewer]), NOTHING, "the others have the rest");
        let crash = TraceEvent { what: What::Crash, ..taken };
        assert_eq!(found(&[crash, state(1, 9), taken]), NOTHING, "some were lost");
    }
}
