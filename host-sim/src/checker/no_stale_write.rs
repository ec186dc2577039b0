//! Always: once a holder's write was let through, no write of an earlier holder is.
//!
//! This checker does not look at fences to tell earlier from later: it has seen the grants.

use super::fences_grow::show;
use crate::trace::{Deed, TraceEvent, What};
use protocol::mutex::Fence;
use std::collections::BTreeMap;

pub(super) const NAME: &str = "no-stale-write";

/// What one lock was granted for, in the order of grants, and whose write came through last.
#[derive(Default)]
struct History {
    grants: Vec<(u32, Fence)>,
    last: Option<usize>,
}

/// The history of each lock.
#[derive(Default)]
pub(super) struct NoStaleWrite {
    locks: BTreeMap<u8, History>,
}

impl NoStaleWrite {
    pub(super) fn see(&mut self, event: &TraceEvent) -> Option<String> {
        let (What::Lock { lock, deed }, Some(node)) = (event.what, event.node) else { return None };
        let history = self.locks.entry(lock).or_default();
        match deed {
            Deed::Acquired { fence } => {
                history.grants.push((node, fence));
                None
            }
            Deed::Wrote { fence, accepted: true } => history.written(node, lock, fence),
            _ => None, // nothing is granted or written by anything else
        }
    }
}

impl History {
    fn written(&mut self, node: u32, lock: u8, fence: Fence) -> Option<String> {
        let Some(grant) = self.grants.iter().rposition(|&grant| grant == (node, fence)) else {
            return Some(format!("node {node} writes under fence {} of lock {lock}, which it never had", show(fence)));
        };
        if let Some(last) = self.last.filter(|&last| grant < last) {
            let later = self.grants[last].0;
            return Some(format!(
                "a write of node {node} under lock {lock} comes through after one of node {later}, which had it later"
            ));
        }
        self.last = Some(grant);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::{granted, wrote};
    use super::*;

    #[test]
    fn a_write_behind_a_later_holders_back_is_reported_whatever_its_fence() {
        for (earlier, later) in [(5, 6), (6, 5)] {
            let mut checker = NoStaleWrite::default();
            let right = [granted(1, 0, earlier), wrote(1, 0, earlier), granted(2, 0, later), wrote(1, 0, earlier)];
            assert!(right.iter().all(|event| checker.see(event).is_none()), "nobody had written since");
            assert_eq!(checker.see(&wrote(2, 0, later)), None);
            assert_eq!(
                checker.see(&wrote(1, 0, earlier)).as_deref(),
                Some("a write of node 1 under lock 0 comes through after one of node 2, which had it later")
            );
        }
    }

    #[test]
    fn a_write_under_a_fence_that_was_never_granted_is_reported() {
        let mut checker = NoStaleWrite::default();
        let found = checker.see(&wrote(1, 0, 7));
        assert_eq!(found.as_deref(), Some("node 1 writes under fence 0.0:7 of lock 0, which it never had"));
    }
}
