//! The words of the wireless election.

use crate::capacity::Standing;
use crate::clock::Term;
use crate::election::reign::Word;
use crate::group::NodeId;
use crate::wire::{self, Delivery, Kind};
use serde::{Deserialize, Serialize};

/// What nodes say to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// The leader is alive.
    Beat {
        /// Its term.
        term: Term,
        /// Who it is.
        leader: Standing,
        /// The how many-th beat this is.
        beat: u32,
        /// How old the news are, in 1/255 of the lease.
        age: u8,
    },
    /// I take part in this computation, and this is my parent (the root names itself).
    Election {
        /// Which computation.
        index: Term,
        /// The sender's parent.
        parent: NodeId,
    },
    /// I have not heard from you in this computation.
    Probe {
        /// Which computation.
        index: Term,
        /// The sender's parent.
        parent: NodeId,
    },
    /// These are the best of my part of the tree.
    Ack {
        /// Which computation.
        index: Term,
        /// The best candidate, if there is any.
        best: Option<Standing>,
        /// The best but one.
        second: Option<Standing>,
    },
    /// A computation ended.
    Leader {
        /// Its index, now the leader's term.
        term: Term,
        /// Who won.
        leader: Standing,
        /// Who would have won otherwise.
        second: Option<Standing>,
        /// How old the news are, in 1/255 of the lease.
        age: u8,
    },
    /// Whoever leads here needs a term above this one.
    Raise {
        /// The highest term known.
        term: Term,
    },
}

impl From<Word> for Message {
    fn from(word: Word) -> Self {
        match word {
            Word::Leader { term, leader, second, age } => Self::Leader { term, leader, second, age },
            Word::Beat { term, leader, beat, age } => Self::Beat { term, leader, beat, age },
            Word::Raise { term } => Self::Raise { term },
        }
    }
}

impl wire::Message for Message {
    fn kind(&self) -> Kind {
        Kind::Wireless
    }

    fn delivery(&self) -> Delivery {
        match self {
            Self::Election { .. } | Self::Probe { .. } | Self::Leader { .. } | Self::Beat { .. } => Delivery::Spread,
            Self::Raise { .. } => Delivery::Near,
            Self::Ack { .. } => Delivery::Latest,
        }
    }

    fn word(&self) -> &'static str {
        match self {
            Self::Beat { .. } => "beat",
            Self::Election { .. } => "election",
            Self::Probe { .. } => "probe",
            Self::Ack { .. } => "ack",
            Self::Leader { .. } => "leader",
            Self::Raise { .. } => "raise",
        }
    }

    fn encode(&self, buffer: &mut [u8]) -> Option<usize> {
        wire::encode(self, buffer)
    }

    fn decode(kind: Kind, body: &[u8]) -> Option<Self> {
        if kind == Kind::Wireless { wire::decode(body) } else { None }
    }
}
