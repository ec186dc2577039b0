//! Always: the lists of one epoch are the same at all nodes, each differs from the one before by one member, and no node goes
//! back to an earlier one.

use super::Always;
use crate::trace::{EventKind, TraceEvent};
use std::collections::BTreeMap;

#[derive(Default)]
pub(super) struct Checker {
    /// By epoch: the members, and the node that had the list first.
    lists: BTreeMap<u32, (u64, u32)>,
    /// The epoch of each node.
    epochs: BTreeMap<u32, u32>,
}

impl Always for Checker {
    const NAME: &'static str = "one-list";

    fn observe(&mut self, event: &TraceEvent) -> Option<String> {
        let node = event.node?;
        let (epoch, members) = match event.kind {
            EventKind::NewList { epoch, members } => (epoch, members),
            EventKind::Boot { blank: true } => {
                self.epochs.remove(&node); // it lost its log
                return None;
            }
            _ => return None, // no list
        };
        let before = self.epochs.insert(node, epoch).filter(|&before| before > epoch);
        if let Some(before) = before {
            return Some(format!("node {node} goes back from list {before} to {epoch}"));
        }
        let (known, other) = *self.lists.entry(epoch).or_insert((members, node));
        if known != members {
            return Some(format!("nodes {node} and {other} have different lists {epoch}"));
        }
        let (earlier, _) = self.lists.get(&epoch.checked_sub(1)?)?;
        let changed = (earlier ^ members).count_ones();
        (changed != 1).then(|| format!("list {epoch} differs from the one before by {changed} members"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{NOTHING, event, findings};
    use super::*;

    fn list(node: u32, epoch: u32, members: u64) -> TraceEvent {
        event(node, EventKind::NewList { epoch, members })
    }

    #[test]
    fn lists_that_grow_by_one_everywhere_are_accepted_and_a_blank_node_may_begin_again() {
        let blank = event(1, EventKind::Boot { blank: true });
        let events = [list(0, 1, 7), list(1, 1, 7), list(0, 2, 15), list(1, 2, 15), blank, list(1, 1, 7), list(2, 3, 13)];
        assert_eq!(findings::<Checker>(&events), NOTHING);
    }

    #[test]
    fn two_lists_of_one_epoch_a_leap_and_a_way_back_are_reported() {
        let events = [list(0, 1, 7), list(0, 2, 15), list(1, 2, 5), list(0, 3, 63), list(0, 2, 15)];
        let expected = [
            "nodes 1 and 0 have different lists 2",
            "list 3 differs from the one before by 2 members",
            "node 0 goes back from list 3 to 2",
        ];
        assert_eq!(findings::<Checker>(&events), expected);
    }
}
