//! Every order of events of a few nodes, on the unchanged algorithms, and planted bugs that the searches find.

mod broken_locks;
mod leases_and_apps;
mod plain_maekawa;
mod planted;
mod planted_election;
mod planted_lock;
mod searches;
