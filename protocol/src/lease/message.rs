//! Messages of the leader lease.

use super::grants::ROUNDS_MAX;
use crate::base::ids::{NodeId, NodeSet};
use crate::base::term::Term;
use crate::wire::{self, Delivery};
use serde::{Deserialize, Serialize};

/// Messages between the elected node and the members of its group. Each goes to the members in range; `term` is that of
/// the elected node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// Grants the lease that the last heartbeats asked for: the sender's grant, and those it heard of. The elected node says
    /// so what it has.
    Grant {
        /// The term.
        term: Term,
        /// How many hops the sender is from the elected node; 255 where it does not know.
        depth: u8,
        /// Whether the sender waits for somebody nearer to say as much.
        asks: bool,
        /// The number of the view that the sender knows.
        view_number: u16,
        /// The newest heartbeat that the sender knows.
        count: u32,
        /// Who granted it; who granted the one before it but not it, and so on.
        granted: [NodeSet; ROUNDS_MAX],
    },
    /// Announces the members that count.
    View {
        /// The term.
        term: Term,
        /// Counts the views of this term.
        number: u16,
        /// The members; none while the elected node holds no lease.
        members: NodeSet,
    },
    /// Releases the members from their promises: `leader` steps down.
    Release {
        /// The term.
        term: Term,
        /// The last heartbeat before it stepped down.
        count: u32,
        /// Who was elected under this term.
        leader: NodeId,
    },
}

impl wire::Message for Message {
    fn delivery(&self) -> Delivery {
        match self {
            Self::Grant { .. } => Delivery::Unreliable, // its time is chosen with care
            Self::View { .. } | Self::Release { .. } => Delivery::Jittered,
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Grant { .. } => "grant",
            Self::View { .. } => "view",
            Self::Release { .. } => "release",
        }
    }
}
