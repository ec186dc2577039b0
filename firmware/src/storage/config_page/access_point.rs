//! The access point of a board with Wi-Fi, its name and key, stored behind the config page.
//!
//! | offset | bytes | field |
//! | ---: | ---: | --- |
//! | 0 | 4 | magic: `CNCW` in ASCII |
//! | 4 | 1 | length of the name, 1 to 32 |
//! | 5 | 32 | name of the access point |
//! | 37 | 1 | length of the key: 0 for an open network, otherwise 8 to 63 |
//! | 38 | 63 | key |
//! | 101 | 3 | reserved: written as 0, not read |
//! | 104 | 4 | CRC-32 of bytes 0 to 103 |

use crate::copy_bytes;
use crate::storage::crc;
use core::fmt;
use heapless::String;

/// Offset from the start of the config page.
pub const OFFSET: usize = super::PAGE_BYTES;
/// Length of the stored structure.
pub const ACCESS_POINT_BYTES: usize = 108;

/// The longest SSID, IEEE 802.11, 9.4.2.2.
const NAME_BYTES_MAX: usize = 32;
/// A WPA2 passphrase has this many bytes; an open network has none.
const KEY_BYTES: core::ops::RangeInclusive<usize> = 8..=KEY_BYTES_MAX;
const KEY_BYTES_MAX: usize = 63;
const MAGIC: [u8; 4] = *b"CNCW";
const SUMMED_BYTES: usize = ACCESS_POINT_BYTES - 4;
const KEY_OFFSET: usize = 5 + NAME_BYTES_MAX;

/// Name and key of an access point.
#[derive(Clone, PartialEq, Eq)]
pub struct AccessPoint {
    name: String<NAME_BYTES_MAX>,
    key: String<KEY_BYTES_MAX>,
}

/// Leaves the key out.
impl fmt::Debug for AccessPoint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "AccessPoint({:?}, ..)", self.name)
    }
}

/// Why bytes or texts are no access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum AccessPointError {
    /// The board was not provisioned with one.
    Missing,
    /// The checksum does not match.
    Checksum,
    /// A name has 1 to 32 bytes.
    Name,
    /// A key has 8 to 63 bytes, or none.
    Key,
}

impl AccessPoint {
    /// Makes an access point; an empty key means an open network.
    ///
    /// # Errors
    /// When the name or the key has an invalid length.
    pub fn new(name: &str, key: &str) -> Result<Self, AccessPointError> {
        let bounded = String::try_from(name).map_err(|_| AccessPointError::Name)?;
        if bounded.is_empty() {
            return Err(AccessPointError::Name);
        }
        if !key.is_empty() && !KEY_BYTES.contains(&key.len()) {
            return Err(AccessPointError::Key);
        }
        Ok(Self { name: bounded, key: String::try_from(key).map_err(|_| AccessPointError::Key)? })
    }

    /// The SSID.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The passphrase; empty for an open network.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Decodes and checks the bytes behind a config page.
    ///
    /// # Errors
    /// When no access point is stored, or it is damaged.
    pub fn decode(bytes: &[u8; ACCESS_POINT_BYTES]) -> Result<Self, AccessPointError> {
        let (summed, sum) = bytes.split_at(SUMMED_BYTES);
        if !summed.starts_with(&MAGIC) {
            return Err(AccessPointError::Missing);
        }
        if sum != crc::checksum(summed).to_le_bytes() {
            return Err(AccessPointError::Checksum);
        }
        let name = text(summed, MAGIC.len()).ok_or(AccessPointError::Name)?;
        let key = text(summed, KEY_OFFSET).ok_or(AccessPointError::Key)?;
        Self::new(name, key)
    }

    /// Encodes the bytes that go behind a config page.
    #[must_use]
    pub fn encode(&self) -> [u8; ACCESS_POINT_BYTES] {
        let mut bytes = [0; ACCESS_POINT_BYTES];
        let (summed, sum) = bytes.split_at_mut(SUMMED_BYTES);
        let length = |text: &str| u8::try_from(text.len()).unwrap_or(0);
        let fields = [(0, &MAGIC[..]), (MAGIC.len(), &[length(&self.name)]), (KEY_OFFSET, &[length(&self.key)])];
        let texts = [(MAGIC.len(), self.name.as_bytes()), (KEY_OFFSET, self.key.as_bytes())];
        let texts = texts.map(|(offset, bytes)| (offset.saturating_add(1), bytes));
        for (offset, field) in fields.into_iter().chain(texts) {
            copy_bytes(summed.get_mut(offset..).unwrap_or_default(), field);
        }
        sum.copy_from_slice(&crc::checksum(summed).to_le_bytes());
        bytes
    }
}

/// Reads a length byte at `offset` and the text behind it.
fn text(bytes: &[u8], offset: usize) -> Option<&str> {
    let (&length, rest) = bytes.get(offset..)?.split_first()?;
    core::str::from_utf8(rest.get(..usize::from(length))?).ok()
}

#[cfg(test)]
mod tests {
    use super::{ACCESS_POINT_BYTES, AccessPoint, AccessPointError};
    use std::format;

    #[test]
    fn encoding_and_decoding_are_inverse() {
        for (name, key) in [("home", "correct horse"), ("x", ""), (&"n".repeat(32), &"k".repeat(63))] {
            let access = AccessPoint::new(name, key).unwrap();
            assert_eq!(AccessPoint::decode(&access.encode()), Ok(access));
        }
    }

    #[test]
    fn the_layout_is_pinned() {
        let bytes = AccessPoint::new("home", "password").unwrap().encode();
        assert_eq!(bytes[..9], *b"CNCW\x04home");
        assert_eq!(bytes[37..46], *b"\x08password");
    }

    #[test]
    fn names_and_keys_of_invalid_length_are_refused() {
        assert_eq!(AccessPoint::new("", ""), Err(AccessPointError::Name));
        assert_eq!(AccessPoint::new(&"n".repeat(33), ""), Err(AccessPointError::Name));
        assert_eq!(AccessPoint::new("home", "short"), Err(AccessPointError::Key));
        assert_eq!(AccessPoint::new("home", &"k".repeat(64)), Err(AccessPointError::Key));
    }

    #[test]
    fn blank_memory_and_flipped_bits_are_no_access_point() {
        assert_eq!(AccessPoint::decode(&[0xff; ACCESS_POINT_BYTES]), Err(AccessPointError::Missing));
        let bytes = AccessPoint::new("home", "password").unwrap().encode();
        for bit in 0..ACCESS_POINT_BYTES * 8 {
            let mut bytes = bytes;
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(AccessPoint::decode(&bytes).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn the_key_stays_out_of_logs() {
        let access = AccessPoint::new("home", "password").unwrap();
        assert!(!format!("{access:?}").contains("password"));
    }
}
