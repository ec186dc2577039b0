//! Laws of every algorithm over random histories, the wire format byte by byte, arbitrary bytes, and sizes.

#[path = "../support/mod.rs"]
mod support;

mod elections;
mod golden;
mod golden_locks;
mod histories;
mod hostile;
mod hostile_services;
mod insider;
mod insider_rates;
mod insider_services;
mod key_change;
mod locks;
mod outsider;
mod power_cuts;
mod services;
mod size;
