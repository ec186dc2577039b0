//! What members say to each other when a majority decides.

use crate::clock::Stamp;
use crate::mutex::LockId;
use crate::time::Span;
use crate::wire::{self, Delivery, Kind};
use serde::{Deserialize, Serialize};

/// What members say to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// Give me your vote.
    Request {
        /// For which lock.
        lock: LockId,
        /// The request's number.
        request: Stamp,
        /// For how long the lock is wanted.
        lease: Span,
    },
    /// You have it.
    Vote {
        /// For which lock.
        lock: LockId,
        /// Which request it answers.
        request: Stamp,
        /// Under which number the voter agrees.
        number: Stamp,
    },
    /// Somebody else has it, or I may not vote yet.
    Refuse {
        /// For which lock.
        lock: LockId,
        /// Which request it answers.
        request: Stamp,
    },
    /// Have it back.
    Release {
        /// Which lock.
        lock: LockId,
        /// Which request is over.
        request: Stamp,
        /// Whether the lock was held: whoever pauses may ask again.
        held: bool,
    },
    /// Another voter proposed a higher number: agree to it.
    Confirm {
        /// For which lock.
        lock: LockId,
        /// Which request has the vote.
        request: Stamp,
        /// The number.
        number: Stamp,
    },
    /// I do.
    Confirmed {
        /// For which lock.
        lock: LockId,
        /// Which request has the vote.
        request: Stamp,
        /// The number.
        number: Stamp,
    },
    /// Let me keep it.
    Renew {
        /// Which lock.
        lock: LockId,
        /// Which request has the vote.
        request: Stamp,
        /// The renewal's number.
        number: Stamp,
        /// For how long from now.
        lease: Span,
    },
    /// Keep it.
    Renewed {
        /// Which lock.
        lock: LockId,
        /// Which renewal it answers.
        number: Stamp,
    },
}

impl wire::Message for Message {
    fn kind(&self) -> Kind {
        Kind::Voting
    }

    fn delivery(&self) -> Delivery {
        Delivery::Reliable
    }

    fn word(&self) -> &'static str {
        match self {
            Self::Request { .. } => "request",
            Self::Vote { .. } => "vote",
            Self::Refuse { .. } => "refuse",
            Self::Release { .. } => "release",
            Self::Confirm { .. } => "confirm",
            Self::Confirmed { .. } => "confirmed",
            Self::Renew { .. } => "renew",
            Self::Renewed { .. } => "renewed",
        }
    }

    fn encode(&self, buffer: &mut [u8]) -> Option<usize> {
        wire::encode(self, buffer)
    }

    fn decode(kind: Kind, body: &[u8]) -> Option<Self> {
        if kind == Kind::Voting { wire::decode(body) } else { None }
    }
}
