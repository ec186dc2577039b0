//! Which frames under a node's own id are its own, coming back.
//!
//! A broadcast comes back to its sender, and an attacker plays recordings: neither is another node. But where two nodes that
//! were provisioned alike boot for the first time, they have one id, one boot and the same numbers, and only the contents of
//! their frames differ. So a node remembers one byte of the tag of each of its first frames. A frame with such a number and
//! another tag, that opens, is another node's. A later frame of this boot may be its own: where two nodes meet after their first
//! frames, the one that has sent less sees numbers it has not used yet, and restarts in a later boot, which the other one sees.

use crate::wire::SealedFrame;

/// How many frames are remembered.
const FRAMES: usize = 8;

/// A byte of the tag of each of the first frames of this boot.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OwnFrames([u8; FRAMES]);

impl OwnFrames {
    fn slot(seq: u32) -> usize {
        usize::try_from(seq.wrapping_sub(1)).unwrap_or(usize::MAX)
    }

    /// Remembers a frame that was sealed; `tag` is its tag.
    pub(super) fn on_sealed(&mut self, seq: u32, tag: &[u8]) {
        if let Some((kept, mark)) = self.0.get_mut(Self::slot(seq)).zip(tag.first()) {
            *kept = *mark;
        }
    }

    /// Returns whether a frame of this boot, up to the last number `sent`, may be this node's own.
    pub(super) fn may_include(self, frame: &SealedFrame<'_>, sent: u32) -> bool {
        frame.seq() <= sent && self.0.get(Self::slot(frame.seq())).is_none_or(|&mark| mark == frame.mark())
    }
}
