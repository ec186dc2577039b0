//! Messages of majority voting.

use crate::base::lamport::LamportTime;
use crate::base::time::Duration;
use crate::mutex::LockId;
use crate::wire::impl_message;
use serde::{Deserialize, Serialize};

/// A message between a requester and a voter, about the request with the number `request`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the sentence of each message names its fields")]
pub enum Message {
    /// Requests the vote, for a hold of `lease`.
    Request { lock: LockId, request: LamportTime, lease: Duration },
    /// Lends the vote. The voter agrees to the fence `number`.
    Vote { lock: LockId, request: LamportTime, number: LamportTime },
    /// Refuses: another request has the vote, or the voter abstains.
    Refuse { lock: LockId, request: LamportTime },
    /// Returns the vote. `held`: the lock was held, and requesters that back off may try again.
    Release { lock: LockId, request: LamportTime, held: bool },
    /// Asks the voter to agree to a higher fence `number`, which another voter proposed.
    Confirm { lock: LockId, request: LamportTime, number: LamportTime },
    /// Agrees to the fence `number`.
    Confirmed { lock: LockId, request: LamportTime, number: LamportTime },
    /// Requests to keep the vote for `lease` from now; `number` is that of the renewal.
    Renew { lock: LockId, request: LamportTime, number: LamportTime, lease: Duration },
    /// Grants the renewal `number`.
    Renewed { lock: LockId, number: LamportTime },
}

impl_message! {
    Reliable: Request = "request", Vote = "vote", Refuse = "refuse", Release = "release", Confirm = "confirm",
        Confirmed = "confirmed", Renew = "renew", Renewed = "renewed";
}
