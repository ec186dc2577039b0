//! Messages of the wireless election.

use crate::base::capacity::Candidate;
use crate::base::ids::NodeId;
use crate::base::term::Term;
use crate::election::leadership::LeaderMessage;
use crate::wire::{self, Delivery};
use serde::{Deserialize, Serialize};

/// Messages between neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// The leader is up.
    Heartbeat {
        /// Its term.
        term: Term,
        /// The leader.
        leader: Candidate,
        /// Heartbeat counter.
        count: u32,
        /// Age of the message, in 1/255 of the lease.
        age: u8,
    },
    /// The sender takes part in a computation.
    Election {
        /// The computation.
        index: Term,
        /// The sender's parent; the root is its own.
        parent: NodeId,
    },
    /// Asks a neighbour that was silent in a computation.
    Probe {
        /// The computation.
        index: Term,
        /// The sender's parent; the root is its own.
        parent: NodeId,
    },
    /// Reports the best candidates of the sender's subtree to its parent.
    Report {
        /// The computation.
        index: Term,
        /// The best candidate, if there is one.
        best: Option<Candidate>,
        /// The runner-up.
        runner_up: Option<Candidate>,
    },
    /// A computation ended.
    Elected {
        /// Its index, now the leader's term.
        term: Term,
        /// The winner.
        leader: Candidate,
        /// The runner-up.
        runner_up: Option<Candidate>,
        /// Age of the message, in 1/255 of the lease.
        age: u8,
    },
    /// The leader must raise its term above this one.
    RaiseTerm {
        /// The highest term known.
        term: Term,
    },
}

impl From<LeaderMessage> for Message {
    fn from(message: LeaderMessage) -> Self {
        match message {
            LeaderMessage::Elected { term, leader, runner_up, age } => Self::Elected { term, leader, runner_up, age },
            LeaderMessage::Heartbeat { term, leader, count, age } => Self::Heartbeat { term, leader, count, age },
            LeaderMessage::RaiseTerm { term } => Self::RaiseTerm { term },
        }
    }
}

impl wire::Message for Message {
    fn delivery(&self) -> Delivery {
        match self {
            Self::Election { .. } | Self::Probe { .. } | Self::Elected { .. } | Self::Heartbeat { .. } => {
                Delivery::Jittered
            }
            Self::RaiseTerm { .. } => Delivery::Unreliable,
            Self::Report { .. } => Delivery::ReliableLatest,
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Heartbeat { .. } => "leader-heartbeat",
            Self::Election { .. } => "election",
            Self::Probe { .. } => "probe",
            Self::Report { .. } => "report",
            Self::Elected { .. } => "leader",
            Self::RaiseTerm { .. } => "raise",
        }
    }
}
