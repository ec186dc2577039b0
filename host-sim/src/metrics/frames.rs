//! Metrics of frames: how many nodes send while the network is calm.

use crate::base::Micros;
use crate::check::Calm;
use crate::trace::{EventKind, Observer, TraceEvent};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The length of a stretch over which frames are counted.
const STRETCH: Micros = 10_000_000;

/// Frames of the calm stretches of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Steady {
    /// How long the stretches were together.
    micros: Micros,
    /// The same, for every node that was up.
    node_micros: Micros,
    frames: u64,
    /// Frames of the leader.
    leader: u64,
    /// Frames of the node that sent most.
    busiest: u64,
}

/// Frames that a node sends in a minute in a calm network, over all seeds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SteadyReport {
    /// The mean over all nodes.
    pub mean: f64,
    /// The leader.
    pub leader: f64,
    /// The node that sends most, of the worst seed.
    pub busiest: f64,
}

impl SteadyReport {
    /// Of many runs; `None` where none was calm.
    pub(super) fn of(runs: &[Steady]) -> Option<Self> {
        let per_minute = |frames: u64, micros: Micros| (frames as f64 * 6e8 / micros.max(1) as f64).round() / 10.0;
        let sum = |of: fn(&Steady) -> u64| runs.iter().map(of).sum::<u64>();
        let micros = sum(|run| run.micros);
        (micros > 0).then(|| Self {
            mean: per_minute(sum(|run| run.frames), sum(|run| run.node_micros)),
            leader: per_minute(sum(|run| run.leader), micros),
            busiest: runs.iter().map(|run| per_minute(run.busiest, run.micros)).fold(0.0, f64::max),
        })
    }
}

/// Counts frames in the calm stretches of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct FrameMetrics {
    calm: Calm,
    up: u64,
    /// The node that began to lead last.
    leader: Option<u32>,
    /// The start of the present stretch, and the frames sent in it.
    stretch: Option<(Micros, u64)>,
    /// The frames of each node in the present stretch, and in all that are over.
    sent: BTreeMap<u32, u64>,
    totals: BTreeMap<u32, u64>,
    steady: Steady,
    samples: Vec<u64>,
}

impl FrameMetrics {
    pub(super) fn new(settle_time: Micros) -> Self {
        Self { calm: Calm::after(settle_time), ..Self::default() }
    }

    /// The frames that a node sent in a minute, on average over all nodes that are up, in each calm stretch.
    pub(super) fn samples(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.samples.iter().map(|&frames| ("calm_frames", frames))
    }

    /// The frames of all calm stretches.
    pub(super) fn steady(&self) -> Steady {
        Steady { busiest: self.totals.values().max().copied().unwrap_or(0), ..self.steady }
    }

    /// Ends the stretches that are over at `now`.
    fn advance(&mut self, now: Micros) {
        if self.stretch.is_none() {
            self.stretch = self.calm.since(now).map(|since| (since, 0));
        }
        while let Some((start, frames)) = self.stretch.filter(|(start, _)| now >= start + STRETCH) {
            self.samples.push((frames * 60_000_000 / STRETCH).div_ceil(self.up.max(1)));
            self.steady.micros += STRETCH;
            self.steady.node_micros += STRETCH * self.up;
            self.steady.frames += frames;
            for (node, frames) in std::mem::take(&mut self.sent) {
                *self.totals.entry(node).or_default() += frames;
                self.steady.leader += if Some(node) == self.leader { frames } else { 0 };
            }
            self.stretch = Some((start + STRETCH, 0));
        }
    }
}

impl Observer for FrameMetrics {
    fn observe(&mut self, event: &TraceEvent) {
        self.advance(event.at);
        match event.kind {
            EventKind::Leads { .. } => self.leader = event.node,
            EventKind::Boot { .. } => self.up += 1,
            EventKind::Crash => self.up -= 1,
            EventKind::Sent { .. } => {
                if let Some((_, frames)) = &mut self.stretch {
                    *frames += 1;
                    *self.sent.entry(event.node.unwrap_or(u32::MAX)).or_default() += 1;
                }
            }
            _ => {} // neither sends a frame nor changes who does
        }
        if self.calm.observe(event) {
            self.stretch = None;
            self.sent.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_counted_in_calm_stretches_alone() {
        let mut metrics = FrameMetrics::new(5_000_000);
        let sent = EventKind::Sent { kind: "hello", bytes: 20 };
        let boot = EventKind::Boot { blank: false };
        let second = |at: u64, kind| TraceEvent { at: at * 1_000_000, node: Some(1), kind };
        let events = [second(0, boot), second(0, boot), second(4, sent), second(6, sent), second(14, sent)];
        let after = [second(16, sent), second(17, EventKind::Crash), second(21, sent), second(40, sent)];
        for event in events.iter().chain(&after) {
            metrics.observe(event);
        }
        // Two frames of two nodes from 5 to 15 s; none of the node that is left from 22 to 32 s.
        let expected = [("calm_frames", 6), ("calm_frames", 0)];
        assert!(metrics.samples().eq(expected), "{:?}", metrics.samples);
        // Three nodes' worth of ten seconds; one node sent both frames in twenty.
        let report = SteadyReport::of(&[metrics.steady()]);
        assert_eq!(report, Some(SteadyReport { mean: 4.0, leader: 0.0, busiest: 6.0 }));
        assert_eq!(SteadyReport::of(&[Steady::default()]), None);
    }
}
