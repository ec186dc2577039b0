//! What members say to each other in the token ring.

use super::super::LockId;
use super::super::keeper::{Token, Word};
use crate::wire::{self, Delivery, Kind};
use serde::{Deserialize, Serialize};

/// What members say to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// The token of a lock.
    Token {
        /// Of which lock.
        lock: LockId,
        /// The token.
        token: Token,
    },
    /// What is said about it.
    Keeper(Word),
}

impl From<Word> for Message {
    fn from(word: Word) -> Self {
        Self::Keeper(word)
    }
}

impl wire::Message for Message {
    fn kind(&self) -> Kind {
        Kind::TokenRing
    }

    fn delivery(&self) -> Delivery {
        Delivery::Reliable
    }

    fn word(&self) -> &'static str {
        match self {
            Self::Token { .. } => "token",
            Self::Keeper(word) => word.word(),
        }
    }

    fn encode(&self, buffer: &mut [u8]) -> Option<usize> {
        wire::encode(self, buffer)
    }

    fn decode(kind: Kind, body: &[u8]) -> Option<Self> {
        if kind == Kind::TokenRing { wire::decode(body) } else { None }
    }
}
