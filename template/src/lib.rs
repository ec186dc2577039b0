//! An application of your own. The library is `no_std` and runs on a board; `main.rs` runs it on a desktop, and
//! `tests/simulate.rs` runs it in the simulator.
//!
//! Start by renaming the package and rewriting [`counter`]: its message, its command, its notice, and what they do.

#![no_std]

pub mod counter;

/// The service of a node that runs the application: with `.with_snapshot()` and others, observers are added.
pub type Service = protocol::service::AppService<counter::Counter>;

/// A whole node, as firmware has it: frames, commands and the time go in, frames, records and notices come out.
pub type Node = protocol::Node<
    protocol::election::Bully,
    protocol::mutex::NoMutex,
    { counter::MEMBERS_MAX },
    Service,
    protocol::base::membership::Group,
>;
