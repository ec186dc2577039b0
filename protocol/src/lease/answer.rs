//! Answers to the leader's heartbeat, in rings around it.
//!
//! A member is one hop farther from the leader than the nearest member it hears. It says what it and those farther away have
//! granted, once they had their time, and whoever is nearer and hears that joins it to what it says itself: several may,
//! so a lost frame seldom matters. A member has been understood when somebody nearer says at least as much, or names a
//! majority; otherwise it says it again, a few times. Each answer says whether its sender still waits for that: one that does
//! not, and brings no news, is not repeated on the way to the leader. Where a member as near as this one says as much before it,
//! that one sees to it that it is understood. So a heartbeat costs about one answer per member, whatever the size
//! of the group, and half of that where all members hear the leader say that it has its majority.
//!
//! # Paper
//! S. Nath, P. Gibbons, S. Seshan, Z. Anderson: Synopsis Diffusion for Robust Aggregation in Sensor Networks, `SenSys` 2004:
//! what may be joined twice needs no tree, and rings lose less.

use super::crowd;
use crate::algorithm::Context;
use crate::base::config::Timing;
use crate::base::time::{CoarseInstant, Duration, Instant};

/// How often a member says the same.
const TRIES_MAX: u8 = 6;

/// No hop count: nobody nearer was heard.
const FAR: u8 = u8::MAX;

/// How far a member is from the leader, and when it says what it has to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Answer {
    /// How many hops the leader is away.
    depth: u8,
    /// The least number of hops a member said that was heard since the last heartbeat.
    nearest: u8,
    /// Whether the last heartbeat found the leader farther away than `depth`.
    farther: bool,
    /// Whether the leader is known to have its majority.
    settled: bool,
    /// Whether nobody nearer was heard to say what this member has to.
    owed: bool,
    tries: u8,
    /// After how many milliseconds members farther away have answered; at the leader, after how many it had its lease.
    lag: u16,
    /// When the last heartbeat came.
    asked: CoarseInstant,
    /// When to answer.
    pub(super) at: Option<Instant>,
}

/// What a member hears of another's answer.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "four questions, each with an answer of its own")]
pub(super) struct Heard {
    /// How far the other is from the leader.
    pub(super) depth: u8,
    /// Whether it said something new.
    pub(super) news: bool,
    /// Whether it said all that this member would.
    pub(super) understood: bool,
    /// Whether it named a majority.
    pub(super) enough: bool,
    /// Whether it waits for somebody nearer to say as much.
    pub(super) asks: bool,
}

/// The longest time for which a member waits for others. At the end of a long line most wait for members that no majority
/// needs.
fn patience(timing: &Timing) -> Duration {
    timing.heartbeat.mul_ratio(1, 2)
}

/// The pause before the first repetition.
fn pause(timing: &Timing) -> Duration {
    timing.heartbeat.mul_ratio(1, 12)
}

/// Returns the milliseconds that have begun.
fn millis(duration: Duration) -> u16 {
    u16::try_from(duration.as_micros().div_ceil(1_000)).unwrap_or(u16::MAX)
}

impl Answer {
    /// Nothing to say.
    pub(super) const NONE: Self = Self {
        depth: FAR,
        nearest: FAR,
        farther: false,
        settled: false,
        owed: false,
        tries: 0,
        lag: 0,
        asked: CoarseInstant::ZERO,
        at: None,
    };

    /// Returns how long the members take to answer.
    pub(super) fn lag(&self) -> Duration {
        Duration::from_millis(self.lag.into())
    }

    /// Returns how many hops the leader is away.
    pub(super) const fn depth(&self) -> u8 {
        self.depth
    }

    /// The leader sends a heartbeat: it has nothing to answer before somebody has.
    pub(super) fn on_sent(&mut self, cx: &Context<'_>) {
        self.begin(cx, 0);
    }

    /// A heartbeat came, from the leader itself if `direct`: it is answered once those farther away had their time.
    pub(super) fn on_heartbeat(&mut self, cx: &Context<'_>, direct: bool) {
        let depth = if direct { 1 } else { self.nearest.saturating_add(1) };
        let before = self.at.filter(|_| self.tries == 0); // others wait to hear that
        self.begin(cx, depth);
        let at = cx.now.after(Duration::from_millis(self.lag.into()).plus(crowd(cx)));
        self.at = Some(before.map_or(at, |before| before.min(at)));
    }

    /// One frame that was lost makes nobody farther away, two in a row may.
    fn begin(&mut self, cx: &Context<'_>, depth: u8) {
        let farther = depth > self.depth && !self.farther;
        if !farther {
            self.depth = depth;
        }
        if self.depth > 0 {
            self.lag = self.lag.saturating_sub(self.lag >> 3);
        } // the leader measures it
        (self.farther, self.settled, self.nearest, self.tries, self.at) = (farther, false, FAR, 0, None);
        self.owed = depth > 0;
        self.asked = CoarseInstant::of(cx.now);
    }

    /// Another member answered.
    pub(super) fn on_heard(&mut self, cx: &Context<'_>, heard: Heard) {
        let Heard { depth, news, understood, enough, asks } = heard;
        self.nearest = self.nearest.min(depth);
        if self.depth == FAR && depth < FAR {
            self.depth = depth.saturating_add(1);
            self.at = self.at.or(Some(cx.now.after(crowd(cx))));
        }
        if depth < self.depth && understood {
            self.at = None;
            self.owed = false;
            self.settled |= enough;
        } else if depth == self.depth && understood && (self.tries == 0 || !self.owed) {
            // The other sees to it that it is understood. It does not rely on this member, which has not said it.
            self.at = None;
            self.owed = false;
        }
        if depth <= self.depth {
            return;
        }
        if news && !self.settled {
            self.tries = 0;
        }
        if news && !self.settled && self.depth > 0 {
            let later = millis(self.asked.elapsed(cx.now).min(patience(cx.timing))).saturating_sub(self.lag);
            self.lag = self.lag.saturating_add(if self.lag == 0 { later } else { later >> 1 });
            self.owed = true;
        }
        if news || asks {
            self.say(cx);
        }
    }

    /// Returns whether this member waits for somebody nearer to say as much.
    pub(super) const fn asks(&self) -> bool {
        self.owed && !self.settled
    }

    /// Answers soon, unless that is planned already.
    pub(super) fn say(&mut self, cx: &Context<'_>) {
        self.at = self.at.or_else(|| Some(cx.now.after(crowd(cx).plus(crowd(cx)))));
    }

    /// A majority is known. The leader says so at once, and nobody needs to answer any more; a member waits for nobody any more.
    pub(super) fn on_enough(&mut self, cx: &Context<'_>) {
        if self.depth == 0 {
            self.settled = true;
            self.at = Some(cx.now);
        } else {
            let soon = cx.now.after(crowd(cx));
            self.at = self.at.map(|at| at.min(soon));
        }
    }

    /// The leader waited in vain for its majority: answers may take longer than it knows. Heartbeats that come faster than
    /// answers bring none at all.
    pub(super) fn on_silence(&mut self, timing: &Timing) {
        let longer = self.lag().plus(timing.heartbeat.mul_ratio(1, 4)).min(timing.heartbeat.times(2));
        self.lag = millis(longer);
    }

    /// The leader got a lease, so long after it had asked for it.
    pub(super) fn on_majority(&mut self, took: Duration) {
        let took = millis(took);
        self.lag = if took > self.lag {
            self.lag.saturating_add(took.saturating_sub(self.lag).div_ceil(2))
        } else {
            self.lag.saturating_sub(self.lag.saturating_sub(took) >> 3)
        };
    }

    /// Returns whether to answer now, and plans the next try.
    pub(super) fn poll(&mut self, cx: &Context<'_>) -> bool {
        if self.at.is_none_or(|at| at > cx.now) {
            return false;
        }
        self.at = None;
        if self.tries >= TRIES_MAX {
            return false;
        }
        self.tries = self.tries.saturating_add(1);
        if self.depth > 0 && !self.settled && self.owed {
            self.at = Some(cx.now.after(pause(cx.timing).times(u32::from(self.tries)).plus(crowd(cx))));
        } // nobody is nearer than the leader
        true
    }
}
