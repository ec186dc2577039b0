//! What members say to each other in Lamport's lock.

use crate::clock::Stamp;
use crate::mutex::consent::{Turns, Word};
use crate::mutex::{LOCKS_MAX, LockId};
use crate::wire::{self, Delivery, Kind};
use heapless::Vec;
use serde::{Deserialize, Serialize};

/// Some locks of one member.
pub type Locks = Vec<LockId, LOCKS_MAX>;

/// What members say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// Of requests.
    Word(Word),
    /// I have written your request down.
    Ack {
        /// About which lock.
        lock: LockId,
        /// My own request for it, if I have one: the letter that said so may have been given up.
        mine: Option<Stamp>,
        /// Whose question this answers, and which.
        turns: Turns,
    },
    /// Strike my requests out.
    Release {
        /// For which locks.
        locks: Locks,
    },
}

impl From<Word> for Message {
    fn from(word: Word) -> Self {
        Self::Word(word)
    }
}

impl wire::Message for Message {
    fn kind(&self) -> Kind {
        Kind::Lamport
    }

    fn delivery(&self) -> Delivery {
        Delivery::Latest // whoever waits asks again, so nothing has to be promised
    }

    fn about(&self) -> u32 {
        match self {
            Self::Word(word) => word.lock().number(),
            Self::Ack { lock, .. } => lock.number(),
            // All that ended at once; one alone is about itself.
            Self::Release { locks } => locks.iter().fold(0, |about, lock| about ^ lock.number()),
        }
    }

    fn word(&self) -> &'static str {
        match self {
            Self::Word(word) => word.word(),
            Self::Ack { .. } => "ack",
            Self::Release { .. } => "release",
        }
    }

    fn encode(&self, buffer: &mut [u8]) -> Option<usize> {
        wire::encode(self, buffer)
    }

    fn decode(kind: Kind, body: &[u8]) -> Option<Self> {
        if kind == Kind::Lamport { wire::decode(body) } else { None }
    }
}
