//! The code all boards share: configuration, storage, transports and the loop around a node.
//!
//! A board's own package brings the drivers and a `main`; nothing here knows a chip.
//!
//! - `runner`: the loop that joins a node with a transport, a record store and a board.
//! - `net`: transports (UDP, IEEE 802.15.4 radio), and the connections to an access point and to a broker.
//! - `storage`: the config page, and records in flash or retained memory.
//! - `report`: the log lines of a board, written and parsed.
//! - `vitals`: the measurements that make a board's capacity.
//! - `ui`: LED and button, and the board that has them.
//! - `uplink`: the elected gateway to an MQTT broker, and a sensor that submits to it.
//! - `demo`: workloads of boards that show locks, snapshots, jobs or the shared clock.
//! - `cortex_m`: start-up and reset of every Cortex-M board; on boards only.
//!
//! Without the feature `embassy` only the parts remain that a desktop needs to provision boards and to parse their
//! logs.

#![no_std]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::as_conversions
    )
)]

#[cfg(test)]
extern crate std;

#[cfg(target_os = "none")]
pub mod cortex_m;
pub mod demo;
pub mod net;
pub mod report;
#[cfg(feature = "embassy")]
pub mod runner;
pub mod storage;
#[cfg(feature = "embassy")]
pub mod ui;
#[cfg(all(feature = "embassy", feature = "mqtt"))]
pub mod uplink;
#[cfg(feature = "embassy")]
pub mod vitals;

/// Copies `bytes` to the front of `target`, as many as fit.
fn copy_bytes<'a>(target: &mut [u8], bytes: impl IntoIterator<Item = &'a u8>) {
    for (to, &from) in target.iter_mut().zip(bytes) {
        *to = from;
    }
}

#[cfg(test)]
mod tests {
    use core::future::Future;
    use core::pin::Pin;
    use core::task::{Context, Waker};
    use embassy_time::Duration;
    use embassy_time_driver::{Driver, time_driver_impl};
    use std::cell::Cell;

    std::thread_local! {
        static NOW: Cell<u64> = const { Cell::new(0) };
    }

    /// A clock per thread, which only its test moves.
    struct TestClock;

    impl Driver for TestClock {
        fn now(&self) -> u64 {
            NOW.get()
        }

        fn schedule_wake(&self, _at: u64, _waker: &Waker) {} // tests poll after every step of the clock
    }

    time_driver_impl!(static CLOCK: TestClock = TestClock);

    /// Sets the clock to zero: threads may run several tests.
    pub(crate) fn reset_clock() {
        NOW.set(0);
    }

    pub(crate) fn advance(step: Duration) {
        NOW.set(NOW.get() + step.as_ticks());
    }

    /// Polls `future`, which must not end, and moves the clock by `step`, `steps` times.
    pub(crate) fn run_for<F: Future + ?Sized>(mut future: Pin<&mut F>, steps: u64, step: Duration) {
        let mut context = Context::from_waker(Waker::noop());
        for _ in 0..steps {
            for _ in 0..4 {
                assert!(future.as_mut().poll(&mut context).is_pending(), "the future ended");
            }
            advance(step);
        }
    }
}
