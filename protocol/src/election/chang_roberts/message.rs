//! What members say to each other in the election of Chang and Roberts.

use crate::capacity::Standing;
use crate::clock::Term;
use crate::election::reign::Word;
use crate::wire::{self, Delivery, Kind};
use serde::{Deserialize, Serialize};

/// What members say to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// An election is on, and this is the best candidate so far.
    Election {
        /// Which round.
        round: u32,
        /// Who; nobody, as long as only members were asked that cannot lead.
        candidate: Option<Standing>,
    },
    /// The election is over.
    Elected {
        /// The round, and the name of the winner.
        term: Term,
        /// The winner.
        leader: Standing,
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
        Kind::ChangRoberts
    }

    fn delivery(&self) -> Delivery {
        match self {
            Self::Election { .. } => Delivery::Reliable, // all numbers passed on, as the paper counts them
            Self::Elected { .. } => Delivery::Latest,
            Self::Reign(word) => word.delivery(),
        }
    }

    fn word(&self) -> &'static str {
        match self {
            Self::Election { .. } => "election",
            Self::Elected { .. } => "elected",
            Self::Reign(word) => word.word(),
        }
    }

    fn encode(&self, buffer: &mut [u8]) -> Option<usize> {
        wire::encode(self, buffer)
    }

    fn decode(kind: Kind, body: &[u8]) -> Option<Self> {
        if kind == Kind::ChangRoberts { wire::decode(body) } else { None }
    }
}
