//! The commands as a user meets them: what they print, and how they exit.

#[cfg(unix)]
mod boards;
mod compare;
mod compare_elections;
mod compare_mutexes;
mod demo;
#[cfg(unix)]
#[path = "../shared/emulator.rs"]
mod emulator;
mod global_state;
#[path = "../shared/long_run.rs"]
mod long_run;
mod run;
mod support;
#[cfg(unix)]
mod swarm;
