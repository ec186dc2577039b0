//! A deterministic simulator for the protocol crate.
//!
//! A [`Scenario`] and a seed make a [`World`]: nodes, the medium between them, and faults. A world processes event by
//! event and reports each to an [`Observer`](trace::Observer). [`run_seeds`] runs a scenario over many seeds with
//! every checker and makes a [`Report`].
//!
//! Layers, from the bottom; each uses only earlier ones:
//! - [`base`]: time, random numbers;
//! - [`trace`]: events and their hash;
//! - [`workload`]: contention for locks, applications;
//! - [`sim`]: the engine;
//! - [`scenario`]: from a file to a value;
//! - [`nodes`]: the nodes that are simulated;
//! - [`check`], [`metrics`]: properties and measures of runs;
//! - `campaign`: scenarios drawn at random, and shrunk where a checker reports (with the feature `cli`);
//! - `explore`: every order of events of a few nodes, on the state machines themselves (with the feature `cli`);
//! - [`own`]: an application and a checker of one's own, for programs that use the simulator as a library;
//! - [`play`]: a run to watch and to break, for the page;
//! - `compare`, `draw`, [`boards`], `mqtt`, [`swarm`], [`pcap`], `report`, `serve`, and the command line, [`cli`], all of them with the feature `cli`.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    reason = "numbers of nodes, links and microseconds are bounded where they are read, far below the casts' limits"
)]
#![cfg_attr(not(feature = "cli"), allow(dead_code, reason = "commands use parts of the engine that the page does not"))]

/// The code in the documents is tested.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../../README.md")]
    struct Readme;

    #[doc = include_str!("../../docs/library.md")]
    struct LibraryGuide;
}

pub mod base;
#[cfg(all(unix, feature = "cli"))]
pub mod boards;
#[cfg(feature = "cli")]
pub mod campaign;
pub mod check;
#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "cli")]
mod compare;
#[cfg(feature = "cli")]
mod draw;
#[cfg(feature = "cli")]
pub mod explore;
#[cfg(test)]
mod layers;
pub mod metrics;
#[cfg(all(unix, feature = "cli"))]
mod mqtt;
pub mod nodes;
pub mod own;
#[cfg(feature = "cli")]
pub mod pcap;
pub mod play;
#[cfg(feature = "cli")]
mod report;
pub mod scenario;
#[cfg(all(unix, feature = "cli"))]
mod serve;
pub mod sim;
#[cfg(all(unix, feature = "cli"))]
pub mod swarm;
pub mod trace;
pub mod workload;

pub use metrics::seeds::{Report, run_seeds};
pub use nodes::protocol_node::{Member, ProtocolNode};
pub use scenario::{Scenario, ScenarioError};
pub use sim::world::World;
pub use trace::TraceEvent;
