//! The usual time from a message to its acknowledgement, which the timeout follows.
//!
//! # Paper
//! V. Jacobson: Congestion Avoidance and Control, SIGCOMM 1988, for the timeout; P. Karn, C. Partridge: Improving
//! Round-Trip Time Estimates in Reliable Transport Protocols, SIGCOMM 1987, for the ambiguity of retransmissions, which
//! does not arise where an acknowledgement names its attempt.

use crate::base::config::Timing;
use crate::base::time::{CoarseInstant, Duration, Instant};

/// The longest timeout, before it is doubled.
const TIMEOUT_MAX: Duration = Duration::from_secs(1);

/// The usual time from a message to its acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoundTrip {
    /// Mean and mean deviation; zero before the first sample.
    mean: Duration,
    deviation: Duration,
    /// The attempt that is being timed.
    timed: Option<(u32, u8, CoarseInstant)>,
}

impl RoundTrip {
    pub(super) const fn new() -> Self {
        Self { mean: Duration::ZERO, deviation: Duration::ZERO, timed: None }
    }

    /// Times this attempt, if none is being timed or the one that was took too long.
    pub(super) fn on_sent(&mut self, seq: u32, attempt: u8, now: Instant) {
        if self.timed.is_none_or(|(_, _, at)| at.elapsed(now) > TIMEOUT_MAX.times(2)) {
            self.timed = Some((seq, attempt, CoarseInstant::of(now)));
        }
    }

    /// An attempt was acknowledged.
    pub(super) fn on_acknowledged(&mut self, seq: u32, attempt: u8, now: Instant) {
        let Some((_, _, at)) = self.timed.filter(|&(timed, number, _)| (timed, number) == (seq, attempt)) else {
            return;
        };
        self.timed = None;
        let sample = at.elapsed(now);
        if self.mean == Duration::ZERO {
            (self.mean, self.deviation) = (sample, sample.mul_ratio(1, 2));
            return;
        }
        let error = sample.minus(self.mean).max(self.mean.minus(sample));
        self.deviation = self.deviation.mul_ratio(3, 4).plus(error.mul_ratio(1, 4));
        self.mean = self.mean.mul_ratio(7, 8).plus(sample.mul_ratio(1, 8));
    }

    /// How long to wait for an acknowledgement.
    pub(super) fn timeout(&self, timing: &Timing) -> Duration {
        timing.retry.max(self.mean.plus(self.deviation.times(4)).min(TIMEOUT_MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u32) -> Instant {
        Instant::ZERO.after(Duration::from_millis(millis))
    }

    #[test]
    fn the_timeout_follows_the_round_trips_of_the_attempts_that_arrived() {
        let mut trip = RoundTrip::new();
        assert_eq!(trip.timeout(&Timing::RADIO), Timing::RADIO.retry);
        for number in 0..40 {
            trip.on_sent(number, 0, at(number * 1_000));
            trip.on_acknowledged(number, 1, at(number * 1_000 + 5)); // another attempt
            trip.on_acknowledged(number, 0, at(number * 1_000 + 200));
        }
        let timeout = trip.timeout(&Timing::RADIO);
        assert!(timeout >= Duration::from_millis(200) && timeout < Duration::from_millis(250), "{timeout:?}");
    }
}
