//! Peers: the table of known nodes, the quality of their links, and the failure detector.

use crate::base::ids::NodeSet;

mod crowd;
pub mod detector;
mod heartbeat;
mod hello;
pub(crate) mod quality;
pub mod table;
mod trickle;
mod window;

/// Peers whose state changed since the last call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Changes {
    /// Links that went down, or members suspected to be.
    pub down: NodeSet,
    /// Members that have rebooted.
    pub reset: NodeSet,
    /// Links that came up, or members that are up again.
    pub up: NodeSet,
}
