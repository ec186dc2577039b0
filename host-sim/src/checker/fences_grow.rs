//! Always: of two grants of one lock the later has the higher fence, over failover, reboot and reconfiguration.

use crate::trace::{Deed, TraceEvent, What};
use protocol::mutex::Fence;
use std::collections::BTreeMap;

pub(super) const NAME: &str = "fences-grow";

/// The last grant of each lock: its fence, and to whom.
#[derive(Default)]
pub(super) struct FencesGrow {
    last: BTreeMap<u8, (Fence, u32)>,
}

impl FencesGrow {
    pub(super) fn see(&mut self, event: &TraceEvent) -> Option<String> {
        let (What::Lock { lock, deed: Deed::Acquired { fence } }, Some(node)) = (event.what, event.node) else {
            return None; // every other event is about no new grant
        };
        let (before, holder) = self.last.insert(lock, (fence, node))?;
        (fence <= before).then(|| {
            let (new, old) = (show(fence), show(before));
            format!("node {node} is granted lock {lock} under fence {new}, node {holder} had {old} before")
        })
    }
}

/// A fence as it is read aloud: its term, then its count.
pub(super) fn show(fence: Fence) -> String {
    format!("{}.{}:{}", fence.term.number, fence.term.by.0, fence.count.0)
}

#[cfg(test)]
mod tests {
    use super::super::granted;
    use super::*;

    #[test]
    fn a_fence_that_does_not_grow_is_reported() {
        let mut checker = FencesGrow::default();
        let grants = [granted(1, 0, 5), granted(2, 0, 6), granted(2, 1, 2), granted(1, 0, 6), granted(3, 0, 4)];
        let found: Vec<String> = grants.iter().filter_map(|event| checker.see(event)).collect();
        let expected = [
            "node 1 is granted lock 0 under fence 0.0:6, node 2 had 0.0:6 before",
            "node 3 is granted lock 0 under fence 0.0:4, node 1 had 0.0:6 before",
        ];
        assert_eq!(found, expected);
    }
}
