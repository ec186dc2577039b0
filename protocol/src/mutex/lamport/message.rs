//! Messages of Lamport's lock.

use crate::base::lamport::LamportTime;
use crate::mutex::permission::{PermissionMessage, RepliedRounds};
use crate::mutex::{LOCKS_MAX, LockId};
use crate::wire::{self, Delivery};
use heapless::Vec;
use serde::{Deserialize, Serialize};

/// Some locks of one member.
pub type Locks = Vec<LockId, LOCKS_MAX>;

/// A message between members.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the sentence of each message names its fields")]
pub enum Message {
    /// A request, or a reply that all permission-based locks share.
    Permission(PermissionMessage),
    /// Acknowledges the requests of `rounds`: they are queued. `own` is the number of the sender's own request, if any:
    /// the message that carried it may be lost.
    RequestAck { lock: LockId, own: Option<LamportTime>, rounds: RepliedRounds },
    /// Removes the sender's requests for `locks` from the queue.
    Release { locks: Locks },
}

impl_from!(PermissionMessage as Permission);

impl wire::Message for Message {
    fn delivery(&self) -> Delivery {
        Delivery::ReliableLatest // a waiting member asks again
    }

    fn topic(&self) -> u32 {
        match self {
            Self::Permission(message) => message.lock().number(),
            Self::RequestAck { lock, .. } => lock.number(),
            // All that ended at once; one alone is its own topic.
            Self::Release { locks } => locks.iter().fold(0, |topic, lock| topic ^ lock.number()),
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Permission(message) => message.name(),
            Self::RequestAck { .. } => "request-ack",
            Self::Release { .. } => "release",
        }
    }
}
