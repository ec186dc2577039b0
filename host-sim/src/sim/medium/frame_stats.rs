//! Counts of frames sent, received and lost.

use crate::base::{Micros, interned};
use serde::{Deserialize, Serialize};

/// Counts of the frames of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindStats {
    /// How many were sent.
    pub frames: u64,
    pub(crate) bytes: u64,
    /// The sum of their times from submission to the end of transmission.
    pub(crate) micros: Micros,
}

/// Counts of the frames of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameStats {
    #[serde(deserialize_with = "interned::pairs")]
    kinds: Vec<(&'static str, KindStats)>,
    /// Frames received, once per receiver.
    pub(crate) received: u64,
    /// Frames that collided, once per receiver.
    pub(crate) collided: u64,
    /// Frames lost by distance or a link fault, once per receiver.
    pub(crate) lost: u64,
    pub(crate) queue_full: u64,
    /// Frames dropped because the channel was busy each time.
    pub(crate) medium_busy: u64,
}

impl FrameStats {
    pub(crate) fn record_sent(&mut self, kind: &'static str, bytes: usize, micros: Micros) {
        let known = self.kinds.iter().position(|&(known, _)| std::ptr::eq(known, kind) || known == kind);
        let index = known.unwrap_or_else(|| {
            self.kinds.push((kind, KindStats::default()));
            self.kinds.len() - 1
        });
        let count = &mut self.kinds[index].1;
        count.frames += 1;
        count.bytes += bytes as u64;
        count.micros += micros;
    }

    /// Returns the counts by kind, in alphabetical order.
    #[must_use]
    pub fn kinds(&self) -> Vec<(&'static str, KindStats)> {
        let mut kinds = self.kinds.clone();
        kinds.sort_unstable_by_key(|&(kind, _)| kind);
        kinds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_counted_by_kind() {
        let mut stats = FrameStats::default();
        stats.record_sent("hello", 20, 5);
        stats.record_sent("ack", 10, 1);
        stats.record_sent("hello", 22, 7);
        let hello = KindStats { frames: 2, bytes: 42, micros: 12 };
        assert_eq!(stats.kinds(), [("ack", KindStats { frames: 1, bytes: 10, micros: 1 }), ("hello", hello)]);
    }
}
