//! Real time, which boards run in.

#![expect(clippy::disallowed_types, reason = "boards run in real time; this file is its only source")]

use crate::base::Micros;
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug)]
pub(crate) struct WallClock(Instant);

impl WallClock {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn micros(&self) -> Micros {
        u64::try_from(self.0.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Returns the time left until the clock shows `at`.
    pub(crate) fn until(&self, at: Micros) -> Duration {
        Duration::from_micros(at.saturating_sub(self.micros()))
    }
}
