//! What members say about their clocks.

use crate::clock::Term;
use crate::time::Span;
use crate::wire::{self, Delivery, Kind, NEIGHBOURS_MAX};
use heapless::Vec;
use serde::{Deserialize, Serialize};

/// How many corrections fit into a frame.
pub const ENTRIES_MAX: usize = 4;
const _: () = assert!(ENTRIES_MAX <= NEIGHBOURS_MAX, "one frame names all that it is for");

/// What members say about their clocks. Each says whether it travels as a letter: to whom nobody hears directly.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// What does your clock say?
    Poll {
        /// Under which term the sender leads.
        term: Term,
        /// The how many-th round of that term.
        round: u32,
        /// Whether this is a letter.
        letter: bool,
    },
    /// This it says, in microseconds.
    Answer {
        /// Which term the question was of.
        term: Term,
        /// Which round.
        round: u32,
        /// Whether this is a letter.
        letter: bool,
        /// The clock, once it has been corrected by what it was told so far.
        reading: u64,
        /// How long the answer has waited.
        held: Span,
        /// Whether it was ever set.
        is_set: bool,
    },
    /// Correct it by so much.
    Adjust {
        /// Under which term.
        term: Term,
        /// In which round.
        round: u32,
        /// Whether this is a letter.
        letter: bool,
        /// Members' places in the group, and microseconds.
        entries: Vec<(u8, i64), ENTRIES_MAX>,
    },
}

impl wire::Message for Message {
    fn kind(&self) -> Kind {
        Kind::ClockSync
    }

    fn delivery(&self) -> Delivery {
        match self {
            Self::Poll { letter, .. } | Self::Answer { letter, .. } | Self::Adjust { letter, .. } => {
                if *letter {
                    Delivery::Latest
                } else {
                    Delivery::Near
                }
            }
        }
    }

    fn word(&self) -> &'static str {
        match self {
            Self::Poll { .. } => "poll",
            Self::Answer { .. } => "answer",
            Self::Adjust { .. } => "adjust",
        }
    }

    fn encode(&self, buffer: &mut [u8]) -> Option<usize> {
        wire::encode(self, buffer)
    }

    fn decode(kind: Kind, body: &[u8]) -> Option<Self> {
        if kind == Kind::ClockSync { wire::decode(body) } else { None }
    }
}
