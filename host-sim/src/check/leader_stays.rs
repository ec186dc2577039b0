//! Always: in a calm network no node begins to lead, not even the leader once more after it stopped. A leader that is notified
//! again, because its lease was renewed in time or enough members are reachable again, has led all the time. The only node that
//! is up may have waited for company.

use super::{Always, Calm};
use crate::base::Micros;
use crate::scenario::Expect;
use crate::trace::{EventKind, TraceEvent};
use protocol::base::term::Term;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Default)]
pub(super) struct Checker {
    calm: Calm,
    /// The nodes that lead, and the term of each.
    leading: BTreeMap<u32, Term>,
    up: BTreeSet<u32>,
}

impl Always for Checker {
    const NAME: &'static str = "leader-stays";

    fn configure(&mut self, _: &Expect, settle_time: Micros) {
        self.calm = Calm::after(settle_time);
    }

    /// At the edge of its reach a node may lose its super-peer, and serve for a moment itself: see docs/limits.md.
    fn of_clusters(&mut self) {
        self.calm = Calm::default();
    }

    fn observe(&mut self, event: &TraceEvent) -> Option<String> {
        self.calm.observe(event);
        let node = event.node?;
        let term = match event.kind {
            EventKind::Leads { term } => term,
            EventKind::Boot { .. } => {
                self.up.insert(node);
                return None;
            }
            EventKind::Crash => {
                self.up.remove(&node);
                self.leading.remove(&node);
                return None;
            }
            EventKind::Leaderless | EventKind::Follows { .. } => {
                self.leading.remove(&node);
                return None;
            }
            _ => return None, // says nothing of who leads
        };
        let alone = self.up.iter().eq([&node]);
        if self.leading.insert(node, term) == Some(term) || alone {
            return None;
        }
        let calm = event.at - self.calm.since(event.at)?;
        let seconds = calm as f64 / 1e6;
        Some(format!("node {node} begins to lead under term {}, {seconds:.1} s into a calm stretch", term.number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::NodeId;

    const BOOT: EventKind = EventKind::Boot { blank: false };

    /// The checker of a network that has to settle in ten seconds, in which these nodes have booted.
    fn watching(nodes: &[u32]) -> Checker {
        let mut checker = Checker::default();
        checker.configure(&Expect::default(), 10_000_000);
        for &node in nodes {
            assert_eq!(checker.observe(&TraceEvent { at: 0, node: Some(node), kind: BOOT }), None);
        }
        checker
    }

    #[test]
    fn a_leader_that_changes_in_a_calm_network_is_reported() {
        let mut checker = watching(&[1, 2]);
        let leads = EventKind::Leads { term: Term { number: 3, by: NodeId(1) } };
        let events = [
            (9_999_999, leads),
            (15_000_000, EventKind::Crash),
            (24_000_000, leads),
            (26_000_000, leads),
            (27_500_000, EventKind::Leaderless),
            (27_500_000, leads),
        ];
        let found: Vec<String> = events
            .into_iter()
            .filter_map(|(at, kind)| checker.observe(&TraceEvent { at, node: Some(1), kind }))
            .collect();
        assert_eq!(found, ["node 1 begins to lead under term 3, 2.5 s into a calm stretch"]);
    }

    #[test]
    fn a_node_that_counts_for_more_again_may_take_over() {
        let leads = EventKind::Leads { term: Term { number: 3, by: NodeId(1) } };
        let run = |before: EventKind| {
            let mut checker = watching(&[1, 2]);
            let events = [(600_000_000, before), (601_000_000, leads)];
            let found = events.into_iter().filter_map(|(at, kind)| checker.observe(&TraceEvent { at, node: Some(1), kind }));
            found.count()
        };
        assert_eq!((run(EventKind::Steady { flaps: 1 }), run(EventKind::Leaderless)), (0, 1));
    }

    #[test]
    fn a_leader_that_is_renewed_in_time_goes_on_and_one_with_a_new_term_does_not() {
        let mut checker = watching(&[1, 2]);
        let leads = |number| EventKind::Leads { term: Term { number, by: NodeId(1) } };
        let mut report = |at, kind| checker.observe(&TraceEvent { at, node: Some(1), kind }).is_some();
        assert!(!report(5_000_000, leads(3)));
        assert!(!report(11_000_000, leads(3)), "it was warned, and renewed");
        assert!(report(12_000_000, leads(4)), "a new term");
        assert!(!report(13_000_000, EventKind::Leaderless));
        assert!(report(13_000_001, leads(4)), "it did not lead meanwhile");
    }

    #[test]
    fn only_the_one_node_that_is_up_may_begin_to_lead_late() {
        let leads = EventKind::Leads { term: Term { number: 3, by: NodeId(1) } };
        let report = |nodes: &[u32]| watching(nodes).observe(&TraceEvent { at: 240_000_000, node: Some(1), kind: leads });
        assert_eq!([report(&[1]).is_some(), report(&[1, 2]).is_some()], [false, true]);
    }
}
