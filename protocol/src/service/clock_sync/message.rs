//! Messages of the shared clock.

use crate::base::term::Term;
use crate::base::time::Duration;
use crate::wire::{self, Delivery, NEIGHBOURS_MAX};
use heapless::Vec;
use serde::{Deserialize, Serialize};

/// Corrections in a frame.
pub const ENTRIES_MAX: usize = 4;
const _: () = assert!(ENTRIES_MAX <= NEIGHBOURS_MAX, "a frame names all its recipients");

/// Messages between the leader and the members. `reliable` is set between nodes out of range of each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// Asks for the recipient's clock.
    Poll {
        /// The term of the leader.
        term: Term,
        /// The round within that term.
        round: u32,
        /// Whether the message is reliable.
        reliable: bool,
    },
    /// The sender's clock.
    Answer {
        /// The term of the poll.
        term: Term,
        /// The round of the poll.
        round: u32,
        /// Whether the message is reliable.
        reliable: bool,
        /// The time after the pending correction, in microseconds.
        reading: u64,
        /// How long the answer was held back.
        held: Duration,
        /// Whether the clock was ever set.
        is_set: bool,
    },
    /// The corrections of some members.
    Adjust {
        /// The term of the leader.
        term: Term,
        /// The round within that term.
        round: u32,
        /// Whether the message is reliable.
        reliable: bool,
        /// Slots of the members and their corrections in microseconds.
        entries: Vec<(u8, i64), ENTRIES_MAX>,
    },
}

impl wire::Message for Message {
    fn delivery(&self) -> Delivery {
        let (Self::Poll { reliable, .. } | Self::Answer { reliable, .. } | Self::Adjust { reliable, .. }) = self;
        if *reliable { Delivery::ReliableLatest } else { Delivery::Unreliable }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Poll { .. } => "poll",
            Self::Answer { .. } => "answer",
            Self::Adjust { .. } => "adjust",
        }
    }
}
