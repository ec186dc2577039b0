//! Swarms of emulated boards.

#![cfg(unix)]

mod apps;
#[path = "../common/broker.rs"]
mod broker;
#[path = "../common/emulator.rs"]
mod emulator;
mod own;
mod support;
mod swarm;
