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
#[cfg(app = "clock")]
pub(crate) type Upper = protocol::clock_sync::ClockSync<NEIGHBOURS_MAX>;
#[cfg(app = "counter")]
pub(crate) type Upper = protocol::counter::Counter;
#[cfg(app = "diffusing")]
pub(crate) type Upper = Watched<protocol::application::Diffusing>;
#[cfg(app = "none")]
pub(crate) type Upper = protocol::upper::Nothing;
#[cfg(app = "tokens")]
pub(crate) type Upper = Watched<protocol::application::Tokens<NEIGHBOURS_MAX>>;

/// An application, its snapshots and the detection of its end.
#[cfg(any(app = "diffusing", app = "tokens"))]
type Watched<A> = protocol::suite::Suite<A, protocol::termination::Wave<NEIGHBOURS_MAX>, NEIGHBOURS_MAX>;

/// Whether it has locks.
#[allow(dead_code, reason = "only a board with a button asks")]
pub(crate) const LOCKS: bool = Mutex::GROUP;

/// How many neighbours or members it has room for.
pub(crate) const NEIGHBOURS_MAX: usize = 32;

firmware::tell_node_bytes!(protocol::Node<Election, Mutex, NEIGHBOURS_MAX, Upper>);

/// How its node comes up.
pub(crate) fn start(page: Page, entropy: u64) -> Start<Election, Mutex, Upper> {
    Start { page, election: Election::default(), mutex: Mutex::default(), upper, entropy }
}

#[cfg(any(app = "clock", app = "counter", app = "none"))]
fn upper() -> Upper {
    Upper::default()
}

#[cfg(app = "diffusing")]
fn upper() -> Upper {
    use protocol::application::Diffusing;
    Upper::new(Diffusing::new(firmware::turns::UNIT), protocol::termination::Wave::new())
}

#[cfg(app = "tokens")]
fn upper() -> Upper {
    use firmware::turns::{GIFT, TOKENS};
    Upper::new(protocol::application::Tokens::new(TOKENS, GIFT), protocol::termination::Wave::new())
}
