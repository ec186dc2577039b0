//! The header of a data frame, IEEE 802.15.4-2006, 7.2.1 and 7.2.2.2: short addresses, one PAN, to everybody.
//!
//! | offset | bytes | field |
//! | ---: | ---: | --- |
//! | 0 | 2 | frame control: data, within one PAN, both addresses short, nothing to acknowledge |
//! | 2 | 1 | sequence number |
//! | 3 | 2 | PAN id |
//! | 5 | 2 | destination: everybody |
//! | 7 | 2 | source |
//! | 9 | .. | payload |
//!
//! The two bytes of check sum after it are the radio's.

/// The longest frame, without its check sum.
pub const MAC_BYTES_MAX: usize = 125;
/// What the header takes.
pub const HEADER_BYTES: usize = 9;
/// What is left for the payload.
pub const PAYLOAD_BYTES_MAX: usize = MAC_BYTES_MAX - HEADER_BYTES;

/// Room for one frame.
pub type MacBuffer = [u8; MAC_BYTES_MAX];

/// A data frame, within one PAN, both addresses short.
const CONTROL: u16 = 0x8841;
/// Bits that change nothing for who only listens: more to come, and please acknowledge.
const CONTROL_IGNORED: u16 = 0x0030;
/// The destination of every frame.
const EVERYBODY: u16 = 0xffff;
/// Short addresses from here on mean something else than a station.
const SHORT_RESERVED: u16 = 0xfffe;

/// A channel of the 2.4 GHz band.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Channel(u8);

impl Channel {
    /// Where Wi-Fi on its usual channels 1, 6 and 11 disturbs least.
    pub const DEFAULT: Self = Self(26);

    /// Its number, 11 to 26.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }
}

/// There is no channel of this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct NoChannel(pub u8);

impl TryFrom<u8> for Channel {
    type Error = NoChannel;

    fn try_from(number: u8) -> Result<Self, NoChannel> {
        if (11..=26).contains(&number) { Ok(Self(number)) } else { Err(NoChannel(number)) }
    }
}

/// Where a station is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Address {
    /// The network it is in.
    pub pan: u16,
    /// Its own short address.
    pub short: u16,
}

impl Address {
    /// The PAN of boards that were told of no other.
    pub const PAN_DEFAULT: u16 = 0xc0_4e;

    /// The address of a node: the low 16 bits of its id. A frame says itself who sent it, so two nodes that share one
    /// still hear each other.
    #[must_use]
    pub const fn of(id: u32, pan: u16) -> Self {
        let [low, high, ..] = id.to_le_bytes();
        let short = u16::from_le_bytes([low, high]);
        Self { pan, short: if short >= SHORT_RESERVED { 0 } else { short } }
    }

    /// Puts `payload` behind a header; `None` where it does not fit.
    #[must_use]
    pub fn seal<'b>(&self, sequence: u8, payload: &[u8], buffer: &'b mut MacBuffer) -> Option<&'b [u8]> {
        let length = payload.len().checked_add(HEADER_BYTES).filter(|&length| length <= MAC_BYTES_MAX)?;
        let fields: [&[u8]; 6] = [
            &CONTROL.to_le_bytes(),
            &[sequence],
            &self.pan.to_le_bytes(),
            &EVERYBODY.to_le_bytes(),
            &self.short.to_le_bytes(),
            payload,
        ];
        for (place, &byte) in buffer.iter_mut().zip(fields.into_iter().flatten()) {
            *place = byte;
        }
        buffer.get(..length)
    }

    /// The payload of a frame that is for this station: data, of its PAN, to everybody.
    #[must_use]
    pub fn open<'f>(&self, frame: &'f [u8]) -> Option<&'f [u8]> {
        let (&[c0, c1, _sequence, p0, p1, d0, d1, _, _], payload) = frame.split_first_chunk::<HEADER_BYTES>()?;
        let control = u16::from_le_bytes([c0, c1]) & !CONTROL_IGNORED;
        let (pan, to) = (u16::from_le_bytes([p0, p1]), u16::from_le_bytes([d0, d1]));
        (control == CONTROL && pan == self.pan && to == EVERYBODY).then_some(payload)
    }
}

#[cfg(test)]
mod tests {
    use super::{Address, Channel, MAC_BYTES_MAX, NoChannel, PAYLOAD_BYTES_MAX};
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
    fn frames_of_others_are_refused() {
        let change = |place: usize, byte: u8| {
            let mut frame = sealed(b"hi");
            frame[place] = byte;
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
        for (what, frame) in frames {
            assert_eq!(ADDRESS.open(&frame), None, "{what}");
        }
        assert_eq!(ADDRESS.open(&change(0, 0x61)), Some(&b"hi"[..]), "asking for an acknowledgement is harmless");
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
        assert_eq!(Channel::try_from(10), Err(NoChannel(10)));
        assert_eq!(Channel::try_from(27), Err(NoChannel(27)));
        assert_eq!(Channel::try_from(26), Ok(Channel::DEFAULT));
    }
}
