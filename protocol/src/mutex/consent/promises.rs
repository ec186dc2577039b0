//! What this node consented to: what has to run out before others may rely on it, and what is too old to be agreed to.

use super::{Ask, MEMBERS_MAX};
use crate::algorithm::Context;
use crate::clock::Stamp;
use crate::config::granted;
use crate::group::{NodeId, NodeSet};
use crate::time::{Instant, Span};

/// What this node consented to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Promises {
    /// By place in the group.
    members: [Member; MEMBERS_MAX],
    /// The view when it was last looked at.
    view: NodeSet,
}

/// What there is to remember of one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Member {
    /// Until when it may hold something on this node's word.
    until: Instant,
    /// It was away: what it asked for up to then may have been overtaken.
    since: Stamp,
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing of what this node promised stands against it.
    Good,
    /// Something may still be held that nobody else would wait for, or the two do not count the same members.
    NotYet,
    /// It has to be made anew.
    Outdated,
}

impl Promises {
    pub(super) const NONE: Self =
        Self { members: [Member { until: Instant::ZERO, since: Stamp(0) }; MEMBERS_MAX], view: NodeSet::EMPTY };

    /// This node may have agreed to anything up to `stamp`, and has forgotten to what.
    pub(super) fn resume(&mut self, stamp: Stamp) {
        for member in &mut self.members {
            member.since = stamp;
        }
    }

    /// These were away, or are as good as new: they may have slept through grants that are above their requests.
    pub(super) fn came_back(&mut self, cx: &Context<'_>, set: NodeSet) {
        for slot in set.slots() {
            if let Some(member) = self.members.get_mut(slot) {
                member.since = cx.stamp;
            }
        }
    }

    /// Looks at the view. Whether it has changed.
    pub(super) fn look(&mut self, cx: &Context<'_>) -> bool {
        let before = core::mem::replace(&mut self.view, cx.view);
        if before.is_empty() || before == cx.view {
            return false;
        }
        self.came_back(cx, cx.view.without(before));
        true
    }

    /// When everything has run out that this node agreed to and nobody of the view would wait for: the holds of those
    /// who were taken out of it, and what it has forgotten if it has just started.
    pub(super) fn clear_at(&self, cx: &Context<'_>) -> Instant {
        let forgotten = cx.now.after(granted(cx.timing.lock_lease).minus(cx.uptime));
        let places = self.members.iter().enumerate();
        let gone = places.filter(|&(slot, _)| !cx.view.meets(NodeSet::slot(slot))).map(|(_, member)| member.until);
        gone.fold(forgotten, Instant::max)
    }

    /// Whether this node itself may enter, as far as its own word goes.
    pub(super) fn is_clear(&self, cx: &Context<'_>) -> bool {
        cx.view.meets(cx.roster.set_of(cx.me)) && self.clear_at(cx) <= cx.now
    }

    /// Whether a request may be agreed to.
    pub(super) fn judge(&self, cx: &Context<'_>, from: NodeId, ask: &Ask) -> Verdict {
        let asker = cx.roster.set_of(from);
        let member = cx.roster.slot_of(from).and_then(|slot| self.members.get(slot));
        if member.is_some_and(|member| ask.request <= member.since) {
            Verdict::Outdated
        } else if ask.view == cx.view && cx.view.meets(asker) && self.is_clear(cx) {
            Verdict::Good
        } else {
            Verdict::NotYet
        }
    }

    /// Agrees that the member in `slot` may hold something for `lease` from now.
    pub(super) fn give(&mut self, cx: &Context<'_>, slot: u8, lease: Span) {
        if let Some(member) = self.members.get_mut(usize::from(slot)) {
            member.until = cx.now.after(granted(lease)).max(member.until);
        }
    }
}
