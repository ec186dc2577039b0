//! A clock that is corrected and never runs backwards.

use crate::time::{Instant, Span};

/// By which part of its pace a clock is hurried or held up while it is corrected.
const PACE: u64 = 8;

/// A clock that runs with the node's own, faster or slower while it is corrected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dial {
    is_set: bool,
    /// The node's own clock when this one was last corrected.
    since: Instant,
    /// What this one showed then.
    shown: u64,
    /// What was to be made up for then: ahead if it was behind.
    owing: i64,
}

impl Dial {
    /// A clock that was never set, and runs as the node's own.
    #[must_use]
    pub const fn new() -> Self {
        Self { is_set: false, since: Instant::ZERO, shown: 0, owing: 0 }
    }

    /// Whether it was ever set.
    #[must_use]
    pub const fn is_set(&self) -> bool {
        self.is_set
    }

    /// What it shows, in microseconds; `None` before it was set.
    #[must_use]
    pub fn read(&self, now: Instant) -> Option<Instant> {
        self.is_set.then(|| Instant::from_micros(self.shows(now)))
    }

    /// What it would show if it were corrected already.
    #[must_use]
    pub fn aim(&self, now: Instant) -> u64 {
        self.shown.saturating_add(self.passed(now)).saturating_add_signed(self.owing)
    }

    /// Corrects it by so many microseconds. One that is behind by more than `step` is put forward at once.
    pub fn adjust(&mut self, now: Instant, by: i64, step: Span) {
        let aim = self.aim(now).saturating_add_signed(by);
        let shows = if self.is_set { self.shows(now) } else { aim };
        let behind = aim.saturating_sub(shows) > u64::from(step.as_micros());
        let owing = i64::try_from(i128::from(aim).saturating_sub(i128::from(shows))).unwrap_or(0);
        let (shown, owing) = if behind { (aim, 0) } else { (shows, owing) };
        *self = Self { is_set: true, since: now, shown, owing };
    }

    fn passed(&self, now: Instant) -> u64 {
        now.as_micros().saturating_sub(self.since.as_micros())
    }

    fn shows(&self, now: Instant) -> u64 {
        let passed = self.passed(now);
        let made_up = passed.checked_div(PACE).unwrap_or(0).min(self.owing.unsigned_abs());
        let even = self.shown.saturating_add(passed);
        if self.owing < 0 { even.saturating_sub(made_up) } else { even.saturating_add(made_up) }
    }
}

impl Default for Dial {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Instant {
        Instant::from_micros(micros)
    }

    #[test]
    fn a_clock_that_was_never_set_shows_nothing_and_is_set_at_once_in_either_direction() {
        for by in [-400_000, 7_000_000] {
            let mut dial = Dial::new();
            assert_eq!(dial.read(at(1_000_000)), None);
            dial.adjust(at(1_000_000), by, Span::from_secs(1));
            assert_eq!(dial.read(at(1_000_010)), Some(at(1_000_010_u64.saturating_add_signed(by))));
        }
    }

    #[test]
    fn a_clock_that_is_ahead_runs_slower_until_it_is_right_and_never_backwards() {
        let mut dial = Dial::new();
        dial.adjust(at(0), 0, Span::from_secs(1));
        dial.adjust(at(1_000_000), -100_000, Span::from_secs(1));
        assert_eq!(dial.aim(at(1_000_000)), 900_000);
        let mut last = 0;
        for now in (1_000_000..2_000_000).step_by(9) {
            let shown = dial.read(at(now)).unwrap().as_micros();
            assert!(shown >= last);
            last = shown;
        }
        assert_eq!(dial.read(at(2_000_000)), Some(at(1_900_000)));
    }

    #[test]
    fn a_correction_during_a_correction_starts_from_what_is_shown() {
        let mut dial = Dial::new();
        dial.adjust(at(0), 0, Span::from_secs(1));
        dial.adjust(at(0), 80_000, Span::from_secs(1));
        assert_eq!(dial.read(at(80_000)), Some(at(90_000)));
        dial.adjust(at(80_000), -160_000, Span::from_secs(1));
        assert_eq!(dial.read(at(80_000)), Some(at(90_000)));
        assert_eq!(dial.aim(at(80_000)), 0);
    }

    #[test]
    fn a_clock_that_is_far_behind_is_put_forward() {
        let mut dial = Dial::new();
        dial.adjust(at(0), 0, Span::from_secs(1));
        dial.adjust(at(10), 5_000_000, Span::from_secs(1));
        assert_eq!(dial.read(at(10)), Some(at(5_000_010)));
    }
}
