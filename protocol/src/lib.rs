//! Agreement for microcontrollers: leader election, mutual exclusion, global snapshots, termination detection.
//!
//! Every algorithm is a state machine that takes one input, takes one step, and outputs messages and notices
//! ([`Algorithm`]). [`Node`] joins the stages into one machine of the same shape: frames, commands and the time go in;
//! frames, records to persist and notices come out. Nothing in here reads a clock, draws a random number, opens a socket
//! or allocates, so the same code runs on a board, on an emulated board and in a simulator, and the same inputs give the
//! same outputs.
//!
//! The host's whole duty is a loop:
//!
//! ```text
//! loop {
//!     node.handle(now, input);                                   // one frame, one command, or Timeout
//!     while let Some(records) = node.poll_persist() { write(records) }
//!     while let Some(log) = node.poll_log(&mut log_buffer) { write_log(log) } // where the service keeps one
//!     while let Some(frame) = node.poll_transmit(now, &mut buffer) { broadcast(frame) }
//!     while let Some(notice) = node.poll_notice() { on_notice(notice) }
//!     input = next_frame_or_command_before(node.deadline());     // Timeout when the deadline passes first
//! }
//! ```
//!
//! # Layers
//! Each module depends on those above it only.
//!
//! - [`base`]: time, ids and sets of nodes, Lamport clocks, terms, quorums, records, configuration, membership.
//! - [`wire`]: the bytes of a frame. [`wire::open`] opens and decodes, [`wire::seal`] encodes and seals; both are pure.
//! - [`peers`]: who is there. The peer table measures links and suppresses duplicate frames; the failure detector
//!   suspects members.
//! - [`link`]: reliable delivery. Acknowledgement, retransmission, order, relaying over several hops, back-pressure.
//! - [`algorithm`]: the one shape of every algorithm, and the bounds of a step.
//! - [`election`], [`lease`], [`mutex`], [`service`]: the stages, each given the conclusions of those before it. An election
//!   finds the leader; the lease decides whether it may act; a lock grants access under a fence; a service is the
//!   application with its snapshots, termination detection and clock.
//! - [`node`]: the stages joined, one way in and one way out.
//! - [`members`]: beside the node, the list of a group's members, changed while it runs.
//! - [`registry`]: the list of all algorithms, and the enums that choose among them at run time.

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

#[cfg(test)]
extern crate std;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod algorithm;
pub mod base;
pub mod election;
pub mod lease;
pub mod link;
pub mod members;
pub mod mutex;
pub mod node;
pub mod peers;
pub mod registry;
pub mod service;
pub mod wire;

pub use algorithm::Algorithm;
pub use base::config::{Config, Timing};
pub use base::ids::{NodeId, NodeSet};
pub use base::time::{Duration, Instant};
pub use node::Node;
