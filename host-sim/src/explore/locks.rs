//! Every order of events of a few nodes that contend for a lock.
//!
//! Two or three nodes ask once or twice, at any moment, and release at any moment. The network keeps the link's promise
//! with any delay between any two nodes: messages to a node that is suspected, rightly or not, may be lost. Or it keeps
//! none: messages arrive in any order, twice or never.
//!
//! Time stands still, long after every node started, or advances for all at once, so far that every lease has ended; in
//! most searches only while nothing is in flight, as late messages are for the simulator to show. A node may restart at any
//! moment with nothing but its Lamport clock, or without even that, and leadership may change as a quorum lets it.
//!
//! Checked in every state: no two nodes hold the lock; fences grow; the application's notices are true. And no node
//! starves: from every state in which a node waits, fair moves lead to its grant: messages arrive, deadlines are met,
//! holders release, suspicions end, time advances. No other node has to ask for anything. On a network that loses messages
//! at will that is not checked.
//!
//! The central lock and the lock of Lamport are safe only where the link keeps its promise of order.

use super::lock_machine::{Explored, Locks};
use super::lock_model::{Bounds, LockModel, Network, TWO};
use super::lock_node::{Machine, Memory};
use super::schedule::Course;
use super::search::explore;
use super::{Outcome, Search};
use protocol::mutex::{Central, Lamport, Maekawa, Raymond, RicartAgrawala, SuzukiKasami, TokenRing, Voting};

/// Explores a lock. A node must hold it sometimes: a search that reaches no grant proves nothing.
pub fn explore_lock<'a, L: Explored>(
    bounds: Bounds,
    course: impl Into<Course<'a>>,
    lock: impl Fn(usize) -> L,
) -> Outcome {
    explore_locks(bounds, course.into(), Box::new(Locks::new(&bounds, lock)))
}

fn explore_locks(bounds: Bounds, course: Course<'_>, locks: Box<dyn Machine>) -> Outcome {
    if bounds.members <= 3 {
        explore_among::<3>(bounds, course, locks)
    } else {
        explore_among::<4>(bounds, course, locks)
    }
}

fn explore_among<const N: usize>(bounds: Bounds, course: Course<'_>, locks: Box<dyn Machine>) -> Outcome {
    let mut model = LockModel::<N>::new(bounds, locks);
    let first = model.first();
    let found = explore(&mut model, first, course);
    let reached = if model.held() > 0 { Ok(()) } else { Err("no node ever holds the lock") };
    Outcome::new(found, reached)
}

/// Everybody asks twice.
pub const ALL: Bounds = Bounds { askers: &[0, 1, 2], ..TWO };

/// Messages arrive in any order or never, and one arrives twice.
pub const DUPLICATING: Bounds = Bounds { network: Network::Unordered { duplicates: 1 }, ..TWO };

/// One node cancels and renews beside one that waits.
pub const RENEWING: Bounds = Bounds { rounds: 1, cancels: 1, renewals: 1, ..TWO };

/// One node only tries.
pub const TRYING: Bounds = Bounds { triers: &[0], ..TWO };

/// A node is suspected without reason, and messages to it may be lost meanwhile.
pub const SUSPECTING: Bounds = Bounds { rounds: 1, suspicions: 1, hours: 1, calm: true, ..TWO };

/// The first node restarts at any moment, and leases end.
pub const CRASHING: Bounds = Bounds { rounds: 1, crashes: 1, victims: &[0], hours: 2, calm: true, ..TWO };

/// The first node restarts at any moment and has lost its Lamport clock too.
pub const AMNESIAC: Bounds = Bounds { memory: Memory::Lost, ..CRASHING };

/// Leadership changes at any moment.
pub const CHANGING: Bounds = Bounds { rounds: 1, successor: Some(1), hours: 1, calm: true, ..TWO };

/// With pauses between attempts, which end when nothing is in flight or due.
#[must_use]
pub const fn slow(bounds: Bounds) -> Bounds {
    Bounds { slow: true, hours: if bounds.hours > 0 { bounds.hours } else { 1 }, calm: true, ..bounds }
}

/// Two nodes ask once each.
pub const ONCE: Bounds = Bounds { rounds: 1, ..TWO };

/// The same search up to a Lamport time: where a node waits for one that is gone, it asks again and again.
const fn until(time_max: u64, bounds: Bounds) -> Bounds {
    slow(Bounds { time_max, ..bounds })
}

/// The searches of a lock by name. A lock without an implementation does not compile.
trait Searches: Explored + Default {
    fn searches() -> Vec<(&'static str, Bounds)>;
}

impl Searches for Central {
    fn searches() -> Vec<(&'static str, Bounds)> {
        vec![
            ("two ask twice", TWO),
            ("three ask twice", ALL),
            ("cancel and renew", RENEWING),
            ("try", TRYING),
            ("false suspicion", SUSPECTING),
            ("reboot", CRASHING),
            ("reboot without records", AMNESIAC),
            ("change of leader", CHANGING),
        ]
    }
}

impl Searches for TokenRing {
    fn searches() -> Vec<(&'static str, Bounds)> {
        vec![
            ("two ask twice", TWO),
            ("three ask twice", ALL),
            ("cancel and renew", RENEWING),
            ("try", TRYING),
            ("change of leader", CHANGING),
            ("duplicates and loss", DUPLICATING),
            ("reboot", slow(CRASHING)),
            ("reboot without records", slow(AMNESIAC)),
            // While a node suspects the leader, where the token rests, the token goes round: not for ever here.
            ("false suspicion", until(14, SUSPECTING)),
        ]
    }
}

impl Searches for Lamport {
    fn searches() -> Vec<(&'static str, Bounds)> {
        vec![
            ("two ask twice", TWO),
            ("cancel and renew", RENEWING),
            ("try", TRYING),
            ("false suspicion", SUSPECTING),
            ("reboot", CRASHING),
            ("reboot without records", AMNESIAC),
        ]
    }
}

impl Searches for RicartAgrawala {
    fn searches() -> Vec<(&'static str, Bounds)> {
        vec![
            ("two ask twice", TWO),
            ("three ask twice", ALL),
            ("cancel and renew", RENEWING),
            ("try", TRYING),
            ("false suspicion", SUSPECTING),
            ("reboot", CRASHING),
            ("reboot without records", AMNESIAC),
            ("duplicates and loss", DUPLICATING),
        ]
    }
}

impl Searches for Maekawa {
    fn searches() -> Vec<(&'static str, Bounds)> {
        vec![
            ("two ask twice", slow(TWO)),
            ("cancel and renew", slow(RENEWING)),
            ("try", slow(TRYING)),
            ("false suspicion", slow(SUSPECTING)),
            ("reboot", slow(CRASHING)),
            ("reboot without records", slow(AMNESIAC)),
            ("duplicates and loss", slow(Bounds { rounds: 1, ..DUPLICATING })),
        ]
    }
}

impl Searches for Voting {
    fn searches() -> Vec<(&'static str, Bounds)> {
        // Everybody is served although no time passes: two who ask twice have more states than can be visited.
        vec![
            ("three ask once", Bounds { rounds: 1, ..ALL }),
            ("try", Bounds { triers: &[0], ..ONCE }),
            ("cancel and renew", RENEWING),
            ("false suspicion, no time", Bounds { hours: 0, ..SUSPECTING }),
            ("false suspicion", SUSPECTING),
            ("reboot", slow(CRASHING)),
            // A majority may be of nodes that never heard of the highest fence, but for the Lamport time in heartbeats.
            ("reboot without records", slow(Bounds { memory: Memory::Relearned, ..CRASHING })),
            ("loss and reordering", Bounds { network: Network::Unordered { duplicates: 0 }, ..ONCE }),
        ]
    }
}

impl Searches for Raymond {
    fn searches() -> Vec<(&'static str, Bounds)> {
        vec![
            ("two ask twice", TWO),
            ("three ask twice", ALL),
            ("cancel and renew", RENEWING),
            ("try", TRYING),
            // A node that waits for one that is gone asks again and again: not for ever here.
            ("false suspicion", until(9, SUSPECTING)),
            ("reboot", until(9, CRASHING)),
            ("reboot without records", until(9, AMNESIAC)),
        ]
    }
}

impl Searches for SuzukiKasami {
    fn searches() -> Vec<(&'static str, Bounds)> {
        vec![
            ("two ask twice", TWO),
            ("three ask twice", ALL),
            ("cancel and renew", RENEWING),
            ("try", TRYING),
            ("false suspicion", SUSPECTING),
            ("reboot", CRASHING),
            ("reboot without records", AMNESIAC),
            ("change of leader, one asks", Bounds { askers: &[0], ..CHANGING }),
            ("change of leader", CHANGING),
            ("duplicates and loss", DUPLICATING),
        ]
    }
}

/// The searches that take long, and that a usual run leaves out: a change of leader has 72,540 states with one asker and
/// 9,173,990 with two.
const LONG: &[(&str, &str)] = &[("suzuki-kasami", "change of leader")];

/// The same search with another number of nodes: with two, fewer may ask; with four, each asks once.
fn among(nodes: usize, bounds: Bounds) -> Option<Bounds> {
    match nodes {
        2 if bounds.askers.len() > 2 || bounds.successor.is_some() => None,
        // A majority of two is both: what a suspicion lost, only the end of a lease gives back.
        2 if bounds.suspicions > 0 && bounds.hours == 0 => None,
        2 => Some(Bounds { members: 2, leader: 1, ..bounds }),
        4 => Some(Bounds { members: 4, leader: 3, rounds: 1, ..bounds }),
        _ => Some(bounds),
    }
}

fn searches_of<L: Searches>(word: &'static str, nodes: usize) -> Vec<Search> {
    let named = L::searches().into_iter().filter_map(|(name, bounds)| Some((name, among(nodes, bounds)?)));
    let search = |(name, bounds): (&'static str, Bounds)| Search {
        algorithm: word,
        name,
        nodes,
        is_long: LONG.contains(&(word, name)),
        // A search up to a Lamport time ends there.
        is_cut: bounds.time_max < TWO.time_max,
        run: Box::new(move |course| explore_lock(bounds, course, |_| L::default())),
    };
    named.map(search).collect()
}

macro_rules! searches_of_every_lock {
    ($($name:ident in $module:ident = $number:literal: $word:literal, $about:literal;)+) => {
        /// Returns the searches of every lock among so many nodes.
        pub(super) fn all(nodes: usize) -> Vec<Search> {
            [$(searches_of::<$name>($word, nodes)),+].into_iter().flatten().collect()
        }
    };
}

protocol::for_each_mutex! { searches_of_every_lock }
