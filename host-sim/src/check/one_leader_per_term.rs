//! Always: no two nodes lead under one term, and no node believes so.

use super::Always;
use crate::trace::{EventKind, TraceEvent};
use protocol::base::term::Term;
use std::collections::BTreeMap;

#[derive(Default)]
pub(super) struct Checker {
    leaders: BTreeMap<Term, u32>,
}

impl Always for Checker {
    const NAME: &'static str = "one-leader-per-term";

    fn observe(&mut self, event: &TraceEvent) -> Option<String> {
        let node = event.node?;
        let (leader, term) = match event.kind {
            EventKind::Leads { term } => (node, term),
            EventKind::Follows { leader, term } => (leader, term),
            _ => return None, // no term
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
    use super::super::test_support::{event, findings};
    use super::*;
    use protocol::NodeId;

    #[test]
    fn a_second_leader_under_one_term_is_reported() {
        let term = Term { number: 4, by: NodeId(1) };
        let found = findings::<Checker>(&[
            event(5, EventKind::Leads { term }),
            event(6, EventKind::Follows { leader: 5, term }),
            event(6, EventKind::Leads { term: Term { number: 5, ..term } }),
            event(6, EventKind::Leads { term }),
        ]);
        assert_eq!(found, ["node 6 has 6 lead under term 4 of node 1, under which 5 leads"]);
    }
}
