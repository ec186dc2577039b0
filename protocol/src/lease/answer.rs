//! Answers to the leader's heartbeat, in rings around it.
//!
//! A member is one hop farther from the leader than the nearest member it hears. It says what it and those farther away have
//! granted, once they had their time, and whoever is nearer and hears that joins it to what it says itself: several may,
//! so a lost frame seldom matters. A member has been understood when somebody nearer says at least as much, or names a
//! majority; otherwise it says it again, a few times. So a heartbeat costs about one answer per member, whatever the size
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
const TRIES_MAX: u8 = 4;

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
    tries: u8,
    /// After how many milliseconds members farther away have answered.
    lag: u16,
    /// When the last heartbeat came.
    asked: CoarseInstant,
    /// When to answer.
    pub(super) at: Option<Instant>,
}

/// What a member hears of another's answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heard {
    /// How far the other is from the leader.
    pub(super) depth: u8,
    /// Whether it said something new.
    pub(super) news: bool,
    /// Whether it said all that this member would.
    pub(super) understood: bool,
    /// Whether it named a majority.
    pub(super) enough: bool,
}

/// The longest time for which a member waits for others.
fn patience(timing: &Timing) -> Duration {
    timing.heartbeat
}

/// The pause before the first repetition.
fn pause(timing: &Timing) -> Duration {
    timing.heartbeat.mul_ratio(1, 12)
}

impl Answer {
    /// Nothing to say.
    pub(super) const NONE: Self = Self {
        depth: FAR,
        nearest: FAR,
        farther: false,
        settled: false,
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
        self.lag = self.lag.saturating_sub(self.lag >> 3);
        (self.farther, self.settled, self.nearest, self.tries, self.at) = (farther, false, FAR, 0, None);
        self.asked = CoarseInstant::of(cx.now);
    }

    /// Another member answered.
    pub(super) fn on_heard(&mut self, cx: &Context<'_>, heard: Heard) {
        let Heard { depth, news, understood, enough } = heard;
        self.nearest = self.nearest.min(depth);
        if self.depth == FAR && depth < FAR {
            self.depth = depth.saturating_add(1);
            self.at = self.at.or(Some(cx.now.after(crowd(cx))));
        }
        if depth < self.depth && understood {
            self.at = None;
            self.settled |= enough;
        }
        if depth <= self.depth {
            return;
        }
        if news && !self.settled {
            let millis = self.asked.elapsed(cx.now).min(patience(cx.timing)).as_micros().div_ceil(1_000);
            let later = u16::try_from(millis).unwrap_or(u16::MAX).saturating_sub(self.lag);
            self.lag = self.lag.saturating_add(if self.lag == 0 { later } else { later >> 1 });
            self.tries = 0;
        }
        // It repeats what nobody nearer was heard to say.
        self.say(cx);
    }

    /// Answers soon, unless that is planned already.
    pub(super) fn say(&mut self, cx: &Context<'_>) {
        self.at = self.at.or_else(|| Some(cx.now.after(crowd(cx).plus(crowd(cx)))));
    }

    /// The leader has its majority, and says so at once: nobody needs to answer any more.
    pub(super) fn settle(&mut self, cx: &Context<'_>) {
        self.settled = true;
        self.at = Some(cx.now);
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
        if self.depth > 0 && !self.settled {
            self.at = Some(cx.now.after(pause(cx.timing).times(u32::from(self.tries)).plus(crowd(cx))));
        } // nobody is nearer than the leader
        true
    }
}
