//! What members and the one that leads them say about locks.

use crate::clock::{Stamp, Term};
use crate::mutex::{Fence, LOCKS_MAX, LockId, Refusal};
use crate::time::Span;
use crate::wire::{self, Delivery, Kind};
use serde::{Deserialize, Serialize};

/// What members and the one that leads them say about locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// Grant me the lock.
    Request {
        /// Which.
        lock: LockId,
        /// The request's number: an earlier one of the sender is over.
        request: Stamp,
        /// For how long.
        lease: Span,
        /// Whether to refuse rather than to let wait.
        trying: bool,
    },
    /// The lock is yours.
    Grant {
        /// Which.
        lock: LockId,
        /// Which request this answers.
        request: Stamp,
        /// Under which fence.
        fence: Fence,
        /// How long the request had waited at the sender.
        waited: Span,
    },
    /// I need the lock no more.
    Release {
        /// Which.
        lock: LockId,
        /// The request it was granted to.
        request: Stamp,
    },
    /// Others come first. I am there, and have not forgotten you.
    Waiting {
        /// Which lock.
        lock: LockId,
        /// Which request this answers.
        request: Stamp,
        /// How many.
        ahead: u8,
    },
    /// I do not want the lock any more.
    Cancel {
        /// Which.
        lock: LockId,
        /// Which request is over.
        request: Stamp,
    },
    /// Let me keep the lock.
    Renew {
        /// Which.
        lock: LockId,
        /// The request it was granted to.
        request: Stamp,
        /// The renewal's number.
        number: Stamp,
        /// For how long from now.
        lease: Span,
    },
    /// You may keep the lock.
    Renewed {
        /// Which.
        lock: LockId,
        /// Which renewal this answers.
        number: Stamp,
    },
    /// The lock is not granted, or not renewed.
    Refused {
        /// Which.
        lock: LockId,
        /// Which request this answers.
        request: Stamp,
        /// Why.
        why: Refusal,
    },
    /// I follow you, hold these locks and no others, and take no grant of an earlier request any more.
    Follows {
        /// Under which term.
        term: Term,
        /// Which.
        holds: [Option<LockId>; LOCKS_MAX],
        /// Whether that is all: one that has just started may have been granted more before.
        all: bool,
    },
}

impl wire::Message for Message {
    fn kind(&self) -> Kind {
        Kind::Central
    }

    fn delivery(&self) -> Delivery {
        Delivery::Latest // whoever waits asks again, so nothing has to be promised
    }

    fn word(&self) -> &'static str {
        match self {
            Self::Request { .. } => "request",
            Self::Grant { .. } => "grant",
            Self::Release { .. } => "release",
            Self::Waiting { .. } => "waiting",
            Self::Cancel { .. } => "cancel",
            Self::Renew { .. } => "renew",
            Self::Renewed { .. } => "renewed",
            Self::Refused { .. } => "refused",
            Self::Follows { .. } => "follows",
        }
    }

    fn about(&self) -> u32 {
        match self {
            Self::Request { lock, .. }
            | Self::Grant { lock, .. }
            | Self::Release { lock, .. }
            | Self::Waiting { lock, .. }
            | Self::Cancel { lock, .. }
            | Self::Renew { lock, .. }
            | Self::Renewed { lock, .. }
            | Self::Refused { lock, .. } => lock.0,
            Self::Follows { .. } => 0,
        }
    }

    fn encode(&self, buffer: &mut [u8]) -> Option<usize> {
        wire::encode(self, buffer)
    }

    fn decode(kind: Kind, body: &[u8]) -> Option<Self> {
        if kind == Kind::Central { wire::decode(body) } else { None }
    }
}
