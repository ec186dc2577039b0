//! Bounds on how far messages move a number that must never fall back.
//!
//! Terms and Lamport times grow, and nodes take over the highest they receive; frames are numbered, and a higher number
//! makes the ones before it old. One message that says the highest of all would leave no room for the next: it is refused.
//! Many messages move a number by one step a minute at most, so that whoever has the key needs days to use a number up, and
//! no more than one write of records a minute ([`crate::base::records`]).
//!
//! A number that is far ahead without fault, of a network that was apart for years, is said again and again: with every
//! minute in which it is refused the ceiling rises by one step, until it is taken. A node that boots without records knows
//! nothing of its network, and takes a step a message for a minute.

use crate::base::time::{CoarseInstant, Duration, Instant};

/// How far messages may move the number of their sender's frames, the term, a million elections, and the Lamport time, in
/// blocks of [`TIMES_BLOCK`]: twelve days of a thousand steps a second.
pub const STEP: u32 = 1 << 20;

/// Lamport times in a block.
pub const TIMES_BLOCK: u64 = 1 << 10;

/// Returns the block of a Lamport time.
pub(crate) fn time_block(time: u64) -> u32 {
    u32::try_from(time / TIMES_BLOCK).unwrap_or(u32::MAX)
}

/// The time in which messages may move a number by a step.
pub const STEP_INTERVAL: Duration = Duration::from_secs(60);

/// How many steps more a node without records takes in its first interval.
const STEPS_OF_NEWCOMER: u8 = u8::MAX;

/// A number that messages move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    /// The term.
    Term,
    /// The Lamport time, in blocks.
    Time,
    /// How many frames of one sender were missed.
    Frames,
}

/// The highest values that messages may say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ceilings {
    since: CoarseInstant,
    /// By how many steps they may still rise in this interval.
    steps: u8,
    /// Whether a message said more in this interval.
    exceeded: [bool; 3],
    /// Each one's, from its first use in this interval on; 0 before.
    highest: [u32; 3],
}

impl Ceilings {
    /// The ceilings of a node that boots; a `newcomer` has no records.
    pub(crate) fn at_boot(now: Instant, newcomer: bool) -> Self {
        let steps = if newcomer { STEPS_OF_NEWCOMER } else { 0 };
        Self { since: CoarseInstant::of(now), steps, exceeded: [false; 3], highest: [0; 3] }
    }

    /// Returns whether a message may say `said` to a node whose number is at `own`.
    pub(crate) fn admits(&mut self, now: Instant, number: Number, own: u32, said: u32) -> bool {
        if self.since.elapsed(now) >= STEP_INTERVAL {
            (self.since, self.steps) = (CoarseInstant::of(now), 0);
            for (highest, exceeded) in self.highest.iter_mut().zip(&mut self.exceeded) {
                // What was said in vain will be said again.
                *highest = if core::mem::take(exceeded) { highest.saturating_add(STEP) } else { 0 };
            }
        }
        let ([term, time, frames], [more_terms, more_times, more_frames]) = (&mut self.highest, &mut self.exceeded);
        let (highest, exceeded) = match number {
            Number::Term => (term, more_terms),
            Number::Time => (time, more_times),
            Number::Frames => (frames, more_frames),
        };
        if *highest == 0 {
            *highest = own.saturating_add(STEP);
        }
        let admitted = said <= *highest;
        if !admitted {
            *exceeded = true;
            if let Some(left) = self.steps.checked_sub(1) {
                self.steps = left;
                *highest = highest.saturating_add(STEP);
            }
        }
        admitted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOOT: Instant = Instant::from_micros(1);

    fn minutes(count: u32) -> Instant {
        (0..count).fold(BOOT, |now, _| now.after(STEP_INTERVAL))
    }

    fn asks(ceilings: &mut Ceilings, now: Instant, own: u32, said: u32) -> bool {
        ceilings.admits(now, Number::Term, own, said)
    }

    #[test]
    fn a_newcomer_reaches_a_number_far_ahead_step_by_step() {
        let mut ceilings = Ceilings::at_boot(BOOT, true);
        assert!(asks(&mut ceilings, BOOT, 7, 7 + STEP));
        assert!(!asks(&mut ceilings, BOOT, 7, 7 + STEP + 1));
        assert!(asks(&mut ceilings, BOOT, 7, 7 + 2 * STEP));
        assert_eq!((0..9).take_while(|_| !asks(&mut ceilings, BOOT, 7, 7 + 5 * STEP)).count(), 3);
        assert!(!asks(&mut ceilings, BOOT, 7, u32::MAX));
        assert!(ceilings.admits(BOOT, Number::Frames, 0, STEP) && !ceilings.admits(BOOT, Number::Time, 0, STEP + 1));
    }

    #[test]
    fn later_a_number_moves_by_a_step_a_minute_however_many_messages_say_more() {
        let mut ceilings = Ceilings::at_boot(BOOT, false);
        let mut own = 0;
        for minute in 1..=5 {
            for _ in 0..10_000 {
                let said = own + STEP;
                if asks(&mut ceilings, minutes(minute), own, said) {
                    own = said;
                }
            }
            assert_eq!(own, minute * STEP);
        }
    }

    #[test]
    fn a_number_that_is_said_again_and_again_is_taken_and_one_that_is_not_is_forgotten() {
        let mut ceilings = Ceilings::at_boot(BOOT, false);
        let refusals = |ceilings: &mut Ceilings, from: u32| {
            (from..=u32::MAX).take_while(|&minute| !asks(ceilings, minutes(minute), 0, 5 * STEP)).count()
        };
        assert_eq!(refusals(&mut ceilings, 1), 4);
        assert!(asks(&mut ceilings, minutes(6), 0, 1), "a minute in which nobody says more");
        assert_eq!(refusals(&mut ceilings, 7), 4);
    }

    #[test]
    fn the_highest_number_takes_two_days_and_more() {
        let mut ceilings = Ceilings::at_boot(BOOT, false);
        let refused = (1..=u32::MAX).take_while(|&minute| !asks(&mut ceilings, minutes(minute), 0, u32::MAX)).count();
        assert!(refused > 2 * 24 * 60, "{refused} minutes");
    }
}
