//! Pictures: maps of networks and space-time diagrams.

pub(crate) mod map;
pub(crate) mod spacetime;
