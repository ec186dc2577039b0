//! The requests of others, and what orders them.

use super::Ask;
use crate::algorithm::Context;
use crate::clock::Stamp;
use crate::group::{NodeId, NodeSet};
use crate::mutex::LockId;
use crate::mutex::claims::Claim;
use crate::time::Span;

/// A request of another member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Heard {
    /// Its number.
    pub request: Stamp,
    pub(super) view: NodeSet,
    /// For which lock.
    pub lock: LockId,
    pub(super) lease: Span,
    pub(super) slot: u8,
    pub(super) turn: u8,
    pub(super) answered: bool,
}

impl Heard {
    /// Whose it is.
    #[must_use]
    pub fn from(&self) -> NodeSet {
        NodeSet::slot(usize::from(self.slot))
    }

    /// What it is ordered by: its stamp, and where that is the same, its maker's name.
    #[must_use]
    pub fn rank(&self, cx: &Context<'_>) -> (Stamp, Option<NodeId>) {
        (self.request, cx.roster.id_of(usize::from(self.slot)))
    }

    pub(super) const fn ask(&self) -> Ask {
        Ask { lock: self.lock, request: self.request, turn: self.turn, lease: self.lease, view: self.view }
    }
}

/// What a claim is ordered by among all requests for its lock.
#[must_use]
pub const fn rank(cx: &Context<'_>, claim: &Claim) -> (Stamp, Option<NodeId>) {
    (claim.request, Some(cx.me))
}
