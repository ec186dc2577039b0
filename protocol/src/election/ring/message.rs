//! What members say to each other in the ring election.

use crate::capacity::Standing;
use crate::clock::Term;
use crate::election::reign::Word;
use crate::group::NodeSet;
use crate::wire::{self, Delivery, Kind};
use serde::{Deserialize, Serialize};

/// Who was met on the way round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct List {
    /// Which election, and who started it.
    pub term: Term,
    /// Everybody who passed it on.
    pub members: NodeSet,
    /// Who of them is to lead, if one can.
    pub first: Option<Standing>,
    /// Who would otherwise.
    pub second: Option<Standing>,
}

/// How an election ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Outcome {
    /// Which one, and who started it.
    pub term: Term,
    /// Who leads.
    pub leader: Standing,
    /// Who would otherwise.
    pub second: Option<Standing>,
    /// Who is in the ring.
    pub ring: NodeSet,
}

/// What members say to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// An election is on: put yourself on the list.
    Election(List),
    /// It is over.
    Coordinator(Outcome),
    /// Who is there? All successors I know of are gone.
    Seek {
        /// The election it is for.
        term: Term,
    },
    /// I am here.
    Here {
        /// The election it is for.
        term: Term,
    },
    /// What members say about the leader.
    Reign(Word),
}

impl From<Word> for Message {
    fn from(word: Word) -> Self {
        Self::Reign(word)
    }
}

impl wire::Message for Message {
    fn kind(&self) -> Kind {
        Kind::Ring
    }

    fn delivery(&self) -> Delivery {
        match self {
            // What a member passes on later is of a higher term, and what it asks later is all it wants to know.
            Self::Election(_) | Self::Coordinator(_) | Self::Seek { .. } | Self::Here { .. } => Delivery::Latest,
            Self::Reign(word) => word.delivery(),
        }
    }

    fn word(&self) -> &'static str {
        match self {
            Self::Election(_) => "election",
            Self::Coordinator(_) => "coordinator",
            Self::Seek { .. } => "seek",
            Self::Here { .. } => "here",
            Self::Reign(word) => word.word(),
        }
    }

    fn encode(&self, buffer: &mut [u8]) -> Option<usize> {
        wire::encode(self, buffer)
    }

    fn decode(kind: Kind, body: &[u8]) -> Option<Self> {
        if kind == Kind::Ring { wire::decode(body) } else { None }
    }
}
