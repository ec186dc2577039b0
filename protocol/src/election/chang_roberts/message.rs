//! Messages of the election of Chang and Roberts.

use crate::base::capacity::Candidate;
use crate::base::term::Term;
use crate::election::leadership::{LeaderMessage, from_leader_message};
use crate::wire::{self, Delivery};
use serde::{Deserialize, Serialize};

/// Messages between the members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// The best candidate of an open round so far.
    Election {
        /// The round.
        round: u32,
        /// The candidate; `None` while only members have seen it that cannot lead.
        candidate: Option<Candidate>,
    },
    /// The round is over.
    Elected {
        /// The round, and the id of the winner.
        term: Term,
        /// The winner.
        leader: Candidate,
    },
    /// A message about the leader.
    Leadership(LeaderMessage),
}

from_leader_message!(Message::Leadership);

impl wire::Message for Message {
    fn delivery(&self) -> Delivery {
        match self {
            Self::Election { .. } => Delivery::Reliable, // every candidate is passed on, as the paper counts
            Self::Elected { .. } => Delivery::ReliableLatest,
            Self::Leadership(message) => message.delivery(),
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Election { .. } => "election",
            Self::Elected { .. } => "elected",
            Self::Leadership(message) => message.name(),
        }
    }
}
