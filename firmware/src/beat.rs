//! The beat: finding the full seconds of the shared clock, which runs a little faster or slower while it is corrected.

use protocol::{Instant, Span};

/// A second, in microseconds.
const SECOND: u64 = 1_000_000;
/// A clock that was put forward into the middle of a second has missed its beginning.
const LATE_MAX: u64 = 100_000;
/// What is left of a second when it is slept through: a clock that is hurried does not get far meanwhile.
const SHORT: u64 = 128;

/// What finds them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beat {
    /// The second that was last seen.
    last: Option<u64>,
}

impl Beat {
    /// One that has seen none yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { last: None }
    }

    /// Looks at the shared time, tells it where a second has begun, and says when to look again.
    pub fn look(
        &mut self,
        now: Instant,
        read: impl FnOnce(Instant) -> Option<Instant>,
        tell: impl FnOnce(Instant),
    ) -> Option<Instant> {
        let time = read(now)?;
        let (second, past) = (time.as_micros().checked_div(SECOND)?, time.as_micros().checked_rem(SECOND)?);
        let last = self.last.replace(second);
        if last.is_some_and(|last| last < second) && past < LATE_MAX {
            tell(time);
        }
        let left = SECOND.saturating_sub(past);
        // No clock runs faster than nine eighths of its pace: it is looked at again before the second is over.
        let wait = if left < SHORT { left } else { left.saturating_sub(left.checked_div(9)?) };
        Some(now.after(Span::from_micros(u32::try_from(wait).ok()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::clock_sync::Dial;
    use std::vec::Vec;

    fn at(micros: u64) -> Instant {
        Instant::from_micros(micros)
    }

    /// What is told of a clock that is corrected then by so much, in five seconds; and how often it is looked at.
    fn told(then: u64, by: i64) -> (Vec<u64>, u32) {
        let (mut dial, mut beat, mut told, mut looks) = (Dial::new(), Beat::new(), Vec::new(), 0);
        dial.adjust(at(0), 300_000, Span::from_secs(1));
        let (mut now, mut corrected) = (0, false);
        while now < 5_000_000 {
            if now >= then && !corrected {
                corrected = true;
                dial.adjust(at(now), by, Span::from_millis(400));
            }
            let next = beat.look(at(now), |now| dial.read(now), |time| told.push(time.as_micros())).unwrap();
            assert!(next > at(now), "time passes");
            (now, looks) = (next.as_micros(), looks + 1);
        }
        (told, looks)
    }

    #[test]
    fn a_clock_that_was_never_set_has_no_beat() {
        assert_eq!(Beat::new().look(at(5), |_| None, |_| panic!("there is nothing to tell")), None);
    }

    #[test]
    fn every_second_is_told_once_as_it_begins_however_the_clock_is_corrected() {
        for by in [0, 70_000, 300_000, -70_000, -300_000] {
            let (told, looks) = told(900_000, by);
            let seconds: Vec<u64> = told.iter().map(|time| time / SECOND).collect();
            assert_eq!(seconds, [1, 2, 3, 4, 5][..seconds.len()], "{by}");
            assert!(seconds.len() >= 4 && told.iter().all(|time| time % SECOND < SHORT), "{by}: {told:?}");
            assert!(looks < 60, "{looks} looks");
        }
    }

    #[test]
    fn a_clock_that_is_put_forward_into_a_second_waits_for_the_next() {
        let (told, _) = told(1_200_000, 1_700_000);
        assert_eq!(told.iter().map(|time| time / SECOND).collect::<Vec<_>>(), [1, 4, 5, 6]);
    }
}
