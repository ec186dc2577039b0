//! Permissions this node gave: the leases that must end before others may rely on it, and the requests too old to
//! permit.

use super::{MEMBERS_MAX, PermissionRequest};
use crate::algorithm::Context;
use crate::base::config::lease_at_grantor;
use crate::base::ids::{NodeId, NodeSet};
use crate::base::lamport::LamportTime;
use crate::base::time::{Duration, Instant};

/// All permissions this node gave, by slot of the member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct GrantedPermissions {
    members: [Member; MEMBERS_MAX],
    /// The view at the last step.
    view: NodeSet,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Member {
    /// The end of its last permission.
    until: Instant,
    /// The Lamport time of its last return: later requests may have been granted in its absence.
    since: LamportTime,
}

/// The judgement of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// No earlier permission of this node conflicts with it.
    Grantable,
    /// A conflicting hold may still last, or requester and grantor have different views.
    NotYet,
    /// The requester has to make a new one.
    Outdated,
}

impl GrantedPermissions {
    /// Resumes after a reboot before which nothing above `floor` was permitted.
    pub(super) fn resume(&mut self, floor: LamportTime) {
        for member in &mut self.members {
            member.since = floor;
        }
    }

    /// Takes the return of members after an absence or a restart.
    pub(super) fn on_return(&mut self, cx: &Context<'_>, set: NodeSet) {
        for slot in set.slots() {
            if let Some(member) = self.members.get_mut(slot) {
                member.since = cx.lamport;
            }
        }
    }

    /// Takes the current view; returns whether it has changed.
    pub(super) fn update_view(&mut self, cx: &Context<'_>) -> bool {
        let before = core::mem::replace(&mut self.view, cx.view);
        if before.is_empty() || before == cx.view {
            return false;
        }
        self.on_return(cx, cx.view.without(before));
        true
    }

    /// Returns when every permission has ended that no member of the view accounts for: those of members removed from
    /// the view, and those this node has forgotten if it has just started.
    pub(super) fn safe_at(&self, cx: &Context<'_>) -> Instant {
        let forgotten = cx.now.after(lease_at_grantor(cx.timing.lock_lease).minus(cx.uptime));
        let members = self.members.iter().enumerate();
        let removed = members.filter(|&(slot, _)| !cx.view.meets(NodeSet::slot(slot))).map(|(_, member)| member.until);
        removed.fold(forgotten, Instant::max)
    }

    /// Returns whether this node may enter as far as its own permissions go.
    pub(super) fn is_safe(&self, cx: &Context<'_>) -> bool {
        cx.view.meets(cx.roster.set_of(cx.me)) && self.safe_at(cx) <= cx.now
    }

    pub(super) fn judge(&self, cx: &Context<'_>, from: NodeId, request: &PermissionRequest) -> Verdict {
        let requester = cx.roster.set_of(from);
        let member = cx.roster.slot_of(from).and_then(|slot| self.members.get(slot));
        if member.is_some_and(|member| request.request <= member.since) {
            Verdict::Outdated
        } else if request.view == cx.view && cx.view.meets(requester) && self.is_safe(cx) {
            Verdict::Grantable
        } else {
            Verdict::NotYet
        }
    }

    /// Permits the member in `slot` to hold a lock for `lease` from now.
    pub(super) fn grant(&mut self, cx: &Context<'_>, slot: u8, lease: Duration) {
        if let Some(member) = self.members.get_mut(usize::from(slot)) {
            member.until = cx.now.after(lease_at_grantor(lease)).max(member.until);
        }
    }
}
