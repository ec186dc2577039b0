//! Messages between members and the issuer of tokens, and the tokens themselves.

use super::super::{Fence, LockId};
use crate::base::ids::NodeSet;
use crate::base::lamport::LamportTime;
use crate::base::term::Term;
use serde::{Deserialize, Serialize};

/// The epoch of a token: a later token of the same lock has a higher one, and voids all before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Epoch {
    /// The term of the leader that issued the token.
    pub term: Term,
    /// The serial number among its tokens, of any lock; zero before the first.
    pub serial: u32,
}

impl Epoch {
    /// Returns the epoch before every token of `term`.
    #[must_use]
    pub const fn before(term: Term) -> Self {
        Self { term, serial: 0 }
    }
}

/// The token of a lock: only the member that has it may enter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Token {
    /// The epoch it was issued in.
    pub epoch: Epoch,
    /// The number of hops and entries so far.
    pub sequence: u32,
}

impl Token {
    pub(super) const fn new(epoch: Epoch) -> Self {
        Self { epoch, sequence: 0 }
    }

    /// Returns the token one hop or one entry later.
    pub(in crate::mutex) const fn next(self) -> Self {
        Self { sequence: self.sequence.saturating_add(1), ..self }
    }

    /// Returns the fence of an entry with this token.
    pub(super) fn fence(self) -> Fence {
        let Epoch { term, serial } = self.epoch;
        Fence { term, count: LamportTime(u64::from(serial).wrapping_shl(32) | u64::from(self.sequence)) }
    }
}

/// The reason of a message to the issuer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Need {
    /// The member wants the token.
    Acquire,
    /// It has the token and wants to enter.
    Enter,
    /// It holds the lock and wants to keep it.
    Renew,
    /// It holds the lock: the token is not lost. No reply.
    InUse,
    /// The member it passed the token to is gone: the token may be lost. No reply.
    SuccessorLost,
    /// The member it asked for the token is gone: it knows no route to the token. No reply.
    RouteLost,
}

/// A message between a member and the issuer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the sentence of each message names its fields")]
pub enum TokenMessage {
    /// To the issuer: a request or a report. `number` names the request in the reply; `epoch` is that of the token the
    /// sender knows of.
    Request { lock: LockId, number: LamportTime, need: Need, epoch: Epoch },
    /// From the issuer: with the token of `epoch` the member may hold the lock for the longest lease, counted from its
    /// request. `ahead` other members want the token.
    Lease { lock: LockId, number: LamportTime, epoch: Epoch, ahead: u8 },
    /// From the issuer: no room for another lock.
    Refuse { lock: LockId, number: LamportTime },
    /// From the issuer: tokens before `epoch` are void. Every member reports when it neither has one nor holds the
    /// lock. Members in `via` may be asked for the new token, besides the issuer.
    Recall { lock: LockId, epoch: Epoch, via: NodeSet },
    /// To the issuer: the sender does not hold the lock, and will never enter with a token before `epoch`. `had` is the
    /// epoch of the void token it had.
    RecallAck { lock: LockId, epoch: Epoch, had: Option<Epoch> },
}

impl TokenMessage {
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Request { .. } => "token-request",
            Self::Lease { .. } => "token-lease",
            Self::Refuse { .. } => "refuse",
            Self::Recall { .. } => "recall",
            Self::RecallAck { .. } => "recall-ack",
        }
    }
}
