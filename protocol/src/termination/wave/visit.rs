//! A wave that has come to a node.

use super::message::{Id, Sums};
use crate::group::NodeSet;

/// What a node does in a wave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Visit {
    pub(super) id: Id,
    /// Who asked; nobody at the initiator.
    pub(super) parent: NodeSet,
    /// Whom it asks, still to be said.
    pub(super) unasked: NodeSet,
    /// Who has been asked by anybody, as far as it knows.
    pub(super) asked: NodeSet,
    /// Who has not answered.
    pub(super) waiting: NodeSet,
    /// Whether everything so far was done.
    pub(super) done: bool,
    /// Whether it has answered itself: it stays known for those that ask again.
    pub(super) over: bool,
    /// Itself and those that have answered.
    pub(super) sums: Sums,
}
