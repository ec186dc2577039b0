//! What members say to each other in the election of Le Lann.

use crate::capacity::Capacity;
use crate::election::reign::Word;
use crate::group::NodeId;
use crate::wire::{self, Delivery, Kind};
use serde::{Deserialize, Serialize};

/// A member's number on its way round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Number {
    /// Of which round.
    pub round: u32,
    /// Whose it is.
    pub owner: NodeId,
    /// What that member is worth, if it can lead.
    pub capacity: Option<Capacity>,
    /// How often it has been passed on.
    pub hops: u8,
}

/// What members say to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// An election is on, and this is one of the numbers in it.
    Number(Number),
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
        Kind::Lelann
    }

    fn delivery(&self) -> Delivery {
        match self {
            Self::Number(_) => Delivery::Reliable,
            Self::Reign(word) => word.delivery(),
        }
    }

    fn word(&self) -> &'static str {
        match self {
            Self::Number(_) => "number",
            Self::Reign(word) => word.word(),
        }
    }

    fn encode(&self, buffer: &mut [u8]) -> Option<usize> {
        wire::encode(self, buffer)
    }

    fn decode(kind: Kind, body: &[u8]) -> Option<Self> {
        if kind == Kind::Lelann { wire::decode(body) } else { None }
    }
}
