//! Time, random numbers, error texts and the headers of Ethernet: what every other layer may use.

pub(crate) mod algorithm_words;
#[cfg(feature = "cli")]
pub(crate) mod ethernet;
pub(crate) mod interned;
pub(crate) mod nearest;
pub mod rng;

/// A moment of simulated time, in microseconds since the run began; also a length of time.
pub(crate) type Micros = u64;
