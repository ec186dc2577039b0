//! Swarms of emulated boards.

#![cfg(unix)]

mod apps;
#[path = "../shared/emulator.rs"]
mod emulator;
mod support;
mod swarm;
