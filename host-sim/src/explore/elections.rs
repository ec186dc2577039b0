//! Every order of events of a few nodes with an election.
//!
//! Nothing is waited for ([`protocol::Timing::ZERO`]), so any deadline may come at any moment. The network is a set: loss,
//! duplication, reordering and any delay at once, less than any election assumes. A crash needs no event of its own: a
//! node that takes no more steps has crashed, and every run may go on without any node. In a group any node may be
//! suspected, rightly or not, and trusted again at any moment. A node may reboot at any moment, with its records or without;
//! without them it is in quarantine for as long as the search lasts, since every old message may still arrive.
//!
//! Checked in every state: no term has two leaders, by what is sent or believed; no node's term falls; no step asks for
//! more than it may. And the best node can win.
//!
//! The bounds: term numbers up to a limit, the heartbeats of each leader, who may start an election, and how many
//! suspicions and reboots there are. A step beyond them is not followed; what lies within is explored completely.

use super::election_machine::{Elections, Machine};
use super::election_model::{Bounds, ElectionModel, Explored};
use super::schedule::Course;
use super::search::explore;
use super::{Outcome, Search};
use protocol::election::{Bully, ChangRoberts, Clusters, Invitation, Lelann, Ring, Wireless, WirelessFlat};

type Links = &'static [(usize, usize)];

const LINE: Links = &[(0, 1), (1, 2)];
const TRIANGLE: Links = &[(0, 1), (1, 2), (0, 2)];
const PAIR: Links = &[(0, 1)];
const LINE_OF_FOUR: Links = &[(0, 1), (1, 2), (2, 3)];
const SQUARE: Links = &[(0, 1), (1, 2), (2, 3), (3, 0)];

/// Neighbours that stay, and are probed once.
pub const NEAR: Bounds = Bounds {
    members: 3,
    starters: &[],
    number_max: 1,
    heartbeats_max: 0,
    probes: 1,
    pulses: false,
    suspects: 0,
    reboots: 0,
    victims: &[],
    amnesia: false,
};

/// A group of which all may start an election.
pub const GROUP: Bounds = Bounds { starters: &[0, 1, 2], ..NEAR };

/// Explores an election. The best node must be among the winners: a search that reaches no election proves nothing.
#[must_use]
pub fn explore_election<'a, E: Explored>(
    links: &[(usize, usize)],
    bounds: Bounds,
    course: impl Into<Course<'a>>,
) -> Outcome {
    explore_elections(bounds, course.into(), Box::new(Elections::<E>::new(links, bounds)))
}

fn explore_elections(bounds: Bounds, course: Course<'_>, elections: Box<dyn Machine>) -> Outcome {
    if bounds.members <= 3 {
        explore_among::<3>(bounds, course, elections)
    } else {
        explore_among::<4>(bounds, course, elections)
    }
}

fn explore_among<const N: usize>(bounds: Bounds, course: Course<'_>, elections: Box<dyn Machine>) -> Outcome {
    let mut model = ElectionModel::<N>::new(bounds, elections);
    let first = model.first();
    let mut found = explore(&mut model, first, course);
    if let Ok(figures) = &mut found {
        figures.complete &= !model.overflowed();
    }
    let reached = if model.won(bounds.members - 1) { Ok(()) } else { Err("the best node never wins") };
    Outcome::new(found, reached)
}

/// One search of an election: its name, whether it takes long, its links and its bounds.
type Named = (&'static str, bool, Links, Bounds);

/// The reboot of a node, of which another has started an election before.
const fn rebooting(starters: &'static [usize], victims: &'static [usize]) -> Bounds {
    Bounds { starters, victims, reboots: 1, ..NEAR }
}

/// The same without records.
const fn forgetting(bounds: Bounds) -> Bounds {
    Bounds { amnesia: true, ..bounds }
}

/// The searches of an election among three nodes.
fn searches(word: &str) -> Vec<Named> {
    let line = |name, starters| (name, false, LINE, Bounds { starters, ..NEAR });
    let triangle = |name, long, starters| (name, long, TRIANGLE, Bounds { starters, ..NEAR });
    let group = |name, bounds| (name, false, &[][..], bounds);
    let long = |name, bounds| (name, true, &[][..], bounds);
    match word {
        "wireless" => {
            let beats = |starters| Bounds { starters, heartbeats_max: 1, ..NEAR };
            // The leader may be given up, rightly or not, and its heir announced under the term that was set aside.
            let heirs = Bounds { starters: &[2], number_max: 2, heartbeats_max: 1, probes: 0, pulses: true, ..NEAR };
            let reboots = Bounds { probes: 0, ..rebooting(&[0], &[1]) };
            vec![
                line("line, 0 and 1 start", &[0, 1]),
                line("line, 0 and 2 start", &[0, 2]),
                triangle("triangle, 0 starts", false, &[0]),
                ("heartbeats, 0 starts", false, LINE, beats(&[0])),
                ("heartbeats, 1 starts", false, LINE, beats(&[1])),
                ("heartbeats, 2 starts", false, LINE, beats(&[2])),
                ("heirs in a line", false, LINE, heirs),
                ("heirs in a triangle", false, TRIANGLE, heirs),
                ("reboot", false, LINE, reboots),
                ("reboot without records", false, LINE, forgetting(reboots)),
                triangle("triangle, 1 starts", true, &[1]),
                triangle("triangle, 2 starts", true, &[2]),
                ("triangle, 0 and 1 start", true, TRIANGLE, Bounds { starters: &[0, 1], probes: 0, ..NEAR }),
            ]
        }
        // Any node may serve, resign, be lost and serve again, over one hop and two.
        "clusters" => vec![
            line("line, 0 and 2 serve", &[0, 2]),
            triangle("triangle, 1 and 2 serve", false, &[1, 2]),
            ("line, 2 serves twice", false, LINE, Bounds { starters: &[2], number_max: 2, ..NEAR }),
            ("reboot", false, LINE, rebooting(&[2], &[1])),
            ("reboot without records", false, LINE, forgetting(rebooting(&[2], &[1]))),
            triangle("triangle, all serve", true, &[0, 1, 2]),
        ],
        "wireless-flat" => {
            let reboots = rebooting(&[0], &[1]);
            vec![
                line("line, 0 and 2 start", &[0, 2]),
                ("reboot", false, LINE, reboots),
                ("reboot without records", false, LINE, forgetting(reboots)),
            ]
        }
        "bully" => {
            let reboots = Bounds { number_max: 2, ..rebooting(&[1, 2], &[2]) };
            vec![
                group("two suspicions", Bounds { suspects: 2, ..GROUP }),
                group("two terms", Bounds { number_max: 2, ..GROUP }),
                group("reboot", reboots),
                group("reboot without records", forgetting(reboots)),
            ]
        }
        "ring" => {
            let two = |starters| Bounds { starters, suspects: 1, ..GROUP };
            let again = Bounds { starters: &[2], number_max: 2, suspects: 1, ..GROUP };
            let reboots = Bounds { number_max: 2, ..rebooting(&[2], &[0, 1, 2]) };
            vec![
                group("suspicion, 1 and 2 start", two(&[1, 2])),
                group("suspicion, 2 starts twice", again),
                group("two terms", Bounds { number_max: 2, ..GROUP }),
                group("reboot", reboots),
                group("reboot without records", forgetting(reboots)),
                long("suspicion, 0 and 1 start", two(&[0, 1])),
                long("suspicion, 0 and 2 start", two(&[0, 2])),
            ]
        }
        "chang-roberts" => {
            let again = Bounds { starters: &[2], number_max: 2, suspects: 1, ..GROUP };
            let reboots = Bounds { number_max: 2, ..rebooting(&[0, 1, 2], &[0, 1, 2]) };
            vec![
                group("suspicion", Bounds { suspects: 1, ..GROUP }),
                group("suspicion, 2 starts twice", again),
                group("two terms", Bounds { number_max: 2, ..GROUP }),
                group("reboot", reboots),
                group("reboot without records", forgetting(reboots)),
                long("two suspicions, 0 starts", Bounds { starters: &[0], suspects: 2, ..GROUP }),
            ]
        }
        "lelann" => {
            let heartbeat = Bounds { suspects: 2, heartbeats_max: 1, starters: &[0], ..GROUP };
            let reboots = Bounds { number_max: 2, ..rebooting(&[0, 1, 2], &[0, 1, 2]) };
            vec![
                group("suspicion, two terms", Bounds { number_max: 2, suspects: 1, ..GROUP }),
                group("two suspicions, heartbeat", heartbeat),
                group("reboot", reboots),
                group("reboot without records", forgetting(reboots)),
            ]
        }
        // Members take part in many merges at once: of three, no search ends within millions of states.
        "invitation" => {
            let pair = Bounds { members: 2, starters: &[0, 1], heartbeats_max: 1, ..NEAR };
            let reboots = Bounds { reboots: 1, victims: &[0], ..pair };
            vec![
                group("two members", pair),
                group("two members, suspicion", Bounds { suspects: 1, ..pair }),
                group("reboot", reboots),
                group("reboot without records", forgetting(reboots)),
            ]
        }
        word => panic!("no searches for {word}"),
    }
}

/// The searches of an election among two or four nodes: one term, and a reboot of the first.
fn small_or_large(word: &str, nodes: usize) -> Vec<Named> {
    // Members of a group that is formed by invitation follow its coordinator from its first heartbeat on.
    let near = Bounds { members: nodes, heartbeats_max: u32::from(word == "invitation"), ..NEAR };
    let reboots = Bounds { reboots: 1, victims: &[0], ..near };
    let grouped = !matches!(word, "wireless" | "wireless-flat" | "clusters");
    let (links, round): (Links, Links) = match (grouped, nodes) {
        (true, _) => (&[], &[]),
        (false, 2) => (PAIR, PAIR),
        (false, _) => (LINE_OF_FOUR, SQUARE),
    };
    let starters: &[usize] = if nodes == 2 { &[0, 1] } else { &[3] };
    vec![
        ("one term", false, links, Bounds { starters, ..near }),
        ("one term in a square", false, round, Bounds { starters, ..near }),
        ("suspicion", false, links, Bounds { starters, suspects: 1, ..near }),
        ("reboot", false, links, Bounds { starters, ..reboots }),
        ("reboot without records", false, links, Bounds { starters, amnesia: true, ..reboots }),
    ]
    .into_iter()
    .filter(|(name, ..)| match *name {
        "one term in a square" => !grouped && nodes == 4,
        "suspicion" => grouped,
        _ => true,
    })
    .collect()
}

fn searches_of<E: Explored>(word: &'static str, nodes: usize) -> Vec<Search> {
    let named = if nodes == 3 { searches(word) } else { small_or_large(word, nodes) };
    let search = |(name, is_long, links, bounds): Named| Search {
        algorithm: word,
        name,
        nodes,
        is_long,
        is_cut: true,
        run: Box::new(move |course| explore_election::<E>(links, bounds, course)),
    };
    named.into_iter().map(search).collect()
}

macro_rules! searches_of_every_election {
    ($($name:ident in $module:ident = $number:literal: $word:literal, $about:literal;)+) => {
        /// Returns the searches of every election among so many nodes.
        pub(super) fn all(nodes: usize) -> Vec<Search> {
            [$(searches_of::<$name>($word, nodes)),+].into_iter().flatten().collect()
        }
    };
}

protocol::for_each_election! { searches_of_every_election }
