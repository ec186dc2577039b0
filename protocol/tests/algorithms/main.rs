//! Every algorithm, on whole nodes or message by message: the examples and formulas of the papers, and a bad network.

#[path = "../support/mod.rs"]
mod support;

mod bully;
mod central;
mod chang_roberts;
mod clock_sync;
mod clusters;
mod commit;
mod election_chaos;
mod failover;
mod group_elections;
mod invitation;
mod lamport;
mod lease;
mod lelann;
mod lock_chaos;
mod lock_contract;
mod maekawa;
mod members;
mod own_application;
mod permission_locks;
mod raymond;
mod replays;
mod requests;
mod ricart_agrawala;
mod ring;
mod ring_options;
mod service_messages;
mod snapshot;
mod suzuki_kasami;
mod termination;
mod token_locks;
mod token_ring;
mod vote_locks;
mod voting;
mod wireless;
mod wireless_messages;
