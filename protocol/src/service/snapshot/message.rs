//! Messages and notices of the snapshots.

use crate::base::ids::{NodeId, NodeSet};
pub use crate::service::InstanceId as Id;
use crate::service::application::ChannelMessage;
use crate::wire::{self, Delivery};
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
pub enum Fragment {
    /// Part of its state; the parts follow each other.
    State {
        /// Whether this is the last part.
        last: bool,
        /// The bytes.
        bytes: ChannelMessage,
    },
    /// A message in flight to the member.
    Message {
        /// The sender of the message.
        from: NodeId,
        /// The message, as the member's application encodes it.
        bytes: ChannelMessage,
    },
}

/// Messages between members.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// Separates messages sent before the sender recorded its state from messages sent after.
    Marker {
        /// The snapshot.
        id: Id,
        /// The members it covers.
        members: NodeSet,
    },
    /// A fragment, to the initiator.
    Fragment {
        /// The incarnation of the initiator.
        incarnation: u32,
        /// The number of the snapshot.
        number: u32,
        /// The fragment.
        fragment: Fragment,
    },
    /// The end of the fragments, to the initiator.
    Done {
        /// The incarnation of the initiator.
        incarnation: u32,
        /// The number of the snapshot.
        number: u32,
        /// How many fragments the sender has sent.
        fragments: u16,
    },
    /// The snapshot is aborted: to the initiator, and from there to all.
    Abort {
        /// The snapshot.
        id: Id,
        /// Why.
        reason: AbortReason,
    },
}

impl wire::Message for Message {
    fn delivery(&self) -> Delivery {
        Delivery::Reliable
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Marker { .. } => "marker",
            Self::Fragment { .. } => "fragment",
            Self::Done { .. } => "done",
            Self::Abort { .. } => "abort",
        }
    }
}

/// Notices to the application.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Notice {
    /// This node has recorded its state: the cut passes here.
    Recorded {
        /// The snapshot.
        id: Id,
    },
    /// At the initiator: a fragment, meaningless until the snapshot is complete. Fragments of one member are in order.
    Fragment {
        /// The snapshot.
        id: Id,
        /// The member that recorded it.
        member: NodeId,
        /// The fragment.
        fragment: Fragment,
    },
    /// At the initiator: the snapshot is complete; it consists of the fragments notified so far.
    Taken {
        /// The snapshot.
        id: Id,
        /// The members it covers.
        members: NodeSet,
        /// How many fragments it has.
        fragments: u32,
    },
    /// At the initiator: the snapshot is aborted; the fragments notified so far are void.
    Aborted {
        /// The snapshot.
        id: Id,
        /// Why.
        reason: AbortReason,
    },
}
