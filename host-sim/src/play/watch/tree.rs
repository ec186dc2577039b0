//! The tree of a wireless election, as it grows.

use crate::trace::narrator::{election_reached, reported};
use crate::trace::{EventKind, TraceEvent};
use std::collections::BTreeMap;

/// The tree of a wireless election: a node's parent is the first that called it.
#[derive(Default)]
pub(super) struct Tree {
    /// The nodes that take part; the initiator has no parent.
    parents: BTreeMap<u32, Option<u32>>,
    hops: BTreeMap<u32, u32>,
    callers: BTreeMap<u32, u32>,
    done: BTreeMap<u32, bool>,
}

impl Tree {
    /// Returns its edges, from parents to children.
    pub(super) fn edges(&self) -> impl Iterator<Item = (u32, u32)> {
        self.parents.iter().filter_map(|(&node, &parent)| Some((parent?, node)))
    }

    /// Follows an event; returns a sentence about it, if there is something to tell.
    pub(super) fn observe(&mut self, event: &TraceEvent) -> Option<String> {
        let node = event.node?;
        match event.kind {
            EventKind::Received { from, kind: "election", .. } if !self.takes_part(node) => {
                self.callers.entry(node).or_insert(from);
                None
            }
            EventKind::Sent { kind: "election", .. } if !self.takes_part(node) => {
                let parent = self.callers.get(&node).copied().filter(|&parent| self.takes_part(parent));
                let hop = parent.and_then(|parent| self.hops.get(&parent)).map_or(0, |hop| hop + 1);
                self.parents.insert(node, parent);
                self.hops.insert(node, hop);
                self.done.insert(node, false);
                Some(election_reached(node, hop))
            }
            EventKind::Sent { kind: "report", .. } if self.done.get(&node) == Some(&false) && self.takes_part(node) => {
                self.done.insert(node, true);
                Some(reported(node))
            }
            EventKind::Leads { .. } | EventKind::Follows { .. } | EventKind::Crash | EventKind::Boot { .. } => {
                // The branch stays in the picture until the node is called again.
                self.hops.remove(&node);
                self.callers.remove(&node);
                if matches!(event.kind, EventKind::Crash | EventKind::Boot { .. }) {
                    self.parents.remove(&node);
                }
                None
            }
            _ => None, // no part of an election
        }
    }

    fn takes_part(&self, node: u32) -> bool {
        self.hops.contains_key(&node)
    }
}
