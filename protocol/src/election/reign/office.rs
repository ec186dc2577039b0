//! A leadership, and what is said about it.

use crate::capacity::Standing;
use crate::clock::Term;
use crate::wire::Delivery;
use serde::{Deserialize, Serialize};

/// How many beats make a leader an incumbent.
pub const SETTLED: u32 = 8;

/// A leadership, as its news travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Office {
    /// Under which term.
    pub term: Term,
    /// Who leads.
    pub leader: Standing,
    /// Who would lead instead: told with the announcement, kept by the leader.
    pub second: Option<Standing>,
    /// How often the leader has beaten; 0 is the announcement of its election.
    pub beat: u32,
}

impl Office {
    /// How this leader counts against a challenger.
    pub(super) fn bar(&self) -> Standing {
        if self.beat >= SETTLED { self.leader.as_incumbent() } else { self.leader }
    }
}

/// What nodes say about the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Word {
    /// An election ended.
    Leader {
        /// Which one: its index is the leader's term.
        term: Term,
        /// Who won.
        leader: Standing,
        /// Who would have won otherwise.
        second: Option<Standing>,
        /// How old the news are, in 1/255 of the lease.
        age: u8,
    },
    /// The leader is alive.
    Beat {
        /// Its term.
        term: Term,
        /// Who it is.
        leader: Standing,
        /// The how many-th beat this is.
        beat: u32,
        /// How old the news are, in 1/255 of the lease.
        age: u8,
    },
    /// Whoever leads here needs a term above this one.
    Raise {
        /// The highest term known.
        term: Term,
    },
}

impl Word {
    /// How it travels: news are for everybody, and everybody passes them on.
    #[must_use]
    pub const fn delivery(&self) -> Delivery {
        match self {
            Self::Leader { .. } | Self::Beat { .. } => Delivery::Spread,
            Self::Raise { .. } => Delivery::Near,
        }
    }

    /// What it is, in a word.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Leader { .. } => "leader",
            Self::Beat { .. } => "beat",
            Self::Raise { .. } => "raise",
        }
    }
}
