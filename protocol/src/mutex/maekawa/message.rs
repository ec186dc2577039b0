//! What members say to each other in Maekawa's algorithm.

use crate::clock::Stamp;
use crate::mutex::LockId;
use crate::time::Span;
use crate::wire::{self, Delivery, Kind};
use serde::{Deserialize, Serialize};

/// What members say to each other. All of it is about one request: a lock, who asked for it, and its number.
///
/// The turn is what the paper's grants lack. A request has a turn at each voter, which grows when it is put anew and when a
/// vote is given back. A vote is of a turn: whatever names another is out of date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// Give me your vote.
    Request {
        /// For which lock.
        lock: LockId,
        /// The request's number.
        request: Stamp,
        /// Its turn.
        turn: u16,
        /// For how long the lock is wanted.
        lease: Span,
    },
    /// You have it.
    Grant {
        /// For which lock.
        lock: LockId,
        /// Which request it answers.
        request: Stamp,
        /// In which turn.
        turn: u16,
        /// Under which number the voter agrees.
        number: Stamp,
        /// How long the request has been here in this turn.
        waited: Span,
    },
    /// You come first, but somebody else has it: it is asked for.
    Wait {
        /// For which lock.
        lock: LockId,
        /// Which request it answers.
        request: Stamp,
        /// How many come first.
        ahead: u8,
    },
    /// Somebody else comes first.
    Fail {
        /// For which lock.
        lock: LockId,
        /// Which request it answers.
        request: Stamp,
        /// How many come first.
        ahead: u8,
    },
    /// Give it back, if you cannot enter: somebody else comes first.
    Inquire {
        /// For which lock.
        lock: LockId,
        /// Which request has the vote.
        request: Stamp,
        /// In which turn.
        turn: u16,
    },
    /// Have it back: I wait.
    Relinquish {
        /// For which lock.
        lock: LockId,
        /// Which request waits.
        request: Stamp,
        /// In which turn from now on.
        turn: u16,
    },
    /// Have it back: I have left, or want it no more.
    Release {
        /// Which lock.
        lock: LockId,
        /// Which request is over.
        request: Stamp,
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
    /// There is no room for your request.
    Full {
        /// For which lock.
        lock: LockId,
        /// Which request it answers.
        request: Stamp,
    },
}

impl wire::Message for Message {
    fn kind(&self) -> Kind {
        Kind::Maekawa
    }

    fn delivery(&self) -> Delivery {
        Delivery::Reliable
    }

    fn word(&self) -> &'static str {
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

    fn encode(&self, buffer: &mut [u8]) -> Option<usize> {
        wire::encode(self, buffer)
    }

    fn decode(kind: Kind, body: &[u8]) -> Option<Self> {
        if kind == Kind::Maekawa { wire::decode(body) } else { None }
    }
}
