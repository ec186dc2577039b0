//! What a frame says.

use super::{Kind, encode};
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

/// How many recipients one frame can name by their boots.
pub const BOOTS_MAX: usize = 4;

/// The boots of recipients, as the writer knows them: incarnations, 0 where it knows none.
pub type Boots = Vec<u32, BOOTS_MAX, u8>;

/// Which members are to relay a message to those of its recipients that are out of the sender's range, by slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Relays {
    /// None: all recipients are in range.
    #[default]
    Nobody,
    /// This one.
    One(u8),
    /// These two.
    Two(u8, u8),
}

impl Relays {
    /// These, and the member in `slot`; `None` where that are more than two.
    #[must_use]
    pub fn with(self, slot: usize) -> Option<Self> {
        let new = u8::try_from(slot).ok()?;
        match self {
            Self::Nobody => Some(Self::One(new)),
            Self::One(one) if one != new => Some(Self::Two(one, new)),
            Self::Two(one, two) if one != new && two != new => None,
            Self::One(_) | Self::Two(..) => Some(self),
        }
    }

    /// Returns whether the member in `slot` is to relay.
    #[must_use]
    pub fn include(self, slot: usize) -> bool {
        match self {
            Self::Nobody => false,
            Self::One(one) => usize::from(one) == slot,
            Self::Two(one, two) => usize::from(one) == slot || usize::from(two) == slot,
        }
    }
}

/// Where a frame goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// To every node in range.
    Broadcast,
    /// To these neighbours.
    Neighbours(Vec<NodeId, NEIGHBOURS_MAX>),
    /// By the link, over any number of hops.
    Reliable(ReliableHeader),
}

/// The header of a reliable message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReliableHeader {
    /// The origin, where the sender relays the message; `None` where the sender is the origin.
    pub origin: Option<Origin>,
    /// The number of this message and this attempt.
    pub attempt: Attempt,
    /// The recipients.
    pub recipients: Recipients,
    /// Where there is one recipient: its last message that the origin has accepted, unless that was said before.
    pub ack: Option<u32>,
}

/// One attempt to deliver a reliable message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// The origin's sequence number of reliable messages in this boot.
    pub seq: u32,
    /// How many attempts came before this one.
    pub number: u8,
    /// How many hops it may still take.
    pub hop_limit: u8,
    /// The Lamport time of the step that sent the message; a retransmission keeps it.
    pub sent_at: LamportTime,
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recipients {
    /// A neighbour, in the boot that the message is for.
    Node(Origin),
    /// These members of the group.
    Members {
        /// The members.
        set: NodeSet,
        /// The boot of each of them that the message is for, in the order of the set; empty where all of them have opened
        /// a session with the origin in their present boot.
        boots: Boots,
        /// The members on the way to them.
        relays: Relays,
    },
}

impl Packet<'_> {
    /// The origin of the message: the sender, unless it relays.
    #[must_use]
    pub fn origin(&self) -> Origin {
        let sender = Origin { id: self.sender, incarnation: self.incarnation };
        match &self.destination {
            Destination::Broadcast | Destination::Neighbours(_) => sender,
            Destination::Reliable(ReliableHeader { origin, .. }) => origin.unwrap_or(sender),
        }
    }
}

/// Why a frame is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum DropReason {
    /// Longer than any frame.
    Oversized,
    /// Not of this version.
    Version,
    /// Sealed with a key of another number.
    KeyNumber,
    /// The tag does not verify: corrupted, or of another group.
    Tag,
    /// Of this group, but not decodable.
    Malformed,
    /// Ahead of this node's term or Lamport time by more than one message may move it.
    OutOfBounds,
    /// Received before.
    Duplicate,
    /// From a node without a bidirectional link.
    NotBidirectional,
    /// No room for its sender, or for a reply.
    NoRoom,
    /// From an earlier boot of its sender.
    EarlierBoot,
    /// For an earlier boot of this node, or without a session.
    NoSession,
    /// For another node.
    NotForMe,
    /// In the name of its reader, who did not send it in this boot.
    SameId,
    /// Of a kind this node does not have.
    UnknownKind,
}

/// A buffer and how much of it is used.
pub(super) struct Rest<'b> {
    pub(super) buffer: &'b mut [u8],
    pub(super) used: usize,
}

impl Rest<'_> {
    pub(super) fn append(&mut self, bytes: &[u8]) -> Option<()> {
        let end = self.used.checked_add(bytes.len())?;
        for (to, &byte) in self.buffer.get_mut(self.used..end)?.iter_mut().zip(bytes) {
            *to = byte;
        }
        self.used = end;
        Some(())
    }

    pub(super) fn encode<T: Serialize>(&mut self, value: &T) -> Option<()> {
        let written = encode(value, self.buffer.get_mut(self.used..)?)?;
        self.used = self.used.checked_add(written)?;
        Some(())
    }
}
