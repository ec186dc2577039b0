//! The frames under way: one store for all of them, so that sending allocates nothing.

use crate::queue::Micros;

/// Room for one frame: more than any medium carries, so that a frame over the limit is seen and not cut.
pub const ROOM: usize = 256;

/// A frame in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameRef(u32);

impl FrameRef {
    /// How many frames can be under way: a reference and a link quality share one word of an event.
    const LIMIT: u32 = 1 << 24;

    /// The reference and a quality in one word.
    #[must_use]
    pub fn with_quality(self, quality: u8) -> u32 {
        (self.0 << 8) | u32::from(quality)
    }

    /// Takes [`FrameRef::with_quality`] apart.
    #[must_use]
    pub fn split(word: u32) -> (Self, u8) {
        (Self(word >> 8), (word & 0xFF) as u8)
    }
}

/// A frame as it was sent.
#[derive(Clone)]
pub struct Frame {
    bytes: [u8; ROOM],
    len: u16,
    holders: u16,
    next: u32,
    /// Which node sent it, by its place in the world.
    pub sender: u32,
    /// When the node handed it over.
    pub sent_at: Micros,
    /// The word for what it says.
    pub kind: &'static str,
}

impl Frame {
    /// What it says.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

const NONE: u32 = u32::MAX;

/// All frames under way.
#[derive(Default)]
pub struct Frames {
    slots: Vec<Frame>,
    free: Vec<u32>,
}

impl Frames {
    /// Stores a frame, held once.
    ///
    /// # Panics
    /// Where sixteen million frames are under way at once.
    pub fn insert(&mut self, bytes: &[u8], sender: u32, sent_at: Micros, kind: &'static str) -> FrameRef {
        let index = self.free.pop().unwrap_or_else(|| {
            let index = self.slots.len() as u32;
            assert!(index < FrameRef::LIMIT, "a run cannot have more than {} frames under way", FrameRef::LIMIT);
            self.slots.push(Frame { bytes: [0; ROOM], len: 0, holders: 0, next: NONE, sender, sent_at, kind });
            index
        });
        let frame = &mut self.slots[index as usize];
        let len = bytes.len().min(ROOM);
        frame.bytes[..len].copy_from_slice(&bytes[..len]);
        frame.len = len as u16;
        frame.holders = 1;
        frame.next = NONE;
        frame.sender = sender;
        frame.sent_at = sent_at;
        frame.kind = kind;
        FrameRef(index)
    }

    /// The frame.
    #[must_use]
    pub fn get(&self, frame: FrameRef) -> &Frame {
        &self.slots[frame.0 as usize]
    }

    /// Holds the frame once more.
    pub fn hold(&mut self, frame: FrameRef) {
        self.slots[frame.0 as usize].holders += 1;
    }

    /// Holds the frame once less; what nobody holds is gone.
    pub fn release(&mut self, frame: FrameRef) {
        let slot = &mut self.slots[frame.0 as usize];
        slot.holders -= 1;
        if slot.holders == 0 {
            self.free.push(frame.0);
        }
    }

    /// How many frames are under way.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

/// The frames that wait at one transmitter, first come first served; the frames themselves are the list.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    first: u32,
    last: u32,
    len: u16,
}

impl Default for Waiting {
    fn default() -> Self {
        Self { first: NONE, last: NONE, len: 0 }
    }
}

impl Waiting {
    /// How many frames wait.
    #[must_use]
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// Whether none waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The frame whose turn it is.
    #[must_use]
    pub fn first(&self) -> Option<FrameRef> {
        (!self.is_empty()).then_some(FrameRef(self.first))
    }

    /// Adds a frame at the end.
    pub fn push(&mut self, frames: &mut Frames, frame: FrameRef) {
        if self.is_empty() {
            self.first = frame.0;
        } else {
            frames.slots[self.last as usize].next = frame.0;
        }
        self.last = frame.0;
        self.len += 1;
    }

    /// Takes the frame whose turn it is.
    pub fn pop(&mut self, frames: &mut Frames) -> Option<FrameRef> {
        let frame = self.first()?;
        self.first = frames.slots[frame.0 as usize].next;
        self.len -= 1;
        Some(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_lives_as_long_as_somebody_holds_it() {
        let mut frames = Frames::default();
        let first = frames.insert(&[1, 2, 3], 7, 9, "hello");
        frames.hold(first);
        frames.release(first);
        assert_eq!(frames.get(first).bytes(), [1, 2, 3]);
        assert_eq!((frames.get(first).sender, frames.get(first).sent_at), (7, 9));
        frames.release(first);
        assert_eq!(frames.under_way(), 0);
        assert_eq!(frames.insert(&[], 0, 0, "hello"), first);
    }

    #[test]
    fn waiting_frames_leave_in_the_order_they_came() {
        let mut frames = Frames::default();
        let mut waiting = Waiting::default();
        let [a, b, c] = [1, 2, 3].map(|byte| frames.insert(&[byte], 0, 0, "hello"));
        waiting.push(&mut frames, a);
        waiting.push(&mut frames, b);
        assert_eq!(waiting.pop(&mut frames), Some(a));
        waiting.push(&mut frames, c);
        assert_eq!((waiting.first(), waiting.len()), (Some(b), 2));
        assert_eq!(waiting.pop(&mut frames), Some(b));
        assert_eq!(waiting.pop(&mut frames), Some(c));
        assert_eq!(waiting.pop(&mut frames), None);
    }

    #[test]
    fn a_reference_and_a_quality_share_a_word() {
        let frame = FrameRef(0x00AB_CDEF);
        assert_eq!(FrameRef::split(frame.with_quality(200)), (frame, 200));
    }
}
