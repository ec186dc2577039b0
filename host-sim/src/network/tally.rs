//! How much was sent, heard and lost.

use crate::queue::Micros;

/// Frames of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// How many.
    pub frames: u64,
    /// How many bytes they have together.
    pub bytes: u64,
    /// How long they took from the node's hands to the last hearer's, together.
    pub micros: Micros,
}

/// Counts of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    kinds: Vec<(&'static str, Count)>,
    /// Frames heard, once per hearer.
    pub heard: u64,
    /// Frames that overlapped another, once per hearer.
    pub collided: u64,
    /// Frames lost by distance, loss or noise, once per hearer.
    pub lost: u64,
    /// Frames dropped because too many waited.
    pub queue_full: u64,
    /// Frames dropped because the medium was always busy.
    pub medium_busy: u64,
}

impl Tally {
    /// Counts a frame that went out.
    pub fn sent(&mut self, kind: &'static str, bytes: usize, micros: Micros) {
        let known = self.kinds.iter().position(|&(known, _)| std::ptr::eq(known, kind) || known == kind);
        let index = known.unwrap_or_else(|| {
            self.kinds.push((kind, Count::default()));
            self.kinds.len() - 1
        });
        let count = &mut self.kinds[index].1;
        count.frames += 1;
        count.bytes += bytes as u64;
        count.micros += micros;
    }

    /// What was sent, by kind, in alphabetical order.
    #[must_use]
    pub fn kinds(&self) -> Vec<(&'static str, Count)> {
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
        let mut tally = Tally::default();
        tally.sent("hello", 20, 5);
        tally.sent("beat", 10, 1);
        tally.sent("hello", 22, 7);
        let hello = Count { frames: 2, bytes: 42, micros: 12 };
        assert_eq!(tally.kinds(), [("beat", Count { frames: 1, bytes: 10, micros: 1 }), ("hello", hello)]);
    }
}
