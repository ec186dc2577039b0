//! Every order of events of three nodes that contend for a lock.
//!
//! Two or three nodes ask once or twice, at any moment, and release at any moment. The network keeps the link's promise
//! with any delay between any two nodes: messages to a node that is suspected, rightly or not, may be lost. Or it keeps
//! none: messages arrive in any order, twice or never.
//!
//! Time stands still, long after every node started, or advances for all at once, so far that every lease has ended; in
//! most searches only while nothing is in flight, as late messages are for the simulator to show. A node may restart at any
//! moment with nothing but its Lamport clock, and leadership may change as a quorum lets it.
//!
//! Checked in every state: no two nodes hold the lock; fences grow; the application's notices are true. And no node
//! starves: from every state in which a node waits, fair moves lead to its grant: messages arrive, deadlines are met,
//! holders release, suspicions end, time advances. No other node has to ask for anything. On a network that loses messages
//! at will that is not checked.
//!
//! The central lock and the lock of Lamport are safe only where the link keeps its promise of order.

use crate::broken_locks::{BrokenLock, Fault};
use crate::explorer::{self, Figures, Violation};
use crate::lock_model::{Bounds, LockModel, Network, TWO};
use crate::lock_node::Explored;
use protocol::mutex::{Central, Lamport, Maekawa, Raymond, RicartAgrawala, SuzukiKasami, TokenRing, Voting};

/// Explores a lock; the figures, and in how many states it was held.
fn explore<L: Explored>(name: &str, bounds: Bounds, lock: impl Fn(usize) -> L) -> Result<(Figures, usize), Violation> {
    let mut model = LockModel::new(bounds, lock);
    let first = model.first();
    let found = explorer::explore(&mut model, first);
    match &found {
        Ok(Figures { states, cut }) => {
            let (held, messages) = (model.held, model.nodes.messages.len());
            println!("{name} {bounds:?}: {states} states, {held} with a holder, {cut} cut, {messages} messages");
        }
        Err(Violation { why, steps }) => println!("{name} {bounds:?}: {why}\n  {}", steps.join("\n  ")),
    }
    found.map(|figures| (figures, model.held))
}

/// Explores a lock that is safe. A node must hold it sometimes: a search that reaches no grant proves nothing.
fn prove<L: Explored>(name: &str, bounds: Bounds, lock: impl Fn(usize) -> L) -> Figures {
    let (figures, held) = explore(name, bounds, lock).expect("nothing goes wrong");
    assert!(held > 0);
    figures
}

/// Everybody asks twice.
const ALL: Bounds = Bounds { askers: &[0, 1, 2], ..TWO };

const DUPLICATING: Bounds = Bounds { network: Network::Unordered { duplicates: 1 }, ..TWO };

#[test]
fn replies_that_name_their_request_keep_the_lock_of_ricart_and_agrawala_safe() {
    let lock = |_| BrokenLock::new(Fault::None);
    for bounds in [TWO, DUPLICATING, ALL] {
        assert_eq!(prove("no fault", bounds, lock).cut, 0);
    }
}

#[test]
fn mr1_the_textbooks_lock_of_ricart_and_agrawala_breaks_when_a_reply_is_duplicated() {
    let lock = |_| BrokenLock::new(Fault::Textbook);
    prove("textbook", TWO, lock);
    for (members, steps) in [(2, 9), (3, 15)] {
        let broken = explore("textbook", Bounds { members, leader: 0, ..DUPLICATING }, lock).unwrap_err();
        assert_eq!((broken.why, broken.steps.len()), ("two hold the lock", steps));
    }
}

#[test]
fn a_lock_that_forgets_a_waiting_node_is_found_out() {
    let lock = |_| BrokenLock::new(Fault::Forgetful);
    let broken = explore("forgetful", Bounds { askers: &[0, 1, 2], rounds: 1, ..TWO }, lock).unwrap_err();
    assert_eq!(broken.why, "a node waits for ever");
}

#[test]
fn a_lock_that_serves_a_waiting_node_only_when_another_asks_is_found_out() {
    let broken = explore("lazy", TWO, |_| BrokenLock::new(Fault::Lazy)).unwrap_err();
    assert_eq!(broken.why, "a node waits for ever");
}

#[test]
fn a_lock_that_does_not_repeat_what_a_restarted_node_lost_is_found_out() {
    let lock = |_| BrokenLock::new(Fault::None);
    let broken = explore("no fault", Bounds { crashes: 1, victims: &[2], rounds: 1, ..TWO }, lock).unwrap_err();
    assert_eq!(broken.why, "a node waits for ever");
    let broken = explore("no fault", Bounds { suspicions: 1, rounds: 1, ..TWO }, lock).unwrap_err();
    assert_eq!(broken.why, "a node waits for ever");
}

/// One node cancels and renews beside one that waits.
const RENEWING: Bounds = Bounds { rounds: 1, cancels: 1, renewals: 1, ..TWO };

/// One node only tries.
const TRYING: Bounds = Bounds { triers: &[0], ..TWO };

/// A node is suspected without reason, and messages to it may be lost meanwhile.
const SUSPECTING: Bounds = Bounds { rounds: 1, suspicions: 1, hours: 1, calm: true, ..TWO };

/// The first node restarts at any moment, and leases end.
const CRASHING: Bounds = Bounds { rounds: 1, crashes: 1, victims: &[0], hours: 2, calm: true, ..TWO };

/// Leadership changes at any moment.
const CHANGING: Bounds = Bounds { rounds: 1, successor: Some(1), hours: 1, calm: true, ..TWO };

/// With pauses between attempts, which end when nothing is in flight or due.
const fn slow(bounds: Bounds) -> Bounds {
    Bounds { slow: true, hours: if bounds.hours > 0 { bounds.hours } else { 1 }, calm: true, ..bounds }
}

/// The searches of a lock: those that are complete, and those that are cut at a Lamport time. A lock without an
/// implementation does not compile.
trait Searches: Explored + Default {
    fn searches() -> (Vec<Bounds>, Vec<Bounds>);
}

/// Two nodes ask once each.
const ONCE: Bounds = Bounds { rounds: 1, ..TWO };

const fn until(time_max: u64, bounds: Bounds) -> Bounds {
    slow(Bounds { time_max, ..bounds })
}

impl Searches for Central {
    fn searches() -> (Vec<Bounds>, Vec<Bounds>) {
        (vec![TWO, ALL, RENEWING, TRYING, SUSPECTING, CRASHING, CHANGING], vec![])
    }
}

impl Searches for TokenRing {
    fn searches() -> (Vec<Bounds>, Vec<Bounds>) {
        // While a node suspects the leader, where the token rests, the token goes round: not for ever here.
        (vec![TWO, ALL, RENEWING, TRYING, CHANGING, DUPLICATING, slow(CRASHING)], vec![until(14, SUSPECTING)])
    }
}

impl Searches for Lamport {
    fn searches() -> (Vec<Bounds>, Vec<Bounds>) {
        (vec![TWO, RENEWING, TRYING, SUSPECTING, CRASHING], vec![])
    }
}

impl Searches for RicartAgrawala {
    fn searches() -> (Vec<Bounds>, Vec<Bounds>) {
        (vec![TWO, ALL, RENEWING, TRYING, SUSPECTING, CRASHING, DUPLICATING], vec![])
    }
}

impl Searches for Maekawa {
    fn searches() -> (Vec<Bounds>, Vec<Bounds>) {
        let duplicating = Bounds { rounds: 1, ..DUPLICATING };
        (vec![TWO, RENEWING, TRYING, SUSPECTING, CRASHING, duplicating].into_iter().map(slow).collect(), vec![])
    }
}

impl Searches for Voting {
    fn searches() -> (Vec<Bounds>, Vec<Bounds>) {
        // Everybody is served although no time passes: two who ask twice have more states than can be visited.
        let all = Bounds { rounds: 1, ..ALL };
        let trying = Bounds { triers: &[0], ..ONCE };
        let suspecting = Bounds { hours: 0, ..SUSPECTING };
        let unordered = Bounds { network: Network::Unordered { duplicates: 0 }, ..ONCE };
        (vec![all, trying, RENEWING, suspecting, SUSPECTING, slow(CRASHING), unordered], vec![])
    }
}

impl Searches for Raymond {
    fn searches() -> (Vec<Bounds>, Vec<Bounds>) {
        // A node that waits for one that is gone asks again and again: not for ever here.
        (vec![TWO, ALL, RENEWING, TRYING], vec![until(9, SUSPECTING), until(9, CRASHING)])
    }
}

impl Searches for SuzukiKasami {
    fn searches() -> (Vec<Bounds>, Vec<Bounds>) {
        // A change of leader has 72,540 states with one asker and 9,173,990 with two.
        let changing = if crate::storms::full() { CHANGING } else { Bounds { askers: &[0], ..CHANGING } };
        (vec![TWO, ALL, RENEWING, TRYING, SUSPECTING, CRASHING, changing, DUPLICATING], vec![])
    }
}

macro_rules! searches_of_every_lock {
    ($($name:ident in $module:ident = $number:literal: $word:literal, $about:literal;)+) => {$(
        #[test]
        fn $module() {
            let (complete, cut) = super::$name::searches();
            for bounds in complete {
                assert_eq!(super::prove($word, bounds, |_| super::$name::default()).cut, 0);
            }
            for bounds in cut {
                super::prove($word, bounds, |_| super::$name::default());
            }
        }
    )+};
}

mod no_two_hold_the_lock_and_no_node_starves {
    use super::Searches;

    protocol::for_each_mutex! { searches_of_every_lock }
}
