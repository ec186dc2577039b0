//! Real firmware in the simulator's world: the same scenario, network, faults and checkers, with emulated boards in
//! the nodes' seats and time as it passes.
//!
//! ```text
//! board (emulator) -- loopback UDP --> hub --> envelope off --> world (air, faults) --> envelope on --> board
//!        |                                                        ^        |
//!        +------ log, decoded with the image's strings -----------+        +--> watch, checkers, story
//! ```
//!
//! A [`Station`] is a device in a seat of the [`World`](crate::World). Cutting a board's power stops its emulator,
//! and switching it on again resets it, so that it keeps what it stored, as flash would; losing the records takes a new
//! emulator. A board that is held with its clock running for longer than its watchdog's patience is reset by it, as a
//! real one would be.

mod bank;
mod child;
mod clock;
mod count;
mod device;
mod emulator;
mod envelope;
mod group;
mod hub;
mod image;
mod job;
mod mail;
mod own_time;
mod qmp;
mod rack;
mod report;
mod run;
pub mod setup;
mod slot;
mod station;
mod stopwatch;
mod tale;

pub use bank::{Bank, End, Picture};
pub use clock::Clock;
pub use count::Count;
pub use device::Kind;
pub use envelope::wrap;
pub use group::{Group, key_bytes};
pub use image::Image;
pub use job::{Job, Jobs};
pub use rack::Rack;
pub use report::{NodeReport, Report};
pub use run::{Options, run};
pub use slot::Entry;
pub use station::Station;
pub use stopwatch::Stopwatch;
pub use tale::{NODES_MAX, app_scenario, check, default_scenario, lock_scenario};

use std::fmt;

/// Why a swarm could not be run.
#[derive(Debug)]
pub enum SwarmError {
    /// The scenario asks for something a board cannot do.
    Scenario(String),
    /// A device could not be had, or does not obey.
    Device(std::io::Error),
    /// The process of this node ended by itself.
    Ended(u32),
    /// The user does not want to go on.
    Interrupted,
}

impl fmt::Display for SwarmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scenario(text) => f.write_str(text),
            Self::Device(error) => write!(f, "a device could not be run: {error}"),
            Self::Ended(node) => write!(f, "the process of node {node} ended by itself"),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for SwarmError {}
