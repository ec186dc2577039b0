//! A frame's header, from bytes and to bytes.

use super::{FRAME_MAX, Key, Kind, VERSION, encode};
use crate::base::ids::{NodeId, NodeSet};
use crate::base::lamport::LamportTime;
use heapless::Vec;
use serde::{Deserialize, Serialize};

/// An opened frame; its stage decodes the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// The kind of the body.
    pub kind: Kind,
    /// The node that transmitted the frame.
    pub sender: NodeId,
    /// The sender's incarnation: its present boot.
    pub incarnation: u32,
    /// The sender's sequence number in this boot; a duplicate repeats it.
    pub seq: u32,
    /// Where the frame goes.
    pub destination: Destination,
    /// The message.
    pub body: &'a [u8],
}

/// How many neighbours one frame can name.
pub const NEIGHBOURS_MAX: usize = 8;

/// Where a frame goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Destination {
    /// To every node in range.
    Broadcast,
    /// To these neighbours.
    Neighbours(Vec<NodeId, NEIGHBOURS_MAX>),
    /// By the link, over any number of hops.
    Reliable(ReliableHeader),
}

/// The header of a reliable message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReliableHeader {
    /// The origin, where the sender relays the message; `None` where the sender is the origin.
    pub origin: Option<Origin>,
    /// The origin's sequence number of reliable messages in this boot.
    pub seq: u32,
    /// How many attempts came before this one.
    pub attempt: u8,
    /// How many hops it may still take.
    pub hop_limit: u8,
    /// The Lamport time of the step that sent it; a retransmission keeps it.
    pub sent_at: LamportTime,
    /// The recipients.
    pub recipients: Recipients,
}

/// The node that sent a message first, in one of its boots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The node.
    pub id: NodeId,
    /// Its incarnation.
    pub incarnation: u32,
}

/// The recipients of a reliable message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Recipients {
    /// One node.
    Node(NodeId),
    /// These members of the group.
    Members(NodeSet),
}

impl Packet<'_> {
    /// The origin of the message: the sender, unless it relays.
    #[must_use]
    pub fn origin(&self) -> Origin {
        let sender = Origin { id: self.sender, incarnation: self.incarnation };
        match &self.destination {
            Destination::Broadcast | Destination::Neighbours(_) => sender,
            Destination::Reliable(header) => header.origin.unwrap_or(sender),
        }
    }
}

/// The part of the header that postcard writes.
#[derive(Serialize, Deserialize)]
struct Header<D> {
    sender: NodeId,
    incarnation: u32,
    seq: u32,
    destination: D,
}

/// Why a frame is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum DropReason {
    /// Longer than any frame.
    Oversized,
    /// Not of this version.
    Version,
    /// The tag does not verify: corrupted, or of another group.
    Tag,
    /// Of this group, but not decodable.
    Malformed,
    /// Received before.
    Duplicate,
    /// From a node without a bidirectional link.
    NotBidirectional,
    /// No room for its sender, or for a reply.
    NoRoom,
    /// From an earlier boot of its sender.
    EarlierBoot,
    /// For another node.
    NotForMe,
    /// Of a kind this node does not have.
    UnknownKind,
}

/// Opens a frame: checks length, version and tag, decodes the header.
///
/// # Errors
/// The reason to drop bytes that are no frame of this group.
pub fn open<'a>(key: &Key, frame: &'a [u8]) -> Result<Packet<'a>, DropReason> {
    if frame.len() > FRAME_MAX {
        return Err(DropReason::Oversized);
    }
    let (&version, _) = frame.split_first().ok_or(DropReason::Malformed)?;
    if version != VERSION {
        return Err(DropReason::Version);
    }
    let (sealed, tag) = frame.split_last_chunk::<{ Key::TAG }>().ok_or(DropReason::Malformed)?;
    if key.tag(sealed) != *tag {
        return Err(DropReason::Tag);
    }
    let [_, kind, rest @ ..] = sealed else { return Err(DropReason::Malformed) };
    let kind = Kind::new(*kind);
    if kind.stage().is_none() {
        return Err(DropReason::UnknownKind);
    }
    let (header, body) = postcard::take_from_bytes::<Header<Destination>>(rest).map_err(|_| DropReason::Malformed)?;
    let Header { sender, incarnation, seq, destination } = header;
    Ok(Packet { kind, sender, incarnation, seq, destination, body })
}

/// Seals a frame into `buffer`; `None` where it does not fit the buffer or a frame.
#[must_use]
pub fn seal(key: &Key, packet: &Packet<'_>, buffer: &mut [u8]) -> Option<usize> {
    let Packet { kind, sender, incarnation, seq, ref destination, body } = *packet;
    let (start, rest) = buffer.split_at_mut_checked(2)?;
    start.copy_from_slice(&[VERSION, kind.byte()]);
    let header = encode(&Header { sender, incarnation, seq, destination }, rest)?;
    let body_start = header.checked_add(2)?;
    let body_end = body_start.checked_add(body.len())?;
    for (to, &byte) in buffer.get_mut(body_start..body_end)?.iter_mut().zip(body) {
        *to = byte;
    }
    let tag = key.tag(buffer.get(..body_end)?);
    let end = body_end.checked_add(Key::TAG)?;
    buffer.get_mut(body_end..end)?.copy_from_slice(&tag);
    (end <= FRAME_MAX).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key = Key::new([7; 16]);

    fn packet(destination: Destination) -> Packet<'static> {
        Packet { kind: Kind::new(16), sender: NodeId(300), incarnation: 2, seq: 9, destination, body: &[1, 2, 3] }
    }

    fn reliable() -> Destination {
        let to = Recipients::Members(NodeSet::slot(3));
        let origin = Some(Origin { id: NodeId(4), incarnation: 1 });
        Destination::Reliable(ReliableHeader {
            origin,
            seq: 2,
            attempt: 0,
            hop_limit: 5,
            sent_at: LamportTime(6),
            recipients: to,
        })
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
            assert_eq!(open(&KEY, &buffer[..len]), Ok(packet(destination)));
        }
    }

    #[test]
    fn every_single_bit_flip_is_refused() {
        let mut buffer = [0; FRAME_MAX];
        let len = seal(&KEY, &packet(reliable()), &mut buffer).unwrap();
        for bit in 0..len * 8 {
            let mut broken = buffer;
            broken[bit / 8] ^= 1 << (bit % 8);
            assert!(matches!(open(&KEY, &broken[..len]), Err(DropReason::Tag | DropReason::Version)), "bit {bit}");
        }
    }

    #[test]
    fn every_truncation_and_every_extension_is_refused() {
        let mut buffer = [0; FRAME_MAX + 1];
        let len = seal(&KEY, &packet(Destination::Broadcast), &mut buffer).unwrap();
        for short in 0..len {
            assert!(open(&KEY, &buffer[..short]).is_err());
        }
        assert_eq!(open(&KEY, &buffer[..=len]), Err(DropReason::Tag));
        assert_eq!(open(&KEY, &buffer), Err(DropReason::Oversized));
    }

    #[test]
    fn a_body_too_long_for_a_frame_is_not_sealed() {
        let body = [0; FRAME_MAX];
        let packet = Packet { body: &body, ..packet(Destination::Broadcast) };
        assert_eq!(seal(&KEY, &packet, &mut [0; 2 * FRAME_MAX]), None);
        assert_eq!(seal(&KEY, &packet, &mut [0; 10]), None);
    }
}
