//! What members say about snapshots, and what the application is told.

use crate::application::Item;
use crate::group::{NodeId, NodeSet};
use crate::wire::{self, Delivery, Kind};
use serde::{Deserialize, Serialize};

/// The name of a snapshot: no two ever share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Id {
    /// Who began it.
    pub initiator: NodeId,
    /// In which boot.
    pub incarnation: u32,
    /// The how many-th of that boot.
    pub number: u32,
}

/// Why a snapshot was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Why {
    /// A member could not be reached.
    Down,
    /// A member started anew.
    Restarted,
    /// A member joined or left, or two members do not agree on who counts.
    View,
    /// A member takes part in as many snapshots as it can.
    Busy,
    /// A member's application cannot be recorded now.
    Unsettled,
    /// More was on its way to a member than it has room to record.
    Overflow,
    /// It took too long.
    Late,
    /// Not all that was recorded arrived.
    Incomplete,
}

impl Why {
    /// Every reason there is.
    pub const ALL: [Self; 8] = [
        Self::Down,
        Self::Restarted,
        Self::View,
        Self::Busy,
        Self::Unsettled,
        Self::Overflow,
        Self::Late,
        Self::Incomplete,
    ];

    /// It in a few words, for people.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Down => "a member could not be reached",
            Self::Restarted => "a member started anew",
            Self::View => "members came or went, or do not agree on who counts",
            Self::Busy => "a member takes part in as many as it can",
            Self::Unsettled => "a member's application could not be recorded then",
            Self::Overflow => "more was on its way to a member than it has room to record",
            Self::Late => "it took too long",
            Self::Incomplete => "not all that was recorded arrived",
        }
    }
}

/// A piece of what a member recorded.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Part {
    /// Of its state: the pieces follow each other.
    State {
        /// Whether it is the last piece.
        last: bool,
        /// The bytes.
        bytes: Item,
    },
    /// A message that was on its way to the member.
    Message {
        /// From whom.
        from: NodeId,
        /// What it means to the member.
        bytes: Item,
    },
}

/// What members say about snapshots.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// What I said before belongs to the snapshot, what I say from now on does not.
    Marker {
        /// Which.
        id: Id,
        /// Who is in it.
        members: NodeSet,
    },
    /// A piece of what I recorded, to whoever began the snapshot.
    Part {
        /// In which boot of the reader.
        incarnation: u32,
        /// Its how many-th.
        number: u32,
        /// The piece.
        part: Part,
    },
    /// That was all I recorded.
    Done {
        /// In which boot of the reader.
        incarnation: u32,
        /// Its how many-th.
        number: u32,
        /// How many pieces there were.
        parts: u16,
    },
    /// This snapshot will not be: to whoever began it, and from there to all.
    Abort {
        /// Which.
        id: Id,
        /// Why.
        why: Why,
    },
}

impl wire::Message for Message {
    fn kind(&self) -> Kind {
        Kind::Snapshot
    }

    fn delivery(&self) -> Delivery {
        Delivery::Reliable
    }

    fn word(&self) -> &'static str {
        match self {
            Self::Marker { .. } => "marker",
            Self::Part { .. } => "part",
            Self::Done { .. } => "done",
            Self::Abort { .. } => "abort",
        }
    }

    fn encode(&self, buffer: &mut [u8]) -> Option<usize> {
        wire::encode(self, buffer)
    }

    fn decode(kind: Kind, body: &[u8]) -> Option<Self> {
        if kind == Kind::Snapshot { wire::decode(body) } else { None }
    }
}

/// What the application is told of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Notice {
    /// Here the cut passes this node: its state was recorded.
    Recorded {
        /// Of which snapshot.
        id: Id,
    },
    /// At the initiator: a piece of the snapshot, worth nothing before it is taken. The pieces of one member come in order.
    Part {
        /// Of which snapshot.
        id: Id,
        /// Of which member.
        of: NodeId,
        /// The piece.
        part: Part,
    },
    /// At the initiator: the pieces told so far are the whole of it.
    Taken {
        /// Which snapshot.
        id: Id,
        /// Who is in it.
        members: NodeSet,
        /// How many pieces there are.
        parts: u32,
    },
    /// At the initiator: there is no such snapshot, whatever pieces were told.
    Aborted {
        /// Which snapshot.
        id: Id,
        /// Why.
        why: Why,
    },
}
