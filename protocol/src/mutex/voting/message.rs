//! Messages of majority voting.

use crate::base::lamport::LamportTime;
use crate::base::time::Duration;
use crate::mutex::LockId;
use crate::wire::impl_message;
use serde::{Deserialize, Serialize};

/// A message between a requester and a voter, about the request with the number `request`.
///
/// A request has an `attempt` at each voter, which grows when it is sent again and when a vote is returned. A vote
/// belongs to an attempt: a message that names another is out of date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the sentence of each message names its fields")]
pub enum Message {
    /// Requests the vote, for a hold of `lease`. `trying`: it is not to be queued.
    Request { lock: LockId, request: LamportTime, attempt: u16, lease: Duration, trying: bool },
    /// Lends the vote. The voter agrees to the fence `number`; this attempt has `waited` at the voter.
    Vote { lock: LockId, request: LamportTime, attempt: u16, number: LamportTime, waited: Duration },
    /// Another request has the vote, or the voter abstains: the request is queued behind `ahead` others, or refused if
    /// it only tries.
    Refuse { lock: LockId, request: LamportTime, ahead: u8 },
    /// Asks for the vote back, if the requester cannot enter: another request comes first.
    Inquire { lock: LockId, request: LamportTime, attempt: u16 },
    /// Returns the vote; the request waits in a new `attempt`.
    Relinquish { lock: LockId, request: LamportTime, attempt: u16 },
    /// Returns the vote: the request is over. `held`: it may have held the lock, under the fence agreed to.
    Release { lock: LockId, request: LamportTime, held: bool },
    /// Asks the voter to agree to a higher fence `number`, which another voter proposed.
    Confirm { lock: LockId, request: LamportTime, number: LamportTime },
    /// Agrees to the fence `number`, as long as the vote of this `attempt` is lent.
    Confirmed { lock: LockId, request: LamportTime, attempt: u16, number: LamportTime },
    /// Requests to keep the vote for `lease` from now; `number` is that of the renewal.
    Renew { lock: LockId, request: LamportTime, number: LamportTime, lease: Duration },
    /// Grants the renewal `number`.
    Renewed { lock: LockId, number: LamportTime },
}

impl_message! {
    Reliable: Request = "request", Vote = "vote", Refuse = "refuse", Inquire = "inquire", Relinquish = "relinquish",
        Release = "release", Confirm = "confirm", Confirmed = "confirmed", Renew = "renew", Renewed = "renewed";
}
