//! The commands as a user meets them: what they print, and how they exit.

#[cfg(unix)]
mod boards;
#[cfg(unix)]
#[path = "../common/broker.rs"]
mod broker;
#[cfg(unix)]
mod browser;
mod check;
#[cfg(unix)]
mod cluster;
mod compare;
mod demo;
#[cfg(unix)]
#[path = "../common/emulator.rs"]
mod emulator;
mod flood;
mod global_state;
#[cfg(unix)]
mod members;
#[cfg(unix)]
mod page;
#[cfg(unix)]
mod page_figures;
#[cfg(unix)]
mod page_parts;
#[cfg(unix)]
mod process;
mod run;
mod shards;
mod support;
#[cfg(unix)]
mod swarm;
#[cfg(unix)]
mod uplink;
