//! What members and the leader say about tokens, and the tokens themselves.

use super::super::{Fence, LockId};
use crate::clock::{Stamp, Term};
use crate::group::NodeSet;
use serde::{Deserialize, Serialize};

/// Which token of a lock this is: the term of the leader that made it, and which of its tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Generation {
    /// The leader's term.
    pub term: Term,
    /// The how many-th token of that leader, of any lock; none, before the first.
    pub round: u32,
}

impl Generation {
    /// Before every token of `term`.
    #[must_use]
    pub const fn before(term: Term) -> Self {
        Self { term, round: 0 }
    }
}

/// The token of a lock. Whoever has it may enter, and nobody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Token {
    /// Which token.
    pub generation: Generation,
    /// How often it was passed on or entered with.
    pub sequence: u32,
}

impl Token {
    /// A token that was used for nothing yet.
    #[must_use]
    pub const fn new(generation: Generation) -> Self {
        Self { generation, sequence: 0 }
    }

    /// The same token, one hop or one entry later.
    #[must_use]
    pub const fn next(self) -> Self {
        Self { sequence: self.sequence.saturating_add(1), ..self }
    }

    /// What an entry with it is fenced by.
    #[must_use]
    pub fn fence(self) -> Fence {
        let Generation { term, round } = self.generation;
        Fence { term, count: Stamp(u64::from(round).wrapping_shl(32) | u64::from(self.sequence)) }
    }
}

/// Why a member calls the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Need {
    /// It wants the token.
    Want,
    /// It has the token and wants to enter.
    Enter,
    /// It is inside and wants to stay.
    Keep,
    /// It is inside: the token is not lost. Nothing is answered.
    Using,
    /// Whom it passed the token to is gone: the token may be lost. Nothing is answered.
    Missing,
    /// Whom it asked for the token is gone: it knows no way to it. Nothing is answered.
    Astray,
}

/// What members and the leader say about the token of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Word {
    /// To the leader.
    Call {
        /// Which lock.
        lock: LockId,
        /// The number of this call.
        number: Stamp,
        /// Why.
        need: Need,
        /// The token the caller knows of.
        generation: Generation,
    },
    /// From the leader: whoever has the token may be inside for as long as any lease lasts, from when it called.
    Warrant {
        /// Which lock.
        lock: LockId,
        /// The call that is answered.
        number: Stamp,
        /// The token it is good for.
        generation: Generation,
        /// How many others want it.
        ahead: u8,
    },
    /// From the leader: it has no room for another lock.
    Refuse {
        /// Which lock.
        lock: LockId,
        /// The call that is answered.
        number: Stamp,
    },
    /// From the leader: older tokens are void. Who has one, or is inside?
    Recall {
        /// Which lock.
        lock: LockId,
        /// The token that will be made.
        generation: Generation,
        /// Who else than the leader may be asked for it: nobody, where that did not work.
        via: NodeSet,
    },
    /// To the leader: this member is not inside, and never will be by an older token.
    Clear {
        /// Which lock.
        lock: LockId,
        /// The token that will be made.
        generation: Generation,
        /// The older token this member had.
        had: Option<Generation>,
    },
}

impl Word {
    /// What it is, in a word.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Call { .. } => "call",
            Self::Warrant { .. } => "warrant",
            Self::Refuse { .. } => "refuse",
            Self::Recall { .. } => "recall",
            Self::Clear { .. } => "clear",
        }
    }
}
