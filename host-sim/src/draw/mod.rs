//! Pictures: maps of networks and space-time diagrams.

pub mod map;
pub mod spacetime;
