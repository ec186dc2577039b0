//! The election of Le Lann on whole nodes and message by message: its formula, and a ring that breaks.

use crate::support::prelude::*;
use protocol::base::capacity::Capacity;
use protocol::election::lelann::{Message, Number};
use protocol::election::{Election, Lelann};

fn room(count: usize) -> Net<Lelann, NoMutex> {
    Net::room(count, Lelann::default)
}

/// How long an election takes at most.
const ELECTION: Duration = Duration::from_millis(400);

/// Member 2 of a group of five.
fn second() -> Single<Lelann> {
    Single::new(2, roster(1..=5), Lelann::default())
}

#[test]
fn l2_it_takes_n_squared_messages_whatever_starts_it() {
    for nodes in [4, 8, 16] {
        let all: Vec<usize> = (0..nodes).collect();
        for starters in [&all[..1], &all[nodes - 1..], &all[1..3], &all] {
            let mut net = room(nodes);
            net.elect(starters, ELECTION);
            assert_eq!(net.leader(), Some(config(nodes - 1).me));
            assert_eq!(net.copies_of(Lelann::KIND), nodes * nodes, "{nodes} nodes, started by {starters:?}");
        }
    }
}

#[test]
fn l2_the_dead_are_not_counted() {
    for nodes in [4, 8, 16] {
        let mut net = room(nodes);
        net.run_secs(3).crash(nodes - 1).run_secs(8);
        net.sent.clear();
        net.elect(&[0], ELECTION);
        assert_eq!(net.leader(), Some(config(nodes - 2).me));
        assert_eq!(net.copies_of(Lelann::KIND), (nodes - 1) * (nodes - 1));
    }
}

fn number(round: u32, id: u32, hops: u8) -> Message {
    Message::Number(Number { round, owner: NodeId(id), capacity: Some(Capacity::new(500)), hops })
}

#[test]
fn l1_a_member_sends_its_own_number_first_and_passes_every_other_on_once() {
    let mut member = second();
    let to = members(&[3]);
    assert_eq!(member.receive(1, number(1, 1, 1)), [(to, number(1, 2, 1)), (to, number(1, 1, 2))]);
    assert_eq!(member.receive(1, number(1, 1, 1)), []);
    assert_eq!(member.receive(1, number(1, 5, 2)), [(to, number(1, 5, 3))]);
}

#[test]
fn l1_a_member_whose_number_is_back_waits_for_as_many_as_that_took_hops() {
    let mut member = second();
    for id in [1, 5, 3] {
        member.receive(1, number(1, id, 1));
    }
    assert_eq!(member.receive(1, number(1, 2, 5)), []);
    assert_eq!(member.algorithm.leader(), None, "4 is missing, overtaken on the way");
    assert_eq!(member.receive(1, number(1, 4, 3)), [(members(&[3]), number(1, 4, 4))]);
    assert_eq!(member.algorithm.leader().map(|(leader, _)| leader), Some(NodeId(5)));
}

#[test]
fn l1_a_ring_that_breaks_is_walked_again() {
    let mut member = second();
    member.receive(1, number(1, 1, 1));
    assert_eq!(member.suspect(members(&[4])), []);
    assert_eq!(member.suspect(members(&[3])), [(members(&[5]), number(2, 2, 1))]);
    assert_eq!(member.receive(1, number(2, 4, 3)), [(members(&[5]), number(3, 2, 1))], "4 would not get it back");
    assert_eq!(member.wait(), [(members(&[5]), number(4, 2, 1))]);
}
