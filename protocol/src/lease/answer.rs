//! Answers to the leader's heartbeat, up the tree that the heartbeat left behind.
//!
//! A member answers the member it had the heartbeat from, once its own children have answered or some time has passed, and
//! what it says joins all it has heard. It has been understood when its parent says at least as much; otherwise it says it
//! again, a few times. So a heartbeat costs about one answer per member, whatever the size of the group.

use super::crowd;
use super::grants::Grants;
use crate::algorithm::Context;
use crate::base::config::{CROWD, Timing};
use crate::base::ids::NodeSet;
use crate::base::time::{Duration, Instant};

/// How often a member says the same.
const TRIES_MAX: u8 = 5;

/// What a member has to say, and to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Answer {
    /// The member on the way to the leader; at the leader, itself.
    parent: NodeSet,
    /// What the parent is known to know.
    understood: Grants,
    /// The members that answered this node after the last heartbeat, and after the one before.
    answered: NodeSet,
    children: NodeSet,
    tries: u8,
    /// When to answer.
    pub(super) at: Option<Instant>,
}

/// How long a member waits for its children.
fn patience(timing: &Timing) -> Duration {
    timing.heartbeat.mul_ratio(1, 4)
}

impl Answer {
    /// Nothing to say.
    pub(super) const NONE: Self = Self {
        parent: NodeSet::EMPTY,
        understood: Grants::NONE,
        answered: NodeSet::EMPTY,
        children: NodeSet::EMPTY,
        tries: 0,
        at: None,
    };

    /// A heartbeat came from `parent`, the leader itself if `direct`: answers it later, sooner where no child is expected
    /// to. In a crowd around the leader, each member answers once: enough of the answers arrive.
    pub(super) fn on_heartbeat(&mut self, cx: &Context<'_>, parent: NodeSet, direct: bool) {
        if parent != self.parent {
            (self.parent, self.understood) = (parent, Grants::NONE);
        }
        (self.children, self.answered, self.tries) = (self.answered, NodeSet::EMPTY, 0);
        let wait = if self.children.is_empty() { Duration::ZERO } else { patience(cx.timing) };
        self.at = Some(cx.now.after(wait.plus(crowd(cx))));
        if direct && self.children.is_empty() && cx.near.len() >= CROWD {
            self.tries = TRIES_MAX.saturating_sub(1);
        }
    }

    /// A member answered this node for itself and others, and said something new or not.
    pub(super) fn on_child(&mut self, cx: &Context<'_>, child: NodeSet, news: bool, others: NodeSet) {
        if cx.near.len() >= CROWD && others.without(child).is_empty() && self.parent == cx.roster.set_of(cx.me) {
            return; // one of a crowd around the leader, and not waiting to be understood
        }
        self.answered = self.answered.with(child);
        if news {
            self.tries = 0;
        }
        let complete = self.children.without(self.answered).is_empty();
        let wait = if complete { Duration::ZERO } else { patience(cx.timing).mul_ratio(1, 2) };
        let soon = cx.now.after(wait.plus(crowd(cx)));
        if news || !complete {
            self.at = Some(self.at.map_or(soon, |at| at.min(soon)));
        }
    }

    /// The parent, or another member, was overheard.
    pub(super) fn on_overheard(&mut self, from: NodeSet, grants: &Grants) {
        if from == self.parent {
            self.understood.join(grants);
        }
    }

    /// Returns whether to answer now, to whom, and plans the next try.
    pub(super) fn poll(&mut self, cx: &Context<'_>, grants: &Grants) -> Option<NodeSet> {
        self.at.filter(|&at| at <= cx.now)?;
        self.at = None;
        if self.parent.is_empty() || self.tries >= TRIES_MAX || self.understood.covers(grants) {
            return None;
        }
        self.tries = self.tries.saturating_add(1);
        if cx.roster.set_of(cx.me) == self.parent {
            self.understood = *grants; // the leader says what it knows once
        } else {
            let pause = patience(cx.timing).mul_ratio(1, 3).times(u32::from(self.tries));
            self.at = Some(cx.now.after(pause.plus(crowd(cx))));
        }
        Some(self.parent)
    }
}
