//! How much randomness and how large a search a test run is worth.
//!
//! `CONCLAVE_STORMS=full` runs every search and as many seeds as the claims are made for; without it the slowest ones are
//! cut short.

#![allow(dead_code, reason = "each test crate uses a part")]

/// Returns whether this run takes the time for everything.
pub fn full() -> bool {
    std::env::var("CONCLAVE_STORMS").is_ok_and(|storms| storms == "full")
}

/// Returns `all` in a full run, and a quarter of it otherwise.
pub fn seeds(all: u64) -> u64 {
    if full() { all } else { all.div_ceil(4) }
}
