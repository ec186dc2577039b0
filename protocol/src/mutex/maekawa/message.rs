//! Messages of Maekawa's algorithm.

use crate::base::lamport::LamportTime;
use crate::base::time::Duration;
use crate::mutex::LockId;
use crate::wire::{self, Delivery};
use serde::{Deserialize, Serialize};

/// A message between a requester and a voter, about the request with the number `request`.
///
/// The `attempt` is what the paper's grants lack: a request has an attempt at each voter, which grows when it is sent
/// again and when a vote is returned. A vote belongs to an attempt: a message that names another is out of date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the sentence of each message names its fields")]
pub enum Message {
    /// Requests the vote, for a hold of `lease`.
    Request { lock: LockId, request: LamportTime, attempt: u16, lease: Duration },
    /// Lends the vote. The voter agrees to the fence `number`; this attempt has `waited` at the voter.
    Grant { lock: LockId, request: LamportTime, attempt: u16, number: LamportTime, waited: Duration },
    /// Queues the request first: the vote is inquired for its sake. `ahead` requests come first.
    Wait { lock: LockId, request: LamportTime, ahead: u8 },
    /// Queues the request behind `ahead` others.
    Fail { lock: LockId, request: LamportTime, ahead: u8 },
    /// Asks for the vote back, if the requester cannot enter: another request comes first.
    Inquire { lock: LockId, request: LamportTime, attempt: u16 },
    /// Returns the vote; the request waits in a new `attempt`.
    Relinquish { lock: LockId, request: LamportTime, attempt: u16 },
    /// Returns the vote: the request is over.
    Release { lock: LockId, request: LamportTime },
    /// Asks the voter to agree to a higher fence `number`, which another voter proposed.
    Confirm { lock: LockId, request: LamportTime, number: LamportTime },
    /// Agrees to the fence `number`.
    Confirmed { lock: LockId, request: LamportTime, number: LamportTime },
    /// Requests to keep the vote for `lease` from now; `number` is that of the renewal.
    Renew { lock: LockId, request: LamportTime, number: LamportTime, lease: Duration },
    /// Grants the renewal `number`.
    Renewed { lock: LockId, number: LamportTime },
    /// Refuses the request: no room.
    Full { lock: LockId, request: LamportTime },
}

impl wire::Message for Message {
    fn delivery(&self) -> Delivery {
        Delivery::Reliable
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Request { .. } => "request",
            Self::Grant { .. } => "grant",
            Self::Wait { .. } => "wait",
            Self::Fail { .. } => "fail",
            Self::Inquire { .. } => "inquire",
            Self::Relinquish { .. } => "relinquish",
            Self::Release { .. } => "release",
            Self::Confirm { .. } => "confirm",
            Self::Confirmed { .. } => "confirmed",
            Self::Renew { .. } => "renew",
            Self::Renewed { .. } => "renewed",
            Self::Full { .. } => "full",
        }
    }
}
