//! What a board runs, as it was chosen when its image was built; `choose.rs` beside this file says how.

use firmware::drive::Start;
use firmware::page::Page;
use protocol::Algorithm;

/// Its election.
#[cfg(election = "bully")]
pub(crate) type Election = protocol::election::Bully;
#[cfg(election = "chang-roberts")]
pub(crate) type Election = protocol::election::ChangRoberts;
#[cfg(election = "lelann")]
pub(crate) type Election = protocol::election::Lelann;
#[cfg(election = "ring")]
pub(crate) type Election = protocol::election::Ring;
#[cfg(election = "wireless")]
pub(crate) type Election = protocol::election::Wireless;
#[cfg(election = "wireless-flat")]
pub(crate) type Election = protocol::election::WirelessFlat;

/// Its lock.
#[cfg(mutex = "none")]
pub(crate) type Mutex = protocol::mutex::NoMutex;

/// Whether it has locks.
pub(crate) const LOCKS: bool = Mutex::GROUP;

/// How many neighbours or members it has room for.
pub(crate) const NEIGHBOURS_MAX: usize = 32;

firmware::tell_node_bytes!(protocol::Node<Election, Mutex, NEIGHBOURS_MAX>);

/// How its node comes up.
pub(crate) fn start(page: Page, entropy: u64) -> Start<Election, Mutex> {
    Start { page, election: Election::default(), mutex: Mutex::default(), entropy }
}
