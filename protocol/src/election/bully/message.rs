//! What members say to each other in the bully election.

use crate::capacity::Standing;
use crate::clock::Term;
use crate::election::reign::Word;
use crate::wire::{self, Delivery, Kind};
use serde::{Deserialize, Serialize};

/// What members say to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// Is anybody there who is better?
    Election {
        /// Which election.
        term: Term,
        /// Who asks, as a candidate, if it is one.
        caller: Option<Standing>,
    },
    /// I am.
    Ok {
        /// Which election this answers.
        term: Term,
    },
    /// I lead.
    Coordinator {
        /// Under which term.
        term: Term,
        /// As what.
        leader: Standing,
        /// Who would lead otherwise.
        second: Option<Standing>,
    },
    /// An election is on.
    Alert {
        /// Which.
        term: Term,
    },
    /// I have just started: who leads?
    Ask,
    /// Is anybody there who is better? I am better than those who asked before.
    Shout {
        /// Which election.
        term: Term,
        /// Who asks, as a candidate, if it is one.
        caller: Option<Standing>,
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
        Kind::Bully
    }

    fn delivery(&self) -> Delivery {
        match self {
            Self::Election { .. } | Self::Ok { .. } | Self::Coordinator { .. } | Self::Alert { .. } => Delivery::Latest,
            Self::Ask | Self::Shout { .. } => Delivery::Near,
            Self::Reign(word) => word.delivery(),
        }
    }

    fn word(&self) -> &'static str {
        match self {
            Self::Election { .. } => "election",
            Self::Ok { .. } => "ok",
            Self::Coordinator { .. } => "coordinator",
            Self::Alert { .. } => "alert",
            Self::Ask => "ask",
            Self::Shout { .. } => "shout",
            Self::Reign(word) => word.word(),
        }
    }

    fn encode(&self, buffer: &mut [u8]) -> Option<usize> {
        wire::encode(self, buffer)
    }

    fn decode(kind: Kind, body: &[u8]) -> Option<Self> {
        if kind == Kind::Bully { wire::decode(body) } else { None }
    }
}
