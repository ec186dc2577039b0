//! The local clock of a node: it starts at the node's boot and drifts.

use crate::base::Micros;
use protocol::Instant;

const MILLION: i64 = 1_000_000;

/// A local clock, as a function of global (simulated) time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Clock {
    started: Micros,
    ppm: i32,
}

impl Clock {
    /// Creates a clock that shows zero at `started` and runs fast by `ppm`.
    pub(crate) fn new(started: Micros, ppm: i32) -> Self {
        Self { started, ppm }
    }

    pub(crate) fn local(&self, now: Micros) -> Instant {
        let passed = now.saturating_sub(self.started);
        Instant::from_micros(passed.saturating_add_signed(scale(passed, self.ppm, MILLION)))
    }

    /// Returns the first moment at which the local time is `instant` or later.
    pub(crate) fn global(&self, instant: Instant) -> Micros {
        let shown = instant.as_micros();
        let guess = shown.saturating_add_signed(-scale(shown, self.ppm, MILLION + i64::from(self.ppm)));
        let mut at = self.started.saturating_add(guess);
        while self.local(at) < instant && at < Micros::MAX {
            at += 1;
        }
        while at > self.started && self.local(at - 1) >= instant {
            at -= 1;
        }
        at
    }

    /// Stops the clock for `duration`, which has just passed.
    pub(crate) fn freeze(&mut self, duration: Micros) {
        self.started += duration;
    }
}

/// Returns `micros x numerator / denominator` without overflow.
fn scale(micros: Micros, numerator: i32, denominator: i64) -> i64 {
    if numerator == 0 {
        return 0;
    }
    let scaled = i128::from(micros) * i128::from(numerator) / i128::from(denominator);
    scaled.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fast_clock_gains_its_ppm() {
        let clock = Clock::new(500, 100);
        assert_eq!(clock.local(500), Instant::ZERO);
        assert_eq!(clock.local(500 + 3_600_000_000), Instant::from_micros(3_600_360_000));
    }

    #[test]
    fn a_local_instant_maps_to_the_first_moment_that_shows_it() {
        for ppm in [-300, -1, 0, 1, 40, 300] {
            let clock = Clock::new(1_234, ppm);
            for shown in [0, 1, 999, 1_000_000, 3_600_000_001] {
                let instant = Instant::from_micros(shown);
                let at = clock.global(instant);
                assert!(clock.local(at) >= instant);
                assert!(at == 1_234 || clock.local(at - 1) < instant, "{ppm} {shown}");
            }
        }
    }

    #[test]
    fn a_frozen_clock_stands_still() {
        let mut clock = Clock::new(0, 0);
        clock.freeze(70);
        assert_eq!(clock.local(100), Instant::from_micros(30));
    }
}
