//! Messages of a wave.

use crate::base::ids::NodeSet;
pub use crate::service::InstanceId as Id;
use crate::wire::{self, Delivery};
use serde::{Deserialize, Serialize};

/// The message counts of a set of members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Sums {
    /// The members.
    pub covered: NodeSet,
    /// Sum of the digests of the counts sent, by pair of members.
    pub sent: u64,
    /// Sum of the digests of the counts received, by pair of members.
    pub received: u64,
    /// The latest job any of them knows.
    pub job: u32,
}

impl Sums {
    /// The counts of no member.
    pub const NONE: Self = Self { covered: NodeSet::EMPTY, sent: 0, received: 0, job: 0 };

    /// Returns the counts of both sets of members.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            covered: self.covered.with(other.covered),
            sent: self.sent.wrapping_add(other.sent),
            received: self.received.wrapping_add(other.received),
            job: self.job.max(other.job),
        }
    }
}

/// Messages between members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// Asks for the recipient's counts and those of the members it queries.
    Query {
        /// The wave.
        id: Id,
        /// The members already queried, as far as the sender knows.
        queried: NodeSet,
    },
    /// The sender and the members it queried are idle.
    Done {
        /// The wave.
        id: Id,
        /// Their counts.
        sums: Sums,
    },
    /// The sender, or a member it queried, is busy or did not reply.
    Continue {
        /// The wave.
        id: Id,
    },
    /// The job has terminated.
    Terminate {
        /// The wave that detected it.
        id: Id,
        /// The number of the job.
        job: u32,
        /// How many waves it took.
        waves: u32,
    },
    /// How many messages of the application the sender has sent to the recipient: those that did not arrive are lost.
    Resync {
        /// The incarnation of the sender.
        incarnation: u32,
        /// Messages sent in that incarnation.
        sent: u32,
    },
}

impl wire::Message for Message {
    fn delivery(&self) -> Delivery {
        Delivery::Reliable
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Query { .. } => "query",
            Self::Done { .. } => "done",
            Self::Continue { .. } => "continue",
            Self::Terminate { .. } => "terminate",
            Self::Resync { .. } => "resync",
        }
    }
}
