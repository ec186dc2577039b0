//! The simulation engine: a deterministic world of nodes, a medium between them, and faults.

pub(crate) mod attacker;
pub mod capacity;
pub(crate) mod clock;
pub(crate) mod event_queue;
pub mod fault_plan;
pub(crate) mod flash;
pub(crate) mod frame_pool;
pub mod link_fault;
pub mod medium;
pub mod mobility;
pub mod node;
pub mod topology;
pub mod world;
