//! The bounds of a search through the states of a lock.

use crate::cast::NODES;

/// How far the search follows, and what may go wrong.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// How many nodes there are, three at most.
    pub(crate) members: usize,
    /// Who asks for the lock, and how often each.
    pub(crate) askers: &'static [usize],
    pub(crate) rounds: u8,
    /// Who of them would rather be refused than wait.
    pub(crate) triers: &'static [usize],
    /// How often each takes back that it asked, and asks for more time.
    pub(crate) cancels: u8,
    pub(crate) renewals: u8,
    /// What the network does to letters.
    pub(crate) post: Post,
    /// How often anybody is suspected without reason. A suspicion ends sometime.
    pub(crate) suspicions: u8,
    /// How often one of these starts anew, having forgotten everything.
    pub(crate) crashes: u8,
    pub(crate) victims: &'static [usize],
    /// How often time goes on, which ends every lease; and whether it does only while nothing is on the way or due.
    pub(crate) hours: u8,
    pub(crate) calm: bool,
    /// Whether nobody tries again before time goes on.
    pub(crate) slow: bool,
    /// Who leads, and who comes after it if leadership changes hands.
    pub(crate) leader: usize,
    pub(crate) successor: Option<usize>,
    /// The highest stamp that is followed.
    pub(crate) stamp_max: u64,
}

/// What becomes of letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Post {
    /// What the link promises: in order and exactly once, sometime. To one that is suspected, maybe never.
    Promised,
    /// In any order, or never; and so many of them arrive once more.
    Disordered { repeats: u8 },
}

/// Three nodes of which the first two ask twice each, on a network that keeps its promise.
pub(crate) const TWO: Bounds = Bounds {
    members: NODES,
    askers: &[0, 1],
    rounds: 2,
    triers: &[],
    cancels: 0,
    renewals: 0,
    post: Post::Promised,
    suspicions: 0,
    crashes: 0,
    victims: &[],
    hours: 0,
    calm: false,
    slow: false,
    leader: 2,
    successor: None,
    stamp_max: 1_000,
};
