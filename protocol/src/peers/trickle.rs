//! The hello timer: fast while the neighbourhood changes, half as often each time nothing did.
//!
//! # Paper
//! P. Levis et al.: The Trickle Algorithm, RFC 6206, 2011.
//!
//! # Departures
//! Without suppression: a hello shows that *this* node was received.

use crate::base::config::{Moment, Timing};
use crate::base::rng::jitter;
use crate::base::time::{Duration, Instant};

/// Nodes in range up to which hellos come at full rate.
const FULL_RATE_PEERS: u32 = 4;

/// The interval between hellos, and when the next is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Trickle {
    interval: Duration,
    next: Instant,
}

impl Trickle {
    /// Creates a timer at its shortest interval.
    pub(super) fn new(moment: Moment<'_>) -> Self {
        let min = moment.timing.hello_min;
        Self { interval: min, next: moment.now.after(jitter(min, moment.random)) }
    }

    /// Returns when the next hello is due.
    pub(super) const fn deadline(&self) -> Instant {
        self.next
    }

    /// Returns whether a hello is due, and if so doubles the interval, up to `longest`.
    pub(super) fn poll(&mut self, moment: Moment<'_>, in_range: u32, longest: Duration) -> bool {
        if self.next > moment.now {
            return false;
        }
        let crowded = shortest(moment.timing, in_range).mul_ratio(1, 2);
        self.interval = self.interval.max(crowded).times(2).min(longest.max(crowded));
        let half = self.interval.mul_ratio(1, 2);
        self.next = moment.now.after(half.plus(jitter(self.interval, moment.random)));
        true
    }

    /// Sends the next hello within `interval`.
    pub(super) fn hurry(&mut self, moment: Moment<'_>, interval: Duration) {
        self.interval = self.interval.min(interval);
        self.next = self.next.min(moment.now.after(jitter(self.interval, moment.random)));
    }

    /// Restarts at the shortest interval, because something changed.
    pub(super) fn reset(&mut self, moment: Moment<'_>, in_range: u32) {
        let shortest = shortest(moment.timing, in_range);
        self.interval = self.interval.min(shortest.mul_ratio(1, 2));
        let soon = moment.now.after(shortest.mul_ratio(1, 2).plus(jitter(shortest, moment.random)));
        self.next = self.next.min(soon);
    }
}

/// Returns the shortest interval: the more nodes are in range, the less often each sends.
fn shortest(timing: &Timing, in_range: u32) -> Duration {
    timing.hello_min.mul_ratio(in_range.max(FULL_RATE_PEERS), FULL_RATE_PEERS).min(timing.hello_max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    const TIMING: Timing = Timing::RADIO;

    fn moment(now: Instant) -> Moment<'static> {
        Moment { now, random: 0, timing: &TIMING }
    }

    #[test]
    fn the_interval_doubles_while_nothing_changes() {
        let mut timer = Trickle::new(moment(Instant::ZERO));
        let mut intervals = Vec::new();
        for _ in 0..16 {
            let now = timer.deadline();
            let longest = TIMING.hello_max;
            assert!(timer.poll(moment(now), 4, longest) && !timer.poll(moment(now), 4, longest));
            intervals.push(timer.deadline().since(now));
        }
        // From half an interval to one and a half, by the draw: half with this one.
        let doubled = |times: u8| TIMING.hello_min.doubled(times + 1).min(TIMING.hello_max).mul_ratio(1, 2);
        assert!(intervals.iter().copied().eq((0..16).map(doubled)), "{intervals:?}");
    }

    #[test]
    fn the_more_nodes_are_in_range_the_less_often_each_sends() {
        assert_eq!(shortest(&TIMING, FULL_RATE_PEERS), TIMING.hello_min);
        assert_eq!(shortest(&TIMING, 31), TIMING.hello_min.mul_ratio(31, FULL_RATE_PEERS));
    }
}
