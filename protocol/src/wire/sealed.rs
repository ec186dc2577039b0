//! Frames from bytes and to bytes, sealed.

use super::frame::Rest;
use super::{Cipher, DropReason, FRAME_MAX, Kind, Origin, Packet, VERSION, route};
use crate::base::cipher::{NUMBER_MAX, Nonce, TAG_BYTES, Tag};
use crate::base::ids::NodeId;
use serde::{Deserialize, Serialize};

/// What every frame says in clear: who sent it, in which boot, and its number. No node repeats it.
#[derive(Serialize, Deserialize)]
struct Sender {
    id: NodeId,
    incarnation: u32,
    seq: u32,
}

impl Sender {
    fn nonce(&self) -> Nonce {
        let boot = u128::from(self.incarnation) << 32 | u128::from(self.id.0);
        (u128::from(self.seq) << 64 | boot).to_le_bytes()
    }
}

/// A frame of which only the clear part was read: nothing shows yet that a node of the group sent it.
pub struct SealedFrame<'f> {
    number: u8,
    sender: Sender,
    header: &'f [u8],
    text: &'f [u8],
    tag: &'f Tag,
}

impl<'f> SealedFrame<'f> {
    /// Checks length, version and the number of the key, and reads what stands in clear.
    ///
    /// # Errors
    /// The reason to drop bytes that no node of this group can have sent.
    pub fn read(cipher: &impl Cipher, frame: &'f [u8]) -> Result<Self, DropReason> {
        if frame.len() > FRAME_MAX {
            return Err(DropReason::Oversized);
        }
        // Not by `split_last_chunk`, which leaves a path to a panic in some images.
        let end = frame.len().checked_sub(TAG_BYTES).ok_or(DropReason::Malformed)?;
        let (rest, tag) = (frame.get(..end), frame.get(end..).and_then(<[u8]>::first_chunk));
        let (rest, tag) = rest.zip(tag).ok_or(DropReason::Malformed)?;
        let (&first, rest) = rest.split_first().ok_or(DropReason::Malformed)?;
        let number = first ^ VERSION;
        if number > NUMBER_MAX {
            return Err(DropReason::Version);
        }
        if !cipher.knows(number) {
            return Err(DropReason::KeyNumber);
        }
        let (sender, text) = postcard::take_from_bytes(rest).map_err(|_| DropReason::Malformed)?;
        let clear = frame.len().checked_sub(text.len().saturating_add(TAG_BYTES));
        let header = clear.and_then(|clear| frame.get(..clear)).ok_or(DropReason::Malformed)?;
        Ok(Self { number, sender, header, text, tag })
    }

    /// The alleged sender, in its alleged boot.
    #[must_use]
    pub fn sender(&self) -> Origin {
        Origin { id: self.sender.id, incarnation: self.sender.incarnation }
    }

    /// The number of the key.
    #[must_use]
    pub fn key_number(&self) -> u8 {
        self.number
    }

    /// The alleged sequence number.
    #[must_use]
    pub fn seq(&self) -> u32 {
        self.sender.seq
    }

    /// The first byte of the tag.
    #[must_use]
    pub fn mark(&self) -> u8 {
        let [mark, ..] = *self.tag;
        mark
    }

    /// Opens the frame into `buffer` and decodes its header.
    ///
    /// # Errors
    /// The reason to drop a frame that is not of this group, or says nothing that can be understood.
    pub fn open<'b>(&self, cipher: &impl Cipher, buffer: &'b mut [u8; FRAME_MAX]) -> Result<Packet<'b>, DropReason> {
        let mut rest = Rest { buffer, used: 0 };
        rest.append(self.text).ok_or(DropReason::Oversized)?;
        let text = buffer.get_mut(..self.text.len()).ok_or(DropReason::Oversized)?;
        let opened = cipher.open(self.number, &self.sender.nonce(), self.header, text, self.tag);
        opened.ok_or(DropReason::Tag)?;
        let (&kind, rest) = text.split_first().ok_or(DropReason::Malformed)?;
        let kind = Kind::new(kind);
        if kind.stage().is_none() {
            return Err(DropReason::UnknownKind);
        }
        let (destination, body) = route::take(rest).ok_or(DropReason::Malformed)?;
        let Sender { id: sender, incarnation, seq } = self.sender;
        Ok(Packet { kind, sender, incarnation, seq, destination, body })
    }
}

/// Opens a frame into `buffer`, without regard to what came before it.
///
/// # Errors
/// The reason to drop bytes that are no frame of this group.
pub fn open<'b>(cipher: &impl Cipher, frame: &[u8], buffer: &'b mut [u8; FRAME_MAX]) -> Result<Packet<'b>, DropReason> {
    SealedFrame::read(cipher, frame)?.open(cipher, buffer)
}

/// Seals a frame into `buffer`; `None` where it does not fit the buffer or a frame.
#[must_use]
pub fn seal(cipher: &impl Cipher, packet: &Packet<'_>, buffer: &mut [u8]) -> Option<usize> {
    let Packet { kind, sender, incarnation, seq, ref destination, body } = *packet;
    let sender = Sender { id: sender, incarnation, seq };
    let mut rest = Rest { buffer, used: 0 };
    rest.append(&[VERSION | cipher.number() & NUMBER_MAX])?;
    rest.encode(&sender)?;
    let clear = rest.used;
    rest.append(&[kind.byte()])?;
    route::write(destination, &mut rest)?;
    rest.append(body)?;
    let (header, text) = rest.buffer.get_mut(..rest.used)?.split_at_mut_checked(clear)?;
    let tag = cipher.seal(&sender.nonce(), header, text);
    rest.append(&tag)?;
    (rest.used <= FRAME_MAX).then_some(rest.used)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ids::NodeSet;
    use crate::base::lamport::LamportTime;
    use crate::wire::{Attempt, Destination, Key, Recipients, Relays, ReliableHeader};
    use heapless::Vec;

    const KEY: Key = Key::new([7; 16]);

    fn packet(destination: Destination) -> Packet<'static> {
        Packet { kind: Kind::new(16), sender: NodeId(300), incarnation: 2, seq: 9, destination, body: &[1, 2, 3] }
    }

    fn reliable() -> Destination {
        let boots = Vec::from_slice(&[9]).unwrap();
        let recipients = Recipients::Members { set: NodeSet::slot(3), boots, relays: Relays::Two(1, 2) };
        let origin = Some(Origin { id: NodeId(4), incarnation: 1 });
        let attempt = Attempt { seq: 2, number: 0, hop_limit: 5, sent_at: LamportTime(6) };
        Destination::Reliable(ReliableHeader { origin, attempt, recipients, ack: Some(300) })
    }

    #[test]
    fn a_sealed_frame_opens_unchanged() {
        for destination in [
            Destination::Broadcast,
            Destination::Neighbours(Vec::from_array([NodeId(u32::MAX), NodeId(0)])),
            reliable(),
        ] {
            let mut buffer = [0; FRAME_MAX];
            let len = seal(&KEY, &packet(destination.clone()), &mut buffer).unwrap();
            assert_eq!(open(&KEY, &buffer[..len], &mut [0; FRAME_MAX]), Ok(packet(destination)));
        }
    }

    #[test]
    fn a_header_that_contradicts_itself_is_malformed() {
        let Destination::Reliable(header) = reliable() else { unreachable!() };
        let mut buffer = [0; FRAME_MAX];
        let one_boot = Vec::from_slice(&[9]).unwrap();
        let two_members = Recipients::Members { set: NodeSet::first(2), boots: one_boot, relays: Relays::Nobody };
        let broken = ReliableHeader { recipients: two_members, ..header.clone() };
        assert_eq!(seal(&KEY, &packet(Destination::Reliable(broken)), &mut buffer), None);
        let late = Attempt { sent_at: LamportTime(LamportTime::MAX.0 + 1), ..header.attempt };
        let broken = ReliableHeader { attempt: late, ..header };
        let len = seal(&KEY, &packet(Destination::Reliable(broken)), &mut buffer).unwrap();
        assert_eq!(open(&KEY, &buffer[..len], &mut [0; FRAME_MAX]), Err(DropReason::Malformed));
    }

    #[test]
    fn every_single_bit_flip_is_refused() {
        let mut buffer = [0; FRAME_MAX];
        let len = seal(&KEY, &packet(reliable()), &mut buffer).unwrap();
        for bit in 0..len * 8 {
            let mut broken = buffer;
            broken[bit / 8] ^= 1 << (bit % 8);
            let refused = open(&KEY, &broken[..len], &mut [0; FRAME_MAX]).unwrap_err();
            let expected = [DropReason::Tag, DropReason::Version, DropReason::KeyNumber];
            assert!(expected.contains(&refused), "bit {bit}: {refused:?}");
        }
    }

    #[test]
    fn every_truncation_and_every_extension_is_refused() {
        let mut buffer = [0; FRAME_MAX + 1];
        let len = seal(&KEY, &packet(Destination::Broadcast), &mut buffer).unwrap();
        for short in 0..len {
            assert!(open(&KEY, &buffer[..short], &mut [0; FRAME_MAX]).is_err());
        }
        assert_eq!(open(&KEY, &buffer[..=len], &mut [0; FRAME_MAX]), Err(DropReason::Tag));
        assert_eq!(open(&KEY, &buffer, &mut [0; FRAME_MAX]), Err(DropReason::Oversized));
    }

    #[test]
    fn a_body_too_long_for_a_frame_is_not_sealed() {
        let body = [0; FRAME_MAX];
        let packet = Packet { body: &body, ..packet(Destination::Broadcast) };
        assert_eq!(seal(&KEY, &packet, &mut [0; 2 * FRAME_MAX]), None);
        assert_eq!(seal(&KEY, &packet, &mut [0; 10]), None);
    }
}
