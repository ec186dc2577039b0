//! What every board shares: who it is, what it must not forget, and how frames travel.
//!
//! A board's own package brings the drivers and a `main`; nothing here knows a chip.
//!
//! - [`page`]: the config page, from which a board reads its identity at boot.
//! - [`keeper`]: where records outlive a node; [`store`] is the one for memory that keeps its words over a reset.
//! - [`transport`]: broadcasting and receiving frames.
//! - [`address`]: network addresses made from a node's id.
//! - [`drive`]: the loop that joins a node with all of these; [`beat`] finds the seconds of its shared clock.
//! - [`report`]: the lines a board says about itself.
//! - [`desk`]: a board with a light ([`panel`]), a button ([`button`]), a lock to ask for with it ([`latch`]) and something
//!   to measure ([`gauge`]).
//! - [`contend`]: what a board does that contends for a lock, to show that it is one.
//! - [`turns`]: what boards do in turn that show an application: take snapshots of it, or begin jobs.
//! - [`station`]: staying with an access point.
//! - `chip`: what is the same on every Cortex-M; only there on a board.
//!
//! Without the feature `embassy` there is only what a desktop needs to prepare a board and to understand it.

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

#[cfg(feature = "udp")]
pub mod address;
pub mod beat;
#[cfg(feature = "embassy")]
pub mod button;
#[cfg(target_os = "none")]
pub mod chip;
pub mod contend;
pub mod crc;
#[cfg(feature = "embassy")]
pub mod desk;
#[cfg(feature = "embassy")]
pub mod drive;
#[cfg(feature = "embassy")]
pub mod gauge;
#[cfg(feature = "embassy")]
pub mod keeper;
pub mod latch;
pub mod page;
#[cfg(feature = "embassy")]
pub mod panel;
pub mod report;
#[cfg(feature = "embassy")]
pub mod station;
pub mod store;
pub mod transport;
pub mod turns;

#[cfg(test)]
mod tests {
    use embassy_time::MockDriver;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    /// There is one clock for all tests: those that move it take turns, and find it at zero.
    pub(crate) fn turn() -> MutexGuard<'static, ()> {
        static CLOCK: Mutex<()> = Mutex::new(());
        let turn = CLOCK.lock().unwrap_or_else(PoisonError::into_inner);
        MockDriver::get().reset();
        turn
    }
}
