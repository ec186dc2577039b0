//! Always: of two grants of one lock the later has the higher fence, over failover, reboot and reconfiguration, as long as the
//! group remembers (`memory.rs`).

use super::Always;
use super::memory::Memory;
use crate::trace::{EventKind, LockEvent, TraceEvent};
use protocol::mutex::Fence;
use std::collections::BTreeMap;

/// The last grant of each lock: its fence and its holder.
#[derive(Default)]
pub(super) struct Checker {
    last: BTreeMap<u8, (Fence, u32)>,
    memory: Memory,
}

impl Always for Checker {
    const NAME: &'static str = "fences-grow";

    fn observe(&mut self, event: &TraceEvent) -> Option<String> {
        if self.memory.observe(event) {
            self.last.clear();
        }
        let (EventKind::Lock { lock, event: LockEvent::Acquired { fence } }, Some(node)) = (event.kind, event.node)
        else {
            return None; // no grant
        };
        let (before, holder) = self.last.insert(lock, (fence, node))?;
        (fence <= before).then(|| {
            let (new, old) = (show(fence), show(before));
            format!("node {node} is granted lock {lock} under fence {new}, node {holder} had {old} before")
        })
    }
}

/// A fence as text: its term, then its count.
pub(super) fn show(fence: Fence) -> String {
    format!("{}.{}:{}", fence.term.number, fence.term.by.0, fence.count.0)
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{NOTHING, event, findings, granted};
    use super::*;

    #[test]
    fn a_fence_that_does_not_grow_is_reported() {
        let grants = [granted(1, 0, 5), granted(2, 0, 6), granted(2, 1, 2), granted(1, 0, 6), granted(3, 0, 4)];
        let expected = [
            "node 1 is granted lock 0 under fence 0.0:6, node 2 had 0.0:6 before",
            "node 3 is granted lock 0 under fence 0.0:4, node 1 had 0.0:6 before",
        ];
        assert_eq!(findings::<Checker>(&grants), expected);
    }

    #[test]
    fn fences_may_begin_anew_only_once_a_majority_has_lost_its_records() {
        let boot = |node, blank| event(node, EventKind::Boot { blank });
        let boots = || [boot(1, false), boot(2, false), boot(3, false), granted(1, 0, 5)].into_iter();
        let some: Vec<_> = boots().chain([boot(1, true), granted(2, 0, 1)]).collect();
        assert_eq!(findings::<Checker>(&some), ["node 2 is granted lock 0 under fence 0.0:1, node 1 had 0.0:5 before"]);
        let most: Vec<_> = boots().chain([boot(1, true), boot(3, true), granted(2, 0, 1)]).collect();
        assert_eq!(findings::<Checker>(&most), NOTHING);
    }
}
