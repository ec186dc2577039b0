//! Boards: the commands for real ones, and swarms of emulated ones.

#![cfg(unix)]

mod apps;
#[path = "../shared/emulator.rs"]
mod emulator;
mod support;
mod swarm;
mod tools;
