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
#[cfg(mutex = "central")]
pub(crate) type Mutex = protocol::mutex::Central;
#[cfg(mutex = "lamport")]
pub(crate) type Mutex = protocol::mutex::Lamport;
#[cfg(mutex = "maekawa")]
pub(crate) type Mutex = protocol::mutex::Maekawa;
#[cfg(mutex = "none")]
pub(crate) type Mutex = protocol::mutex::NoMutex;
#[cfg(mutex = "raymond")]
pub(crate) type Mutex = protocol::mutex::Raymond;
#[cfg(mutex = "ricart-agrawala")]
pub(crate) type Mutex = protocol::mutex::RicartAgrawala;
#[cfg(mutex = "token-ring")]
pub(crate) type Mutex = protocol::mutex::TokenRing;
#[cfg(mutex = "voting")]
pub(crate) type Mutex = protocol::mutex::Voting;

/// What stands on top.
#[cfg(app = "counter")]
pub(crate) type Upper = protocol::counter::Counter;
#[cfg(app = "none")]
pub(crate) type Upper = protocol::upper::Nothing;

/// Whether it has locks.
#[allow(dead_code, reason = "only a board with a button asks")]
pub(crate) const LOCKS: bool = Mutex::GROUP;

/// How many neighbours or members it has room for.
pub(crate) const NEIGHBOURS_MAX: usize = 32;

firmware::tell_node_bytes!(protocol::Node<Election, Mutex, NEIGHBOURS_MAX, Upper>);

/// How its node comes up.
pub(crate) fn start(page: Page, entropy: u64) -> Start<Election, Mutex, Upper> {
    Start { page, election: Election::default(), mutex: Mutex::default(), upper: Upper::default(), entropy }
}
