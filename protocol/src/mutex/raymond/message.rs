//! What members say to each other in the tree lock of Raymond.

use super::super::LockId;
use super::super::keeper::{Generation, Token, Word};
use crate::time::Span;
use crate::wire::{self, Delivery, Kind};
use serde::{Deserialize, Serialize};

/// What members say to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// Pass me the token.
    Request {
        /// Of which lock.
        lock: LockId,
        /// The number of this request.
        number: u32,
        /// The token the sender knows of.
        generation: Generation,
    },
    /// Here it is.
    Privilege(Privilege),
    /// What you ask for is void: ask for this.
    Void {
        /// Of which lock.
        lock: LockId,
        /// The token there is, or will be.
        generation: Generation,
    },
    /// There is no room for another lock, or for another that waits.
    Full {
        /// Which lock.
        lock: LockId,
    },
    /// What is said about it.
    Keeper(Word),
}

/// The token of a lock on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Privilege {
    /// Of which lock.
    pub lock: LockId,
    /// The token.
    pub token: Token,
    /// The request that is answered.
    pub number: u32,
    /// How long it had waited.
    pub waited: Span,
    /// For how long the token may still be used.
    pub left: Span,
    /// A request to pass it back, by its number.
    pub back: Option<u32>,
}

impl From<Word> for Message {
    fn from(word: Word) -> Self {
        Self::Keeper(word)
    }
}

impl wire::Message for Message {
    fn kind(&self) -> Kind {
        Kind::Raymond
    }

    fn delivery(&self) -> Delivery {
        Delivery::Reliable
    }

    fn word(&self) -> &'static str {
        match self {
            Self::Request { .. } => "request",
            Self::Privilege(_) => "privilege",
            Self::Void { .. } => "void",
            Self::Full { .. } => "full",
            Self::Keeper(word) => word.word(),
        }
    }

    fn encode(&self, buffer: &mut [u8]) -> Option<usize> {
        wire::encode(self, buffer)
    }

    fn decode(kind: Kind, body: &[u8]) -> Option<Self> {
        if kind == Kind::Raymond { wire::decode(body) } else { None }
    }
}
