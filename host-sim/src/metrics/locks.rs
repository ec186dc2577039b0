//! Metrics of locks.

use crate::base::Micros;
use crate::trace::{EventKind, LockEvent, Observer, TraceEvent};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default)]
pub(super) struct LockMetrics {
    /// When each node requested each lock.
    requested: BTreeMap<(u32, u8), Micros>,
    /// The holder of each lock, as far as it was notified.
    held: BTreeMap<u8, u32>,
    /// Since when a lock's holder is down and no other node has acquired the lock.
    orphaned: BTreeMap<u8, Micros>,
    samples: Vec<(&'static str, Micros)>,
    used: bool,
    grants: u64,
    accepted: u64,
    refused: u64,
}

impl LockMetrics {
    pub(super) fn samples(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = [("grants", self.grants), ("writes", self.accepted), ("writes_refused", self.refused)];
        self.samples.iter().copied().chain(counts.into_iter().filter(|_| self.used))
    }

    fn on_lock_event(&mut self, at: Micros, node: u32, lock: u8, lock_event: LockEvent) {
        self.used = true;
        match lock_event {
            LockEvent::Requests { .. } => _ = self.requested.insert((node, lock), at),
            LockEvent::Acquired { .. } => {
                self.grants += 1;
                self.held.insert(lock, node);
                let requested = self.requested.remove(&(node, lock)).unwrap_or(at);
                self.samples.push(("lock_wait_us", at - requested));
                if let Some(since) = self.orphaned.remove(&lock) {
                    self.samples.push(("lock_recovery_us", at - since.max(requested)));
                }
            }
            LockEvent::Lost | LockEvent::Released if self.held.get(&lock) == Some(&node) => {
                self.held.remove(&lock);
            }
            LockEvent::Refused { .. } => _ = self.requested.remove(&(node, lock)),
            LockEvent::Wrote { accepted: true, .. } => self.accepted += 1,
            LockEvent::Wrote { accepted: false, .. } => self.refused += 1,
            _ => {} // the lock does not change hands
        }
    }
}

impl Observer for LockMetrics {
    fn observe(&mut self, event: &TraceEvent) {
        match (event.kind, event.node) {
            (EventKind::Lock { lock, event: lock_event }, Some(node)) => {
                self.on_lock_event(event.at, node, lock, lock_event);
            }
            (EventKind::Crash | EventKind::NewList { .. }, Some(node)) => {
                self.requested.retain(|&(by, _), _| by != node);
                let orphans = self.held.iter().filter(|&(_, &holder)| holder == node);
                self.orphaned.extend(orphans.map(|(&lock, _)| (lock, event.at)));
                self.held.retain(|_, holder| *holder != node);
            }
            _ => {} // no lock changes hands
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::mutex::Fence;

    #[test]
    fn waits_and_recoveries_are_measured_from_the_request() {
        let mut metrics = LockMetrics::default();
        assert_eq!(metrics.samples().count(), 0, "a run without locks has nothing to measure");
        let acquired = LockEvent::Acquired { fence: Fence::ZERO };
        let request = LockEvent::Requests { try_only: false };
        let of = |node, lock_event| (node, EventKind::Lock { lock: 0, event: lock_event });
        let events = [
            (10, of(1, request)),
            (15, of(1, acquired)),
            (20, (1, EventKind::Crash)),
            (50, of(2, request)),
            (90, of(2, acquired)),
            (95, of(2, LockEvent::Wrote { fence: Fence::ZERO, accepted: false })),
        ];
        for (at, (node, what)) in events {
            metrics.observe(&TraceEvent { at, node: Some(node), kind: what });
        }
        let expected = [
            ("lock_wait_us", 5),
            ("lock_wait_us", 40),
            ("lock_recovery_us", 40),
            ("grants", 2),
            ("writes", 0),
            ("writes_refused", 1),
        ];
        assert!(metrics.samples().eq(expected), "{:?}", metrics.samples().collect::<Vec<_>>());
    }
}
