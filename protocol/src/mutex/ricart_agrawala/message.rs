//! What members say to each other in the lock of Ricart and Agrawala.

use crate::mutex::LockId;
use crate::mutex::consent::{Turns, Word};
use crate::wire::{self, Delivery, Kind};
use serde::{Deserialize, Serialize};

/// What members say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// Of requests.
    Word(Word),
    /// I do not come before you.
    Reply {
        /// About which lock.
        lock: LockId,
        /// Whose question this answers, and which.
        turns: Turns,
    },
    /// I have your request and come before you: said to whoever asks again.
    Deferred {
        /// About which lock.
        lock: LockId,
        /// Which question this answers.
        turn: u8,
    },
    /// I come before you, and you did not want to wait.
    Busy {
        /// About which lock.
        lock: LockId,
        /// Which question this answers.
        turn: u8,
    },
    /// I want it no more.
    Cancel {
        /// Which lock.
        lock: LockId,
    },
}

impl From<Word> for Message {
    fn from(word: Word) -> Self {
        Self::Word(word)
    }
}

impl wire::Message for Message {
    fn kind(&self) -> Kind {
        Kind::RicartAgrawala
    }

    fn delivery(&self) -> Delivery {
        Delivery::Latest // whoever waits asks again, so nothing has to be promised
    }

    fn about(&self) -> u32 {
        match self {
            Self::Word(word) => word.lock().number(),
            Self::Reply { lock, .. }
            | Self::Deferred { lock, .. }
            | Self::Busy { lock, .. }
            | Self::Cancel { lock } => lock.number(),
        }
    }

    fn word(&self) -> &'static str {
        match self {
            Self::Word(word) => word.word(),
            Self::Reply { .. } => "reply",
            Self::Deferred { .. } => "deferred",
            Self::Busy { .. } => "busy",
            Self::Cancel { .. } => "cancel",
        }
    }

    fn encode(&self, buffer: &mut [u8]) -> Option<usize> {
        wire::encode(self, buffer)
    }

    fn decode(kind: Kind, body: &[u8]) -> Option<Self> {
        if kind == Kind::RicartAgrawala { wire::decode(body) } else { None }
    }
}
