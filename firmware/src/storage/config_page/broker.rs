//! The MQTT broker of a board that has an uplink, stored behind the config page and the access point.
//!
//! | offset | bytes | field |
//! | ---: | ---: | --- |
//! | 0 | 4 | magic: `CNCM` in ASCII |
//! | 4 | 4 | IPv4 address |
//! | 8 | 2 | TCP port |
//! | 10 | 1 | length of the prefix, 1 to 32 |
//! | 11 | 32 | prefix of the group's topics |
//! | 43 | 1 | reserved: written as 0, not read |
//! | 44 | 4 | CRC-32 of bytes 0 to 43 |

use super::access_point;
use crate::copy_bytes;
use crate::storage::crc;
use heapless::String;

/// Offset from the start of the config page.
pub const OFFSET: usize = access_point::OFFSET + access_point::ACCESS_POINT_BYTES;
/// Length of the stored structure.
pub const BROKER_BYTES: usize = 48;

/// The longest prefix of topics.
pub const PREFIX_BYTES_MAX: usize = 32;
const MAGIC: [u8; 4] = *b"CNCM";
const SUMMED_BYTES: usize = BROKER_BYTES - 4;

/// Where a board publishes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broker {
    /// Its IPv4 address.
    pub address: [u8; 4],
    /// Its TCP port.
    pub port: u16,
    prefix: String<PREFIX_BYTES_MAX>,
}

impl Broker {
    /// Returns a broker; `None` where the prefix is empty or too long.
    #[must_use]
    pub fn new(address: [u8; 4], port: u16, prefix: &str) -> Option<Self> {
        let prefix = String::try_from(prefix).ok().filter(|prefix| !prefix.is_empty())?;
        Some(Self { address, port, prefix })
    }

    /// What the topics of the board's group begin with.
    #[must_use]
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Decodes and checks the bytes behind a config page; `None` where no broker is stored, or it is damaged.
    #[must_use]
    pub fn decode(bytes: &[u8; BROKER_BYTES]) -> Option<Self> {
        let (summed, sum) = bytes.split_at(SUMMED_BYTES);
        let rest = summed.strip_prefix(&MAGIC).filter(|_| sum == crc::checksum(summed).to_le_bytes())?;
        let (&address, rest) = rest.split_first_chunk()?;
        let (&port, rest) = rest.split_first_chunk()?;
        let (&length, rest) = rest.split_first()?;
        let prefix = core::str::from_utf8(rest.get(..usize::from(length))?).ok()?;
        Self::new(address, u16::from_le_bytes(port), prefix)
    }

    /// Encodes the bytes that go behind a config page.
    #[must_use]
    pub fn encode(&self) -> [u8; BROKER_BYTES] {
        let mut bytes = [0; BROKER_BYTES];
        let (summed, sum) = bytes.split_at_mut(SUMMED_BYTES);
        let length = u8::try_from(self.prefix.len()).unwrap_or(0);
        let fields: [(usize, &[u8]); 5] = [
            (0, &MAGIC),
            (4, &self.address),
            (8, &self.port.to_le_bytes()),
            (10, &[length]),
            (11, self.prefix.as_bytes()),
        ];
        for (offset, field) in fields {
            copy_bytes(summed.get_mut(offset..).unwrap_or_default(), field);
        }
        sum.copy_from_slice(&crc::checksum(summed).to_le_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broker_is_read_as_it_was_written_and_damage_is_detected() {
        let broker = Broker::new([10, 0, 0, 9], 1883, &"p".repeat(PREFIX_BYTES_MAX)).unwrap();
        let bytes = broker.encode();
        assert_eq!(Broker::decode(&bytes), Some(broker));
        for at in 0..BROKER_BYTES {
            let mut damaged = bytes;
            damaged[at] ^= 1;
            assert_eq!(Broker::decode(&damaged), None, "byte {at}");
        }
        assert_eq!(Broker::decode(&[0; BROKER_BYTES]), None);
        assert_eq!(Broker::new([10, 0, 0, 9], 1883, ""), None);
    }
}
