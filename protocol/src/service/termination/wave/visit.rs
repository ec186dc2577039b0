//! A wave at one node.

use super::message::{Id, Sums};
use crate::base::ids::NodeSet;

/// The progress of a wave at one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Visit {
    pub(super) id: Id,
    /// The member that sent the first query; nobody at the initiator.
    pub(super) parent: NodeSet,
    /// Members to which a query waits to be sent.
    pub(super) to_query: NodeSet,
    /// Members queried by any member, as far as this node knows.
    pub(super) queried: NodeSet,
    /// Members that have not replied.
    pub(super) awaited: NodeSet,
    /// Whether this node was quiet so far, and all replies were `Done`.
    pub(super) quiet: bool,
    /// Whether this node has replied; the visit is kept for further queries of the wave.
    pub(super) replied: bool,
    /// The counts of this node and the members that have replied.
    pub(super) sums: Sums,
}

impl Visit {
    /// Creates a visit that is to query `to`, besides the members that were `queried` before.
    pub(super) const fn new(id: Id, parent: NodeSet, to: NodeSet, queried: NodeSet, quiet: bool, sums: Sums) -> Self {
        Self { id, parent, to_query: to, queried: queried.with(to), awaited: to, quiet, replied: false, sums }
    }
}
