//! When a node says again what it knows.
//!
//! # Paper
//! P. Levis et al.: The Trickle Algorithm, RFC 6206, 2011: half as often each time nothing was new, at once where something
//! is, and not at all where others have just said the same.

use crate::base::rng::jitter;
use crate::base::time::{Duration, Instant};

/// Who has heard the same so often since it last spoke keeps silent.
const HEARD_MAX: u8 = 2;

/// When to speak next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Gossip {
    interval: Duration,
    pub(super) at: Option<Instant>,
    heard: u8,
}

impl Gossip {
    /// Silence.
    pub(super) const SILENT: Self = Self { interval: Duration::ZERO, at: None, heard: 0 };

    /// Speaks soon: something is new, or somebody does not know it.
    pub(super) fn hurry(&mut self, now: Instant, shortest: Duration, random: u32) {
        let soon = now.after(jitter(shortest, random));
        self.heard = 0;
        // Who speaks often already is not hurried by whatever it hears: that bounds what a recording can cause.
        if self.at.is_none() || self.interval > shortest.times(2) {
            *self = Self { interval: shortest, at: Some(self.at.map_or(soon, |at| at.min(soon))), heard: 0 };
        }
    }

    /// Somebody said the same.
    pub(super) fn on_heard(&mut self) {
        self.heard = self.heard.saturating_add(1);
    }

    /// Returns whether to speak now, and plans the next time: at intervals of `longest` in the end, or never more where
    /// `lasts` is not set.
    pub(super) fn poll(&mut self, now: Instant, longest: Duration, lasts: bool, random: u32) -> bool {
        if self.at.is_none_or(|at| at > now) {
            return false;
        }
        let speaks = self.heard < HEARD_MAX;
        let over = !lasts && self.interval >= longest;
        self.interval = self.interval.times(2).min(longest);
        let half = self.interval.mul_ratio(1, 2);
        self.at = (!over).then(|| now.after(half.plus(jitter(half, random))));
        self.heard = 0;
        speaks
    }
}
