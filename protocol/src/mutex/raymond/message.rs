//! Messages of the tree lock of Raymond.

use super::super::LockId;
use super::super::token::{Epoch, Token, TokenMessage};
use crate::base::time::Duration;
use crate::wire::{self, Delivery};
use serde::{Deserialize, Serialize};

/// A message between members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the sentence of each message names its fields")]
pub enum Message {
    /// Requests the token. `epoch` is that of the token the sender knows of.
    Request { lock: LockId, number: u32, epoch: Epoch },
    /// Passes the token.
    Privilege(Privilege),
    /// Refuses a request for a void token: the one to request is of `epoch`.
    Void { lock: LockId, epoch: Epoch },
    /// Refuses a request: no room for another lock, or in its queue.
    Full { lock: LockId },
    /// A message to or from the issuer.
    Issuer(TokenMessage),
}

/// The token of a lock on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Privilege {
    /// The lock.
    pub lock: LockId,
    /// Its token.
    pub token: Token,
    /// The number of the request that is answered.
    pub number: u32,
    /// The time the request waited.
    pub waited: Duration,
    /// The rest of the token's lease.
    pub lease_left: Duration,
    /// The number of a request to pass the token back.
    pub return_request: Option<u32>,
}

impl_from!(TokenMessage as Issuer);

impl wire::Message for Message {
    fn delivery(&self) -> Delivery {
        Delivery::Reliable
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Request { .. } => "request",
            Self::Privilege(_) => "privilege",
            Self::Void { .. } => "void",
            Self::Full { .. } => "full",
            Self::Issuer(message) => message.name(),
        }
    }
}
