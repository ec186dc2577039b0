//! The promise of a member that goes on with another list of members: it has not rebooted, and has forgotten nothing.

use super::{LeaderLease, Promise};
use crate::base::config::{Timing, lease_at_grantor};
use crate::base::ids::NodeId;
use crate::base::term::Term;
use crate::base::time::{Duration, Instant};

/// What a member may have promised, in any list it was on since it booted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Promised(Promise);

impl LeaderLease {
    /// Returns what this member has promised; `None` where it has booted so recently that it may have forgotten.
    pub(crate) fn promised(&self, me: NodeId, uptime: Duration, timing: &Timing) -> Option<Promised> {
        let nothing = Promise { to: me, heartbeat: (Term::ZERO, 0), until: Instant::ZERO };
        let knows = uptime >= lease_at_grantor(timing.lease_max());
        self.promise.or(knows.then_some(nothing)).map(Promised)
    }

    /// Stands by what this member promised in an earlier list.
    pub(crate) fn stand_by(&mut self, Promised(promise): Promised) {
        self.promise = Some(promise);
    }
}
