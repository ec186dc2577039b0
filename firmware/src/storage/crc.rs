//! CRC-32 as in IEEE 802.3: reflected, polynomial `0xedb88320`, the same value zlib gives.
//!
//! Computed bit by bit: it runs over a few hundred bytes at boot and when a record is written, so a table of 1 KiB
//! would cost more than it saves.

const POLYNOMIAL: u32 = 0xedb8_8320;

/// An incremental checksum.
#[derive(Clone, Copy, Debug)]
pub struct Crc(u32);

impl Crc {
    /// The checksum of no bytes.
    pub const EMPTY: Self = Self(u32::MAX);

    /// Appends bytes.
    #[must_use]
    pub fn with(self, bytes: &[u8]) -> Self {
        bytes.iter().fold(self, |crc, &byte| crc.with_byte(byte))
    }

    /// The checksum of all bytes so far.
    #[must_use]
    pub const fn value(self) -> u32 {
        !self.0
    }

    fn with_byte(self, byte: u8) -> Self {
        let mixed = self.0 ^ u32::from(byte);
        Self((0..u8::BITS).fold(mixed, |crc, _| if crc & 1 == 1 { (crc >> 1) ^ POLYNOMIAL } else { crc >> 1 }))
    }
}

/// The checksum of `bytes`.
#[must_use]
pub fn checksum(bytes: &[u8]) -> u32 {
    Crc::EMPTY.with(bytes).value()
}

#[cfg(test)]
mod tests {
    use super::{Crc, checksum};

    #[test]
    fn the_published_check_value_comes_out_of_the_whole_and_of_pieces() {
        assert_eq!(checksum(b"123456789"), 0xcbf4_3926);
        assert_eq!(Crc::EMPTY.with(b"1234").with(b"").with(b"56789").value(), 0xcbf4_3926);
    }
}
