//! How well snapshots, the detection of an end, and the shared clock served.

use crate::activity::Activity;
use crate::machine::Request;
use crate::queue::Micros;
use crate::trace::{Act, Observer, TraceEvent, What};
use protocol::snapshot;
use std::collections::BTreeMap;

/// After how many rounds clocks are held to what is claimed of them.
const ROUNDS: u32 = 10;

/// What became of the applications of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct AppUsage {
    activity: Activity,
    /// When each snapshot that is neither taken nor aborted began.
    begun: BTreeMap<snapshot::Id, Micros>,
    /// Whether somebody was asked for a snapshot, and whether to find an end.
    photographs: bool,
    watches: bool,
    snapshots: u64,
    aborted: u64,
    ends: u64,
    unknowable: u64,
    rounds: u32,
    samples: Vec<(&'static str, u64)>,
}

impl AppUsage {
    /// What was measured: names and values.
    pub(super) fn samples(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = [
            (self.photographs, "snapshots", self.snapshots),
            (self.photographs, "snapshots_aborted", self.aborted),
            (self.watches, "ends", self.ends),
            (self.watches, "unknowable", self.unknowable),
        ];
        let counted = counts.into_iter().filter(|(counted, ..)| *counted).map(|(_, name, count)| (name, count));
        self.samples.iter().copied().chain(counted)
    }

    fn act(&mut self, at: Micros, node: u32, act: Act) {
        match act {
            Act::Asked { request: Request::Snapshot } => self.photographs = true,
            Act::Asked { request: Request::Watch } => self.watches = true,
            Act::Recorded { snapshot, .. } if snapshot.initiator.0 == node => _ = self.begun.insert(snapshot, at),
            Act::Taken { snapshot, .. } => {
                self.snapshots += 1;
                let begun = self.begun.remove(&snapshot).unwrap_or(at);
                self.samples.push(("snapshot_us", at - begun));
            }
            Act::Aborted { snapshot, .. } => {
                self.aborted += 1;
                self.begun.remove(&snapshot);
            }
            Act::Over { by, waves, .. } if by == node => {
                self.ends += 1;
                if let Some(since) = self.activity.quiet_since() {
                    self.samples.push(("end_known_us", at - since));
                    if waves > 0 {
                        self.samples.push(("waves_after_end", self.activity.waves(node)));
                    }
                }
            }
            Act::Unknowable { .. } => self.unknowable += 1,
            Act::Round { .. } => self.rounds += 1,
            // Nothing is measured by these.
            Act::Asked { .. }
            | Act::Says { .. }
            | Act::Hears { .. }
            | Act::GivesUp { .. }
            | Act::Reaches { .. }
            | Act::Busy
            | Act::Idle
            | Act::Recorded { .. }
            | Act::State { .. }
            | Act::Channel { .. }
            | Act::Wave { .. }
            | Act::Over { .. }
            | Act::Set
            | Act::Corrected { .. }
            | Act::Back { .. } => {}
        }
    }
}

impl Observer for AppUsage {
    fn see(&mut self, event: &TraceEvent) {
        self.activity.see(event);
        match (event.what, event.node) {
            (What::App { act }, Some(node)) => self.act(event.at, node, act),
            (What::Clocks { apart, .. }, _) if self.rounds >= ROUNDS => {
                self.samples.push(("clocks_apart_us", apart));
            }
            _ => {} // every other event is about no application
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::NodeId;

    #[test]
    fn snapshots_ends_and_clocks_are_measured() {
        let mut usage = AppUsage::default();
        assert_eq!(usage.samples().count(), 0, "a run without applications has nothing to measure");
        let snapshot = snapshot::Id { initiator: NodeId(1), incarnation: 1, number: 1 };
        let lost = snapshot::Id { number: 2, ..snapshot };
        let acts = [
            (10, Act::Asked { request: Request::Snapshot }),
            (10, Act::Asked { request: Request::Watch }),
            (10, Act::Recorded { snapshot, amount: 5 }),
            (20, Act::Recorded { snapshot: lost, amount: 5 }),
            (25, Act::Taken { snapshot, nodes: 2 }),
            (30, Act::Aborted { snapshot: lost, why: snapshot::Why::Late }),
            (40, Act::Busy),
            (50, Act::Wave { number: 1 }),
            (60, Act::Idle),
            (70, Act::Wave { number: 2 }),
            (90, Act::Over { by: 1, job: 1, waves: 2 }),
            (95, Act::Unknowable { why: "lost" }),
        ];
        for (at, act) in acts {
            usage.see(&TraceEvent { at, node: Some(1), what: What::App { act } });
        }
        for round in 0..ROUNDS {
            let apart = u64::from(round);
            usage.see(&TraceEvent { at: 100, node: None, what: What::Clocks { set: 2, apart } });
            let act = Act::Round { number: round + 1 };
            usage.see(&TraceEvent { at: 100, node: Some(1), what: What::App { act } });
        }
        usage.see(&TraceEvent { at: 110, node: None, what: What::Clocks { set: 2, apart: 77 } });
        let expected = [
            ("snapshot_us", 15),
            ("end_known_us", 30),
            ("waves_after_end", 1),
            ("clocks_apart_us", 77),
            ("snapshots", 1),
            ("snapshots_aborted", 1),
            ("ends", 1),
            ("unknowable", 1),
        ];
        assert!(usage.samples().eq(expected), "{:?}", usage.samples().collect::<Vec<_>>());
    }
}
