//! Logical time: the Lamport clock that orders events.

use serde::{Deserialize, Serialize};

/// A reading of a Lamport clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct LamportTime(pub u64);

impl LamportTime {
    /// The latest time that can be sent: a clock that ticks a thousand times a second reaches it after a century.
    pub const MAX: Self = Self((1 << 42) - 1);
}

/// A node's Lamport clock.
///
/// Receiving a message advances it to the message's time; all messages sent in one step share one new time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LamportClock(u64);

impl LamportClock {
    /// Creates a clock whose next time is above `time`.
    #[must_use]
    pub const fn after(time: LamportTime) -> Self {
        Self(time.0)
    }

    /// Returns the last time taken or observed.
    #[must_use]
    pub const fn now(self) -> LamportTime {
        LamportTime(self.0)
    }

    /// Advances to `time`, if that is later.
    pub fn observe(&mut self, time: LamportTime) {
        self.0 = self.0.max(time.0);
    }

    /// Takes the time of the next step.
    pub fn tick(&mut self) -> LamportTime {
        self.0 = self.0.saturating_add(1);
        LamportTime(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_moves_past_every_time_it_observes() {
        let mut clock = LamportClock::after(LamportTime(4));
        clock.observe(LamportTime(9));
        assert_eq!(clock.tick(), LamportTime(10));
        clock.observe(LamportTime(3));
        assert_eq!(clock.tick(), LamportTime(11));
    }
}
