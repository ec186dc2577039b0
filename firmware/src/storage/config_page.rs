//! The config page: identity and settings of one board, written by a loader beside the code.
//!
//! Every board of a kind runs the same image and differs in its page. All numbers are little-endian:
//!
//! | offset | bytes | field |
//! | ---: | ---: | --- |
//! | 0 | 4 | magic: `CNCV` in ASCII |
//! | 4 | 2 | version of this layout: 2 |
//! | 6 | 2 | UDP port, not 0 |
//! | 8 | 4 | id of the node |
//! | 12 | 4 | capacity of the node |
//! | 16 | 4 | options, a bit set: see [`options`] |
//! | 20 | 4 | period between two reports in milliseconds, 0 for the default |
//! | 24 | 8 | seed for random choices |
//! | 32 | 16 | key shared by the network |
//! | 48 | 1 | hop limit of reliable messages, 0 for 1 |
//! | 49 | 1 | channel of the radio, 11 to 26, 0 for the default |
//! | 50 | 2 | PAN id of the radio, 0 for the default |
//! | 52 | 1 | members of the group, nodes 0 to one less than this; 0 for no group |
//! | 53 | 1 | number of the key |
//! | 54 | 2 | the most capacity that the node may claim, 0 for any |
//! | 56 | 4 | reserved: written as 0, not read |
//! | 60 | 16 | the key before, while the network changes; 0 for none |
//! | 76 | 4 | CRC-32 of bytes 0 to 75, as in [`crate::storage::crc`] |
//!
//! On boards with Wi-Fi the name and the key of an access point follow, see [`access_point`]; on boards with an uplink, its broker, see
//! [`broker`].

pub mod access_point;
pub mod blobs;
pub mod broker;

use crate::copy_bytes;
use crate::storage::crc;
use core::fmt;
use protocol::base::capacity::Capacity;
use protocol::wire::{Key, Keyring};

/// Encoded length; the rest of the memory page is not read.
pub const PAGE_BYTES: usize = 80;

const MAGIC: [u8; 4] = *b"CNCV";
const VERSION: u16 = 2;
const SUMMED_BYTES: usize = PAGE_BYTES - 4;

/// Bits of [`ConfigPage::options`]. Boards ignore unknown bits.
pub mod options {
    /// The board has never run: where its memory never held records, it may begin with new ones. Without this bit,
    /// missing records are lost records.
    pub const FACTORY: u32 = 1 << 0;
    /// The node never leads.
    pub const NEVER_LEADS: u32 = 1 << 1;
    /// The network is a LAN, not a radio channel.
    pub const LAN: u32 = 1 << 2;
    /// The board measures its capacity; the page's is ignored.
    pub const MEASURED: u32 = 1 << 3;
    /// The node leads only while a quorum of its group is reachable.
    pub const QUORUM: u32 = 1 << 4;
    /// The key is no secret: it is derived from the name of the group.
    pub const INSECURE: u32 = 1 << 5;
    /// The node leads only while it has an uplink out of its network, as it measures.
    pub const UPLINK_REQUIRED: u32 = 1 << 6;
    /// For tests: once healthy, the board hangs, until its watchdog resets it.
    pub const HANG: u32 = 1 << 30;
    /// For tests: once healthy, the board panics.
    pub const PANIC: u32 = 1 << 31;
}

/// A key shared by the network; `Debug` leaves its bytes out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Secret(pub [u8; 16]);

impl Secret {
    /// No key: the board stays out of every group.
    pub const NONE: Self = Self([0; 16]);

    /// Derives a key from a group's name: it separates groups, but anyone who knows the name knows the key.
    #[must_use]
    pub fn of_group(name: &str) -> Self {
        Self(Key::from_name(name).bytes())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Secret(..)")
    }
}

/// Identity and settings of one board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConfigPage {
    /// Id of the node.
    pub id: u32,
    /// Configured capacity to lead.
    pub capacity: u32,
    /// Bits, see [`options`].
    pub options: u32,
    /// The UDP port all nodes share; never 0.
    pub port: u16,
    /// Interval of status reports; 0 for the default.
    pub period_ms: u32,
    /// Seed of the random number generator. Two boards should not share it.
    pub seed: u64,
    /// Key that seals frames.
    pub key: Secret,
    /// Hop limit of reliable messages; 0 counts as 1.
    pub hops: u8,
    /// The channel of the radio, 11 to 26; 0 for the default.
    pub channel: u8,
    /// The PAN id of the radio; 0 for the default.
    pub pan: u16,
    /// Size of the group, nodes 0 to one less than this; 0 for no group.
    pub members: u8,
    /// The number of the key.
    pub key_number: u8,
    /// The most capacity that the node may claim, whatever it measures; 0 for any.
    pub capacity_max: u16,
    /// The key before, while the network changes.
    pub previous_key: Secret,
}

/// The UDP port of unprovisioned boards.
pub const PORT_DEFAULT: u16 = 47_800;
/// Bits of an id derived from a chip's serial number: small ids make short frames, and collisions stay rare.
const CHIP_ID_BITS: u32 = 24;

/// Why bytes are no config page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum PageError {
    /// Wrong magic: most likely no page was ever loaded.
    Magic([u8; 4]),
    /// Unsupported layout.
    Version(u16),
    /// The checksum does not match.
    Checksum {
        /// As the page has it.
        stored: u32,
        /// As computed over its bytes.
        computed: u32,
    },
    /// Port 0 cannot be bound.
    Port,
    /// Not a channel, 11 to 26.
    Channel(u8),
}

impl ConfigPage {
    /// Makes the page of an unprovisioned board: an id from the chip's serial number, no key, measured capacity, and
    /// `also` these options.
    #[must_use]
    pub fn unprovisioned(serial: &[u8], also: u32) -> Self {
        let sum = crc::checksum(serial);
        let seed = u64::from(sum) << 32 | u64::from(crc::Crc::EMPTY.with(serial).with(serial).value());
        Self {
            id: sum.checked_shr(u32::BITS.saturating_sub(CHIP_ID_BITS)).unwrap_or(sum),
            capacity: 0,
            options: options::FACTORY | options::MEASURED | also,
            port: PORT_DEFAULT,
            period_ms: 0,
            seed,
            key: Secret::NONE,
            hops: 0,
            channel: 0,
            pan: 0,
            members: 0,
            key_number: 0,
            capacity_max: 0,
            previous_key: Secret::NONE,
        }
    }

    /// Returns the capacity that the node may claim where it measured this one.
    #[must_use]
    pub fn limited(&self, measured: Capacity) -> Capacity {
        if self.capacity_max == 0 { measured } else { measured.min(Capacity::new(self.capacity_max)) }
    }

    /// Returns the keys that frames are sealed with.
    #[must_use]
    pub fn keyring(&self) -> Keyring {
        let ring = Keyring::new(Key::new(self.key.0), self.key_number);
        if self.previous_key == Secret::NONE { ring } else { ring.after(Key::new(self.previous_key.0)) }
    }

    /// Returns whether an option is on.
    #[must_use]
    pub const fn has(&self, option: u32) -> bool {
        self.options & option != 0
    }

    /// Decodes and checks a page.
    ///
    /// # Errors
    /// When the bytes are no page of this version, or are damaged.
    pub fn decode(bytes: &[u8; PAGE_BYTES]) -> Result<Self, PageError> {
        let mut reader = Reader(bytes);
        let magic = reader.take();
        let version = u16::from_le_bytes(reader.take());
        let mut page = Self {
            port: u16::from_le_bytes(reader.take()),
            id: u32::from_le_bytes(reader.take()),
            capacity: u32::from_le_bytes(reader.take()),
            options: u32::from_le_bytes(reader.take()),
            period_ms: u32::from_le_bytes(reader.take()),
            seed: u64::from_le_bytes(reader.take()),
            key: Secret(reader.take()),
            hops: u8::from_le_bytes(reader.take()),
            channel: u8::from_le_bytes(reader.take()),
            pan: u16::from_le_bytes(reader.take()),
            members: u8::from_le_bytes(reader.take()),
            key_number: u8::from_le_bytes(reader.take()),
            capacity_max: u16::from_le_bytes(reader.take()),
            previous_key: Secret::NONE,
        };
        let _reserved: [u8; 4] = reader.take();
        page.previous_key = Secret(reader.take());
        let stored = u32::from_le_bytes(reader.take());

        let (summed, _) = bytes.split_at(SUMMED_BYTES);
        let computed = crc::checksum(summed);
        if magic != MAGIC {
            Err(PageError::Magic(magic))
        } else if version != VERSION {
            Err(PageError::Version(version))
        } else if stored != computed {
            Err(PageError::Checksum { stored, computed })
        } else if page.port == 0 {
            Err(PageError::Port)
        } else if !matches!(page.channel, 0 | 11..=26) {
            Err(PageError::Channel(page.channel))
        } else {
            Ok(page)
        }
    }

    /// Encodes a page.
    #[must_use]
    pub fn encode(&self) -> [u8; PAGE_BYTES] {
        let mut bytes = [0; PAGE_BYTES];
        let (summed, sum) = bytes.split_at_mut(SUMMED_BYTES);
        let fields: [&[u8]; 17] = [
            &MAGIC,
            &VERSION.to_le_bytes(),
            &self.port.to_le_bytes(),
            &self.id.to_le_bytes(),
            &self.capacity.to_le_bytes(),
            &self.options.to_le_bytes(),
            &self.period_ms.to_le_bytes(),
            &self.seed.to_le_bytes(),
            &self.key.0,
            &[self.hops],
            &[self.channel],
            &self.pan.to_le_bytes(),
            &[self.members],
            &[self.key_number],
            &self.capacity_max.to_le_bytes(),
            &[0; 4],
            &self.previous_key.0,
        ];
        copy_bytes(summed, fields.into_iter().flatten());
        sum.copy_from_slice(&crc::checksum(summed).to_le_bytes());
        bytes
    }
}

/// Reads fields from the front of a page.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    /// Reads the next field; zeros past the end, which the layout never reaches.
    fn take<const BYTES: usize>(&mut self) -> [u8; BYTES] {
        match self.0.split_first_chunk() {
            Some((field, rest)) => {
                self.0 = rest;
                *field
            }
            None => [0; BYTES],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Capacity, ConfigPage, Key, Keyring, PAGE_BYTES, PageError, Secret, options};
    use std::format;

    const PAGE: ConfigPage = ConfigPage {
        id: 7,
        capacity: 0x0102_0304,
        options: 5,
        port: 47_800,
        period_ms: 1_000,
        seed: 0x1122_3344_5566_7788,
        key: Secret([0x73, 0x69, 0x78, 0x74, 0x65, 0x65, 0x6e, 0x20, 0x6c, 0x65, 0x74, 0x74, 0x65, 0x72, 0x73, 0x21]),
        hops: 3,
        channel: 0,
        pan: 0,
        members: 0,
        key_number: 0,
        capacity_max: 0,
        previous_key: Secret::NONE,
    };

    /// The bytes as another program would write them: they must never change under version 2.
    #[rustfmt::skip]
    const GOLDEN: [u8; PAGE_BYTES] = [
        b'C', b'N', b'C', b'V', 2, 0, 0xb8, 0xba,
        7, 0, 0, 0, 4, 3, 2, 1,
        5, 0, 0, 0, 0xe8, 3, 0, 0,
        0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
        b's', b'i', b'x', b't', b'e', b'e', b'n', b' ', b'l', b'e', b't', b't', b'e', b'r', b's', b'!',
        3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0x66, 0xc2, 0x6c, 0x36,
    ];

    #[test]
    fn a_page_has_the_written_layout() {
        assert_eq!(PAGE.encode(), GOLDEN);
        assert_eq!(ConfigPage::decode(&GOLDEN), Ok(PAGE));
    }

    #[test]
    fn the_settings_of_radio_and_group_are_at_offset_48() {
        let page = ConfigPage { channel: 26, pan: 0x1234, members: 16, ..PAGE };
        assert_eq!(page.encode()[48..54], [3, 26, 0x34, 0x12, 16, 0]);
        assert_eq!(ConfigPage::decode(&page.encode()), Ok(page));
    }

    #[test]
    fn a_node_claims_no_more_capacity_than_it_may() {
        let page = ConfigPage { capacity_max: 0x0403, ..PAGE };
        assert_eq!(page.encode()[54..60], [3, 4, 0, 0, 0, 0]);
        assert_eq!(ConfigPage::decode(&page.encode()), Ok(page));
        let claimed = |page: ConfigPage, measured| page.limited(Capacity::new(measured)).get();
        assert_eq!([500, 0x0403, 9_000].map(|measured| claimed(page, measured)), [500, 0x0403, 0x0403]);
        assert_eq!(claimed(PAGE, 9_000), 9_000, "no ceiling");
    }

    #[test]
    fn a_network_that_changes_its_key_has_two() {
        let page = ConfigPage { key_number: 1, previous_key: Secret([7; 16]), ..PAGE };
        assert_eq!((page.encode()[53], &page.encode()[60..76]), (1, &[7; 16][..]));
        assert_eq!(ConfigPage::decode(&page.encode()), Ok(page));
        assert_eq!(page.keyring(), Keyring::new(Key::new(PAGE.key.0), 1).after(Key::new([7; 16])));
        assert_eq!(PAGE.keyring(), Keyring::new(Key::new(PAGE.key.0), 0));
    }

    #[test]
    fn unprovisioned_boards_have_different_ids_and_the_same_key() {
        let (one, other) = (ConfigPage::unprovisioned(&[1; 8], 0), ConfigPage::unprovisioned(&[2; 8], options::LAN));
        assert_ne!((one.id, one.seed), (other.id, other.seed));
        assert_eq!((one.key, one.port), (other.key, other.port));
        assert_eq!(one.key, Secret::NONE);
        assert!(one.options == options::FACTORY | options::MEASURED && other.has(options::LAN) && one.id < 1 << 24);
        assert_eq!(ConfigPage::decode(&one.encode()), Ok(one));
    }

    #[test]
    fn different_group_names_give_different_keys_of_different_parts() {
        assert_ne!(Secret::of_group("kitchen"), Secret::of_group("garage"));
        let Secret(key) = Secret::of_group("kitchen");
        assert_ne!(key[..4], key[4..8]);
    }

    #[test]
    fn any_flipped_bit_is_refused() {
        for bit in 0..PAGE_BYTES * 8 {
            let mut bytes = PAGE.encode();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(ConfigPage::decode(&bytes).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn blank_memory_port_zero_and_a_channel_outside_the_band_are_refused() {
        assert_eq!(ConfigPage::decode(&[0; PAGE_BYTES]), Err(PageError::Magic([0; 4])));
        assert_eq!(ConfigPage::decode(&[0xff; PAGE_BYTES]), Err(PageError::Magic([0xff; 4])));
        assert_eq!(ConfigPage::decode(&ConfigPage { port: 0, ..PAGE }.encode()), Err(PageError::Port));
        assert_eq!(ConfigPage::decode(&ConfigPage { channel: 10, ..PAGE }.encode()), Err(PageError::Channel(10)));
    }

    #[test]
    fn the_key_stays_out_of_logs() {
        assert!(format!("{PAGE:?}").contains("Secret(..)"));
    }
}
