//! What this node consented to: what has to run out before others may rely on it, and what is too old to be agreed to.

use super::{Ask, MEMBERS_MAX};
use crate::algorithm::Context;
use crate::clock::Stamp;
use crate::config::granted;
use crate::group::{NodeId, NodeSet, SLOTS_MAX};
use crate::time::{Instant, Span};

/// What this node consented to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Promises {
    /// Until when each member may hold something on this node's word, by its place in the group.
    until: [Instant; MEMBERS_MAX],
    /// The view when it was last looked at.
    view: NodeSet,
    /// Those who were away: what they asked for up to `since` may have been overtaken.
    returned: NodeSet,
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
    pub(super) const NONE: Self = Self {
        until: [Instant::ZERO; MEMBERS_MAX],
        view: NodeSet::EMPTY,
        returned: NodeSet::EMPTY,
        since: Stamp(0),
    };

    /// This node may have agreed to anything up to `stamp`, and has forgotten to what.
    pub(super) fn resume(&mut self, stamp: Stamp) {
        (self.returned, self.since) = (NodeSet::first(SLOTS_MAX), stamp);
    }

    /// These were away, or are as good as new: they may have slept through grants that are above their requests.
    pub(super) fn came_back(&mut self, cx: &Context<'_>, set: NodeSet) {
        if !set.is_empty() {
            (self.returned, self.since) = (self.returned.with(set), cx.stamp);
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
        let places = self.until.iter().enumerate();
        let gone = places.filter(|&(slot, _)| !cx.view.meets(NodeSet::slot(slot))).map(|(_, &until)| until);
        gone.fold(forgotten, Instant::max)
    }

    /// Whether this node itself may enter, as far as its own word goes.
    pub(super) fn is_clear(&self, cx: &Context<'_>) -> bool {
        cx.view.meets(cx.roster.set_of(cx.me)) && self.clear_at(cx) <= cx.now
    }

    /// Whether a request may be agreed to.
    pub(super) fn judge(&self, cx: &Context<'_>, from: NodeId, ask: &Ask) -> Verdict {
        let asker = cx.roster.set_of(from);
        if self.returned.meets(asker) && ask.request <= self.since {
            Verdict::Outdated
        } else if ask.view == cx.view && cx.view.meets(asker) && self.is_clear(cx) {
            Verdict::Good
        } else {
            Verdict::NotYet
        }
    }

    /// Agrees that the member in `slot` may hold something for `lease` from now.
    pub(super) fn give(&mut self, cx: &Context<'_>, slot: u8, lease: Span) {
        if let Some(until) = self.until.get_mut(usize::from(slot)) {
            *until = cx.now.after(granted(lease)).max(*until);
        }
    }
}
