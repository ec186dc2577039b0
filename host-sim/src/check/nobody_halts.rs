//! Always: no node stops because a bound of its own was exceeded. One that restarts, as an insider sent in its name, may.

use super::Always;
use crate::sim::node::SUPERSEDED;
use crate::trace::{EventKind, TraceEvent};

#[derive(Default)]
pub(super) struct Checker;

impl Always for Checker {
    const NAME: &'static str = "nobody-halts";

    fn observe(&mut self, event: &TraceEvent) -> Option<String> {
        match (event.kind, event.node) {
            (EventKind::Halted { reason: why }, Some(node)) if why != SUPERSEDED => Some(format!("node {node} stopped itself: {why}")),
            _ => None, // no node halted for good
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{event, findings};
    use super::*;

    #[test]
    fn a_node_that_stops_itself_is_reported() {
        let superseded = event(3, EventKind::Halted { reason: SUPERSEDED });
        let events = [event(3, EventKind::Crash), superseded, event(3, EventKind::Halted { reason: "outbox" })];
        assert_eq!(findings::<Checker>(&events), ["node 3 stopped itself: outbox"]);
    }
}
