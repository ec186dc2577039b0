//! The boards' clock, driven by the simulator: each board sees its own time while it runs.

use embassy_time_driver::{Driver, time_driver_impl};
use std::cell::Cell;
use std::task::Waker;

thread_local! {
    static NOW: Cell<u64> = const { Cell::new(0) };
    static NEXT: Cell<u64> = const { Cell::new(u64::MAX) };
}

struct Simulated;

impl Driver for Simulated {
    fn now(&self) -> u64 {
        NOW.get()
    }

    fn schedule_wake(&self, at: u64, _: &Waker) {
        NEXT.set(NEXT.get().min(at));
    }
}

time_driver_impl!(static CLOCK: Simulated = Simulated);

/// Runs a program at this time, in microseconds; returns when it has to run again at the latest.
pub(crate) fn at(micros: u64, run: impl FnOnce()) -> u64 {
    NOW.set(micros);
    NEXT.set(u64::MAX);
    run();
    NEXT.get()
}
