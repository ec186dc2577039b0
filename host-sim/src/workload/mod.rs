//! Workloads of simulated nodes: contention for locks, applications that exchange messages, and requests to super-peers.

pub mod apps;
pub mod locks;
pub mod requests;
