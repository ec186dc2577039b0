//! The header of a data frame, IEEE 802.15.4-2006, 7.2.1 and 7.2.2.2: short addresses, one PAN, broadcast.
//!
//! | offset | bytes | field |
//! | ---: | ---: | --- |
//! | 0 | 2 | frame control: data, within one PAN, both addresses short, no acknowledgement |
//! | 2 | 1 | sequence number |
//! | 3 | 2 | PAN id |
//! | 5 | 2 | destination: broadcast |
//! | 7 | 2 | source |
//! | 9 | .. | payload |
//!
//! The radio appends the frame check sequence of two bytes.

use crate::copy_bytes;

/// The longest frame, without its check sequence.
pub const MAC_BYTES_MAX: usize = 125;
/// Length of the header.
pub const HEADER_BYTES: usize = 9;
/// The longest payload.
pub const PAYLOAD_BYTES_MAX: usize = MAC_BYTES_MAX - HEADER_BYTES;

/// Buffer for one frame.
pub type MacBuffer = [u8; MAC_BYTES_MAX];

/// A data frame, within one PAN, both addresses short.
const CONTROL: u16 = 0x8841;
/// Bits a receiver may ignore: frame pending, and acknowledgement request.
const CONTROL_IGNORED: u16 = 0x0030;
/// The destination of every frame.
const BROADCAST: u16 = 0xffff;
/// Short addresses from here on are reserved.
const SHORT_RESERVED: u16 = 0xfffe;

/// A channel of the 2.4 GHz band.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Channel(u8);

impl Channel {
    /// The channel that Wi-Fi on its usual channels 1, 6 and 11 disturbs least.
    pub const DEFAULT: Self = Self(26);

    /// Its number, 11 to 26.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }
}

/// No channel has this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct NotAChannel(pub u8);

impl TryFrom<u8> for Channel {
    type Error = NotAChannel;

    fn try_from(number: u8) -> Result<Self, NotAChannel> {
        if (11..=26).contains(&number) { Ok(Self(number)) } else { Err(NotAChannel(number)) }
    }
}

/// PAN and short address of a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Address {
    /// PAN id.
    pub pan: u16,
    /// Short address.
    pub short: u16,
}

impl Address {
    /// The PAN of boards that were provisioned with no other.
    pub const PAN_DEFAULT: u16 = 0xc0_4e;

    /// The address of a node: the low 16 bits of its id. The payload names its sender, so two nodes that share an
    /// address still receive each other's frames.
    #[must_use]
    pub const fn of(id: u32, pan: u16) -> Self {
        let [low, high, ..] = id.to_le_bytes();
        let short = u16::from_le_bytes([low, high]);
        Self { pan, short: if short >= SHORT_RESERVED { 0 } else { short } }
    }

    /// Encodes a frame with `payload`; `None` where it does not fit.
    #[must_use]
    pub fn seal<'b>(&self, sequence: u8, payload: &[u8], buffer: &'b mut MacBuffer) -> Option<&'b [u8]> {
        let length = payload.len().checked_add(HEADER_BYTES).filter(|&length| length <= MAC_BYTES_MAX)?;
        let fields: [&[u8]; 6] = [
            &CONTROL.to_le_bytes(),
            &[sequence],
            &self.pan.to_le_bytes(),
            &BROADCAST.to_le_bytes(),
            &self.short.to_le_bytes(),
            payload,
        ];
        copy_bytes(buffer, fields.into_iter().flatten());
        buffer.get(..length)
    }

    /// Returns the payload of a broadcast data frame of this PAN.
    #[must_use]
    pub fn open<'f>(&self, frame: &'f [u8]) -> Option<&'f [u8]> {
        let (&[c0, c1, _sequence, p0, p1, d0, d1, _, _], payload) = frame.split_first_chunk::<HEADER_BYTES>()?;
        let control = u16::from_le_bytes([c0, c1]) & !CONTROL_IGNORED;
        let (pan, destination) = (u16::from_le_bytes([p0, p1]), u16::from_le_bytes([d0, d1]));
        (control == CONTROL && pan == self.pan && destination == BROADCAST).then_some(payload)
    }
}

#[cfg(test)]
mod tests {
    use super::{Address, Channel, MAC_BYTES_MAX, NotAChannel, PAYLOAD_BYTES_MAX};
    use std::vec::Vec;

    const ADDRESS: Address = Address { pan: 0x1234, short: 0x5678 };

    fn sealed(payload: &[u8]) -> Vec<u8> {
        ADDRESS.seal(7, payload, &mut [0; MAC_BYTES_MAX]).unwrap().to_vec()
    }

    #[test]
    fn a_frame_has_the_bytes_a_sniffer_expects() {
        let bytes = [0x41, 0x88, 7, 0x34, 0x12, 0xff, 0xff, 0x78, 0x56, b'h', b'i'];
        assert_eq!(sealed(b"hi"), bytes);
        assert_eq!(ADDRESS.open(&bytes), Some(&b"hi"[..]));
    }

    #[test]
    fn the_longest_payload_fits_and_a_longer_one_does_not() {
        assert_eq!(sealed(&[1; PAYLOAD_BYTES_MAX]).len(), MAC_BYTES_MAX);
        assert_eq!(ADDRESS.seal(0, &[1; PAYLOAD_BYTES_MAX + 1], &mut [0; MAC_BYTES_MAX]), None);
    }

    #[test]
    fn frames_of_other_networks_are_refused() {
        let change = |offset: usize, byte: u8| {
            let mut frame = sealed(b"hi");
            frame[offset] = byte;
            frame
        };
        let frames = [
            ("a beacon", change(0, 0x40)),
            ("a secured frame", change(0, 0x49)),
            ("between PANs", change(0, 0x01)),
            ("long addresses", change(1, 0xcc)),
            ("another PAN", change(3, 0x35)),
            ("to one station", change(5, 0x01)),
            ("no whole header", sealed(b"")[..8].to_vec()),
            ("nothing", Vec::new()),
        ];
        for (case, frame) in frames {
            assert_eq!(ADDRESS.open(&frame), None, "{case}");
        }
        assert_eq!(ADDRESS.open(&change(0, 0x61)), Some(&b"hi"[..]), "an acknowledgement request is ignored");
    }

    #[test]
    fn no_node_gets_a_reserved_short_address() {
        for id in [0xfffe, 0xffff, 0x1_ffff, u32::MAX] {
            assert_eq!(Address::of(id, 1).short, 0);
        }
        assert_eq!(Address::of(0x0102_0304, 9), Address { pan: 9, short: 0x0304 });
    }

    #[test]
    fn only_the_channels_of_the_band_are_channels() {
        assert_eq!(Channel::try_from(10), Err(NotAChannel(10)));
        assert_eq!(Channel::try_from(27), Err(NotAChannel(27)));
        assert_eq!(Channel::try_from(26), Ok(Channel::DEFAULT));
    }
}
