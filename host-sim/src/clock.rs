//! A node's own clock: it starts at the node's boot and runs a little fast or slow.

use crate::queue::Micros;
use protocol::Instant;

const MILLION: i64 = 1_000_000;

/// How a node's time follows from the simulator's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    started: Micros,
    ppm: i32,
}

impl Clock {
    /// A clock that shows zero at `started` and runs `ppm` millionths too fast.
    #[must_use]
    pub fn new(started: Micros, ppm: i32) -> Self {
        Self { started, ppm }
    }

    /// What it shows at `now`.
    #[must_use]
    pub fn show(&self, now: Micros) -> Instant {
        let passed = now.saturating_sub(self.started);
        Instant::from_micros(passed.saturating_add_signed(scale(passed, self.ppm, MILLION)))
    }

    /// The first moment at which it shows `instant` or more.
    #[must_use]
    pub fn when(&self, instant: Instant) -> Micros {
        let shown = instant.as_micros();
        let guess = shown.saturating_add_signed(-scale(shown, self.ppm, MILLION + i64::from(self.ppm)));
        let mut at = self.started.saturating_add(guess);
        while self.show(at) < instant && at < Micros::MAX {
            at += 1;
        }
        while at > self.started && self.show(at - 1) >= instant {
            at -= 1;
        }
        at
    }

    /// Stands still for `span`: afterwards it shows what it showed before.
    pub fn freeze(&mut self, span: Micros) {
        self.started += span;
    }
}

/// `span x numerator / denominator`, for spans of any length.
fn scale(span: Micros, numerator: i32, denominator: i64) -> i64 {
    if numerator == 0 {
        return 0;
    }
    let scaled = i128::from(span) * i128::from(numerator) / i128::from(denominator);
    scaled.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fast_clock_gains_its_millionths() {
        let clock = Clock::new(500, 100);
        assert_eq!(clock.show(500), Instant::ZERO);
        assert_eq!(clock.show(500 + 3_600_000_000), Instant::from_micros(3_600_360_000));
    }

    #[test]
    fn a_deadline_is_met_at_the_first_moment_the_clock_shows_it() {
        for ppm in [-300, -1, 0, 1, 40, 300] {
            let clock = Clock::new(1_234, ppm);
            for shown in [0, 1, 999, 1_000_000, 3_600_000_001] {
                let instant = Instant::from_micros(shown);
                let at = clock.when(instant);
                assert!(clock.show(at) >= instant);
                assert!(at == 1_234 || clock.show(at - 1) < instant, "{ppm} {shown}");
            }
        }
    }

    #[test]
    fn a_frozen_clock_shows_what_it_showed() {
        let mut clock = Clock::new(0, 0);
        clock.freeze(70);
        assert_eq!(clock.show(100), Instant::from_micros(30));
    }
}
