//! The flood of an election, observed from outside: its tree, its hops, and the replies.

use crate::draw::map::Mark;
use crate::trace::{EventKind, TraceEvent};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Participant {
    /// Its parent in the tree; `None` for the initiator.
    from: Option<u32>,
    hop: u32,
    reported: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A node was called, this many hops from the initiator.
    Called(u32),
    Reported,
}

#[derive(Default)]
pub(super) struct Flood {
    participants: BTreeMap<u32, Participant>,
    /// The first caller of each node that takes no part yet.
    callers: BTreeMap<u32, u32>,
    /// The nodes called, and the nodes that replied, since the flood began.
    called: BTreeSet<u32>,
    reported: BTreeSet<u32>,
}

impl Flood {
    /// Observes an event; `led` is whether its node follows a leader that leads.
    pub(super) fn observe(&mut self, event: &TraceEvent, led: bool) -> Option<Step> {
        let node = event.node?;
        match event.kind {
            EventKind::Received { from, kind: "election", .. } if !self.participants.contains_key(&node) => {
                self.callers.entry(node).or_insert(from);
                None
            }
            EventKind::Sent { kind: "election", .. } if !led => self.call(node),
            EventKind::Sent { kind: "report", .. } if !led => self.report(node),
            EventKind::Leads { .. } | EventKind::Follows { .. } | EventKind::Crash | EventKind::Boot { .. } => {
                self.participants.remove(&node);
                self.callers.remove(&node);
                None
            }
            _ => None, // not part of a flood
        }
    }

    /// Resets the counts, if no flood is in progress.
    pub(super) fn reset_counts(&mut self) {
        if self.participants.is_empty() {
            self.called.clear();
            self.reported.clear();
        }
    }

    fn call(&mut self, node: u32) -> Option<Step> {
        if self.participants.contains_key(&node) {
            return None; // a retransmission
        }
        self.reset_counts();
        let from = self.callers.get(&node).copied().filter(|from| self.participants.contains_key(from));
        let hop = from.map_or(0, |from| self.participants[&from].hop + 1);
        self.participants.insert(node, Participant { from, hop, reported: false });
        self.called.insert(node);
        Some(Step::Called(hop))
    }

    fn report(&mut self, node: u32) -> Option<Step> {
        // The reply to the parent may be sent before the call to the children.
        let _ = self.call(node);
        let participant = self.participants.get_mut(&node)?;
        self.reported.insert(node);
        (!std::mem::replace(&mut participant.reported, true)).then_some(Step::Reported)
    }

    /// Returns the mark of a node that takes part.
    pub(super) fn mark(&self, node: u32) -> Option<Mark> {
        let participant = self.participants.get(&node)?;
        Some(if participant.reported { Mark::Reported } else { Mark::Called })
    }

    pub(super) fn links(&self) -> Vec<(u32, u32)> {
        self.participants.iter().filter_map(|(&node, participant)| Some((participant.from?, node))).collect()
    }

    /// Returns how many nodes were called, and how many replied.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.called.len(), self.reported.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observe(flood: &mut Flood, node: u32, kind: EventKind) -> Option<Step> {
        flood.observe(&TraceEvent { at: 0, node: Some(node), kind }, false)
    }

    const CALL: EventKind = EventKind::Sent { kind: "election", bytes: 14 };
    const REPORT: EventKind = EventKind::Sent { kind: "report", bytes: 20 };

    fn received(from: u32) -> EventKind {
        EventKind::Received { from, kind: "election", quality: 255 }
    }

    #[test]
    fn the_hops_are_counted_from_the_initiator() {
        let mut flood = Flood::default();
        assert_eq!(observe(&mut flood, 0, CALL), Some(Step::Called(0)));
        observe(&mut flood, 1, received(0));
        assert_eq!(observe(&mut flood, 1, CALL), Some(Step::Called(1)));
        observe(&mut flood, 2, received(1));
        observe(&mut flood, 2, received(0));
        assert_eq!(observe(&mut flood, 2, CALL), Some(Step::Called(2)), "the first caller is the parent");
        assert_eq!(observe(&mut flood, 2, CALL), None, "a retransmission");
        assert_eq!(flood.links(), [(0, 1), (1, 2)]);
        assert_eq!(observe(&mut flood, 2, REPORT), Some(Step::Reported));
        assert_eq!((flood.mark(1), flood.mark(2)), (Some(Mark::Called), Some(Mark::Reported)));
        assert_eq!(flood.counts(), (3, 1));
    }

    #[test]
    fn the_flood_ends_for_a_node_that_follows_and_the_next_flood_counts_from_zero() {
        let mut flood = Flood::default();
        let term = protocol::base::term::Term { number: 1, by: protocol::NodeId(0) };
        observe(&mut flood, 0, CALL);
        observe(&mut flood, 1, received(0));
        observe(&mut flood, 1, REPORT);
        observe(&mut flood, 0, EventKind::Leads { term });
        observe(&mut flood, 1, EventKind::Follows { leader: 0, term });
        assert_eq!((flood.mark(0), flood.mark(1), flood.counts()), (None, None, (2, 1)));
        assert_eq!(observe(&mut flood, 1, CALL), Some(Step::Called(0)));
        assert_eq!(flood.counts(), (1, 0));
    }
}
