//! Records: the state that must survive a reboot.
//!
//! A growing number must not fall back because the power failed. Flash wears, so numbers are reserved in blocks: the
//! record holds the end of the block in use, and after a reboot counting continues from there.
//!
//! Whatever uses numbers up, an election that never ends or an insider, must not wear flash out: each write that follows
//! the last within a minute reserves four times as many numbers. After eight such writes a block outlasts a minute of any
//! network. Who moves numbers by whole steps ([`crate::base::ceiling`]) can still force a write with each message, some
//! five thousand in all: then its numbers are used up.

use crate::base::capacity::Capacity;
use crate::base::lamport::LamportTime;
use crate::base::stability;
use crate::base::time::{CoarseInstant, Duration, Instant};

/// The contents of a node's non-volatile memory: [`Node::poll_persist`](crate::Node::poll_persist) returns what to write,
/// [`Boot`](crate::node::Boot) takes what was read.
///
/// ```
/// use protocol::base::records::Records;
///
/// let file: Option<Records> = None; // nothing was ever written
/// let (never_ran, lost) = (Some(file.unwrap_or(Records::FACTORY)), file);
/// assert!(never_ran.is_some(), "it takes part in elections at once");
/// assert!(lost.is_none(), "it waits until every promise of an earlier boot has expired");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Records {
    /// How often the node has booted.
    pub incarnation: u32,
    /// No term above this number was ever acted on.
    pub term: u32,
    /// No Lamport time above this was ever sent.
    pub lamport: LamportTime,
    /// How often the node has flapped of late: rebooted, or lost the leadership while it was up.
    pub flaps: u8,
}

/// Term numbers reserved by one write to flash.
const TERM_BLOCK: u32 = 16;

/// Lamport times reserved by one write to flash.
const LAMPORT_BLOCK: u64 = 1 << 12;

/// Where the flaps stand in the stored form.
const FLAPS_SHIFT: u32 = 56;
const FLAPS_BITS: u64 = 0xff << FLAPS_SHIFT;
const _: () = assert!(LamportTime::MAX.0 & FLAPS_BITS == 0, "the flaps would overwrite a Lamport time");

/// A write that comes sooner after the last one makes blocks larger.
const WRITE_INTERVAL: Duration = Duration::from_secs(60);

/// A write that comes later makes blocks smaller: a quarter of the last one would have lasted long enough.
const IDLE_INTERVAL: Duration = Duration::from_secs(4 * 60);

/// The most powers of two by which blocks grow: a million terms, as many as one message may move.
const GROWTH_MAX: u32 = 16;

/// How quickly records were written of late.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WriteRate {
    last: CoarseInstant,
    /// Writes that came too soon, less those that came late.
    quick: u8,
    /// How often records were given out to be written.
    pub(crate) count: u16,
}

impl WriteRate {
    /// The rate of a node that writes its first records.
    pub(crate) fn booting(now: Instant) -> Self {
        Self { last: CoarseInstant::of(now), quick: 0, count: 0 }
    }

    /// Records a write; returns by how many powers of two its blocks are larger. Boot and first election come together.
    pub(crate) fn on_write(&mut self, now: Instant) -> u32 {
        let elapsed = self.last.elapsed(now);
        if elapsed < WRITE_INTERVAL {
            self.quick = self.quick.saturating_add(1);
        } else if elapsed >= IDLE_INTERVAL {
            self.quick = self.quick.saturating_sub(1);
        }
        self.last = CoarseInstant::of(now);
        u32::from(self.quick).saturating_sub(1).saturating_mul(2).min(GROWTH_MAX)
    }
}

impl Records {
    /// The records of a newly provisioned node: it has never booted.
    pub const FACTORY: Self = Self { incarnation: 0, term: 0, lamport: LamportTime(0), flaps: 0 };

    /// Length of the stored form.
    pub const BYTES: usize = 16;

    /// Returns the part of its capacity that a node with these records advertises: less than all of it after flaps.
    #[must_use]
    pub fn advertised(&self, capacity: Capacity) -> Capacity {
        stability::advertised(self.flaps, capacity)
    }

    /// Returns whether these records cover `term` and `lamport`.
    pub(crate) fn cover(&self, term: u32, lamport: LamportTime) -> bool {
        term <= self.term && lamport <= self.lamport
    }

    /// Reserves a new block for each of `term` and `lamport` that is used up, larger by `growth` powers of two.
    pub(crate) fn reserve(&mut self, term: u32, lamport: LamportTime, growth: u32) {
        if term > self.term {
            self.term = term.saturating_add(TERM_BLOCK.checked_shl(growth).unwrap_or(u32::MAX));
        }
        if lamport > self.lamport {
            self.lamport = LamportTime(lamport.0.saturating_add(LAMPORT_BLOCK.checked_shl(growth).unwrap_or(u64::MAX)));
        }
    }

    /// Returns the stored form: three little-endian numbers, the flaps in the highest byte of the last, which no Lamport time
    /// reaches. The storage must detect torn writes.
    #[must_use]
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let last = self.lamport.0 & !FLAPS_BITS | u64::from(self.flaps) << FLAPS_SHIFT;
        let number = u128::from(last) << 64 | u128::from(self.term) << 32 | u128::from(self.incarnation);
        number.to_le_bytes()
    }

    /// Reads the stored form written by [`Records::to_bytes`].
    #[must_use]
    pub fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        let number = u128::from_le_bytes(bytes);
        let low = |number: u128| u32::try_from(number & u128::from(u32::MAX)).unwrap_or(0);
        let last = u64::try_from(number >> 64).unwrap_or(0);
        Self {
            incarnation: low(number),
            term: low(number >> 32),
            lamport: LamportTime(last & !FLAPS_BITS),
            flaps: u8::try_from(last >> FLAPS_SHIFT).unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_written_once_and_covers_the_numbers_that_follow() {
        let mut records = Records::FACTORY;
        assert!(!records.cover(1, LamportTime(0)) && !records.cover(0, LamportTime(1)));
        records.reserve(1, LamportTime(1), 0);
        assert_eq!((records.term, records.lamport), (1 + TERM_BLOCK, LamportTime(1 + LAMPORT_BLOCK)));
        assert!(records.cover(1 + TERM_BLOCK, LamportTime(1 + LAMPORT_BLOCK)));
        records.reserve(2 + TERM_BLOCK, LamportTime(1), 2);
        assert_eq!((records.term, records.lamport), (2 + 5 * TERM_BLOCK, LamportTime(1 + LAMPORT_BLOCK)));
    }

    /// Writes in this many minutes to a node whose term grows by `terms` a second.
    fn writes(terms: u32, minutes: u32) -> u32 {
        let mut rate = WriteRate::booting(Instant::ZERO);
        let (mut records, mut writes, mut now) = (Records::FACTORY, 1, Instant::ZERO);
        for second in 0..minutes * 60 {
            now = now.after(Duration::from_secs(1));
            if !records.cover(second * terms, LamportTime(0)) {
                let growth = rate.on_write(now);
                records.reserve(second * terms, LamportTime(0), growth);
                writes += 1;
            }
        }
        writes
    }

    #[test]
    fn after_eight_writes_there_is_at_most_one_a_minute_however_terms_grow() {
        for terms in [1, 3, 10, 30, 100, 1_000] {
            let [ten, sixty] = [10, 60].map(|minutes| writes(terms, minutes));
            assert!(ten <= 8 + 10 && sixty <= 8 + 60, "{terms} terms a second: {ten} and {sixty} writes");
        }
        assert_eq!(writes(0, 60), 1);
    }

    #[test]
    fn the_stored_form_is_pinned_and_reads_back() {
        let records = Records { incarnation: 0x0102_0304, term: 5, lamport: LamportTime(6), flaps: 2 };
        let bytes = [4, 3, 2, 1, 5, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 2];
        assert_eq!(records.to_bytes(), bytes);
        assert_eq!(Records::from_bytes(bytes), records);
    }
}
