//! The access point of a board with Wi-Fi: who it is and what it wants to hear, written behind the config page.
//!
//! | offset | bytes | field |
//! | ---: | ---: | --- |
//! | 0 | 4 | magic: the letters `CNCW` |
//! | 4 | 1 | length of the name, 1 to 32 |
//! | 5 | 32 | name of the access point |
//! | 37 | 1 | length of the key: 0 for an open network, otherwise 8 to 63 |
//! | 38 | 63 | key |
//! | 101 | 3 | reserved: written as 0, not read |
//! | 104 | 4 | CRC-32 of bytes 0 to 103 |
//!
//! The rest of the config page stays unused.

use crate::crc;
use core::fmt;
use heapless::String;

/// Where it begins, counted from the config page.
pub const OFFSET: usize = super::PAGE_BYTES;
/// Bytes of it.
pub const ACCESS_BYTES: usize = 108;
/// The longest name, IEEE 802.11, 9.4.2.2.
pub const NAME_BYTES_MAX: usize = 32;
/// The shortest and the longest key of WPA2, but for the open network's.
pub const KEY_BYTES: core::ops::RangeInclusive<usize> = 8..=63;

const KEY_BYTES_MAX: usize = 63;
const MAGIC: [u8; 4] = *b"CNCW";
const SUMMED_BYTES: usize = ACCESS_BYTES - 4;
const KEY_OFFSET: usize = 5 + NAME_BYTES_MAX;

/// An access point.
#[derive(Clone, PartialEq, Eq)]
pub struct Access {
    name: String<NAME_BYTES_MAX>,
    key: String<KEY_BYTES_MAX>,
}

/// It keeps its key out of logs.
impl fmt::Debug for Access {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Access({:?}, ..)", self.name)
    }
}

/// Why there is no such access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum AccessError {
    /// Nobody wrote one.
    Missing,
    /// The checksum does not fit the bytes.
    Checksum,
    /// A name has 1 to 32 bytes.
    Name,
    /// A key has 8 to 63 bytes, or none.
    Key,
}

impl Access {
    /// An access point, as it is announced; an empty key is an open network's.
    ///
    /// # Errors
    /// When the name or the key is one that no access point can have.
    pub fn new(name: &str, key: &str) -> Result<Self, AccessError> {
        let bounded = String::try_from(name).map_err(|_| AccessError::Name)?;
        if bounded.is_empty() {
            return Err(AccessError::Name);
        }
        if !key.is_empty() && !KEY_BYTES.contains(&key.len()) {
            return Err(AccessError::Key);
        }
        Ok(Self { name: bounded, key: String::try_from(key).map_err(|_| AccessError::Key)? })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its key; empty where it wants none.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Reads what is behind a config page.
    ///
    /// # Errors
    /// When there is no access point, or it is damaged.
    pub fn decode(bytes: &[u8; ACCESS_BYTES]) -> Result<Self, AccessError> {
        let (summed, sum) = bytes.split_at(SUMMED_BYTES);
        if !summed.starts_with(&MAGIC) {
            return Err(AccessError::Missing);
        }
        if sum != crc::checksum(summed).to_le_bytes() {
            return Err(AccessError::Checksum);
        }
        let name = text(summed, MAGIC.len()).ok_or(AccessError::Name)?;
        let key = text(summed, KEY_OFFSET).ok_or(AccessError::Key)?;
        Self::new(name, key)
    }

    /// Writes what goes behind a config page.
    #[must_use]
    pub fn encode(&self) -> [u8; ACCESS_BYTES] {
        let mut bytes = [0; ACCESS_BYTES];
        let (summed, sum) = bytes.split_at_mut(SUMMED_BYTES);
        let length = |text: &str| u8::try_from(text.len()).unwrap_or(0);
        let fields = [(0, &MAGIC[..]), (MAGIC.len(), &[length(&self.name)]), (KEY_OFFSET, &[length(&self.key)])];
        let texts = [(MAGIC.len(), self.name.as_bytes()), (KEY_OFFSET, self.key.as_bytes())];
        let texts = texts.map(|(offset, bytes)| (offset.saturating_add(1), bytes));
        for (offset, field) in fields.into_iter().chain(texts) {
            for (place, &byte) in summed.iter_mut().skip(offset).zip(field) {
                *place = byte;
            }
        }
        sum.copy_from_slice(&crc::checksum(summed).to_le_bytes());
        bytes
    }
}

/// A length and as many bytes of text.
fn text(bytes: &[u8], offset: usize) -> Option<&str> {
    let (&length, rest) = bytes.get(offset..)?.split_first()?;
    core::str::from_utf8(rest.get(..usize::from(length))?).ok()
}

#[cfg(test)]
mod tests {
    use super::{ACCESS_BYTES, Access, AccessError};
    use std::format;

    #[test]
    fn an_access_point_reads_back_as_it_was_written() {
        for (name, key) in [("home", "correct horse"), ("x", ""), (&"n".repeat(32), &"k".repeat(63))] {
            let access = Access::new(name, key).unwrap();
            assert_eq!(Access::decode(&access.encode()), Ok(access));
        }
    }

    #[test]
    fn the_layout_is_pinned() {
        let bytes = Access::new("home", "password").unwrap().encode();
        assert_eq!(bytes[..9], *b"CNCW\x04home");
        assert_eq!(bytes[37..46], *b"\x08password");
    }

    #[test]
    fn names_and_keys_that_no_access_point_has_are_refused() {
        assert_eq!(Access::new("", ""), Err(AccessError::Name));
        assert_eq!(Access::new(&"n".repeat(33), ""), Err(AccessError::Name));
        assert_eq!(Access::new("home", "short"), Err(AccessError::Key));
        assert_eq!(Access::new("home", &"k".repeat(64)), Err(AccessError::Key));
    }

    #[test]
    fn blank_memory_and_flipped_bits_are_no_access_point() {
        assert_eq!(Access::decode(&[0xff; ACCESS_BYTES]), Err(AccessError::Missing));
        let bytes = Access::new("home", "password").unwrap().encode();
        for bit in 0..ACCESS_BYTES * 8 {
            let mut bytes = bytes;
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(Access::decode(&bytes).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn the_key_stays_out_of_logs() {
        let access = Access::new("home", "password").unwrap();
        assert!(!format!("{access:?}").contains("password"));
    }
}
