//! The frames in flight: one pool for all of them, so that sending a frame allocates nothing.

use crate::base::Micros;

/// Bytes of storage for one frame: more than any medium carries, so that a frame over the limit is seen and not cut.
pub(crate) const FRAME_CAPACITY: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameRef(u32);

impl FrameRef {
    /// How many frames can be in flight: a reference and a link quality share one word of an event.
    const LIMIT: u32 = 1 << 24;

    /// Packs the reference and a quality into one word.
    pub(crate) fn with_quality(self, quality: u8) -> u32 {
        (self.0 << 8) | u32::from(quality)
    }

    /// Unpacks a word of [`FrameRef::with_quality`].
    pub(crate) fn split(word: u32) -> (Self, u8) {
        (Self(word >> 8), (word & 0xFF) as u8)
    }
}

/// A frame as it was sent.
#[derive(Clone)]
pub(crate) struct Frame {
    bytes: [u8; FRAME_CAPACITY],
    len: u16,
    references: u16,
    /// The slot of the node that sent it.
    pub(crate) sender: u32,
    /// The moment the node submitted it.
    pub(crate) sent_at: Micros,
    pub(crate) kind: &'static str,
}

impl Frame {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// All frames in flight, reference-counted.
#[derive(Default)]
pub(crate) struct FramePool {
    slots: Vec<Frame>,
    free: Vec<u32>,
}

impl FramePool {
    /// Stores a frame with one reference.
    pub(crate) fn insert(&mut self, bytes: &[u8], sender: u32, sent_at: Micros, kind: &'static str) -> FrameRef {
        let index = self.free.pop().unwrap_or_else(|| {
            let index = self.slots.len() as u32;
            assert!(index < FrameRef::LIMIT, "a run cannot have more than {} frames in flight", FrameRef::LIMIT);
            let bytes = [0; FRAME_CAPACITY];
            self.slots.push(Frame { bytes, len: 0, references: 0, sender, sent_at, kind });
            index
        });
        let frame = &mut self.slots[index as usize];
        let len = bytes.len().min(FRAME_CAPACITY);
        frame.bytes[..len].copy_from_slice(&bytes[..len]);
        (frame.len, frame.references, frame.sender, frame.sent_at, frame.kind) = (len as u16, 1, sender, sent_at, kind);
        FrameRef(index)
    }
    pub(crate) fn get(&self, frame: FrameRef) -> &Frame {
        &self.slots[frame.0 as usize]
    }

    pub(crate) fn retain(&mut self, frame: FrameRef) {
        self.slots[frame.0 as usize].references += 1;
    }

    /// Removes a reference from a frame; its slot is free after the last one.
    pub(crate) fn release(&mut self, frame: FrameRef) {
        let slot = &mut self.slots[frame.0 as usize];
        slot.references -= 1;
        if slot.references == 0 {
            self.free.push(frame.0);
        }
    }

    #[cfg(test)]
    pub(crate) fn in_flight(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_free_when_the_last_reference_is_released() {
        let mut frames = FramePool::default();
        let first = frames.insert(&[1, 2, 3], 7, 9, "hello");
        frames.retain(first);
        frames.release(first);
        assert_eq!(frames.get(first).bytes(), [1, 2, 3]);
        assert_eq!((frames.get(first).sender, frames.get(first).sent_at), (7, 9));
        frames.release(first);
        assert_eq!(frames.in_flight(), 0);
        assert_eq!(frames.insert(&[], 0, 0, "hello"), first);
    }

    #[test]
    fn a_reference_and_a_quality_share_a_word() {
        let frame = FrameRef(0x00AB_CDEF);
        assert_eq!(FrameRef::split(frame.with_quality(200)), (frame, 200));
    }
}
