//! How often a leader that is up is replaced.
//!
//! A better leader, or one that an election names, is adopted at once: networks merge so. Whoever has the key can name another
//! leader with every frame, and everybody would follow. So a node that has a leader adopts another one a few dozen times,
//! which is more than networks that merge need, and then once in eight heartbeats. Held back, it goes on following.
//! A leader that is lost, or doubted by its neighbours, is no part of this: failover takes no longer than before.
//!
//! # Cost
//! Four bytes, no message.

use super::Leadership;
use super::watch::Watch;
use crate::algorithm::Context;

/// How many changes may follow each other.
const CHANGES_MAX: u8 = 32;

/// The time after which one more may, in heartbeats.
const HEARTBEATS_A_CHANGE: u32 = 8;

/// Recent changes from one leader to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Turnover {
    changes: u8,
    /// When the last of them began to be forgotten, in units of time. It wraps around after hours.
    since: u16,
}

/// A unit of time: 2 to this power of microseconds, a quarter of a second.
const UNIT_BITS: u32 = 18;

impl Turnover {
    pub(super) const NONE: Self = Self { changes: 0, since: 0 };

    /// Records a change, unless there were too many; returns whether it may be made.
    fn admits(&mut self, cx: &Context<'_>) -> bool {
        let interval = cx.timing.heartbeat.times(HEARTBEATS_A_CHANGE).as_micros() >> UNIT_BITS;
        let now = u16::try_from(cx.now.as_micros() >> UNIT_BITS & u64::from(u16::MAX)).unwrap_or(0);
        // Where no time passes there is no limit either.
        let Some(passed) = u32::from(now.wrapping_sub(self.since)).checked_div(interval) else { return true };
        if self.changes == 0 || passed > 0 {
            self.changes = self.changes.saturating_sub(u8::try_from(passed).unwrap_or(u8::MAX));
            self.since = now;
        }
        let admitted = self.changes < CHANGES_MAX;
        self.changes = self.changes.saturating_add(u8::from(admitted));
        admitted
    }
}

impl Leadership {
    /// Returns whether this node may adopt another leader than the current one: always where it misses that one's pulses.
    pub(in crate::election) fn may_change(&mut self, cx: &Context<'_>) -> bool {
        self.watch.as_ref().is_some_and(Watch::is_doubtful) || self.turnover.admits(cx)
    }
}
