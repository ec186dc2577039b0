//! Messages between a member and the lock server.

use crate::base::lamport::LamportTime;
use crate::base::term::Term;
use crate::base::time::Duration;
use crate::mutex::{Fence, LOCKS_MAX, LockId, Refusal};
use crate::wire::impl_message;
use serde::{Deserialize, Serialize};

/// The position of a request in the queue of a lock: the term of the server that queued it first, and its number among
/// the requests that server queued. The queue of a later server has the same order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the sentence names the fields")]
pub struct Ticket {
    pub term: u32,
    pub number: u32,
}

/// A message between a member and the lock server. `request` is the number of a request, `number` that of a renewal: a
/// reply names the one it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the sentence of each message names its fields")]
pub enum Message {
    /// Requests the lock for `lease`, and withdraws earlier requests of the sender. `trying`: refuse rather than queue.
    Request { lock: LockId, request: LamportTime, lease: Duration, trying: bool },
    /// Grants the lock under `fence`; the request had `waited` at the server.
    Grant { lock: LockId, request: LamportTime, fence: Fence, waited: Duration },
    /// Gives the lock back.
    Release { lock: LockId, request: LamportTime },
    /// The request is queued behind `ahead` others, and has this `ticket`.
    Waiting { lock: LockId, request: LamportTime, ahead: u8, ticket: Ticket },
    /// Withdraws the request.
    Cancel { lock: LockId, request: LamportTime },
    /// Requests to keep the lock for `lease` from now.
    Renew { lock: LockId, request: LamportTime, number: LamportTime, lease: Duration },
    /// Grants the renewal.
    Renewed { lock: LockId, number: LamportTime },
    /// Refuses the request or the renewal.
    Refused { lock: LockId, request: LamportTime, reason: Refusal },
    /// To a new leader: the sender has these locks in `held`, and accepts no grant of an earlier request. `complete`:
    /// the sender surely holds no others; one that has just started may have forgotten some. It has no requests
    /// numbered below `since`.
    Follows { term: Term, held: [Option<LockId>; LOCKS_MAX], complete: bool, since: LamportTime },
    /// Requests the lock again: a server has queued the request under `ticket`.
    Requeue { lock: LockId, request: LamportTime, lease: Duration, ticket: Ticket },
}

impl_message! {
    // A waiting member requests again.
    ReliableLatest: Request = "request", Grant = "grant", Release = "release", Waiting = "waiting", Cancel = "cancel",
        Renew = "renew", Renewed = "renewed", Refused = "refused", Follows = "follows", Requeue = "request";
    {
        fn topic(&self) -> u32 {
            match self {
                Self::Request { lock, .. }
                | Self::Grant { lock, .. }
                | Self::Release { lock, .. }
                | Self::Waiting { lock, .. }
                | Self::Cancel { lock, .. }
                | Self::Renew { lock, .. }
                | Self::Renewed { lock, .. }
                | Self::Requeue { lock, .. }
                | Self::Refused { lock, .. } => lock.number(),
                Self::Follows { .. } => 0,
            }
        }
    }
}
