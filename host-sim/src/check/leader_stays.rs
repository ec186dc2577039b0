//! Always: in a calm network no node begins to lead, not even the leader once more. A leader whose lease was about to end and
//! is renewed in time goes on leading.

use super::{Always, Calm};
use crate::base::Micros;
use crate::scenario::Expect;
use crate::trace::{EventKind, TraceEvent};
use protocol::base::term::Term;
use std::collections::HashMap;

#[derive(Default)]
pub(super) struct Checker {
    calm: Calm,
    /// Who leads, and under which term.
    leading: HashMap<u32, Term>,
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
        let EventKind::Leads { term } = event.kind else {
            if matches!(event.kind, EventKind::Leaderless | EventKind::Follows { .. } | EventKind::Crash) {
                self.leading.remove(&node);
            }
            return None; // nobody begins to lead
        };
        if self.leading.insert(node, term) == Some(term) {
            return None; // it was warned that its lease would end, and goes on
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

    #[test]
    fn a_leader_that_changes_in_a_calm_network_is_reported() {
        let mut checker = Checker::default();
        checker.configure(&Expect::default(), 10_000_000);
        let leads = EventKind::Leads { term: Term { number: 3, by: NodeId(1) } };
        let events = [
            (0, EventKind::Boot { blank: false }),
            (9_999_999, leads),
            (15_000_000, EventKind::Crash),
            (24_000_000, leads),
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
    fn a_leader_that_is_renewed_in_time_goes_on_and_one_with_a_new_term_does_not() {
        let mut checker = Checker::default();
        checker.configure(&Expect::default(), 10_000_000);
        let leads = |number| EventKind::Leads { term: Term { number, by: NodeId(1) } };
        let mut report = |at, kind| checker.observe(&TraceEvent { at, node: Some(1), kind }).is_some();
        assert!(!report(5_000_000, leads(3)));
        assert!(!report(11_000_000, leads(3)), "it was warned, and renewed");
        assert!(report(12_000_000, leads(4)), "a new term");
        assert!(!report(13_000_000, EventKind::Leaderless));
        assert!(report(13_000_001, leads(4)), "it did not lead meanwhile");
    }
}
