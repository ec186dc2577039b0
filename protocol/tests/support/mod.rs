//! Two test networks: [`net`], whole nodes that exchange frames, and [`lab`], state machines that exchange messages.

#![allow(
    dead_code,
    unreachable_pub,
    unused_imports,
    unused_macros,
    reason = "every test crate includes this folder and uses its own part"
)]

pub mod context;
pub mod lab;
pub mod net;
pub mod storms;

/// What most tests use.
pub mod prelude {
    pub use super::context::{context, roster, slots};
    pub use super::lab::locks::DOOR;
    pub use super::lab::single::{Single, candidate, members, names, term};
    pub use super::lab::{Lab, Order};
    pub use super::net::locks::{LEASE, LockNet, TestMutex};
    pub use super::net::{HOP, Medium, Net, RELIABLE, SERVICE_ROOM, UNRELIABLE, complete, config, line, lossy};
    pub use super::storms;
    pub use protocol::algorithm::Fact;
    pub use protocol::base::lamport::LamportTime;
    pub use protocol::base::term::Term;
    pub use protocol::mutex::{Fence, LockId, Mutex, NoMutex, Refusal};
    pub use protocol::wire::Kind;
    pub use protocol::{Config, Duration, Instant, NodeId, NodeSet, Timing};
}
