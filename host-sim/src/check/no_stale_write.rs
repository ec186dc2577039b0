//! Always: once a holder's write was accepted, no write of an earlier holder is.
//!
//! The checker orders holders by the grants it has observed, not by their fences.

use super::Always;
use super::fences_grow::show;
use crate::trace::{EventKind, LockEvent, TraceEvent};
use protocol::mutex::Fence;
use std::collections::BTreeMap;

/// The grants of one lock in order, and the grant whose write was accepted last.
#[derive(Default)]
struct History {
    grants: Vec<(u32, Fence)>,
    last: Option<usize>,
}

#[derive(Default)]
pub(super) struct Checker {
    locks: BTreeMap<u8, History>,
}

impl Always for Checker {
    const NAME: &'static str = "no-stale-write";

    fn observe(&mut self, event: &TraceEvent) -> Option<String> {
        let (EventKind::Lock { lock, event: lock_event }, Some(node)) = (event.kind, event.node) else { return None };
        let history = self.locks.entry(lock).or_default();
        match lock_event {
            LockEvent::Acquired { fence } => {
                history.grants.push((node, fence));
                None
            }
            LockEvent::Wrote { fence, accepted: true } => history.on_write(node, lock, fence),
            _ => None, // neither a grant nor an accepted write
        }
    }
}

impl History {
    fn on_write(&mut self, node: u32, lock: u8, fence: Fence) -> Option<String> {
        let Some(grant) = self.grants.iter().rposition(|&grant| grant == (node, fence)) else {
            return Some(format!("node {node} writes under fence {} of lock {lock}, which it never had", show(fence)));
        };
        if let Some(last) = self.last.filter(|&last| grant < last) {
            let later = self.grants[last].0;
            return Some(format!(
                "a write of node {node} under lock {lock} is accepted after one of node {later}, a later holder"
            ));
        }
        self.last = Some(grant);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{findings, granted, wrote};
    use super::*;

    #[test]
    fn a_write_after_one_of_a_later_holder_is_reported_whatever_its_fence() {
        for (earlier, later) in [(5, 6), (6, 5)] {
            let writes = [wrote(1, 0, earlier), wrote(2, 0, later), wrote(1, 0, earlier)]; // only the last is stale
            let grants = [granted(1, 0, earlier), wrote(1, 0, earlier), granted(2, 0, later)];
            let found = findings::<Checker>(&[grants, writes].concat());
            assert_eq!(found, ["a write of node 1 under lock 0 is accepted after one of node 2, a later holder"]);
        }
    }

    #[test]
    fn a_write_under_a_fence_that_was_never_granted_is_reported() {
        let found = findings::<Checker>(&[wrote(1, 0, 7)]);
        assert_eq!(found, ["node 1 writes under fence 0.0:7 of lock 0, which it never had"]);
    }
}
