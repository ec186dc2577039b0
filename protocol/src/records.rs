//! What a reboot must not forget.
//!
//! A number that grows must not fall back because the power failed. Flash wears, so numbers are reserved in blocks:
//! the record holds the end of the block in use, and after a reboot counting goes on from there.

use crate::clock::Stamp;

/// What a node keeps in non-volatile memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Records {
    /// How often the node has started.
    pub incarnation: u32,
    /// No term above this number was ever acted on.
    pub term: u32,
    /// No stamp above this was ever sent.
    pub stamp: Stamp,
}

/// How many term numbers one write to flash is good for.
pub const TERM_BLOCK: u32 = 16;

/// How many stamps one write to flash is good for.
pub const STAMP_BLOCK: u64 = 1 << 12;

/// The first incarnation that is not counted: a node that lost its records draws a number from here on.
pub const INCARNATION_DRAWN: u32 = 1 << 31;

/// The boots of another node, as far as they were heard of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Boots {
    current: u32,
    previous: u32,
}

impl Boots {
    /// A node first heard of in this boot.
    #[must_use]
    pub const fn first(incarnation: u32) -> Self {
        Self { current: incarnation, previous: 0 }
    }

    /// Hears from a boot: whether it is a new one, `None` where it is over.
    ///
    /// Counted boots follow each other, and drawn ones follow them. Which of two drawn ones came first, only those who
    /// heard the change know.
    pub fn admit(&mut self, incarnation: u32) -> Option<bool> {
        if incarnation == self.current {
            return Some(false);
        }
        if incarnation == self.previous || incarnation < self.current.min(INCARNATION_DRAWN) {
            return None;
        }
        *self = Self { current: incarnation, previous: self.current };
        Some(true)
    }
}

impl Records {
    /// What a node is given when it is provisioned: it has never run.
    pub const FACTORY: Self = Self { incarnation: 0, term: 0, stamp: Stamp(0) };

    /// The length of the stored form.
    pub const BYTES: usize = 16;

    /// The records that cover `term` and `stamp`, reserving a new block for each that is used up.
    #[must_use]
    pub fn covering(self, term: u32, stamp: Stamp) -> Self {
        let mut covered = self;
        if term > self.term {
            covered.term = term.saturating_add(TERM_BLOCK);
        }
        if stamp > self.stamp {
            covered.stamp = Stamp(stamp.0.saturating_add(STAMP_BLOCK));
        }
        covered
    }

    /// The stored form: three little-endian numbers. Guarding it against a torn write is the storage's duty.
    #[must_use]
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let number = u128::from(self.stamp.0) << 64 | u128::from(self.term) << 32 | u128::from(self.incarnation);
        number.to_le_bytes()
    }

    /// The records that [`Records::to_bytes`] stored.
    #[must_use]
    pub fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        let number = u128::from_le_bytes(bytes);
        let low = |number: u128| u32::try_from(number & u128::from(u32::MAX)).unwrap_or(0);
        Self {
            incarnation: low(number),
            term: low(number >> 32),
            stamp: Stamp(u64::try_from(number >> 64).unwrap_or(0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_written_once_and_covers_what_follows() {
        let first = Records::FACTORY.covering(1, Stamp(1));
        assert_eq!(first.term, 1 + TERM_BLOCK);
        assert_eq!(first.covering(1 + TERM_BLOCK, Stamp(1 + STAMP_BLOCK)), first);
        assert!(first.covering(2 + TERM_BLOCK, Stamp(1)).term > first.term);
    }

    #[test]
    fn a_boot_that_is_over_is_not_heard_again() {
        let mut boots = Boots::first(3);
        assert_eq!(boots.admit(3), Some(false));
        assert_eq!(boots.admit(5), Some(true));
        assert_eq!([1, 3, 4].map(|old| boots.admit(old)), [None; 3]);
        let (drawn, again) = (INCARNATION_DRAWN + 9, INCARNATION_DRAWN + 2);
        assert_eq!(boots.admit(drawn), Some(true));
        assert_eq!([5, 6].map(|old| boots.admit(old)), [None; 2]);
        assert_eq!(boots.admit(again), Some(true));
        assert_eq!(boots.admit(drawn), None);
    }

    #[test]
    fn the_stored_form_is_pinned_and_reads_back() {
        let records = Records { incarnation: 0x0102_0304, term: 5, stamp: Stamp(6) };
        let bytes = [4, 3, 2, 1, 5, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(records.to_bytes(), bytes);
        assert_eq!(Records::from_bytes(bytes), records);
    }
}
