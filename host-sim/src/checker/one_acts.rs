//! Always, where a leader needs a majority: no two nodes may act as leader at the same moment of true time.

use crate::trace::{TraceEvent, What};

pub(super) const NAME: &str = "one-acts";

pub(super) fn see(event: &TraceEvent) -> Option<String> {
    match (event.what, event.node) {
        (What::Rival { other }, Some(node)) => Some(format!("node {node} begins to lead while node {other} may act")),
        _ => None, // every other event is about no second leader
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_that_may_act_at_once_are_reported() {
        let event = TraceEvent { at: 0, node: Some(3), what: What::Rival { other: 5 } };
        assert_eq!(see(&event).as_deref(), Some("node 3 begins to lead while node 5 may act"));
        assert_eq!(see(&TraceEvent { what: What::Leaderless, ..event }), None);
    }
}
