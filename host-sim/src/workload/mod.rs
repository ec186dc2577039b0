//! Workloads of simulated nodes: contention for locks, and applications that exchange messages.

pub mod apps;
pub mod locks;
