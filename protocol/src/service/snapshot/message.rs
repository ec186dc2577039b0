//! Messages and notices of the snapshots.

use crate::base::ids::{NodeId, NodeSet};
pub use crate::service::InstanceId as Id;
use crate::service::application::ChannelMessage;
use crate::wire::impl_message;
use serde::{Deserialize, Serialize};

/// Why a snapshot was aborted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum AbortReason {
    /// A member was unreachable.
    Unreachable,
    /// A member restarted.
    Restarted,
    /// The view changed, or two members have different views.
    ViewChanged,
    /// A member takes part in the maximum number of snapshots.
    Busy,
    /// A member's application has lost messages that are not compensated yet.
    Unsettled,
    /// A member had no room to record the messages in flight to it.
    Overflow,
    /// The timeout expired.
    TimedOut,
    /// Fragments were lost.
    Incomplete,
}

impl AbortReason {
    /// All reasons.
    pub const ALL: [Self; 8] = [
        Self::Unreachable,
        Self::Restarted,
        Self::ViewChanged,
        Self::Busy,
        Self::Unsettled,
        Self::Overflow,
        Self::TimedOut,
        Self::Incomplete,
    ];

    /// Returns a short description for logs.
    #[must_use]
    pub const fn description(self) -> &'static str {
        match self {
            Self::Unreachable => "a member was unreachable",
            Self::Restarted => "a member restarted",
            Self::ViewChanged => "the view changed or members disagree on it",
            Self::Busy => "a member takes part in too many snapshots",
            Self::Unsettled => "a member's application has uncompensated losses",
            Self::Overflow => "a member had no room for the messages in flight to it",
            Self::TimedOut => "the timeout expired",
            Self::Incomplete => "fragments were lost",
        }
    }
}

/// A part of the state or of the messages a member recorded.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[expect(missing_docs, reason = "the sentence of each fragment names its fields")]
pub enum Fragment {
    /// Part of its state; the parts follow each other, up to the `last`.
    State { last: bool, bytes: ChannelMessage },
    /// A message in flight to the member, `from` its sender, as the member's application encodes it.
    Message { from: NodeId, bytes: ChannelMessage },
}

/// Messages between members. To the initiator, `incarnation` and `number` are those of the snapshot's id.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the sentence of each message names its fields")]
pub enum Message {
    /// Separates messages sent before the sender recorded its state from messages sent after. The snapshot covers
    /// `members`.
    Marker { id: Id, members: NodeSet },
    /// A fragment, to the initiator.
    Fragment { incarnation: u32, number: u32, fragment: Fragment },
    /// The end of the fragments, to the initiator: so many were sent.
    Done { incarnation: u32, number: u32, fragments: u16 },
    /// The snapshot is aborted: to the initiator, and from there to all.
    Abort { id: Id, reason: AbortReason },
}

impl_message! {
    Reliable: Marker = "marker", Fragment = "fragment", Done = "done", Abort = "abort";
}

/// Commands of the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Command {
    /// Takes a snapshot of the application on all members.
    Take,
}

/// Notices to the application.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[expect(missing_docs, reason = "the sentence of each notice names its fields")]
pub enum Notice {
    /// This node has recorded its state: the cut passes here.
    Recorded { id: Id },
    /// At the initiator: a fragment of `member`, meaningless until the snapshot is complete. Fragments of one member are
    /// in order.
    Fragment { id: Id, member: NodeId, fragment: Fragment },
    /// At the initiator: the snapshot of `members` is complete; it consists of the fragments notified so far, so many.
    Taken { id: Id, members: NodeSet, fragments: u32 },
    /// At the initiator: the snapshot is aborted; the fragments notified so far are void.
    Aborted { id: Id, reason: AbortReason },
}
