//! Memory: whether the members of a group still remember between them what they promised.
//!
//! A member that lost its records abstains until it has heard of a leader again. While fewer than a majority of all members have
//! lost theirs, every majority has a member that remembers. Once a majority has lost them at the same time, nobody
//! can know what was promised, and terms and fences may begin anew.

use crate::trace::{EventKind, TraceEvent};
use protocol::base::term::Term;
use std::collections::BTreeSet;

/// Follows which members have lost their records.
#[derive(Debug, Default)]
pub(super) struct Memory {
    members: BTreeSet<u32>,
    /// The members that lost their records, and have not heard of the latest leader since.
    blank: BTreeSet<u32>,
    highest: Option<Term>,
}

impl Memory {
    /// Observes an event; returns whether the group has lost its memory by it.
    pub(super) fn observe(&mut self, event: &TraceEvent) -> bool {
        let Some(node) = event.node else { return false };
        match event.kind {
            EventKind::Boot { blank } => {
                let first = self.members.insert(node);
                if blank && !first {
                    self.blank.insert(node);
                }
            }
            EventKind::Leads { term } | EventKind::Follows { term, .. } if Some(term) >= self.highest => {
                self.highest = Some(term);
                self.blank.remove(&node);
            }
            _ => {} // says nothing of what a member remembers
        }
        let lost = self.blank.len() * 2 > self.members.len();
        if lost {
            (self.blank, self.highest) = (BTreeSet::new(), None);
        }
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::event;
    use super::*;
    use protocol::NodeId;

    fn observe(memory: &mut Memory, events: &[(u32, EventKind)]) -> Vec<bool> {
        events.iter().map(|&(node, kind)| memory.observe(&event(node, kind))).collect()
    }

    fn follows(number: u32) -> EventKind {
        EventKind::Follows { leader: 1, term: Term { number, by: NodeId(1) } }
    }

    const BOOT: EventKind = EventKind::Boot { blank: false };
    const BLANK: EventKind = EventKind::Boot { blank: true };

    #[test]
    fn a_group_forgets_when_a_majority_lost_its_records_at_the_same_time() {
        let mut memory = Memory::default();
        assert_eq!(observe(&mut memory, &[(0, BOOT), (1, BOOT), (2, BOOT), (2, follows(3))]), [false; 4]);
        assert_eq!(observe(&mut memory, &[(0, BLANK), (1, BLANK), (2, BOOT)]), [false, true, false]);
    }

    #[test]
    fn a_member_that_has_heard_of_the_latest_leader_counts_again() {
        let mut memory = Memory::default();
        observe(&mut memory, &[(0, BOOT), (1, BOOT), (2, BOOT), (2, follows(3))]);
        assert_eq!(observe(&mut memory, &[(0, BLANK), (0, follows(3)), (1, BLANK)]), [false; 3]);
        assert_eq!(observe(&mut memory, &[(1, follows(2)), (0, BLANK)]), [false, true], "2 is of an earlier leader");
    }

    #[test]
    fn members_that_boot_for_the_first_time_have_nothing_to_forget() {
        assert_eq!(observe(&mut Memory::default(), &[(0, BLANK), (1, BLANK), (2, BLANK)]), [false; 3]);
    }
}
