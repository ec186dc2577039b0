//! Messages of the leader lease.

use crate::base::ids::NodeSet;
use crate::base::term::Term;
use crate::wire::{self, Delivery};
use serde::{Deserialize, Serialize};

/// Messages between the elected node and the members of its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// Asks for a promise to grant no other node a lease.
    Ask {
        /// The term of the elected node.
        term: Term,
        /// Counts the rounds under this term.
        round: u32,
        /// The members that count; empty while the elected node holds no lease.
        view: NodeSet,
        /// Counts the views of this term.
        view_number: u16,
    },
    /// Grants the lease.
    Grant {
        /// The term that was asked for.
        term: Term,
        /// The round that was asked in.
        round: u32,
    },
    /// Releases the members from their promises: the sender steps down.
    Release {
        /// The term it was elected under.
        term: Term,
    },
}

impl wire::Message for Message {
    fn delivery(&self) -> Delivery {
        Delivery::ReliableLatest
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Ask { .. } => "ask",
            Self::Grant { .. } => "grant",
            Self::Release { .. } => "release",
        }
    }
}
