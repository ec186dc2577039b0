//! Messages of the bully election.

use crate::base::capacity::Candidate;
use crate::base::term::Term;
use crate::election::leadership::{LeaderMessage, from_leader_message};
use crate::wire::{self, Delivery};
use serde::{Deserialize, Serialize};

/// Messages between the members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// Asks whether a better member is up.
    Election {
        /// The election.
        term: Term,
        /// The sender as a candidate, if it is one.
        caller: Option<Candidate>,
    },
    /// Answers that the sender is up and better.
    Ok {
        /// The election that is answered.
        term: Term,
    },
    /// Announces the sender as the leader.
    Coordinator {
        /// Its term.
        term: Term,
        /// The leader.
        leader: Candidate,
        /// The runner-up.
        runner_up: Option<Candidate>,
    },
    /// Announces that an election is open.
    Alert {
        /// The election.
        term: Term,
    },
    /// Asks for the leader, after a boot.
    Ask,
    /// Asks whether a better member is up, and answers worse members that asked before.
    Broadcast {
        /// The election.
        term: Term,
        /// The sender as a candidate, if it is one.
        caller: Option<Candidate>,
    },
    /// A message about the leader.
    Leadership(LeaderMessage),
}

from_leader_message!(Message::Leadership);

impl wire::Message for Message {
    fn delivery(&self) -> Delivery {
        match self {
            Self::Election { .. } | Self::Ok { .. } | Self::Coordinator { .. } | Self::Alert { .. } => {
                Delivery::ReliableLatest
            }
            Self::Ask | Self::Broadcast { .. } => Delivery::Unreliable,
            Self::Leadership(message) => message.delivery(),
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Election { .. } => "election",
            Self::Ok { .. } => "ok",
            Self::Coordinator { .. } => "coordinator",
            Self::Alert { .. } => "alert",
            Self::Ask => "ask",
            Self::Broadcast { .. } => "broadcast",
            Self::Leadership(message) => message.name(),
        }
    }
}
