//! Agreement for microcontrollers: who leads, who may touch a shared thing, what the state of all is, and when a job is over.
//!
//! Every algorithm is a state machine that takes one input, takes one step and says what it wants sent and told
//! ([`Algorithm`]). [`Node`] joins the stages into one machine of the same shape: bytes, commands and the time go in;
//! bytes, records to keep and notices come out. Nothing in here reads a clock, draws a random number, opens a socket
//! or allocates, so the same code runs on a board, on an emulated board and in a simulator, and the same inputs give
//! the same outputs.
//!
//! The host's whole duty is a loop:
//!
//! ```text
//! node.handle(now, input);                                      // one frame, one command, or the time that passed
//! while let Some(records) = node.poll_persist() { keep(records) }
//! while let Some(frame) = node.poll_transmit(now, &mut buffer) { send(frame) }
//! while let Some(notice) = node.poll_notice() { show(notice) }
//! // sleep until the next frame, the next command, or node.deadline()
//! ```

#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::as_conversions,
        clippy::float_arithmetic,
        clippy::wildcard_enum_match_arm
    )
)]

pub mod algorithm;
pub mod application;
pub mod capacity;
pub mod clock;
pub mod clock_sync;
pub mod config;
pub mod counter;
pub mod describe;
pub mod detector;
pub mod dice;
pub mod election;
pub mod group;
pub mod link;
pub mod mandate;
pub mod mutex;
pub mod neighbours;
pub mod node;
pub mod records;
pub mod snapshot;
pub mod suite;
pub mod termination;
pub mod time;
pub mod upper;
pub mod wire;

pub use algorithm::Algorithm;
pub use config::{Config, Timing};
pub use group::{NodeId, NodeSet};
pub use node::Node;
pub use time::{Instant, Span};
