//! Ticks at the full seconds of the shared clock, whose rate changes while it is corrected.

use protocol::{Duration, Instant};

/// A second, in microseconds.
const SECOND: u64 = 1_000_000;
/// A clock stepped further into a second than this has missed the tick.
const LATE_MAX: u64 = 100_000;
/// Below this the rest of a second is waited for at once: the error of a slewing clock is negligible.
const SHORT: u64 = 128;

/// Detects the beginning of each second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SecondTick {
    last: Option<u64>,
}

impl SecondTick {
    /// Reads the shared clock, calls `notify` with its time where a second has begun, and returns when to poll next.
    pub fn poll(
        &mut self,
        now: Instant,
        read: impl FnOnce(Instant) -> Option<Instant>,
        notify: impl FnOnce(Instant),
    ) -> Option<Instant> {
        let time = read(now)?;
        let (second, past) = (time.as_micros().checked_div(SECOND)?, time.as_micros().checked_rem(SECOND)?);
        let last = self.last.replace(second);
        if last.is_some_and(|last| last < second) && past < LATE_MAX {
            notify(time);
        }
        let left = SECOND.saturating_sub(past);
        // The shared clock runs at most 9/8 as fast as the local one: this polls before the second is over.
        let wait = if left < SHORT { left } else { left.saturating_sub(left.checked_div(9)?) };
        Some(now.after(Duration::from_micros(u32::try_from(wait).ok()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::service::clock_sync::SlewedClock;
    use std::vec::Vec;

    fn at(micros: u64) -> Instant {
        Instant::from_micros(micros)
    }

    /// Ticks in five seconds of a clock that is corrected at `then` by `by`, and the number of polls.
    fn ticks(then: u64, by: i64) -> (Vec<u64>, u32) {
        let (mut clock, mut tick, mut ticks, mut polls) = (SlewedClock::new(), SecondTick::default(), Vec::new(), 0);
        clock.adjust(at(0), 300_000, Duration::from_secs(1));
        let (mut now, mut corrected) = (0, false);
        while now < 5_000_000 {
            if now >= then && !corrected {
                corrected = true;
                clock.adjust(at(now), by, Duration::from_millis(400));
            }
            let next = tick.poll(at(now), |now| clock.read(now), |time| ticks.push(time.as_micros())).unwrap();
            assert!(next > at(now), "time passes");
            (now, polls) = (next.as_micros(), polls + 1);
        }
        (ticks, polls)
    }

    #[test]
    fn a_clock_that_was_never_set_does_not_tick() {
        assert_eq!(SecondTick::default().poll(at(5), |_| None, |_| panic!("a tick")), None);
    }

    #[test]
    fn every_second_ticks_once_however_the_clock_is_corrected() {
        for by in [0, 70_000, 300_000, -70_000, -300_000] {
            let (ticks, polls) = ticks(900_000, by);
            let seconds: Vec<u64> = ticks.iter().map(|time| time / SECOND).collect();
            assert_eq!(seconds, [1, 2, 3, 4, 5][..seconds.len()], "{by}");
            assert!(seconds.len() >= 4 && ticks.iter().all(|time| time % SECOND < SHORT), "{by}: {ticks:?}");
            assert!(polls < 60, "{polls} polls");
        }
    }

    #[test]
    fn a_clock_stepped_into_a_second_ticks_at_the_next() {
        let (ticks, _) = ticks(1_200_000, 1_700_000);
        assert_eq!(ticks.iter().map(|time| time / SECOND).collect::<Vec<_>>(), [1, 4, 5, 6]);
    }
}
