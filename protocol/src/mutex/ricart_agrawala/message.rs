//! Messages of the lock of Ricart and Agrawala.

use crate::mutex::LockId;
use crate::mutex::permission::{PermissionMessage, RepliedRounds};
use crate::wire::{self, Delivery};
use serde::{Deserialize, Serialize};

/// A message between members. A reply names the `round` it answers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are the lock and the round or rounds")]
pub enum Message {
    /// A request, or a reply that all permission-based locks share.
    Permission(PermissionMessage),
    /// Gives permission: no request of the sender comes first.
    Reply { lock: LockId, rounds: RepliedRounds },
    /// Answers a repeated request: it is queued, and a request of the sender comes first.
    Deferred { lock: LockId, round: u8 },
    /// Answers a try: a request of the sender comes first.
    Busy { lock: LockId, round: u8 },
    /// Withdraws the request.
    Cancel { lock: LockId },
}

impl_from!(PermissionMessage as Permission);

impl wire::Message for Message {
    fn delivery(&self) -> Delivery {
        Delivery::ReliableLatest // a waiting member asks again
    }

    fn topic(&self) -> u32 {
        match self {
            Self::Permission(message) => message.lock().number(),
            Self::Reply { lock, .. }
            | Self::Deferred { lock, .. }
            | Self::Busy { lock, .. }
            | Self::Cancel { lock } => lock.number(),
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Permission(message) => message.name(),
            Self::Reply { .. } => "reply",
            Self::Deferred { .. } => "deferred",
            Self::Busy { .. } => "busy",
            Self::Cancel { .. } => "cancel",
        }
    }
}
