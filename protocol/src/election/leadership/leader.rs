//! A leader, and the messages about it.

use crate::base::capacity::Candidate;
use crate::base::term::Term;
use crate::wire::Delivery;
use serde::{Deserialize, Serialize};

/// Heartbeats after which a leader is an incumbent.
pub(crate) const INCUMBENT_AFTER: u32 = 8;

/// A leader and its term, as its heartbeats announce them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::election) struct Leader {
    /// Its term.
    pub term: Term,
    /// The leader as a candidate.
    pub candidate: Candidate,
    /// The best other candidate it knows: its successor if it hands over, its heir if it is lost.
    pub runner_up: Option<Candidate>,
    /// Heartbeat counter; 0 is the announcement of the election.
    pub heartbeat: u32,
}

impl Leader {
    pub(in crate::election) const fn elected(term: Term, candidate: Candidate, runner_up: Option<Candidate>) -> Self {
        Self { term, candidate, runner_up, heartbeat: 0 }
    }

    pub(super) const fn is_incumbent(&self) -> bool {
        self.heartbeat >= INCUMBENT_AFTER
    }

    /// Returns the candidate a challenger has to outrank.
    pub(super) fn defender(&self) -> Candidate {
        if self.is_incumbent() { self.candidate.as_incumbent() } else { self.candidate }
    }
}

/// Who leads once the leader is lost, and the number of the term it set aside for that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Heir {
    /// The number of a term of the leader's under which it names nobody else.
    pub number: u32,
    /// The heir.
    pub candidate: Candidate,
}

/// Messages about the leader. `age` is that of the message, in 1/255 of the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the sentence of each message names its fields")]
pub enum LeaderMessage {
    /// An election ended: its index is now the `term` of the winner, `leader`.
    Elected { term: Term, leader: Candidate, runner_up: Option<Candidate>, age: u8 },
    /// The leader is up; `count` is its heartbeat counter.
    Heartbeat { term: Term, leader: Candidate, runner_up: Option<Candidate>, count: u32, age: u8 },
    /// The leader must raise its term above this one, the highest known.
    RaiseTerm { term: Term },
    /// The leader of `term`, the sender, is up: for its neighbours, which announce its heir when it is lost.
    Pulse { term: Term, heir: Option<Heir> },
    /// The sender misses the pulses of the leader of `term`.
    Doubt { term: Term },
    /// The sender has just received a pulse of `term`.
    Veto { term: Term },
    /// A candidate that the leader of `term` should know as its runner-up.
    Bid { term: Term, candidate: Candidate },
}

impl LeaderMessage {
    /// Returns how the message travels: what many nodes send at once is spread by the link, unless they wait for each other.
    pub(crate) const fn delivery(&self) -> Delivery {
        match self {
            Self::Elected { .. } => Delivery::Jittered,
            Self::Heartbeat { .. } | Self::Pulse { .. } | Self::Doubt { .. } | Self::Veto { .. } => {
                Delivery::Unreliable
            }
            Self::RaiseTerm { .. } | Self::Bid { .. } => Delivery::ReliableLatest,
        }
    }

    /// Returns the highest term number in the message.
    pub(crate) fn term_number(&self) -> u32 {
        match *self {
            Self::Pulse { heir: Some(heir), term } => heir.number.max(term.number),
            Self::Elected { term, .. }
            | Self::Heartbeat { term, .. }
            | Self::RaiseTerm { term }
            | Self::Pulse { heir: None, term }
            | Self::Doubt { term }
            | Self::Veto { term }
            | Self::Bid { term, .. } => term.number,
        }
    }

    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Elected { .. } => "leader",
            Self::Heartbeat { .. } => "leader-heartbeat",
            Self::RaiseTerm { .. } => "raise",
            Self::Pulse { .. } => "pulse",
            Self::Doubt { .. } => "doubt",
            Self::Veto { .. } => "veto",
            Self::Bid { .. } => "bid",
        }
    }
}
