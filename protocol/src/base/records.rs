//! Records: the state that must survive a reboot.
//!
//! A growing number must not fall back because the power failed. Flash wears, so numbers are reserved in blocks: the
//! record holds the end of the block in use, and after a reboot counting continues from there.
//!
//! Elections that do not end must not wear flash out: each write that follows the last within a minute reserves eight times
//! as many numbers, up to 4,096 terms and a million Lamport times, which outlast a minute of any network.
//!
//! A reboot skips what is left of its block, and all peers follow. So a block is a small part of what messages may move in a
//! minute ([`crate::base::ceiling`]): peers would refuse the messages of a node whose reboots skip more. An insider that
//! moves numbers as far as it may thereby forces 256 writes a minute, and a million until terms are used up,
//! when the node halts: a page of 4 KiB with 128 slots and an endurance of 10,000 cycles outlasts that.
//!
//! Numbers that were spent nevertheless are the reason to change the group's key. Records remember under which key they were
//! written: under the next one, by itself, whatever is beyond half of its range begins anew.

use crate::base::capacity::Capacity;
use crate::base::ceiling::{STEP, TIMES_BLOCK};
use crate::base::cipher::FINGERPRINT_MAX;
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
    /// The fingerprint of the key they were written under; 0 where there was none.
    pub key: u16,
}

/// Term numbers reserved by one write to flash.
const TERM_BLOCK: u32 = 16;

/// Lamport times reserved by one write to flash.
const LAMPORT_BLOCK: u64 = 1 << 12;

/// Where the flaps and the fingerprint of the key stand in the stored form, above the Lamport time.
const FLAPS_SHIFT: u32 = 56;
const KEY_SHIFT: u32 = 42;
const _: () = assert!(LamportTime::MAX.0 >> KEY_SHIFT == 0, "the fingerprint would overwrite a Lamport time");
const _: () = assert!(FINGERPRINT_MAX >> (FLAPS_SHIFT - KEY_SHIFT) == 0, "the flaps would overwrite the fingerprint");

/// A term and a Lamport time from these on are spent: no network that works comes here.
const TERM_SPENT: u32 = 1 << 31;
const LAMPORT_SPENT: LamportTime = LamportTime(LamportTime::MAX.0 / 2);

/// A write that comes sooner after the last one makes blocks larger.
const WRITE_INTERVAL: Duration = Duration::from_secs(60);

/// A write that comes later makes blocks smaller: an eighth of the last one would have lasted long enough.
const IDLE_INTERVAL: Duration = Duration::from_secs(8 * 60);

/// The most powers of two by which blocks grow.
const GROWTH_MAX: u32 = 8;

/// How many of the largest blocks messages may move in a minute: so many reboots in a minute lock nobody out.
const BLOCKS_A_STEP: u32 = 256;
const _: () = assert!((TERM_BLOCK << GROWTH_MAX) * BLOCKS_A_STEP == STEP);
const _: () = assert!(LAMPORT_BLOCK << (GROWTH_MAX + BLOCKS_A_STEP.ilog2()) <= TIMES_BLOCK << STEP.ilog2());

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
        u32::from(self.quick).saturating_sub(1).saturating_mul(3).min(GROWTH_MAX)
    }
}

impl Records {
    /// The records of a newly provisioned node: it has never booted.
    pub const FACTORY: Self = Self { incarnation: 0, term: 0, lamport: LamportTime(0), flaps: 0, key: 0 };

    /// Length of the stored form.
    pub const BYTES: usize = 16;

    /// Returns the part of its capacity that a node with these records advertises: less than all of it after flaps.
    #[must_use]
    pub fn advertised(&self, capacity: Capacity) -> Capacity {
        stability::advertised(self.flaps, capacity)
    }

    /// Returns how long a node with these records waits before it leads nobody but itself.
    #[must_use]
    pub const fn hold(&self) -> Duration {
        stability::hold(self.flaps)
    }

    /// Returns whether these records cover `term` and `lamport`.
    pub(crate) fn cover(&self, term: u32, lamport: LamportTime) -> bool {
        term <= self.term && lamport <= self.lamport
    }

    /// Reserves a new block for each of `term` and `lamport` that is used up, larger by `growth` powers of two. Where writes
    /// come quickly, one that is used up reserves for both: they must not take turns.
    pub(crate) fn reserve(&mut self, term: u32, lamport: LamportTime, growth: u32) {
        let quick = growth > 0;
        let [spent_term, spent_time] = [term > self.term, lamport > self.lamport];
        if spent_term || quick {
            self.term = self.term.max(term.saturating_add(TERM_BLOCK.checked_shl(growth).unwrap_or(u32::MAX)));
        }
        if spent_time || quick {
            let block = LAMPORT_BLOCK.checked_shl(growth).unwrap_or(u64::MAX);
            self.lamport = self.lamport.max(LamportTime(lamport.0.saturating_add(block).min(LamportTime::MAX.0)));
        }
    }

    /// Returns these records under the key of this fingerprint. Where it is another one, numbers that were spent begin anew:
    /// nothing that was sealed with the old key can be taken for theirs.
    pub(crate) fn under_key(mut self, fingerprint: u16) -> Self {
        if self.key != 0 && self.key != fingerprint {
            if self.incarnation == u32::MAX {
                self.incarnation = 0;
            }
            if self.term >= TERM_SPENT {
                self.term = 0;
            }
            if self.lamport >= LAMPORT_SPENT {
                self.lamport = LamportTime(0);
            }
        }
        Self { key: fingerprint, ..self }
    }

    /// Returns the stored form: three little-endian numbers, the flaps in the highest byte of the last, and below them the
    /// fingerprint of the key, where no Lamport time reaches. The storage must detect torn writes.
    #[must_use]
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let above = u64::from(self.flaps) << FLAPS_SHIFT | u64::from(self.key & FINGERPRINT_MAX) << KEY_SHIFT;
        let last = self.lamport.0 & LamportTime::MAX.0 | above;
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
            lamport: LamportTime(last & LamportTime::MAX.0),
            flaps: u8::try_from(last >> FLAPS_SHIFT).unwrap_or(0),
            key: u16::try_from(last >> KEY_SHIFT & u64::from(FINGERPRINT_MAX)).unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ceiling::{Ceilings, Number};

    #[test]
    fn a_block_is_written_once_and_covers_the_numbers_that_follow() {
        let mut records = Records::FACTORY;
        assert!(!records.cover(1, LamportTime(0)) && !records.cover(0, LamportTime(1)));
        records.reserve(1, LamportTime(1), 0);
        assert_eq!((records.term, records.lamport), (1 + TERM_BLOCK, LamportTime(1 + LAMPORT_BLOCK)));
        assert!(records.cover(1 + TERM_BLOCK, LamportTime(1 + LAMPORT_BLOCK)));
        records.reserve(2 + TERM_BLOCK, LamportTime(1), 2);
        assert_eq!(
            (records.term, records.lamport),
            (2 + 5 * TERM_BLOCK, LamportTime(1 + 4 * LAMPORT_BLOCK)),
            "quickly: both"
        );
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
        for terms in [1, 3, 10, 30, 60] {
            let [ten, sixty] = [10, 60].map(|minutes| writes(terms, minutes));
            assert!(ten <= 8 + 10 && sixty <= 8 + 60, "{terms} terms a second: {ten} and {sixty} writes");
        }
        assert_eq!(writes(0, 60), 1);
    }

    /// Writes in this many minutes to a node to which an insider says a term and a time as far ahead as it may, by turns and
    /// in parts as small as a block.
    fn writes_under_steps(minutes: u32) -> u32 {
        let mut rate = WriteRate::booting(Instant::ZERO);
        let mut ceilings = Ceilings::at_boot(Instant::ZERO, false);
        let (mut records, mut writes, mut own) = (Records::FACTORY, 1, [0_u32; 2]);
        for tick in 1..=minutes * 6_000 {
            let now = Instant::from_micros(u64::from(tick) * 10_000);
            let which = usize::from(tick % 6_000 > 3_000);
            let number = if which == 0 { Number::Term } else { Number::Time };
            let said = own[which].saturating_add((TERM_BLOCK << GROWTH_MAX) + 1);
            if ceilings.admits(now, number, own[which], said) {
                own[which] = said;
            }
            let lamport = LamportTime(u64::from(own[1]) * TIMES_BLOCK);
            if !records.cover(own[0], lamport) {
                let growth = rate.on_write(now);
                records.reserve(own[0], lamport, growth);
                writes += 1;
            }
        }
        assert!(own.iter().all(|number| *number > (minutes - 1) * (STEP - STEP / 8)), "{own:?}");
        writes
    }

    #[test]
    fn an_insider_that_moves_numbers_as_far_as_it_may_forces_so_many_writes_a_minute_and_no_more() {
        let minutes = 10;
        let writes = writes_under_steps(minutes);
        assert!(writes > 8 + minutes && writes <= 8 + 2 * BLOCKS_A_STEP * minutes, "{writes} writes");
    }

    #[test]
    fn a_node_that_reboots_four_times_a_second_and_skips_its_blocks_says_no_term_that_peers_refuse() {
        let mut peer = Ceilings::at_boot(Instant::ZERO, false);
        let mut rate = WriteRate::booting(Instant::ZERO);
        let (mut records, mut term) = (Records::FACTORY, 0);
        for reboot in 1..=10 * 240_u32 {
            let now = Instant::from_micros(u64::from(reboot) * 250_000);
            let said = records.term + 1;
            assert!(peer.admits(now, Number::Term, term, said), "reboot {reboot}: term {said} after {term}");
            term = said;
            let growth = rate.on_write(now);
            records.reserve(term, LamportTime(0), growth);
        }
        assert!(term > 2_000 * (TERM_BLOCK << GROWTH_MAX), "blocks have grown: {term}");
    }

    #[test]
    fn numbers_that_were_spent_begin_anew_under_another_key_and_under_no_other_condition() {
        let spent = Records { incarnation: 7, term: u32::MAX, lamport: LamportTime::MAX, flaps: 1, key: 5 };
        assert_eq!(spent.under_key(5), spent);
        assert_eq!(Records { key: 0, ..spent }.under_key(5), spent, "no key was known before");
        let anew = Records { term: 0, lamport: LamportTime(0), key: 6, ..spent };
        assert_eq!(spent.under_key(6), anew);
        let used = Records { term: TERM_SPENT - 1, lamport: LamportTime(9), ..spent };
        assert_eq!(used.under_key(6), Records { key: 6, ..used }, "fences must grow");
        assert_eq!(Records { incarnation: u32::MAX, ..used }.under_key(6).incarnation, 0);
    }

    #[test]
    fn the_stored_form_is_pinned_and_reads_back() {
        let records = Records { incarnation: 0x0102_0304, term: 5, lamport: LamportTime(6), flaps: 2, key: 0x2fff };
        let bytes = [4, 3, 2, 1, 5, 0, 0, 0, 6, 0, 0, 0, 0, 0xfc, 0xbf, 2];
        assert_eq!(records.to_bytes(), bytes);
        assert_eq!(Records::from_bytes(bytes), records);
    }
}
