//! The election of Chang and Roberts on whole nodes: the textbooks' examples, the formulas, and a bad network.

use crate::support::prelude::*;
use protocol::base::rng::Rng;
use protocol::election::ChangRoberts;
use protocol::election::chang_roberts::Message;
use protocol::election::leadership::LeaderMessage;

/// Nodes in range of each other that differ by their ids only, on a ring in this order.
fn ring(order: &[usize]) -> Net<ChangRoberts, NoMutex> {
    Net::new(order.len(), complete, |index| (Config { hops: 1, ..config(index) }, ChangRoberts::default(), NoMutex))
        .in_ring(order)
        .alike()
}

/// A ring in the order of ids.
fn plain(count: usize) -> Net<ChangRoberts, NoMutex> {
    ring(&(0..count).collect::<Vec<_>>())
}

/// How long an election takes at most.
const ELECTION: Duration = Duration::from_millis(400);

/// Member 2 of a group of five.
fn second() -> Single<ChangRoberts> {
    Single::new(2, roster(1..=5), ChangRoberts::default())
}

/// A random order of `count` nodes.
fn shuffled(count: usize, rng: &mut Rng) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for left in (1..count).rev() {
        order.swap(left, rng.next_u32() as usize % (left + 1));
    }
    order
}

#[test]
fn c6_started_by_17_the_highest_so_far_is_24_until_28_takes_it_from_there() {
    // The ring of the picture, clockwise from the one that starts: every id is one more than the node's index.
    let names = [17, 24, 1, 28, 15, 9, 4, 3];
    let sorted = |name: &usize| names.iter().filter(|&other| other < name).count();
    let order: Vec<usize> = names.iter().map(sorted).collect();
    let mut net = ring(&order);
    net.elect(&[order[0]], ELECTION);
    assert_eq!(net.leader(), Some(config(order[3]).me), "28");
    // 17 and 24 once each, 24 by 1 as well; 28 all the way round, and its victory.
    assert_eq!((net.messages_named("election"), net.messages_named("elected")), (3 + 8, 8));
}

#[test]
fn c7_it_takes_3n_less_1_messages_right_after_the_maximum_and_2n_by_the_maximum() {
    for nodes in [4, 8, 9, 16] {
        for (starter, messages) in [(0, 3 * nodes - 1), (nodes - 1, 2 * nodes)] {
            let mut net = plain(nodes);
            net.elect(&[starter], ELECTION);
            assert_eq!(net.leader(), Some(config(nodes - 1).me));
            assert_eq!(net.copies_of(ChangRoberts::KIND), messages, "started by {starter} of {nodes}");
        }
    }
}

#[test]
fn c9_started_by_all_it_takes_n_times_the_harmonic_number_on_average() {
    for nodes in [4, 8, 16] {
        let mut rng = Rng::new(1);
        let mut passed = 0;
        for _ in 0..1_000 {
            let order = shuffled(nodes, &mut rng);
            let mut net = ring(&order);
            net.elect(&order, ELECTION);
            assert_eq!(net.leader(), Some(config(nodes - 1).me));
            passed += net.copies_of(ChangRoberts::KIND) - nodes; // and n to announce the result
        }
        let expected: usize = (1..=nodes).map(|k| 1_000 * nodes / k).sum();
        println!("{nodes} nodes: {passed} in 1,000 rings, {expected} expected");
        assert!(passed.abs_diff(expected) * 50 < expected, "{passed} instead of {expected}");
    }
}

#[test]
fn c9_started_by_all_against_their_order_it_takes_half_the_square() {
    for nodes in [4_usize, 8, 16] {
        let order: Vec<usize> = (0..nodes).rev().collect();
        let mut net = ring(&order);
        net.elect(&order, ELECTION);
        assert_eq!(net.copies_of(ChangRoberts::KIND), nodes * (nodes + 1) / 2 + nodes);
    }
}

fn election(round: u32, id: u32) -> Message {
    Message::Election { round, candidate: Some(candidate(500, id)) }
}

#[test]
fn c3_a_member_passes_on_what_is_higher_than_all_it_passed_on_before() {
    let mut member = second();
    assert_eq!(member.receive(1, election(1, 1)), [(members(&[3]), election(1, 2))], "its own for a lower one");
    assert_eq!(member.receive(1, election(1, 1)), [], "once");
    assert_eq!(member.receive(1, election(1, 4)), [(members(&[3]), election(1, 4))]);
    assert_eq!(member.receive(1, election(1, 4)), [], "the same again");
    assert_eq!(member.receive(1, election(1, 3)), [], "lower than the last");
    assert_eq!(member.receive(1, election(1, 2)), [], "its own, but a better one is there");
    assert_eq!(member.receive(1, election(2, 1)), [(members(&[3]), election(2, 2))], "a higher round begins again");
}

#[test]
fn c3_a_number_a_failed_successor_was_sent_goes_to_the_next_one() {
    let mut member = second();
    member.receive(1, election(1, 4));
    assert_eq!(member.suspect(members(&[5])), []);
    assert_eq!(member.suspect(members(&[3])), [(members(&[4]), election(1, 4))]);
    assert_eq!(member.fact(Fact::PeerReset(members(&[4]))), [(members(&[4]), election(1, 4))]);
}

#[test]
fn c8_a_number_whose_owner_is_gone_is_not_passed_beyond_it() {
    let mut member = Single::new(4, roster(1..=5), ChangRoberts::default());
    assert_eq!(member.receive(3, election(1, 5)), [(members(&[5]), election(1, 5))]);
    assert_eq!(member.suspect(members(&[5])), [(members(&[1]), election(2, 4))], "a higher round without it");
}

#[test]
fn c8_a_participant_times_out_into_a_higher_round() {
    let mut member = second();
    member.receive(1, election(1, 5));
    assert_eq!(member.wait(), [(members(&[3]), election(2, 2))]);
}

#[test]
fn c4_the_result_goes_round_once_and_not_beyond_a_leader_that_is_gone() {
    let elected = Message::Elected { term: term(1, 5), leader: candidate(500, 5) };
    let mut member = Single::new(4, roster(1..=5), ChangRoberts::default());
    assert_eq!(member.receive(3, elected), [(members(&[5]), elected)]);
    assert_eq!(member.receive(3, elected), [], "once");
    assert_eq!(member.receive(3, election(1, 5)), [], "a number that comes late is of no use");
    let mut member = Single::new(4, roster(1..=5), ChangRoberts::default());
    member.suspect(members(&[5]));
    assert_eq!(member.receive(3, elected), []);
}

#[test]
fn c3_an_election_under_a_number_that_is_too_low_is_held_again() {
    let mut member = second();
    member.receive(1, Message::Leadership(LeaderMessage::RaiseTerm { term: term(7, 3) }));
    assert_eq!(member.receive(1, election(3, 5)), [(members(&[3]), election(8, 2))]);
}
