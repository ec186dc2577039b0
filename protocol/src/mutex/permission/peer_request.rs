//! Requests of other members, and the order of requests.

use super::PermissionRequest;
use crate::algorithm::Context;
use crate::base::ids::{NodeId, NodeSet};
use crate::base::lamport::LamportTime;
use crate::base::time::Duration;
use crate::mutex::LockId;
use crate::mutex::client::LockRequest;

/// The order of requests: by Lamport time, and by node where that is equal. The lowest comes first.
pub(in crate::mutex) type Priority = (LamportTime, Option<NodeId>);

/// A request of another member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::mutex) struct PeerRequest {
    pub(super) number: LamportTime,
    pub(super) view: NodeSet,
    pub(in crate::mutex) lock: LockId,
    pub(super) lease: Duration,
    pub(super) slot: u8,
    pub(super) round: u8,
    pub(super) answered: bool,
}

impl PeerRequest {
    pub(in crate::mutex) fn requester(&self) -> NodeSet {
        NodeSet::slot(usize::from(self.slot))
    }

    pub(in crate::mutex) fn priority(&self, cx: &Context<'_>) -> Priority {
        (self.number, cx.roster.id_of(usize::from(self.slot)))
    }

    /// Returns the request as it was received.
    pub(super) const fn received(&self) -> PermissionRequest {
        let Self { number: request, view, lock, lease, round, .. } = *self;
        PermissionRequest { lock, request, round, lease, view }
    }
}

pub(in crate::mutex) const fn own_priority(cx: &Context<'_>, request: &LockRequest) -> Priority {
    (request.number, Some(cx.me))
}
