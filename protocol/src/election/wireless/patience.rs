//! How long those who stay silent are waited for.

use crate::algorithm::Context;
use crate::group::NodeSet;
use crate::time::{Instant, Span};

/// How long silent neighbours are still waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Patience {
    /// When the waiting began: those who answer are asked more and more rarely.
    since: Instant,
    /// When they are asked (again).
    pub(super) at: Instant,
    /// Who has not answered since they were counted.
    silent: NodeSet,
    /// How often the silent are still asked.
    left: u8,
}

/// What becomes of those who are waited for.
pub(super) struct Verdict {
    /// These are asked again.
    pub(super) ask: NodeSet,
    /// These are waited for no more.
    pub(super) give_up: NodeSet,
}

impl Patience {
    pub(super) fn new(cx: &Context<'_>, pauses: u32, set: NodeSet) -> Self {
        Self { since: cx.now, at: cx.now.after(Self::pause(cx).times(pauses)), silent: set, left: cx.timing.probes }
    }

    /// How long an answer may take: the more neighbours, the longer, as they all take turns.
    fn pause(cx: &Context<'_>) -> Span {
        cx.timing.probe.plus(cx.timing.crowd(cx.peers.len()).times(2))
    }

    pub(super) fn hear(&mut self, from: NodeSet) {
        self.silent = self.silent.without(from);
    }

    /// Its time has come, and `waiting` are still waited for.
    ///
    /// `strangers` are given up after a third of the questions: most of them are somebody else's children, across a bad
    /// link.
    pub(super) fn expire(&mut self, cx: &Context<'_>, waiting: NodeSet, strangers: NodeSet) -> Verdict {
        let probes = cx.timing.probes;
        let silent = self.silent.and(waiting);
        if silent.is_empty() {
            // All of them were heard: they have their own waiting to do.
            let pause = Self::pause(cx).times(3).max(cx.now.since(self.since).share(1, 2)).min(cx.timing.heartbeat);
            *self = Self { at: cx.now.after(pause), silent: waiting, left: probes, ..*self };
            return Verdict { ask: NodeSet::EMPTY, give_up: NodeSet::EMPTY };
        }
        let asked = probes.saturating_sub(self.left);
        let give_up = match asked {
            asked if asked >= probes => silent,
            asked if asked > probes / 3 => silent.and(strangers),
            _ => NodeSet::EMPTY,
        };
        let ask = silent.without(give_up);
        *self = Self { at: cx.now.after(Self::pause(cx)), silent: ask, left: self.left.saturating_sub(1), ..*self };
        Verdict { ask, give_up }
    }
}
