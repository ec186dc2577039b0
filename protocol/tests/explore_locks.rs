//! Every order of events of three nodes that contend for a lock, on the unchanged algorithms.
//!
//! Every node but the bystander asks twice, at any moment, and gives back at any moment. The network either keeps the link's
//! promise, with any delay between any two nodes: what is written to a node that is suspected, rightly or not, may be
//! lost. Or it keeps none: letters arrive in any order, twice or never. Time stands still, long after everybody started:
//! no lease ends, and whatever else waits for time does so in vain or need not.
//!
//! What is checked in every state: no two nodes hold the lock; fences grow; the application is told what is. And nobody
//! waits in vain: from every state in which somebody waits, steps that are taken sometime whatever else happens lead to
//! its grant: letters arrive, deadlines are met, holders give back, suspicions end. Nobody else has to ask for anything.

#[path = "explore/cast.rs"]
mod cast;
#[path = "explore/fingerprint.rs"]
mod fingerprint;
#[path = "explore/locks.rs"]
mod locks;
#[path = "explore/toys.rs"]
mod toys;

use cast::Explored;
use protocol::mutex::*;
use locks::{Bounds, Broken, Explorer, Figures, Post, TWO};
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

fn probe<L: Explored + Default>(name: &str) {
    let which = std::env::var("PROBE").unwrap_or_default();
    let sets: Vec<Bounds> = match which.as_str() {
        "all" => vec![ALL],
        "cancel" => vec![Bounds { cancels: 1, renewals: 1, rounds: 1, ..ALL }, Bounds { cancels: 1, renewals: 1, ..TWO }],
        "try" => vec![Bounds { triers: &[0], ..TWO }],
        "down" => vec![Bounds { suspicions: 1, hours: 1, calm: true, ..TWO }],
        "crash" => vec![Bounds { crashes: 1, victims: &[0], hours: 2, calm: true, rounds: 1, ..TWO }, Bounds { crashes: 1, victims: &[1], hours: 2, calm: true, rounds: 1, ..TWO }],
        "night" => vec![Bounds { hours: 1, ..TWO }],
        "lead" => vec![Bounds { successor: Some(1), hours: 1, calm: true, rounds: 1, ..TWO }],
        "repeat" => vec![REPEATING],
        _ => vec![TWO],
    };
    for bounds in sets {
        let bounds = if name == "voting" { Bounds { slow: true, hours: bounds.hours.max(2), calm: true, ..bounds } } else { bounds };
        let t = std::time::Instant::now();
        let _ = std::panic::catch_unwind(|| explore(name, bounds, |_| L::default()));
        println!("{name} took {:?}", t.elapsed());
    }
}

#[test]
fn probe_central() {
    probe::<Central>("central");
}
#[test]
fn probe_lamport() {
    probe::<Lamport>("lamport");
}
#[test]
fn probe_ricart() {
    probe::<RicartAgrawala>("ricart");
}
#[test]
fn probe_maekawa() {
    probe::<Maekawa>("maekawa");
}
#[test]
fn probe_voting() {
    probe::<Voting>("voting");
}
#[test]
fn probe_token() {
    probe::<TokenRing>("token");
}
#[test]
fn probe_raymond() {
    probe::<Raymond>("raymond");
}
