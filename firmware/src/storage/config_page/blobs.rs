//! The three binary blobs a Wi-Fi chip loads at start, in flash pages of their own.
//!
//! They are neither part of an image nor of this project: their licence is their vendor's. The board's owner writes
//! them once, with `conclave provision`. All numbers are little-endian:
//!
//! | offset | bytes | field |
//! | ---: | ---: | --- |
//! | 0 | 4 | magic: `CNCB` in ASCII |
//! | 4 | 4 | length of the firmware |
//! | 8 | 4 | length of the regulatory data (CLM) |
//! | 12 | 4 | length of the settings (NVRAM) |
//! | 16 | .. | the three, each padded to 4 bytes with zeros |
//! | then | 4 | CRC-32 of everything before it |

use crate::storage::crc;

const MAGIC: [u8; 4] = *b"CNCB";
const HEADER_BYTES: usize = 16;
const WORD: usize = 4;

/// The blobs of a Wi-Fi chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blobs<'a> {
    /// The chip's program.
    pub firmware: &'a [u8],
    /// Regulatory limits per country.
    pub clm: &'a [u8],
    /// The board's wiring and calibration.
    pub nvram: &'a [u8],
}

/// Why bytes are no blobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum BlobsError {
    /// The board was not provisioned with any.
    Missing,
    /// A length exceeds the flash pages or 32 bits.
    Length,
    /// The checksum does not match.
    Checksum,
}

impl<'a> Blobs<'a> {
    /// Decodes and checks the blobs. All three begin at a multiple of 4 bytes.
    ///
    /// # Errors
    /// When none are stored, or they are damaged.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, BlobsError> {
        let (header, rest) = bytes.split_first_chunk::<HEADER_BYTES>().ok_or(BlobsError::Missing)?;
        let (&[magic, firmware, clm, nvram], []) = header.as_chunks::<WORD>() else { return Err(BlobsError::Missing) };
        if magic != MAGIC {
            return Err(BlobsError::Missing);
        }
        let mut rest = rest;
        let mut taken = HEADER_BYTES;
        let mut take = |length: [u8; WORD]| -> Result<&'a [u8], BlobsError> {
            let length = usize::try_from(u32::from_le_bytes(length)).map_err(|_| BlobsError::Length)?;
            let padded = length.checked_next_multiple_of(WORD).ok_or(BlobsError::Length)?;
            let (blob, after) = rest.split_at_checked(padded).ok_or(BlobsError::Length)?;
            rest = after;
            taken = taken.saturating_add(padded);
            blob.get(..length).ok_or(BlobsError::Length)
        };
        let blobs = Self { firmware: take(firmware)?, clm: take(clm)?, nvram: take(nvram)? };
        let sum = rest.first_chunk::<WORD>().ok_or(BlobsError::Length)?;
        let summed = bytes.get(..taken).ok_or(BlobsError::Length)?;
        if crc::checksum(summed).to_le_bytes() == *sum { Ok(blobs) } else { Err(BlobsError::Checksum) }
    }

    /// Encodes the blobs, piece by piece.
    ///
    /// # Errors
    /// When the length of a blob exceeds 32 bits.
    pub fn encode(&self, mut put: impl FnMut(&[u8])) -> Result<(), BlobsError> {
        let blobs = [self.firmware, self.clm, self.nvram];
        let mut sum = crc::Crc::EMPTY;
        let mut put_summed = |bytes: &[u8]| {
            sum = sum.with(bytes);
            put(bytes);
        };
        put_summed(&MAGIC);
        for blob in blobs {
            put_summed(&u32::try_from(blob.len()).map_err(|_| BlobsError::Length)?.to_le_bytes());
        }
        for blob in blobs {
            put_summed(blob);
            let padding = blob.len().next_multiple_of(WORD).saturating_sub(blob.len());
            put_summed([0; WORD].get(..padding).unwrap_or_default());
        }
        let sum = sum.value().to_le_bytes();
        put(&sum);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Blobs, BlobsError};
    use std::vec::Vec;

    const BLOBS: Blobs<'_> = Blobs { firmware: b"firmware", clm: b"clm", nvram: b"a=1" };

    fn encoded(blobs: &Blobs<'_>) -> Vec<u8> {
        let mut bytes = Vec::new();
        blobs.encode(|piece| bytes.extend_from_slice(piece)).unwrap();
        bytes
    }

    #[test]
    fn encoding_and_decoding_are_inverse_whatever_follows() {
        let mut bytes = encoded(&BLOBS);
        assert_eq!(bytes[..16], *b"CNCB\x08\0\0\0\x03\0\0\0\x03\0\0\0");
        assert_eq!(Blobs::decode(&bytes), Ok(BLOBS));
        bytes.extend([0xff; 100]);
        assert_eq!(Blobs::decode(&bytes), Ok(BLOBS));
    }

    #[test]
    fn any_flipped_bit_and_any_missing_byte_is_refused() {
        let bytes = encoded(&BLOBS);
        for bit in 0..bytes.len() * 8 {
            let mut bytes = bytes.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(Blobs::decode(&bytes).is_err(), "bit {bit}");
        }
        for length in 0..bytes.len() {
            assert!(Blobs::decode(&bytes[..length]).is_err(), "{length} bytes");
        }
    }

    #[test]
    fn blank_flash_holds_no_blobs() {
        assert_eq!(Blobs::decode(&[0xff; 64]), Err(BlobsError::Missing));
        assert_eq!(Blobs::decode(&[]), Err(BlobsError::Missing));
    }
}
