//! What the lease is told by the election, and what it tells the application.

use crate::base::ids::{NodeId, NodeSet};
use crate::base::term::Term;
use crate::base::time::Instant;

/// What the election tells the lease: a heartbeat of the leader was sent or received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Heartbeat {
    /// The leader.
    pub leader: NodeId,
    /// Its term.
    pub term: Term,
    /// Which heartbeat.
    pub count: u32,
    /// The member it came from; empty at the leader.
    pub parent: NodeSet,
}

/// Notices to the application about the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Notice {
    /// This node leads from now on, or continues to.
    Gained {
        /// The term it leads under.
        term: Term,
    },
    /// The lease of this node expires soon, unless a majority replies first.
    Losing {
        /// When it expires.
        until: Instant,
    },
    /// This node leads no more.
    Lost,
    /// Another node leads.
    LeaderChanged {
        /// The leader.
        leader: NodeId,
        /// The term it leads under.
        term: Term,
    },
    /// No leader is known.
    Leaderless,
    /// No quorum is reachable: a leader, if any, leads a minority; in [`Mode::Quorum`](crate::base::quorum::Mode::Quorum) there is
    /// none.
    Degraded,
}
