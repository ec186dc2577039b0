//! One small record in memory that keeps its contents over a reset.
//!
//! Two slots alternate: a new record overwrites the older one, so a write interrupted by a reset leaves the newer
//! intact. Slot layout, in 32-bit words:
//!
//! | word | holds |
//! | ---: | --- |
//! | 0 | length of the record in bytes; written last, larger than any record during a write |
//! | 1 | sequence number, one more than the other slot's |
//! | 2 | CRC-32 of the sequence number, the length and the record |
//! | 3.. | the record, little-endian, its last word padded with zeros |
//!
//! Memory that was never written, or lost power, fails the length or the checksum: then there is no record.

use crate::copy_bytes;
use crate::storage::crc::Crc;

pub(crate) const RECORD_BYTES_MAX: usize = 256;

/// Words of memory that [`Store`] needs.
pub const STORE_WORDS: usize = 2 * SLOT_WORDS;

const WORD_BYTES: usize = 4;
const HEADER_WORDS: usize = 3;
const SLOT_WORDS: usize = HEADER_WORDS + RECORD_BYTES_MAX / WORD_BYTES;
const WRITING: u32 = u32::MAX;

const _: () = assert!(RECORD_BYTES_MAX.is_multiple_of(WORD_BYTES), "a record ends on a word");

/// Memory that keeps its words over a reset.
///
/// Writes must reach it in the order they are made. A word outside of it reads as zero and is not written.
pub trait Memory {
    /// The word at `index`.
    fn read(&self, index: usize) -> u32;
    /// Changes the word at `index`.
    fn write(&mut self, index: usize, value: u32);
}

/// The record has more than 256 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct TooLong;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    First,
    Second,
}

impl Slot {
    const fn base(self) -> usize {
        match self {
            Self::First => 0,
            Self::Second => SLOT_WORDS,
        }
    }

    const fn other(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Newest {
    slot: Slot,
    sequence: u32,
}

/// A record and the memory that retains it.
#[derive(Debug)]
pub struct RetainedStore<M> {
    memory: M,
    newest: Option<Newest>,
}

impl<M: Memory> RetainedStore<M> {
    /// Finds the newest intact record in `memory`, if there is one.
    #[must_use]
    pub fn open(memory: M) -> Self {
        let mut store = Self { memory, newest: None };
        store.newest = match (store.check(Slot::First), store.check(Slot::Second)) {
            (Some(first), Some(second)) if is_later(second.sequence, first.sequence) => Some(second),
            (Some(first), Some(_) | None) => Some(first),
            (None, second) => second,
        };
        store
    }

    /// Copies the newest record into `buffer` and returns it; `None` where none was stored.
    pub(crate) fn load<'b>(&self, buffer: &'b mut [u8; RECORD_BYTES_MAX]) -> Option<&'b [u8]> {
        let base = self.newest?.slot.base();
        let length = usize::try_from(self.memory.read(base)).ok()?;
        let (words, _) = buffer.as_chunks_mut();
        for (index, word) in (base.saturating_add(HEADER_WORDS)..).zip(words) {
            *word = self.memory.read(index).to_le_bytes();
        }
        buffer.get(..length)
    }

    /// Overwrites the older record with `record`: once this returns `Ok`, a reset does not lose it.
    ///
    /// # Errors
    /// When the record is too long; the memory is unchanged then.
    pub fn save(&mut self, record: &[u8]) -> Result<(), TooLong> {
        let length = u32::try_from(record.len()).map_err(|_| TooLong)?;
        if record.len() > RECORD_BYTES_MAX {
            return Err(TooLong);
        }
        let next = match self.newest {
            Some(Newest { slot, sequence }) => Newest { slot: slot.other(), sequence: sequence.wrapping_add(1) },
            None => Newest { slot: Slot::First, sequence: 1 },
        };

        let base = next.slot.base();
        self.memory.write(base, WRITING);
        self.memory.write(base.saturating_add(1), next.sequence);
        let sum = start_of_sum(next.sequence, length).with(record).value();
        self.memory.write(base.saturating_add(2), sum);
        for (word, bytes) in (base.saturating_add(HEADER_WORDS)..).zip(record.chunks(WORD_BYTES)) {
            let mut padded = [0; WORD_BYTES];
            copy_bytes(&mut padded, bytes);
            self.memory.write(word, u32::from_le_bytes(padded));
        }
        self.memory.write(base, length);

        self.newest = Some(next);
        Ok(())
    }

    /// Returns the slot if its record is intact.
    fn check(&self, slot: Slot) -> Option<Newest> {
        let base = slot.base();
        let length = self.memory.read(base);
        let mut left = usize::try_from(length).ok().filter(|length| *length <= RECORD_BYTES_MAX)?;
        let sequence = self.memory.read(base.saturating_add(1));
        let mut sum = start_of_sum(sequence, length);
        for word in base.saturating_add(HEADER_WORDS)..base.saturating_add(SLOT_WORDS) {
            let bytes = self.memory.read(word).to_le_bytes();
            let used = left.min(WORD_BYTES);
            sum = sum.with(bytes.get(..used).unwrap_or_default());
            left = left.saturating_sub(used);
        }
        (sum.value() == self.memory.read(base.saturating_add(2))).then_some(Newest { slot, sequence })
    }
}

/// The checksum of the sequence number and the length, before the record.
fn start_of_sum(sequence: u32, length: u32) -> Crc {
    Crc::EMPTY.with(&sequence.to_le_bytes()).with(&length.to_le_bytes())
}

/// Returns whether `a` was counted after `b`, also when the counter has wrapped between them.
const fn is_later(a: u32, b: u32) -> bool {
    let ahead = a.wrapping_sub(b);
    ahead != 0 && ahead <= u32::MAX / 2
}

#[cfg(test)]
pub(crate) mod tests;
