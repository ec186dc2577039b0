//! A deterministic simulator for the protocol crate.
//!
//! A [`Scenario`] and a seed make a [`World`]: nodes in their places, the medium between them, and what goes wrong. A
//! world goes on event by event and tells an [`Observer`](trace::Observer) what happens. A
//! [`campaign`](campaign::campaign) runs a scenario over many seeds, with every checker watching, and makes a report.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    reason = "numbers of nodes, links and microseconds are bounded where they are read, far below the casts' limits"
)]

pub mod activity;
pub mod app;
#[cfg(unix)]
pub mod boards;
pub mod campaign;
pub mod checker;
pub mod clock;
pub mod compare;
mod contest;
pub mod fault;
pub mod frames;
#[cfg(test)]
mod gossip;
pub mod machine;
pub mod map;
pub mod measure;
pub mod mobility;
pub mod network;
pub mod peer;
pub mod queue;
pub mod random;
pub mod run;
pub mod scenario;
pub mod spacetime;
pub mod story;
#[cfg(unix)]
pub mod swarm;
pub mod topology;
pub mod trace;
pub mod usage;
pub mod watch;
pub mod world;

pub use campaign::{Report, campaign};
pub use peer::{Member, Peer};
pub use scenario::{Scenario, ScenarioError};
pub use trace::TraceEvent;
pub use world::World;
