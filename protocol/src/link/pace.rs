//! The pace: how soon after one frame of a lock or an application the next may leave.
//!
//! A message that goes unacknowledged may have collided with others, and whoever sends it again adds to what it collided
//! with. So each failure doubles the pause between such frames, own or relayed, and each success halves it: while most
//! arrive there is no pause at all, and in a crowd where nothing gets through there is one of many frames. Elections and
//! leases do not wait: a burst of lock traffic must not cost the leader its office. Nor does it disturb the answers to the
//! leader's heartbeat in a crowd: all others wait for them.
//!
//! # Paper
//! D.-M. Chiu, R. Jain: Analysis of the Increase and Decrease Algorithms for Congestion Avoidance in Computer Networks,
//! Computer Networks and ISDN Systems 17(1), 1989.
//!
//! # Departures
//! Increase and decrease are both multiplicative: nodes need not end with equal shares, as a lock's server has more to
//! send than its clients.

use crate::base::config::Moment;
use crate::base::rng::jitter;
use crate::base::time::Instant;

/// The first pause, in units of jitter: nobody knows yet how busy the air is.
const FIRST: u8 = 4;
/// The longest pause, in units of jitter.
const LONGEST: u8 = 64;

/// The pace of one node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// The pause, in units of jitter.
    pause: u8,
    next: Instant,
}

impl Pace {
    pub(super) const FIRST: Self = Self { pause: FIRST, next: Instant::ZERO };

    /// A message arrived, most of its recipients have it.
    pub(super) const fn succeed(&mut self) {
        self.pause >>= 1;
    }

    /// A message did not arrive, or did not at most of its recipients.
    pub(super) fn fail(&mut self) {
        self.pause = self.pause.saturating_mul(2).clamp(1, LONGEST);
    }

    /// A frame leaves: when the next one may.
    pub(super) fn send(&mut self, moment: &Moment<'_>) {
        let pause = moment.timing.jitter.times(u32::from(self.pause));
        self.next = moment.now.after(pause.plus(jitter(pause, moment.random)));
    }

    /// No frame leaves before this.
    pub(super) fn hold(&mut self, until: Instant) {
        self.next = self.next.max(until);
    }

    /// When the next frame may leave.
    pub(super) const fn next(&self) -> Instant {
        self.next
    }
}
