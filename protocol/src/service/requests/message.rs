//! What nodes send each other, and what applications command and are notified of.

use super::{Bytes, PART_MAX, Route};
use crate::base::ids::NodeId;
use crate::link::RELIABLE_MAX;
use crate::wire::{self, Delivery, Payload};
use heapless::Vec;
use serde::{Deserialize, Serialize};

/// The name of a request, or of a message to clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct RequestId {
    /// The node that asks, or sends.
    pub origin: NodeId,
    /// The last byte of its incarnation.
    pub boot: u8,
    /// Its number within that boot.
    pub number: u16,
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Refusal {
    /// The leader has too much to do. It was not handled; `after_ms` later there may be room.
    Busy {
        /// When to try again, in milliseconds.
        after_ms: u16,
    },
    /// This copy of it reached no leader that may handle it. It is sent again until it times out.
    NoRoute,
    /// The message does not fit a frame with all the ids on its way. It was not handled.
    TooFar,
    /// The leader has rebooted, changed, or forgotten its answer since: whether it was handled before is unknown.
    Unknown,
    /// The leader has no buffers for long requests. It was not handled.
    TooLong,
}

/// The one leader that may handle a request: its id, and the last 16 bits of its term's number.
pub type Once = (NodeId, u16);

/// A part of a long request.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Part {
    /// The length of the whole request, in bytes.
    pub length: u16,
    /// The index of this part: it begins at this many times [`PART_MAX`].
    pub index: u8,
    /// Its bytes: [`PART_MAX`], less in the last part.
    pub bytes: Vec<u8, PART_MAX>,
}

/// Messages between neighbours. `route` names the relays between the origin and the sender of a request, and those that
/// an answer has still to pass.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the sentence of each message names its fields")]
pub enum Message {
    /// Asks the leader. `once` names it and its term, where the request must be handled at most once.
    Request { id: RequestId, once: Option<Once>, route: Route, bytes: Bytes },
    /// The leader's answer.
    Answer { id: RequestId, route: Route, bytes: Bytes },
    /// It is not answered.
    Refused { id: RequestId, route: Route, reason: Refusal },
    /// Asks the leader something long, of which this is a part.
    Part { id: RequestId, once: Option<Once>, route: Route, part: Part },
    /// The leader misses these parts of a long request, by index.
    Missing { id: RequestId, route: Route, parts: u64 },
    /// The leader sends to a client over relays.
    Send { id: RequestId, to: NodeId, route: Route, bytes: Bytes },
    /// The leader sends to a client it knows no way to, or to all of them, within so many hops;
    /// `copy` tells one try from another.
    Flood { id: RequestId, to: Option<NodeId>, copy: u8, hops: u8, bytes: Bytes },
    /// The client has received what the leader sent; `hops` more may pass it on.
    Received { id: RequestId, hops: u8 },
}

impl Message {
    const fn id(&self) -> RequestId {
        let (Self::Request { id, .. }
        | Self::Answer { id, .. }
        | Self::Refused { id, .. }
        | Self::Part { id, .. }
        | Self::Missing { id, .. }
        | Self::Send { id, .. }
        | Self::Flood { id, .. }
        | Self::Received { id, .. }) = self;
        *id
    }

    /// Returns whether it fits a frame.
    pub(super) fn fits(&self) -> bool {
        Payload::encode(self, &mut [0; RELIABLE_MAX]).is_some()
    }
}

impl wire::Message for Message {
    fn delivery(&self) -> Delivery {
        match self {
            Self::Flood { .. } => Delivery::Unreliable,
            Self::Request { .. }
            | Self::Answer { .. }
            | Self::Refused { .. }
            | Self::Part { .. }
            | Self::Missing { .. }
            | Self::Send { .. }
            | Self::Received { .. } => Delivery::ReliableLatest, // of one request: see `topic`
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Request { .. } => "request",
            Self::Answer { .. } => "answer",
            Self::Refused { .. } => "refused",
            Self::Part { .. } => "part",
            Self::Missing { .. } => "missing",
            Self::Send { .. } => "send",
            Self::Flood { .. } => "flood",
            Self::Received { .. } => "received",
        }
    }

    fn topic(&self) -> u32 {
        let RequestId { origin, boot, number } = self.id();
        let part = if let Self::Part { part, .. } = self { part.index } else { 0 };
        origin.0.wrapping_mul(0x9E37_79B1) ^ u32::from(boot) << 16 ^ u32::from(number) ^ u32::from(part) << 24
    }
}

/// Commands of the application.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the sentence of each command names its fields")]
pub enum Command {
    /// Asks the leader; `repeatable`: it does no harm if it is handled twice.
    Request { bytes: Bytes, repeatable: bool },
    /// Adds to this node's draft of a long request.
    Append { bytes: Bytes },
    /// Asks the leader what the draft says.
    RequestLong { repeatable: bool },
    /// Answers a request, as the leader.
    Answer { id: RequestId, bytes: Bytes },
    /// Refuses a request, as the leader, until `after_ms` later.
    Refuse { id: RequestId, after_ms: u16 },
    /// Sends to one client, as the leader, or to all of them.
    Send { to: Option<NodeId>, bytes: Bytes },
}

/// Notices to the application.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[expect(missing_docs, reason = "the sentence of each notice names its fields")]
pub enum Notice {
    /// The request just made has this name.
    Requested { id: RequestId },
    /// The request just made, or the message just sent, has no room: too many are open.
    Full,
    /// The request has its answer.
    Answered { id: RequestId, bytes: Bytes },
    /// The request is refused.
    Refused { id: RequestId, reason: Refusal },
    /// The request has no answer, and will not have one: whether it was handled is unknown.
    TimedOut { id: RequestId },
    /// This node leads, and is asked something: it is to answer or to refuse.
    Request { id: RequestId, bytes: Bytes, repeatable: bool },
    /// This node leads, and is asked something of `length` bytes, which `Requests::long` returns until it is answered or refused.
    LongRequest { id: RequestId, length: u16, repeatable: bool },
    /// The message just sent to clients has this name.
    Sending { id: RequestId },
    /// The client has received the message.
    Delivered { id: RequestId },
    /// The client has not said that it received the message: whether it did is unknown.
    Undelivered { id: RequestId },
    /// The leader `id.origin` sends this node a message.
    Message { id: RequestId, bytes: Bytes },
}

/// Returns the commands that make a long request of these bytes.
pub fn long_commands(bytes: &[u8], repeatable: bool) -> impl Iterator<Item = Command> + '_ {
    let append = |piece: &[u8]| Command::Append { bytes: piece.iter().copied().collect() };
    bytes.chunks(super::PAYLOAD_MAX).map(append).chain([Command::RequestLong { repeatable }])
}
