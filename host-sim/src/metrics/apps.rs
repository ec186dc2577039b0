//! Metrics of applications: snapshots, termination detection and the shared clock.

use super::transactions::Transactions;
use crate::base::Micros;
use crate::check::quiescence::Quiescence;
use crate::trace::{AppEvent, AppRequest, EventKind, Observer, TraceEvent};
use protocol::service::snapshot;
use std::collections::{BTreeMap, BTreeSet};

/// How many rounds clocks have to converge before their spread is measured.
const ROUNDS: u32 = 10;

#[derive(Clone, Debug, Default)]
pub(super) struct AppMetrics {
    quiescence: Quiescence,
    /// When each open snapshot began.
    begun: BTreeMap<snapshot::Id, Micros>,
    snapshots_requested: bool,
    detection_requested: bool,
    snapshots: u64,
    aborted: u64,
    ends: u64,
    unknowable: u64,
    rounds: u32,
    /// When each message was submitted that its own member has not delivered.
    submitted: BTreeMap<(u32, u32, u32), Micros>,
    /// The numbers that any member has delivered.
    ordered: BTreeSet<(u32, u32)>,
    refused: u64,
    sequenced: bool,
    transactions: Transactions,
    samples: Vec<(&'static str, u64)>,
}

impl AppMetrics {
    pub(super) fn samples(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = [
            (self.snapshots_requested, "snapshots", self.snapshots),
            (self.snapshots_requested, "snapshots_aborted", self.aborted),
            (self.detection_requested, "terminations", self.ends),
            (self.detection_requested, "undetectable", self.unknowable),
            (self.sequenced, "ordered", self.ordered.len() as u64),
            (self.sequenced, "refused", self.refused),
        ];
        let counted = counts.into_iter().filter(|(counted, ..)| *counted).map(|(_, name, count)| (name, count));
        self.samples.iter().copied().chain(counted).chain(self.transactions.samples())
    }

    fn on_app_event(&mut self, at: Micros, node: u32, app_event: AppEvent) {
        match app_event {
            AppEvent::Request { request: AppRequest::Snapshot } => self.snapshots_requested = true,
            AppEvent::Request { request: AppRequest::DetectTermination } => self.detection_requested = true,
            AppEvent::Recorded { snapshot, .. } if snapshot.initiator.0 == node => _ = self.begun.insert(snapshot, at),
            AppEvent::Completed { snapshot, .. } => {
                self.snapshots += 1;
                let begun = self.begun.remove(&snapshot).unwrap_or(at);
                self.samples.push(("snapshot_us", at - begun));
            }
            AppEvent::Aborted { snapshot, .. } => {
                self.aborted += 1;
                self.begun.remove(&snapshot);
            }
            AppEvent::Terminated { by, waves, .. } if by == node => {
                self.ends += 1;
                if let Some(since) = self.quiescence.quiet_since() {
                    self.samples.push(("detection_delay_us", at - since));
                    if waves > 0 {
                        self.samples.push(("waves_after_end", self.quiescence.waves(node)));
                    }
                }
            }
            AppEvent::DetectionAborted { .. } => self.unknowable += 1,
            AppEvent::ClockRound { .. } => self.rounds += 1,
            AppEvent::Submits { boot, number } => {
                self.sequenced = true;
                self.submitted.insert((node, boot, number), at);
            }
            AppEvent::Refused => self.refused += 1,
            AppEvent::Delivers { era, count, origin, boot, number } => {
                self.ordered.insert((era, count));
                let submitted = (origin == node).then(|| self.submitted.remove(&(origin, boot, number))).flatten();
                self.samples.extend(submitted.map(|since| ("ordering_us", at - since)));
            }
            AppEvent::Transaction { step, term, by, number } => {
                self.transactions.on_step(at, node, step, (term, by, number));
            }
            _ => {} // not measured
        }
    }
}

impl Observer for AppMetrics {
    fn observe(&mut self, event: &TraceEvent) {
        self.quiescence.observe(event);
        match (event.kind, event.node) {
            (EventKind::App { event: app_event }, Some(node)) => self.on_app_event(event.at, node, app_event),
            (EventKind::Clocks { skew: apart, .. }, _) if self.rounds >= ROUNDS => {
                self.samples.push(("clock_skew_us", apart));
            }
            _ => {} // no application event
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::NodeId;

    #[test]
    fn snapshots_ends_and_clocks_are_measured() {
        let mut metrics = AppMetrics::default();
        assert_eq!(metrics.samples().count(), 0, "a run without applications has nothing to measure");
        let snapshot = snapshot::Id { initiator: NodeId(1), incarnation: 1, number: 1 };
        let aborted = snapshot::Id { number: 2, ..snapshot };
        let events = [
            (10, AppEvent::Request { request: AppRequest::Snapshot }),
            (10, AppEvent::Request { request: AppRequest::DetectTermination }),
            (10, AppEvent::Recorded { snapshot, amount: 5 }),
            (20, AppEvent::Recorded { snapshot: aborted, amount: 5 }),
            (25, AppEvent::Completed { snapshot, nodes: 2 }),
            (30, AppEvent::Aborted { snapshot: aborted, reason: snapshot::AbortReason::TimedOut }),
            (40, AppEvent::Busy),
            (50, AppEvent::Wave { number: 1 }),
            (60, AppEvent::Idle),
            (70, AppEvent::Wave { number: 2 }),
            (90, AppEvent::Terminated { by: 1, job: 1, waves: 2 }),
            (95, AppEvent::DetectionAborted { reason: "lost" }),
        ];
        for (at, app_event) in events {
            metrics.observe(&TraceEvent { at, node: Some(1), kind: EventKind::App { event: app_event } });
        }
        for round in 0..ROUNDS {
            let apart = u64::from(round);
            metrics.observe(&TraceEvent { at: 100, node: None, kind: EventKind::Clocks { synced: 2, skew: apart } });
            let app_event = AppEvent::ClockRound { number: round + 1 };
            metrics.observe(&TraceEvent { at: 100, node: Some(1), kind: EventKind::App { event: app_event } });
        }
        metrics.observe(&TraceEvent { at: 110, node: None, kind: EventKind::Clocks { synced: 2, skew: 77 } });
        let expected = [
            ("snapshot_us", 15),
            ("detection_delay_us", 30),
            ("waves_after_end", 1),
            ("clock_skew_us", 77),
            ("snapshots", 1),
            ("snapshots_aborted", 1),
            ("terminations", 1),
            ("undetectable", 1),
        ];
        assert!(metrics.samples().eq(expected), "{:?}", metrics.samples().collect::<Vec<_>>());
    }
}
