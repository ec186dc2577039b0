//! Always: no node breaks a bound of its own and stops.

use crate::trace::{TraceEvent, What};

pub(super) const NAME: &str = "nobody-halts";

pub(super) fn see(event: &TraceEvent) -> Option<String> {
    match (event.what, event.node) {
        (What::Halted { why }, Some(node)) => Some(format!("node {node} stopped itself: {why}")),
        _ => None, // every other event is about no node that stopped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_stops_itself_is_reported() {
        let event = TraceEvent { at: 0, node: Some(3), what: What::Halted { why: "outbox" } };
        assert_eq!(see(&event).as_deref(), Some("node 3 stopped itself: outbox"));
        assert_eq!(see(&TraceEvent { what: What::Crash, ..event }), None);
    }
}
