//! Sequence numbers of one peer's frames: duplicates are rejected, reordered frames accepted, losses counted.

/// How many sequence numbers below the highest a late frame can still be distinguished from a duplicate.
pub(super) const WINDOW: u32 = 32;

/// The sequence numbers received from one peer in its current boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct SequenceWindow {
    highest: u32,
    /// A bit for each of the [`WINDOW`] numbers below the highest.
    received: u32,
}

impl SequenceWindow {
    /// Creates the window of a peer whose first frame is number `seq`.
    pub(super) const fn starting_at(seq: u32) -> Self {
        Self { highest: seq.saturating_sub(1), received: 0 }
    }

    /// The highest number received.
    pub(super) const fn highest(self) -> u32 {
        self.highest
    }

    /// Accepts frame `seq`; returns how many frames are missing between it and the highest before. `None` for a
    /// duplicate, and for a frame below the window.
    pub(super) fn accept(&mut self, seq: u32) -> Option<u32> {
        match seq.checked_sub(self.highest) {
            Some(0) => None,
            Some(ahead) => {
                self.received = self.received.checked_shl(ahead).unwrap_or(0)
                    | 1_u32.checked_shl(ahead.wrapping_sub(1)).unwrap_or(0);
                self.highest = seq;
                Some(ahead.saturating_sub(1))
            }
            None => {
                let bit = 1_u32.checked_shl(self.highest.abs_diff(seq).wrapping_sub(1)).unwrap_or(0);
                if bit == 0 || self.received & bit != 0 {
                    return None;
                }
                self.received |= bit;
                Some(0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duplicate_is_rejected_and_a_reordered_frame_is_not() {
        let mut window = SequenceWindow::starting_at(10);
        let frames = [
            (10, Some(0)),
            (10, None),
            (14, Some(3)),
            (12, Some(0)),
            (12, None),
            (14, None),
            (10, None),
            (60, Some(45)),
            (60 - WINDOW, Some(0)),
            (60 - WINDOW - 1, None), // below the window
        ];
        for (seq, missing) in frames {
            assert_eq!(window.accept(seq), missing, "{seq}");
        }
    }
}
