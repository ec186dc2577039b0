//! The binary `conclave`.

#![expect(clippy::disallowed_types, reason = "the network of a desktop runs in real time")]

use embassy_time_driver::{Driver, time_driver_impl};
use std::sync::OnceLock;
use std::task::Waker;
use std::time::Instant;

/// The clock of code that boards share, in microseconds since its first use. It is the binary's: tests bring clocks of their
/// own.
struct DesktopClock(OnceLock<Instant>);

impl Driver for DesktopClock {
    fn now(&self) -> u64 {
        let start = self.0.get_or_init(Instant::now);
        u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Wakes nobody: whoever drives a future here looks again after a while.
    fn schedule_wake(&self, _: u64, _: &Waker) {}
}

time_driver_impl!(static CLOCK: DesktopClock = DesktopClock(OnceLock::new()));

fn main() -> std::process::ExitCode {
    host_sim::cli::main()
}
