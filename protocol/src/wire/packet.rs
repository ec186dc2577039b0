//! A frame's header, from bytes and to bytes.

use super::{FRAME_MAX, Key, Kind, VERSION, encode};
use crate::clock::Stamp;
use crate::group::{NodeId, NodeSet};
use heapless::Vec;
use serde::{Deserialize, Serialize};

/// A frame taken apart, its body still to be read by the stage it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Which stage the body belongs to.
    pub kind: Kind,
    /// Who put the frame on the air.
    pub sender: NodeId,
    /// Which boot of the sender this is.
    pub incarnation: u32,
    /// The sender's count of frames in this boot: a repeated frame repeats it.
    pub sequence: u32,
    /// Where the frame is going.
    pub path: Path,
    /// The message.
    pub body: &'a [u8],
}

/// How many nodes in range one frame can name.
pub const NEIGHBOURS_MAX: usize = 8;

/// Where a frame is going.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Path {
    /// To whoever hears it.
    Everyone,
    /// To these nodes in range.
    Neighbours(Vec<NodeId, NEIGHBOURS_MAX>),
    /// By the link, over any number of hops.
    Letter(Letter),
}

/// The envelope of what the link carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Letter {
    /// Who wrote it; the sender itself where nobody has passed it on yet.
    pub writer: Option<Writer>,
    /// The writer's count of letters in this boot.
    pub number: u32,
    /// How often it was posted before.
    pub attempt: u8,
    /// How many hops it may still take.
    pub hops: u8,
    /// When it was written, by the writer's Lamport clock.
    pub stamp: Stamp,
    /// For whom it is.
    pub to: To,
}

/// Who wrote a letter that somebody else passes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Writer {
    /// Who.
    pub id: NodeId,
    /// In which boot.
    pub incarnation: u32,
}

/// For whom a letter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum To {
    /// For one node.
    Node(NodeId),
    /// For these members of the group.
    Members(NodeSet),
}

impl Packet<'_> {
    /// Who wrote the message: the sender, or whoever it passes a letter on for.
    #[must_use]
    pub fn writer(&self) -> Writer {
        let sender = Writer { id: self.sender, incarnation: self.incarnation };
        match &self.path {
            Path::Everyone | Path::Neighbours(_) => sender,
            Path::Letter(letter) => letter.writer.unwrap_or(sender),
        }
    }
}

/// The part of the header that postcard writes.
#[derive(Serialize, Deserialize)]
struct Header<P> {
    sender: NodeId,
    incarnation: u32,
    sequence: u32,
    path: P,
}

/// Why a frame is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Reason {
    /// Longer than any frame.
    Oversized,
    /// Not of this version.
    Version,
    /// The tag does not fit: broken on the way, or of another group.
    Tag,
    /// Of this group, but not to be understood.
    Malformed,
    /// Heard before.
    Duplicate,
    /// From a node that is not known to hear this one.
    OneWay,
    /// There is no room for its sender, or for an answer to it.
    Crowded,
    /// From an earlier boot of its sender.
    Outdated,
    /// For somebody else.
    NotForMe,
    /// Of a stage this node does not have.
    NoStage,
}

/// Takes a frame apart.
///
/// # Errors
/// Says why, where the bytes are no frame of this group.
pub fn open<'a>(key: &Key, frame: &'a [u8]) -> Result<Packet<'a>, Reason> {
    if frame.len() > FRAME_MAX {
        return Err(Reason::Oversized);
    }
    let (&version, _) = frame.split_first().ok_or(Reason::Malformed)?;
    if version != VERSION {
        return Err(Reason::Version);
    }
    let (sealed, tag) = frame.split_last_chunk::<{ Key::TAG }>().ok_or(Reason::Malformed)?;
    if key.tag(sealed) != *tag {
        return Err(Reason::Tag);
    }
    let [_, kind, rest @ ..] = sealed else { return Err(Reason::Malformed) };
    let kind = Kind::from_byte(*kind).ok_or(Reason::Malformed)?;
    let (header, body) = postcard::take_from_bytes::<Header<Path>>(rest).map_err(|_| Reason::Malformed)?;
    let Header { sender, incarnation, sequence, path } = header;
    Ok(Packet { kind, sender, incarnation, sequence, path, body })
}

/// Puts a frame together; `None` where it does not fit the buffer or a frame.
#[must_use]
pub fn seal(key: &Key, packet: &Packet<'_>, buffer: &mut [u8]) -> Option<usize> {
    let Packet { kind, sender, incarnation, sequence, ref path, body } = *packet;
    let (start, rest) = buffer.split_at_mut_checked(2)?;
    start.copy_from_slice(&[VERSION, kind.byte()]);
    let header = encode(&Header { sender, incarnation, sequence, path }, rest)?;
    let body_start = header.checked_add(2)?;
    let body_end = body_start.checked_add(body.len())?;
    for (place, &byte) in buffer.get_mut(body_start..body_end)?.iter_mut().zip(body) {
        *place = byte;
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

    fn packet(path: Path) -> Packet<'static> {
        Packet { kind: Kind::Wireless, sender: NodeId(300), incarnation: 2, sequence: 9, path, body: &[1, 2, 3] }
    }

    fn letter() -> Path {
        let to = To::Members(NodeSet::slot(3));
        let writer = Some(Writer { id: NodeId(4), incarnation: 1 });
        Path::Letter(Letter { writer, number: 2, attempt: 0, hops: 5, stamp: Stamp(6), to })
    }

    #[test]
    fn what_is_sealed_opens_as_it_was() {
        for path in [Path::Everyone, Path::Neighbours(Vec::from_array([NodeId(u32::MAX), NodeId(0)])), letter()] {
            let mut buffer = [0; FRAME_MAX];
            let len = seal(&KEY, &packet(path.clone()), &mut buffer).unwrap();
            assert_eq!(open(&KEY, &buffer[..len]), Ok(packet(path)));
        }
    }

    #[test]
    fn every_single_bit_flip_is_refused() {
        let mut buffer = [0; FRAME_MAX];
        let len = seal(&KEY, &packet(letter()), &mut buffer).unwrap();
        for bit in 0..len * 8 {
            let mut broken = buffer;
            broken[bit / 8] ^= 1 << (bit % 8);
            assert!(matches!(open(&KEY, &broken[..len]), Err(Reason::Tag | Reason::Version)), "bit {bit}");
        }
    }

    #[test]
    fn every_truncation_and_every_extension_is_refused() {
        let mut buffer = [0; FRAME_MAX + 1];
        let len = seal(&KEY, &packet(Path::Everyone), &mut buffer).unwrap();
        for short in 0..len {
            assert!(open(&KEY, &buffer[..short]).is_err());
        }
        assert_eq!(open(&KEY, &buffer[..=len]), Err(Reason::Tag));
        assert_eq!(open(&KEY, &buffer), Err(Reason::Oversized));
    }

    #[test]
    fn a_body_too_long_for_a_frame_is_not_sealed() {
        let body = [0; FRAME_MAX];
        let packet = Packet { body: &body, ..packet(Path::Everyone) };
        assert_eq!(seal(&KEY, &packet, &mut [0; 2 * FRAME_MAX]), None);
        assert_eq!(seal(&KEY, &packet, &mut [0; 10]), None);
    }
}
