//! Always: no two nodes lead under one term, and no node believes so.
//!
//! A node that lost its records cannot know which terms it named. It must not name one again that a node knows which is up, and
//! has kept its records since.

use super::Always;
use crate::trace::{EventKind, TraceEvent};
use protocol::base::term::Term;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Default)]
pub(super) struct Checker {
    /// The leader of each term, and the nodes that remember it.
    leaders: BTreeMap<Term, (u32, BTreeSet<u32>)>,
    up: BTreeSet<u32>,
}

impl Always for Checker {
    const NAME: &'static str = "one-leader-per-term";

    fn observe(&mut self, event: &TraceEvent) -> Option<String> {
        let node = event.node?;
        let (leader, term) = match event.kind {
            EventKind::Leads { term } => (node, term),
            EventKind::Follows { leader, term } => (leader, term),
            EventKind::Boot { blank } => {
                self.up.insert(node);
                if blank {
                    self.leaders.values_mut().for_each(|(_, knowing)| _ = knowing.remove(&node));
                }
                return None;
            }
            EventKind::Crash => {
                self.up.remove(&node);
                return None;
            }
            _ => return None, // no term
        };
        let (known, knowing) = self.leaders.entry(term).or_default();
        if knowing.is_disjoint(&self.up) {
            *known = leader; // nobody can tell that it was named before
        }
        knowing.insert(node);
        let known = *known;
        (known != leader).then(|| {
            let (number, by) = (term.number, term.by.0);
            format!("node {node} has {leader} lead under term {number} of node {by}, under which {known} leads")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{NOTHING, event, findings};
    use super::*;
    use protocol::NodeId;

    const TERM: Term = Term { number: 4, by: NodeId(1) };

    fn boot(node: u32, blank: bool) -> TraceEvent {
        event(node, EventKind::Boot { blank })
    }

    fn leads(node: u32) -> TraceEvent {
        event(node, EventKind::Leads { term: TERM })
    }

    fn follows(node: u32, leader: u32) -> TraceEvent {
        event(node, EventKind::Follows { leader, term: TERM })
    }

    #[test]
    fn a_second_leader_under_one_term_is_reported() {
        let next = event(6, EventKind::Leads { term: Term { number: 5, ..TERM } });
        let found = findings::<Checker>(&[boot(5, false), boot(6, false), leads(5), follows(6, 5), next, leads(6)]);
        assert_eq!(found, ["node 6 has 6 lead under term 4 of node 1, under which 5 leads"]);
    }

    #[test]
    fn a_term_may_be_named_again_once_nobody_who_is_up_can_know_of_it() {
        let before = || [boot(5, false), boot(6, false), leads(5), follows(6, 5)].into_iter();
        let known: Vec<_> = before().chain([boot(6, true), leads(6)]).collect();
        assert_eq!(findings::<Checker>(&known), ["node 6 has 6 lead under term 4 of node 1, under which 5 leads"]);
        let forgotten: Vec<_> = before().chain([event(5, EventKind::Crash), boot(6, true), leads(6)]).collect();
        assert_eq!(findings::<Checker>(&forgotten), NOTHING);
    }
}
