//! Campaigns in the simulator: the claims of the documents, storms of faults, and planted faults that must be found.
//!
//! A usual run takes as many seeds as find every planted fault; `CONCLAVE_STORMS=full cargo test` takes all of them.

mod app_storms;
mod campaigns;
mod claims;
mod determinism;
mod election_storms;
mod exactly_once;
mod faulty_node;
mod lock_storms;
#[path = "../common/long_run.rs"]
mod long_run;
mod radio;
mod scale;
mod super_peers;
mod support;
