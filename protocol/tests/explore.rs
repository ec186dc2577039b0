//! Every order of events of a small network, on the unchanged algorithms.
//!
//! Nothing is waited for ([`protocol::Timing::ZERO`]), so any deadline may come at any moment. The network is a set:
//! whatever was ever said to a node may reach it now, later, twice or never, in any order. That is loss, repetition,
//! reordering and any delay at once: less than any election assumes. A crash needs no event of its own: whoever takes
//! no more steps has crashed, and every run may go on without anybody. In a group any node may be suspected, rightly or
//! not, and cleared of it at any moment. States are compared whole, so the search ends, and what it says holds for every
//! run within its bounds.
//!
//! What is checked in every state: nobody else leads in a term in which somebody does, by what is said or believed; no
//! node's term falls; no step says more than it may. And the best node can win.
//!
//! The bounds: term numbers up to a limit, the beats of each leader, who may start an election, and how many suspicions
//! there are at a time. A step beyond them is not followed; what lies within is explored completely.

#[path = "explore/explorer.rs"]
mod explorer;
#[path = "explore/fingerprint.rs"]
mod fingerprint;
#[path = "explore/subjects.rs"]
mod subjects;

use explorer::{Bounds, Explorer, id};
use protocol::election::{Bully, ChangRoberts, Lelann, Ring, Wireless};
use subjects::Explored;

const LINE: &[(usize, usize)] = &[(0, 1), (1, 2)];
const TRIANGLE: &[(usize, usize)] = &[(0, 1), (1, 2), (0, 2)];

/// Neighbours that stay, and probe once.
const NEAR: Bounds = Bounds { starters: &[], number_max: 1, beat_max: 0, probes: 1, suspects: 0 };

/// A group of which all may start an election.
const GROUP: Bounds = Bounds { starters: &[0, 1, 2], ..NEAR };

/// Explores and says what was proved. The best node must be among those that can win: a search that reaches no
/// election proves nothing.
fn prove<E: Explored>(name: &str, links: &[(usize, usize)], bounds: Bounds) {
    let mut explorer = Explorer::<E>::new(links, bounds);
    explorer.explore();
    println!("{name} {bounds:?}: {} states, {} messages", explorer.states, explorer.said.len());
    assert!(explorer.winners.contains(&id(2)), "the best can win");
}

#[test]
fn a_line_with_one_starter_never_has_two_leaders_in_one_term() {
    for starters in [&[0], &[1], &[2]] {
        prove::<Wireless>("line", LINE, Bounds { starters, beat_max: 1, ..NEAR });
    }
}

#[test]
fn a_line_with_two_starters_never_has_two_leaders_in_one_term() {
    for starters in [&[0, 1], &[0, 2]] {
        prove::<Wireless>("line", LINE, Bounds { starters, ..NEAR });
    }
}

#[test]
fn a_triangle_with_one_starter_never_has_two_leaders_in_one_term() {
    for starters in [&[0], &[1], &[2]] {
        prove::<Wireless>("triangle", TRIANGLE, Bounds { starters, ..NEAR });
    }
}

#[test]
fn a_triangle_with_two_starters_never_has_two_leaders_in_one_term() {
    prove::<Wireless>("triangle", TRIANGLE, Bounds { starters: &[0, 1], probes: 0, ..NEAR });
}

#[test]
fn the_bully_election_never_has_two_leaders_in_one_term() {
    prove::<Bully>("bully", &[], Bounds { suspects: 2, ..GROUP });
    prove::<Bully>("bully", &[], Bounds { number_max: 2, ..GROUP });
}

#[test]
fn the_ring_election_never_has_two_leaders_in_one_term() {
    for starters in [&[0, 1], &[0, 2], &[1, 2]] {
        prove::<Ring>("ring", &[], Bounds { starters, suspects: 1, ..GROUP });
    }
    prove::<Ring>("ring", &[], Bounds { starters: &[2], number_max: 2, suspects: 1, ..GROUP });
    prove::<Ring>("ring", &[], Bounds { number_max: 2, ..GROUP });
}

#[test]
fn the_chang_roberts_election_never_has_two_leaders_in_one_term() {
    prove::<ChangRoberts>("chang-roberts", &[], Bounds { suspects: 1, ..GROUP });
    prove::<ChangRoberts>("chang-roberts", &[], Bounds { starters: &[0], suspects: 2, ..GROUP });
    prove::<ChangRoberts>("chang-roberts", &[], Bounds { starters: &[2], number_max: 2, suspects: 1, ..GROUP });
    prove::<ChangRoberts>("chang-roberts", &[], Bounds { number_max: 2, ..GROUP });
}

#[test]
fn the_lelann_election_never_has_two_leaders_in_one_term() {
    prove::<Lelann>("lelann", &[], Bounds { number_max: 2, suspects: 1, ..GROUP });
    prove::<Lelann>("lelann", &[], Bounds { suspects: 2, beat_max: 1, starters: &[0], ..GROUP });
}
