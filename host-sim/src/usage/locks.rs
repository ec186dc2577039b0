//! How well locks served: what a run is measured by, followed event by event.

use crate::queue::Micros;
use crate::trace::{Deed, Observer, TraceEvent, What};
use std::collections::BTreeMap;

/// What became of the locks of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct LockUsage {
    /// Who asked, for which lock and when.
    asked: BTreeMap<(u32, u8), Micros>,
    /// Who holds which lock, as it was told.
    held: BTreeMap<u8, u32>,
    /// Since when a lock's holder is down and nobody has got it since.
    orphaned: BTreeMap<u8, Micros>,
    samples: Vec<(&'static str, Micros)>,
    used: bool,
    grants: u64,
    accepted: u64,
    refused: u64,
}

impl LockUsage {
    /// What was measured: names and values.
    pub(super) fn samples(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = [("grants", self.grants), ("writes", self.accepted), ("writes_refused", self.refused)];
        self.samples.iter().copied().chain(counts.into_iter().filter(|_| self.used))
    }

    fn lock(&mut self, at: Micros, node: u32, lock: u8, deed: Deed) {
        self.used = true;
        match deed {
            Deed::Asks { .. } => _ = self.asked.insert((node, lock), at),
            Deed::Acquired { .. } => {
                self.grants += 1;
                self.held.insert(lock, node);
                let asked = self.asked.remove(&(node, lock)).unwrap_or(at);
                self.samples.push(("lock_wait_us", at - asked));
                if let Some(since) = self.orphaned.remove(&lock) {
                    self.samples.push(("lock_recovery_us", at - since.max(asked)));
                }
            }
            Deed::Lost | Deed::Released => {
                if self.held.get(&lock) == Some(&node) {
                    self.held.remove(&lock);
                }
            }
            Deed::Refused { .. } => _ = self.asked.remove(&(node, lock)),
            Deed::Wrote { accepted: true, .. } => self.accepted += 1,
            Deed::Wrote { accepted: false, .. } => self.refused += 1,
            // Nobody gets or loses anything by these.
            Deed::Renews
            | Deed::Releases
            | Deed::Cancels
            | Deed::Waits { .. }
            | Deed::Renewed { .. }
            | Deed::Shared { .. }
            | Deed::Expiring => {}
        }
    }
}

impl Observer for LockUsage {
    fn see(&mut self, event: &TraceEvent) {
        match (event.what, event.node) {
            (What::Lock { lock, deed }, Some(node)) => self.lock(event.at, node, lock, deed),
            (What::Crash, Some(node)) => {
                self.asked.retain(|&(asker, _), _| asker != node);
                let orphans = self.held.iter().filter(|&(_, &holder)| holder == node);
                self.orphaned.extend(orphans.map(|(&lock, _)| (lock, event.at)));
                self.held.retain(|_, holder| *holder != node);
            }
            _ => {} // every other event is about no lock
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::mutex::Fence;

    #[test]
    fn waits_and_recoveries_are_measured_from_when_somebody_asked() {
        let mut usage = LockUsage::default();
        let acquired = Deed::Acquired { fence: Fence::ZERO };
        let asks = Deed::Asks { trying: false };
        let of = |node, deed| (node, What::Lock { lock: 0, deed });
        let events = [
            (10, of(1, asks)),
            (15, of(1, acquired)),
            (20, (1, What::Crash)),
            (50, of(2, asks)),
            (90, of(2, acquired)),
            (95, of(2, Deed::Wrote { fence: Fence::ZERO, accepted: false })),
        ];
        for (at, (node, what)) in events {
            usage.see(&TraceEvent { at, node: Some(node), what });
        }
        let expected = [
            ("lock_wait_us", 5),
            ("lock_wait_us", 40),
            ("lock_recovery_us", 40),
            ("grants", 2),
            ("writes", 0),
            ("writes_refused", 1),
        ];
        assert!(usage.samples().eq(expected), "{:?}", usage.samples().collect::<Vec<_>>());
    }

    #[test]
    fn a_run_without_locks_has_nothing_to_measure() {
        assert_eq!(LockUsage::default().samples().count(), 0);
    }
}
