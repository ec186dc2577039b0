//! Every order of events of three nodes, on the unchanged algorithms.

#![allow(unreachable_pub, reason = "the context is shared with other test crates")]

#[path = "../support/context.rs"]
mod context;
#[path = "../support/storms.rs"]
mod storms;

mod app_model;
mod apps;
mod broken_locks;
mod election_model;
mod elections;
mod explorer;
mod lease_model;
mod lock_model;
mod lock_node;
mod locks;
mod plain_maekawa;
