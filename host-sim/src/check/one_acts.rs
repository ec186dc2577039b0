//! Always, where a leader needs a quorum: no two nodes may act as leader at the same moment of true time.

use super::Always;
use crate::trace::{EventKind, TraceEvent};

#[derive(Default)]
pub(super) struct Checker;

impl Always for Checker {
    const NAME: &'static str = "one-acts";

    fn observe(&mut self, event: &TraceEvent) -> Option<String> {
        match (event.kind, event.node) {
            (EventKind::TwoLeaders { other }, Some(node)) => {
                Some(format!("node {node} begins to lead while node {other} may act"))
            }
            _ => None, // no second leader
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{event, findings};
    use super::*;

    #[test]
    fn two_leaders_that_may_act_at_once_are_reported() {
        let events = [event(3, EventKind::Leaderless), event(3, EventKind::TwoLeaders { other: 5 })];
        assert_eq!(findings::<Checker>(&events), ["node 3 begins to lead while node 5 may act"]);
    }
}
