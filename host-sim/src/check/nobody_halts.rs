//! Always: no node stops because a bound of its own was exceeded.

use super::Always;
use crate::trace::{EventKind, TraceEvent};

#[derive(Default)]
pub(super) struct Checker;

impl Always for Checker {
    const NAME: &'static str = "nobody-halts";

    fn observe(&mut self, event: &TraceEvent) -> Option<String> {
        match (event.kind, event.node) {
            (EventKind::Halted { reason: why }, Some(node)) => Some(format!("node {node} stopped itself: {why}")),
            _ => None, // no node halted
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{event, findings};
    use super::*;

    #[test]
    fn a_node_that_stops_itself_is_reported() {
        let events = [event(3, EventKind::Crash), event(3, EventKind::Halted { reason: "outbox" })];
        assert_eq!(findings::<Checker>(&events), ["node 3 stopped itself: outbox"]);
    }
}
