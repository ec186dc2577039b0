//! Probing of silent neighbours.

use crate::algorithm::Context;
use crate::base::ids::NodeSet;
use crate::base::time::{Duration, Instant};

/// When silent neighbours are probed, and how often before they are abandoned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ProbeTimer {
    /// When the wait began: neighbours that answer are probed less and less often.
    since: Instant,
    /// When the silent neighbours are probed next.
    pub(super) at: Instant,
    /// The neighbours that have not answered since the last reset.
    silent: NodeSet,
    /// Probes left before the silent neighbours are abandoned.
    left: u8,
}

/// The neighbours a node waits for when the timer expires.
pub(super) struct Expired {
    /// These are probed.
    pub(super) probe: NodeSet,
    /// These are no longer waited for.
    pub(super) abandon: NodeSet,
}

impl ProbeTimer {
    /// Creates a timer for `set` that expires after some answer timeouts.
    pub(super) fn new(cx: &Context<'_>, timeouts: u32, set: NodeSet) -> Self {
        let at = cx.now.after(Self::answer_timeout(cx).times(timeouts));
        Self { since: cx.now, at, silent: set, left: cx.timing.probes }
    }

    /// Returns how long an answer may take: longer with more neighbours, as they contend for the channel.
    fn answer_timeout(cx: &Context<'_>) -> Duration {
        cx.timing.probe.plus(cx.timing.contention_window(cx.crowd).times(2))
    }

    pub(super) fn on_answer(&mut self, from: NodeSet) {
        self.silent = self.silent.without(from);
    }

    /// Restarts the expired timer, while `waiting` are waited for.
    ///
    /// The `undecided` are abandoned after a third of the probes: most of them are children of other nodes, across a
    /// bad link. Those that have answered are asked too where the computation takes long: what they sent may have been meant for
    /// others, and their report lost.
    pub(super) fn expire(&mut self, cx: &Context<'_>, waiting: NodeSet, undecided: NodeSet) -> Expired {
        let probes = cx.timing.probes;
        let silent = self.silent.and(waiting);
        if silent.is_empty() {
            // All of them have answered: they wait for their own neighbours.
            let elapsed = cx.now.since(self.since);
            let wait = Self::answer_timeout(cx).times(3).max(elapsed.mul_ratio(1, 2)).min(cx.timing.heartbeat);
            *self = Self { at: cx.now.after(wait), silent: waiting, left: probes, ..*self };
            let probe = if elapsed > cx.timing.heartbeat { waiting } else { NodeSet::EMPTY };
            return Expired { probe, abandon: NodeSet::EMPTY };
        }
        let sent = probes.saturating_sub(self.left);
        let abandon = match sent {
            sent if sent >= probes => silent,
            sent if sent > probes / 3 => silent.and(undecided),
            _ => NodeSet::EMPTY,
        };
        let probe = silent.without(abandon);
        let at = cx.now.after(Self::answer_timeout(cx));
        *self = Self { at, silent: probe, left: self.left.saturating_sub(1), ..*self };
        Expired { probe, abandon }
    }
}
