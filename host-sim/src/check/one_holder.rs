//! Always: no two nodes hold one lock at the same moment of true time, each by its own clock.

use super::Always;
use crate::trace::{EventKind, LockEvent, TraceEvent};

#[derive(Default)]
pub(super) struct Checker;

impl Always for Checker {
    const NAME: &'static str = "one-holder";

    fn observe(&mut self, event: &TraceEvent) -> Option<String> {
        match (event.kind, event.node) {
            (EventKind::Lock { lock, event: LockEvent::TwoHolders { other } }, Some(node)) => {
                Some(format!("node {node} is granted lock {lock} while node {other} holds it"))
            }
            _ => None, // no second holder
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{findings, of_lock};
    use super::*;

    #[test]
    fn two_holders_of_one_lock_are_reported() {
        let events = [of_lock(3, 1, LockEvent::Lost), of_lock(3, 1, LockEvent::TwoHolders { other: 5 })];
        assert_eq!(findings::<Checker>(&events), ["node 3 is granted lock 1 while node 5 holds it"]);
    }
}
