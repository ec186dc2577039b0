//! A clock that is corrected by slewing and never runs backwards.

use crate::base::time::{Duration, Instant};

/// The part of the elapsed time by which a clock is slewed: one eighth.
const SLEW_DIVISOR: u64 = 8;

/// A clock that follows the node's local clock, faster or slower while a correction is pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SlewedClock {
    is_set: bool,
    /// Local time of the last correction.
    since: Instant,
    /// Reading at the last correction.
    base: u64,
    /// Correction pending at the last correction, in microseconds; positive if the clock was behind.
    pending: i64,
}

impl SlewedClock {
    /// Creates a clock that was never set and equals the local clock.
    #[must_use]
    pub const fn new() -> Self {
        Self { is_set: false, since: Instant::ZERO, base: 0, pending: 0 }
    }

    /// Returns whether it was ever set.
    #[must_use]
    pub const fn is_set(&self) -> bool {
        self.is_set
    }

    /// Returns its reading; `None` before it was set.
    #[must_use]
    pub fn read(&self, now: Instant) -> Option<Instant> {
        self.is_set.then(|| Instant::from_micros(self.reading(now)))
    }

    /// Returns the reading the pending correction leads to, in microseconds.
    #[must_use]
    pub fn target(&self, now: Instant) -> u64 {
        self.base.saturating_add(self.elapsed(now)).saturating_add_signed(self.pending)
    }

    /// Corrects it by so many microseconds. A clock that is behind by more than `step` is stepped forward.
    pub fn adjust(&mut self, now: Instant, by: i64, step: Duration) {
        let target = self.target(now).saturating_add_signed(by);
        let reading = if self.is_set { self.reading(now) } else { target };
        let steps = target.saturating_sub(reading) > u64::from(step.as_micros());
        let (base, pending) = if steps { (target, 0) } else { (reading, super::difference(target, reading)) };
        *self = Self { is_set: true, since: now, base, pending };
    }

    fn elapsed(&self, now: Instant) -> u64 {
        now.as_micros().saturating_sub(self.since.as_micros())
    }

    fn reading(&self, now: Instant) -> u64 {
        let elapsed = self.elapsed(now);
        let slewed = elapsed.checked_div(SLEW_DIVISOR).unwrap_or(0).min(self.pending.unsigned_abs());
        let uncorrected = self.base.saturating_add(elapsed);
        if self.pending < 0 { uncorrected.saturating_sub(slewed) } else { uncorrected.saturating_add(slewed) }
    }
}

impl Default for SlewedClock {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Duration = Duration::from_secs(1);

    fn at(micros: u64) -> Instant {
        Instant::from_micros(micros)
    }

    /// Returns a clock that was set to the local time at 0.
    fn set_clock() -> SlewedClock {
        let mut clock = SlewedClock::new();
        clock.adjust(at(0), 0, STEP);
        clock
    }

    #[test]
    fn an_unset_clock_has_no_reading_and_is_set_at_once_in_either_direction() {
        for by in [-400_000, 7_000_000] {
            let mut clock = SlewedClock::new();
            assert_eq!(clock.read(at(1_000_000)), None);
            clock.adjust(at(1_000_000), by, STEP);
            assert_eq!(clock.read(at(1_000_010)), Some(at(1_000_010_u64.saturating_add_signed(by))));
        }
    }

    #[test]
    fn a_clock_that_is_ahead_runs_slower_until_it_is_right_and_never_backwards() {
        let mut clock = set_clock();
        clock.adjust(at(1_000_000), -100_000, STEP);
        assert_eq!(clock.target(at(1_000_000)), 900_000);
        let mut last = 0;
        for now in (1_000_000..2_000_000).step_by(9) {
            let reading = clock.read(at(now)).unwrap().as_micros();
            assert!(reading >= last);
            last = reading;
        }
        assert_eq!(clock.read(at(2_000_000)), Some(at(1_900_000)));
    }

    #[test]
    fn a_correction_during_a_correction_starts_from_the_present_reading() {
        let mut clock = set_clock();
        clock.adjust(at(0), 80_000, STEP);
        assert_eq!(clock.read(at(80_000)), Some(at(90_000)));
        clock.adjust(at(80_000), -160_000, STEP);
        assert_eq!(clock.read(at(80_000)), Some(at(90_000)));
        assert_eq!(clock.target(at(80_000)), 0);
    }

    #[test]
    fn a_clock_that_is_far_behind_is_stepped_forward() {
        let mut clock = set_clock();
        clock.adjust(at(10), 5_000_000, STEP);
        assert_eq!(clock.read(at(10)), Some(at(5_000_010)));
    }
}
