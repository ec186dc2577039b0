//! Messages of the ring election.

use crate::base::capacity::Candidate;
use crate::base::ids::NodeSet;
use crate::base::term::Term;
use crate::election::leadership::{LeaderMessage, from_leader_message};
use crate::wire::{self, Delivery};
use serde::{Deserialize, Serialize};

/// The members a list has passed so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct List {
    /// The election, and its initiator.
    pub term: Term,
    /// The members that passed it on.
    pub members: NodeSet,
    /// The best candidate among them, if one can lead.
    pub best: Option<Candidate>,
    /// The runner-up.
    pub runner_up: Option<Candidate>,
}

/// The result of an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Outcome {
    /// The election, and its initiator.
    pub term: Term,
    /// The winner.
    pub leader: Candidate,
    /// The runner-up.
    pub runner_up: Option<Candidate>,
    /// The members of the ring.
    pub members: NodeSet,
}

/// Messages between the members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// The list of an open election.
    Election(List),
    /// The election is over.
    Coordinator(Outcome),
    /// Asks who is up, as all known successors are gone.
    Seek {
        /// The election it is for.
        term: Term,
    },
    /// Answers that the sender is up.
    Here {
        /// The election it is for.
        term: Term,
    },
    /// A message about the leader.
    Leadership(LeaderMessage),
}

from_leader_message!(Message::Leadership);

impl wire::Message for Message {
    fn delivery(&self) -> Delivery {
        match self {
            // A later message of the same member is of a higher term, or asks again for the same.
            Self::Election(_) | Self::Coordinator(_) | Self::Seek { .. } | Self::Here { .. } => {
                Delivery::ReliableLatest
            }
            Self::Leadership(message) => message.delivery(),
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Election(_) => "election",
            Self::Coordinator(_) => "coordinator",
            Self::Seek { .. } => "seek",
            Self::Here { .. } => "here",
            Self::Leadership(message) => message.name(),
        }
    }
}
