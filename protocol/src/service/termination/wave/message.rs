//! Messages of a wave.

use crate::base::ids::NodeSet;
pub use crate::service::InstanceId as Id;
use crate::wire::impl_message;
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
    pub(super) fn with(self, other: Self) -> Self {
        Self {
            covered: self.covered.with(other.covered),
            sent: self.sent.wrapping_add(other.sent),
            received: self.received.wrapping_add(other.received),
            job: self.job.max(other.job),
        }
    }
}

/// Messages between members, in the wave `id`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the sentence of each message names its fields")]
pub enum Message {
    /// Asks for the recipient's counts and those of the members it queries. As far as the sender knows, `queried` have
    /// been queried.
    Query { id: Id, queried: NodeSet },
    /// The sender and the members it queried are idle, and these are their counts.
    Done { id: Id, sums: Sums },
    /// The sender, or a member it queried, is busy or did not reply.
    Continue { id: Id },
    /// The job has terminated, which took so many waves to detect.
    Terminate { id: Id, job: u32, waves: u32 },
    /// How many messages of the application the sender has sent to the recipient in its `incarnation`: those that did
    /// not arrive are lost.
    Resync { incarnation: u32, sent: u32 },
}

impl_message! {
    Reliable: Query = "query", Done = "done", Continue = "continue", Terminate = "terminate", Resync = "resync";
}
