//! Always: no two nodes hold one lock at the same moment of true time, each by its own clock.

use crate::trace::{Deed, TraceEvent, What};

pub(super) const NAME: &str = "one-holder";

pub(super) fn see(event: &TraceEvent) -> Option<String> {
    match (event.what, event.node) {
        (What::Lock { lock, deed: Deed::Shared { other } }, Some(node)) => {
            Some(format!("node {node} is granted lock {lock} while node {other} holds it"))
        }
        _ => None, // every other event is about no second holder
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_that_hold_one_lock_are_reported() {
        let what = What::Lock { lock: 1, deed: Deed::Shared { other: 5 } };
        let event = TraceEvent { at: 0, node: Some(3), what };
        assert_eq!(see(&event).as_deref(), Some("node 3 is granted lock 1 while node 5 holds it"));
        assert_eq!(see(&TraceEvent { what: What::Lock { lock: 1, deed: Deed::Lost }, ..event }), None);
    }
}
