//! What every board shares: who it is, what it must not forget, and how frames travel.
//!
//! A board's own package brings the drivers and a `main`; nothing here knows a chip.
//!
//! - [`page`]: the config page, from which a board reads its identity at boot.
//! - [`store`]: a small record that survives a reset, and a write that a reset cuts short.
//! - [`transport`]: broadcasting and receiving frames.
//! - [`address`]: network addresses made from a node's id.
//! - [`drive`]: the loop that joins a node with all of these.
//! - [`report`]: the lines a board says about itself.
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

#[cfg(feature = "embassy")]
pub mod address;
pub mod crc;
#[cfg(feature = "embassy")]
pub mod drive;
pub mod page;
pub mod report;
pub mod store;
pub mod transport;
