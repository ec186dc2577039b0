//! How long a member takes to acknowledge, and how long to wait for it.
//!
//! # Papers
//! V. Jacobson: Congestion Avoidance and Control, SIGCOMM 1988, for mean and deviation; P. Karn, C. Partridge: Improving
//! Round-Trip Time Estimates in Reliable Transport Protocols, SIGCOMM 1987: only messages that were sent once are timed,
//! and the wait doubles with each retransmission.
//!
//! # Departures
//! The wait of locks and applications does not double before the second retransmission: on a radio a single loss says
//! nothing about the load.

use crate::base::time::Duration;

/// Longest wait, however slow the acknowledgements are.
pub(super) const WAIT_MAX: Duration = Duration::from_secs(2);

/// The round trip to one member: the mean in eighths of a millisecond, its deviation in quarters.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoundTrip {
    mean: u16,
    deviation: u16,
}

impl RoundTrip {
    /// Not measured yet.
    pub(super) const UNKNOWN: Self = Self { mean: 0, deviation: 0 };

    /// Records the round trip of a message that was sent once.
    pub(super) fn record(&mut self, took: Duration) {
        let took = u16::try_from(took.min(WAIT_MAX).as_micros().div_ceil(1_000)).unwrap_or(u16::MAX);
        if self.mean == 0 && self.deviation == 0 {
            (self.mean, self.deviation) = (took.saturating_mul(8), took.saturating_mul(2));
            return;
        }
        let mean = self.mean >> 3;
        self.mean = self.mean.saturating_sub(mean).saturating_add(took);
        self.deviation = self.deviation.saturating_sub(self.deviation >> 2).saturating_add(took.abs_diff(mean));
    }

    /// How long to wait for an acknowledgement, the mean and four deviations: at least `min`, and `first` where nothing is
    /// known.
    pub(super) fn wait(self, min: Duration, first: Duration) -> Duration {
        if self.mean == 0 && self.deviation == 0 {
            return first;
        }
        let millis = u32::from(self.mean >> 3).saturating_add(u32::from(self.deviation));
        Duration::from_millis(millis).max(min).min(WAIT_MAX.max(min))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIN: Duration = Duration::from_millis(25);
    const FIRST: Duration = Duration::from_millis(100);

    #[test]
    fn the_wait_follows_the_round_trips_and_their_spread() {
        let mut steady = RoundTrip::UNKNOWN;
        assert_eq!(steady.wait(MIN, FIRST), FIRST);
        for _ in 0..100 {
            steady.record(Duration::from_millis(200));
        }
        let waited = steady.wait(MIN, FIRST);
        assert!(waited >= Duration::from_millis(180) && waited <= Duration::from_millis(260), "{waited:?}");
        let mut spread = steady;
        (0..100).for_each(|turn| spread.record(Duration::from_millis(if turn % 2 == 0 { 100 } else { 300 })));
        assert!(spread.wait(MIN, FIRST) > waited.times(2), "{spread:?}");
    }

    #[test]
    fn the_wait_has_bounds() {
        let mut trip = RoundTrip::UNKNOWN;
        trip.record(Duration::from_micros(1));
        (0..100).for_each(|_| trip.record(Duration::ZERO));
        assert_eq!(trip.wait(MIN, FIRST), MIN);
        (0..100).for_each(|_| trip.record(Duration::from_secs(60)));
        assert_eq!(trip.wait(MIN, FIRST), WAIT_MAX);
    }
}
