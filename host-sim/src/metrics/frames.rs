//! Metrics of frames: how many nodes send while the network is calm.

use crate::base::Micros;
use crate::check::Calm;
use crate::trace::{EventKind, Observer, TraceEvent};

/// The length of a stretch over which frames are counted.
const STRETCH: Micros = 10_000_000;

/// Counts frames in the calm stretches of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct FrameMetrics {
    calm: Calm,
    up: u64,
    /// The start of the present stretch, and the frames sent in it.
    stretch: Option<(Micros, u64)>,
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

    /// Ends the stretches that are over at `now`.
    fn advance(&mut self, now: Micros) {
        if self.stretch.is_none() {
            self.stretch = self.calm.since(now).map(|since| (since, 0));
        }
        while let Some((start, frames)) = self.stretch.filter(|(start, _)| now >= start + STRETCH) {
            self.samples.push((frames * 60_000_000 / STRETCH).div_ceil(self.up.max(1)));
            self.stretch = Some((start + STRETCH, 0));
        }
    }
}

impl Observer for FrameMetrics {
    fn observe(&mut self, event: &TraceEvent) {
        self.advance(event.at);
        match event.kind {
            EventKind::Boot { .. } => self.up += 1,
            EventKind::Crash => self.up -= 1,
            EventKind::Sent { .. } => {
                if let Some((_, frames)) = &mut self.stretch {
                    *frames += 1;
                }
            }
            _ => {} // neither sends a frame nor changes who does
        }
        if self.calm.observe(event) {
            self.stretch = None;
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
    }
}
