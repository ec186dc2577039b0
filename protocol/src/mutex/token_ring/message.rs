//! Messages of the token ring.

use super::super::LockId;
use super::super::token::{Token, TokenMessage};
use crate::wire::{self, Delivery};
use serde::{Deserialize, Serialize};

/// A message between members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are the lock and its token")]
pub enum Message {
    /// The token of a lock.
    Token { lock: LockId, token: Token },
    /// A message to or from the issuer.
    Issuer(TokenMessage),
}

impl_from!(TokenMessage as Issuer);

impl wire::Message for Message {
    fn delivery(&self) -> Delivery {
        Delivery::Reliable
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Token { .. } => "token",
            Self::Issuer(message) => message.name(),
        }
    }
}
