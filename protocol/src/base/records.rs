//! Records: the state that must survive a reboot.
//!
//! A growing number must not fall back because the power failed. Flash wears, so numbers are reserved in blocks: the
//! record holds the end of the block in use, and after a reboot counting continues from there.

use crate::base::lamport::LamportTime;

/// The contents of a node's non-volatile memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Records {
    /// How often the node has booted.
    pub incarnation: u32,
    /// No term above this number was ever acted on.
    pub term: u32,
    /// No Lamport time above this was ever sent.
    pub lamport: LamportTime,
}

/// Term numbers reserved by one write to flash.
const TERM_BLOCK: u32 = 16;

/// Lamport times reserved by one write to flash.
const LAMPORT_BLOCK: u64 = 1 << 12;

impl Records {
    /// The records of a newly provisioned node: it has never booted.
    pub const FACTORY: Self = Self { incarnation: 0, term: 0, lamport: LamportTime(0) };

    /// Length of the stored form.
    pub const BYTES: usize = 16;

    /// Returns the records that cover `term` and `lamport`, reserving a new block for each that is used up.
    pub(crate) fn covering(self, term: u32, lamport: LamportTime) -> Self {
        let mut covered = self;
        if term > self.term {
            covered.term = term.saturating_add(TERM_BLOCK);
        }
        if lamport > self.lamport {
            covered.lamport = LamportTime(lamport.0.saturating_add(LAMPORT_BLOCK));
        }
        covered
    }

    /// Returns the stored form: three little-endian numbers. The storage must detect torn writes.
    #[must_use]
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let number = u128::from(self.lamport.0) << 64 | u128::from(self.term) << 32 | u128::from(self.incarnation);
        number.to_le_bytes()
    }

    /// Reads the stored form written by [`Records::to_bytes`].
    #[must_use]
    pub fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        let number = u128::from_le_bytes(bytes);
        let low = |number: u128| u32::try_from(number & u128::from(u32::MAX)).unwrap_or(0);
        Self {
            incarnation: low(number),
            term: low(number >> 32),
            lamport: LamportTime(u64::try_from(number >> 64).unwrap_or(0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_written_once_and_covers_the_numbers_that_follow() {
        let first = Records::FACTORY.covering(1, LamportTime(1));
        assert_eq!(first.term, 1 + TERM_BLOCK);
        assert_eq!(first.covering(1 + TERM_BLOCK, LamportTime(1 + LAMPORT_BLOCK)), first);
        assert!(first.covering(2 + TERM_BLOCK, LamportTime(1)).term > first.term);
    }

    #[test]
    fn the_stored_form_is_pinned_and_reads_back() {
        let records = Records { incarnation: 0x0102_0304, term: 5, lamport: LamportTime(6) };
        let bytes = [4, 3, 2, 1, 5, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(records.to_bytes(), bytes);
        assert_eq!(Records::from_bytes(bytes), records);
    }
}
