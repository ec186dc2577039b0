//! Real time: boards do not wait for the simulator's.

#![expect(clippy::disallowed_types, reason = "boards run in real time; everything else in here asks this file")]

use crate::queue::Micros;
use std::time::{Duration, Instant};

/// Time since a moment.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts at zero.
    #[must_use]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Microseconds since the start.
    #[must_use]
    pub fn micros(&self) -> Micros {
        u64::try_from(self.0.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// How long it is until the watch shows `at`.
    #[must_use]
    pub fn until(&self, at: Micros) -> Duration {
        Duration::from_micros(at.saturating_sub(self.micros()))
    }
}
