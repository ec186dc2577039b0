//! Real firmware in the simulator's world: the same scenario, medium, faults and checkers, with emulated boards as
//! nodes and in real time.
//!
//! ```text
//! board (emulator) -- loopback UDP --> hub --> decapsulate --> world (medium, faults) --> encapsulate --> board
//!        |                                                        ^        |
//!        +------ log, decoded with the image's strings -----------+        +--> convergence, checkers, narrator
//! ```
//!
//! A `BoardNode` is a device as a node of the [`World`](crate::World). A power loss stops the board's emulator, and
//! power on resets it, so that it keeps its records, as flash would; a loss of records takes a new emulator. A board
//! that is held with its clock running for longer than its watchdog's timeout is reset by it, as a real one would be.

mod bank;
mod board_log;
mod board_node;
mod board_time;
mod broker;
mod child;
mod clock;
mod count;
mod device;
mod emulator;
mod fleet;
mod hub;
mod image;
mod inbox;
mod job;
mod qmp;
mod report;
mod run;
mod scenario;
mod uplink;
mod wall_clock;

pub use crate::base::ethernet::encapsulate;
pub use bank::SnapshotEnd;
pub use board_log::Entry;
pub(crate) use board_node::BoardNode;
pub use broker::Broker;
pub use count::Count;
pub use fleet::Fleet;
pub use image::Image;
pub use report::{NodeReport, Report};
pub(crate) use run::run_with_acts;
pub use run::{Options, run};
pub(crate) use scenario::{NODES_MAX, act, check, default_scenario};
pub use scenario::{app_scenario, lock_scenario, own_scenario};
pub(crate) use wall_clock::WallClock;

use std::fmt;

/// Why a swarm could not be run.
#[derive(Debug)]
pub enum SwarmError {
    /// Bad input, such as a scenario that boards cannot run, or a missing tool.
    Refused(String),
    /// A device could not be started, or does not respond.
    Device(std::io::Error),
    /// The process of this node ended by itself.
    Ended(u32),
    /// The user interrupted the run.
    Interrupted,
}

impl fmt::Display for SwarmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(text) => f.write_str(text),
            Self::Device(error) => write!(f, "a device could not be run: {error}"),
            Self::Ended(node) => write!(f, "the process of node {node} ended by itself"),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for SwarmError {}
