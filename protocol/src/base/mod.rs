//! The foundation of all layers: time, randomness, node ids and sets, logical clocks, terms, quorums, records and
//! configuration. It depends on no other layer.

pub mod capacity;
pub mod ceiling;
pub mod cipher;
pub mod config;
pub mod ids;
pub mod incarnation;
pub mod key;
pub mod keyring;
pub mod lamport;
pub mod membership;
mod named;
pub mod options;
pub mod quorum;
pub mod records;
pub mod rng;
pub(crate) mod stability;
pub mod term;
pub mod time;

pub(crate) use named::named;
