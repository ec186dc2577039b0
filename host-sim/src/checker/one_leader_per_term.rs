//! Always: no two nodes lead under one term, and nobody believes so.

use crate::trace::{TraceEvent, What};
use protocol::clock::Term;
use std::collections::BTreeMap;

pub(super) const NAME: &str = "one-leader-per-term";

/// Who leads under each term.
#[derive(Default)]
pub(super) struct OneLeaderPerTerm {
    leaders: BTreeMap<Term, u32>,
}

impl OneLeaderPerTerm {
    pub(super) fn see(&mut self, event: &TraceEvent) -> Option<String> {
        let node = event.node?;
        let (leader, term) = match event.what {
            What::Leads { term } => (node, term),
            What::Follows { leader, term } => (leader, term),
            _ => return None, // every other event is about no term
        };
        let known = *self.leaders.entry(term).or_insert(leader);
        (known != leader).then(|| {
            let (number, by) = (term.number, term.by.0);
            format!("node {node} has {leader} lead under term {number} of node {by}, under which {known} leads")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::NodeId;

    const TERM: Term = Term { number: 4, by: NodeId(1) };

    fn event(node: u32, what: What) -> TraceEvent {
        TraceEvent { at: 0, node: Some(node), what }
    }

    #[test]
    fn a_second_leader_under_one_term_is_reported() {
        let mut checker = OneLeaderPerTerm::default();
        assert_eq!(checker.see(&event(5, What::Leads { term: TERM })), None);
        assert_eq!(checker.see(&event(6, What::Follows { leader: 5, term: TERM })), None);
        assert_eq!(checker.see(&event(6, What::Leads { term: Term { number: 5, ..TERM } })), None);
        let found = checker.see(&event(6, What::Leads { term: TERM }));
        assert_eq!(found.as_deref(), Some("node 6 has 6 lead under term 4 of node 1, under which 5 leads"));
    }
}
