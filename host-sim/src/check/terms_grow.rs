//! Always: the terms that a node acts under only grow, over restarts too, as long as it keeps its records. Where the
//! election makes clusters, that holds of the terms of each super-peer.

use super::Always;
use crate::trace::{EventKind, TraceEvent};
use protocol::NodeId;
use protocol::base::term::Term;
use std::collections::BTreeMap;

/// The highest term each node acted under.
#[derive(Default)]
pub(super) struct Checker {
    /// By node, and by its leader where leaders have terms of their own.
    highest: BTreeMap<(u32, Option<NodeId>), Term>,
    by_leader: bool,
}

impl Always for Checker {
    const NAME: &'static str = "terms-grow";

    fn of_clusters(&mut self) {
        self.by_leader = true;
    }

    fn observe(&mut self, event: &TraceEvent) -> Option<String> {
        let node = event.node?;
        let term = match event.kind {
            EventKind::Leads { term } | EventKind::Follows { term, .. } => term,
            EventKind::Boot { blank: true } => {
                self.highest.retain(|&(known, by), _| known != node && by != Some(NodeId(node))); // it lost its records
                return None;
            }
            _ => return None, // no term
        };
        let before = self.highest.insert((node, self.by_leader.then_some(term.by)), term)?;
        (term < before).then(|| {
            let (new, old) = (term.number, before.number);
            format!("node {node} went from term {old} of node {} back to {new} of node {}", before.by.0, term.by.0)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{NOTHING, event, findings};
    use super::*;

    fn follows(number: u32) -> TraceEvent {
        event(3, EventKind::Follows { leader: 7, term: Term { number, by: NodeId(7) } })
    }

    fn boots(blank: bool) -> TraceEvent {
        event(3, EventKind::Boot { blank })
    }

    #[test]
    fn a_term_that_falls_is_reported_also_after_a_restart() {
        let found = findings::<Checker>(&[follows(2), follows(2), follows(5), boots(false), follows(4)]);
        assert_eq!(found, ["node 3 went from term 5 of node 7 back to 4 of node 7"]);
    }

    #[test]
    fn in_clusters_only_the_terms_of_one_super_peer_must_grow() {
        let other = |number| event(3, EventKind::Follows { leader: 8, term: Term { number, by: NodeId(8) } });
        let mut checker = Checker::default();
        checker.of_clusters();
        let found: Vec<_> = [follows(5), other(2), follows(4), other(3)].iter().map(|event| checker.observe(event)).collect();
        let fell = "node 3 went from term 5 of node 7 back to 4 of node 7";
        assert_eq!(found, [None, None, Some(fell.to_owned()), None]);
    }

    #[test]
    fn in_clusters_the_terms_of_a_super_peer_that_lost_its_records_may_begin_anew() {
        let mut checker = Checker::default();
        checker.of_clusters();
        let lost = event(7, EventKind::Boot { blank: true });
        let found: Vec<_> = [follows(5), lost, follows(1)].iter().map(|event| checker.observe(event)).collect();
        assert_eq!(found, [None, None, None]);
    }

    #[test]
    fn a_node_that_lost_its_records_may_begin_again() {
        assert_eq!(findings::<Checker>(&[follows(5), boots(true), follows(1)]), NOTHING);
    }
}
