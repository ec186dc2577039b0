//! Every order of events of three nodes that contend for a lock, on the unchanged algorithms.
//!
//! Two or three nodes ask once or twice, at any moment, and give back at any moment. The network either keeps the link's
//! promise, with any delay between any two nodes: what is written to a node that is suspected, rightly or not, may be
//! lost. Or it keeps none: letters arrive in any order, twice or never.
//!
//! Time stands still, long after everybody started, or goes on for all at once, so far that every lease has ended; in most
//! searches only while nothing is on the way, as what comes late is for the simulator to show. A node may start anew at any
//! moment with nothing but its clock, and leadership may change hands as a quorum lets it.
//!
//! What is checked in every state: no two nodes hold the lock; fences grow; the application is told what is. And nobody
//! waits in vain: from every state in which somebody waits, steps that are taken sometime whatever else happens lead to
//! its grant: letters arrive, deadlines are met, holders give back, suspicions end, time goes on. Nobody else has to ask
//! for anything. On a network that loses letters at will that is not asked.
//!
//! The central lock and the lock of Lamport are safe only where the link keeps its promise of order.

#[path = "explore/bounds.rs"]
mod bounds;
#[path = "explore/cast.rs"]
mod cast;
#[path = "explore/fingerprint.rs"]
mod fingerprint;
#[path = "explore/locks.rs"]
mod locks;
#[path = "explore/numbered.rs"]
mod numbered;
#[path = "explore/toys.rs"]
mod toys;

use bounds::{Bounds, Post, TWO};
use cast::Explored;
use locks::{Broken, Explorer, Figures};
use protocol::mutex::{Central, Lamport, Maekawa, Raymond, RicartAgrawala, TokenRing, Voting};
use toys::{Manner, Toy};

fn explore<L: Explored>(name: &str, bounds: Bounds, lock: impl Fn(usize) -> L) -> Result<Figures, Broken> {
    let found = Explorer::new(bounds, lock).explore();
    match &found {
        Ok(Figures { states, held, cut, letters }) => {
            println!("{name} {bounds:?}: {states} states, {held} with a holder, {cut} cut, {letters} letters");
        }
        Err(Broken { why, steps }) => println!("{name} {bounds:?}: {why}\n  {}", steps.join("\n  ")),
    }
    found
}

/// Explores and says what was proved. Somebody must hold the lock sometimes: a search that reaches no grant proves
/// nothing.
fn prove<L: Explored>(name: &str, bounds: Bounds, lock: impl Fn(usize) -> L) -> Figures {
    let figures = explore(name, bounds, lock).expect("nothing goes wrong");
    assert!(figures.held > 0);
    figures
}

/// Everybody asks twice.
const ALL: Bounds = Bounds { askers: &[0, 1, 2], ..TWO };

const REPEATING: Bounds = Bounds { post: Post::Disordered { repeats: 1 }, ..TWO };

#[test]
fn replies_that_name_their_request_keep_the_lock_of_ricart_and_agrawala_safe() {
    let lock = |_| Toy::new(Manner::Named);
    for bounds in [TWO, REPEATING, ALL] {
        assert_eq!(prove("toy", bounds, lock).cut, 0);
    }
}

#[test]
fn mr1_the_textbooks_lock_of_ricart_and_agrawala_breaks_when_a_reply_comes_twice() {
    let lock = |_| Toy::new(Manner::Textbook);
    prove("textbook", TWO, lock);
    for (members, steps) in [(2, 9), (3, 15)] {
        let broken = explore("textbook", Bounds { members, leader: 0, ..REPEATING }, lock).unwrap_err();
        assert_eq!((broken.why, broken.steps.len()), ("two hold the lock", steps));
    }
}

#[test]
fn a_lock_that_forgets_a_waiter_is_found_out() {
    let lock = |_| Toy::new(Manner::Forgetful);
    let broken = explore("forgetful", Bounds { askers: &[0, 1, 2], rounds: 1, ..TWO }, lock).unwrap_err();
    assert_eq!(broken.why, "somebody waits for ever");
}

#[test]
fn a_lock_that_serves_a_waiter_only_when_another_asks_is_found_out() {
    let broken = explore("lazy", TWO, |_| Toy::new(Manner::Lazy)).unwrap_err();
    assert_eq!(broken.why, "somebody waits for ever");
}

#[test]
fn a_lock_that_does_not_say_again_what_a_node_forgot_is_found_out() {
    let lock = |_| Toy::new(Manner::Named);
    let broken = explore("toy", Bounds { crashes: 1, victims: &[2], rounds: 1, ..TWO }, lock).unwrap_err();
    assert_eq!(broken.why, "somebody waits for ever");
    let broken = explore("toy", Bounds { suspicions: 1, rounds: 1, ..TWO }, lock).unwrap_err();
    assert_eq!(broken.why, "somebody waits for ever");
}

/// One asks, is refused or served, changes its mind and asks for more time, beside one that waits.
const FICKLE: Bounds = Bounds { rounds: 1, cancels: 1, renewals: 1, ..TWO };

/// One would rather be refused than wait.
const TRYING: Bounds = Bounds { triers: &[0], ..TWO };

/// Somebody is suspected without reason, and what is written to it meanwhile may be lost.
const SUSPECTING: Bounds = Bounds { rounds: 1, suspicions: 1, hours: 1, calm: true, ..TWO };

/// The first starts anew at any moment, and leases end.
const CRASHING: Bounds = Bounds { rounds: 1, crashes: 1, victims: &[0], hours: 2, calm: true, ..TWO };

/// Leadership changes hands at any moment.
const CHANGING: Bounds = Bounds { rounds: 1, successor: Some(1), hours: 1, calm: true, ..TWO };

fn prove_all<L: Explored + Default>(name: &str, all: &[Bounds]) {
    for &bounds in all {
        assert_eq!(prove(name, bounds, |_| L::default()).cut, 0);
    }
}

/// With pauses between attempts, which end when nothing else goes on.
fn slow(bounds: Bounds) -> Bounds {
    Bounds { slow: true, hours: bounds.hours.max(1), calm: true, ..bounds }
}

#[test]
fn a_central_lock_never_has_two_holders_nor_a_forgotten_waiter() {
    prove_all::<Central>("central", &[TWO, ALL, FICKLE, TRYING, SUSPECTING, CRASHING, CHANGING]);
}

#[test]
fn a_token_ring_never_has_two_holders_nor_a_forgotten_waiter() {
    prove_all::<TokenRing>("token-ring", &[TWO, ALL, FICKLE, TRYING, CHANGING, REPEATING]);
    prove_all::<TokenRing>("token-ring", &[slow(CRASHING)]);
    // While somebody suspects the leader, with whom it rests, the token goes round: not for ever here.
    let suspecting = slow(Bounds { stamp_max: 14, ..SUSPECTING });
    prove("token-ring", suspecting, |_| TokenRing::default());
}

#[test]
fn the_lock_of_lamport_never_has_two_holders_nor_a_forgotten_waiter() {
    prove_all::<Lamport>("lamport", &[TWO, FICKLE, TRYING, SUSPECTING, CRASHING]);
}

#[test]
fn the_lock_of_ricart_and_agrawala_never_has_two_holders_nor_a_forgotten_waiter() {
    prove_all::<RicartAgrawala>("ricart-agrawala", &[TWO, ALL, FICKLE, TRYING, SUSPECTING, CRASHING, REPEATING]);
}

#[test]
fn the_lock_of_maekawa_never_has_two_holders_nor_a_forgotten_waiter() {
    let repeating = Bounds { rounds: 1, ..REPEATING };
    prove_all::<Maekawa>("maekawa", &[TWO, FICKLE, TRYING, SUSPECTING, CRASHING, repeating].map(slow));
}

#[test]
fn a_vote_of_all_never_has_two_holders_nor_a_forgotten_waiter() {
    let once = Bounds { rounds: 1, ..TWO };
    let trying = Bounds { triers: &[0], ..once };
    let fickle = Bounds { cancels: 1, renewals: 1, askers: &[0], ..once };
    prove_all::<Voting>("voting", &[once, trying, fickle, SUSPECTING, CRASHING].map(slow));
}

#[test]
fn the_lock_of_raymond_never_has_two_holders_nor_a_forgotten_waiter() {
    prove_all::<Raymond>("raymond", &[TWO, ALL, FICKLE, TRYING]);
    // Whoever waits for somebody that is gone asks again and again: not for ever here.
    for bounds in [SUSPECTING, CRASHING] {
        prove("raymond", slow(Bounds { stamp_max: 9, ..bounds }), |_| Raymond::default());
    }
}
