//! Every order of events of three nodes with an election.
//!
//! Nothing is waited for ([`protocol::Timing::ZERO`]), so any deadline may come at any moment. The network is a set: loss,
//! duplication, reordering and any delay at once, less than any election assumes. A crash needs no event of its own: a
//! node that takes no more steps has crashed, and every run may go on without any node. In a group any node may be
//! suspected, rightly or not, and trusted again at any moment.
//!
//! Checked in every state: no term has two leaders, by what is sent or believed; no node's term falls; no step asks for
//! more than it may. And the best node can win.
//!
//! The bounds: term numbers up to a limit, the heartbeats of each leader, who may start an election, and how many
//! suspicions there are at a time. A step beyond them is not followed; what lies within is explored completely.

use crate::context::id;
use crate::election_model::{Bounds, ElectionModel, Explored};
use crate::explorer::explore;

const LINE: &[(usize, usize)] = &[(0, 1), (1, 2)];
const TRIANGLE: &[(usize, usize)] = &[(0, 1), (1, 2), (0, 2)];

/// Neighbours that stay, and are probed once.
const NEAR: Bounds = Bounds { starters: &[], number_max: 1, heartbeats_max: 0, probes: 1, pulses: false, suspects: 0 };

/// A group of which all may start an election.
const GROUP: Bounds = Bounds { starters: &[0, 1, 2], ..NEAR };

/// Explores a network completely. The best node must be among the winners: a search that reaches no election proves
/// nothing.
fn prove<E: Explored>(name: &str, links: &[(usize, usize)], bounds: Bounds) {
    let mut model = ElectionModel::<E>::new(links, bounds);
    let first = model.first();
    let figures = explore(&mut model, first).expect("nothing goes wrong");
    println!("{name} {bounds:?}: {} states, {} messages", figures.states, model.messages.len());
    assert!(model.winners.contains(&id(2)), "the best can win");
}

type Search = (&'static [(usize, usize)], Bounds);

/// The searches of an election, links between neighbours and bounds: those of every run, and those of a full one.
fn searches(name: &str) -> (Vec<Search>, Vec<Search>) {
    let line = |starters| (LINE, Bounds { starters, ..NEAR });
    let triangle = |starters| (TRIANGLE, Bounds { starters, ..NEAR });
    let group = |bounds| (&[][..], bounds);
    match name {
        "wireless" => {
            let one: [&[usize]; 3] = [&[0], &[1], &[2]];
            let mut all = vec![line(&[0, 1]), line(&[0, 2]), triangle(&[0])];
            all.extend(one.map(|starters| (LINE, Bounds { starters, heartbeats_max: 1, ..NEAR })));
            // The leader may be given up, rightly or not, and its heir announced under the term that was set aside.
            let heirs = Bounds { starters: &[2], number_max: 2, heartbeats_max: 1, probes: 0, pulses: true, ..NEAR };
            all.extend([(LINE, heirs), (TRIANGLE, heirs)]);
            let two = (TRIANGLE, Bounds { starters: &[0, 1], probes: 0, ..NEAR });
            (all, vec![triangle(&[1]), triangle(&[2]), two])
        }
        // Any node may serve, resign, be lost and serve again, over one hop and two.
        "clusters" => {
            let once = |links, starters| (links, Bounds { starters, ..NEAR });
            let again = (LINE, Bounds { starters: &[2], number_max: 2, ..NEAR });
            (vec![once(LINE, &[0, 2]), once(TRIANGLE, &[1, 2]), again], vec![once(TRIANGLE, &[0, 1, 2])])
        }
        "wireless-flat" => (vec![line(&[0, 2])], vec![]),
        "bully" => (vec![group(Bounds { suspects: 2, ..GROUP }), group(Bounds { number_max: 2, ..GROUP })], vec![]),
        "ring" => {
            let two = |starters| group(Bounds { starters, suspects: 1, ..GROUP });
            let again = group(Bounds { starters: &[2], number_max: 2, suspects: 1, ..GROUP });
            let all = vec![two(&[1, 2]), again, group(Bounds { number_max: 2, ..GROUP })];
            (all, vec![two(&[0, 1]), two(&[0, 2])])
        }
        "chang-roberts" => {
            let again = Bounds { starters: &[2], number_max: 2, suspects: 1, ..GROUP };
            let all = [Bounds { suspects: 1, ..GROUP }, again, Bounds { number_max: 2, ..GROUP }];
            (all.map(group).to_vec(), vec![group(Bounds { starters: &[0], suspects: 2, ..GROUP })])
        }
        "lelann" => {
            let heartbeat = Bounds { suspects: 2, heartbeats_max: 1, starters: &[0], ..GROUP };
            (vec![group(Bounds { number_max: 2, suspects: 1, ..GROUP }), group(heartbeat)], vec![])
        }
        name => panic!("no searches for {name}"),
    }
}

macro_rules! searches_of_every_election {
    ($($name:ident in $module:ident = $number:literal: $word:literal, $about:literal;)+) => {$(
        #[test]
        fn $module() {
            let (always, full) = super::searches($word);
            for (links, bounds) in always.into_iter().chain(full.into_iter().filter(|_| crate::storms::full())) {
                super::prove::<protocol::election::$name>($word, links, bounds);
            }
        }
    )+};
}

mod no_term_has_two_leaders {
    protocol::for_each_election! { searches_of_every_election }
}
