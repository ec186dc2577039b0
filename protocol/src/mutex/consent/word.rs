//! What members that ask each other for consent say, whichever lock it is.

use crate::clock::Stamp;
use crate::group::NodeSet;
use crate::mutex::LockId;
use crate::time::Span;
use heapless::Vec;
use serde::{Deserialize, Serialize};

use super::MEMBERS_MAX;

/// A request, as it travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ask {
    /// For which lock.
    pub lock: LockId,
    /// The request's number: what it is ordered by.
    pub request: Stamp,
    /// Which question of the asker this is, counted over all its locks: an answer names it.
    pub turn: u8,
    /// For how long a consent has to be good.
    pub lease: Span,
    /// Who else is asked: a consent is good for this view only.
    pub view: NodeSet,
}

/// Whose question is answered, by their places in the group. One letter answers all that waited for one thing.
pub type Turns = Vec<(u8, u8), MEMBERS_MAX>;

/// What is said about requests in both locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Word {
    /// May I?
    Request(Ask),
    /// May I at once, or else not at all?
    Try(Ask),
    /// May I, still? For whom the first letter, or the answer to it, was given up.
    Repeat(Ask),
    /// Your request is older than something that may have been granted behind your back: make a new one.
    Outdated {
        /// About which lock.
        lock: LockId,
        /// Which question this answers.
        turn: u8,
    },
    /// I have no room for your request.
    Full {
        /// About which lock.
        lock: LockId,
        /// Which question this answers.
        turn: u8,
    },
}

impl Word {
    /// Which lock it is about.
    #[must_use]
    pub const fn lock(&self) -> LockId {
        match *self {
            Self::Request(Ask { lock, .. })
            | Self::Try(Ask { lock, .. })
            | Self::Repeat(Ask { lock, .. })
            | Self::Outdated { lock, .. }
            | Self::Full { lock, .. } => lock,
        }
    }

    /// What it is, in a word.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Request(_) => "request",
            Self::Try(_) => "try",
            Self::Repeat(_) => "repeat",
            Self::Outdated { .. } => "outdated",
            Self::Full { .. } => "full",
        }
    }
}
