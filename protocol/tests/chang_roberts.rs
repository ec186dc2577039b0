//! The election of Chang and Roberts on whole nodes: the textbooks' examples, the formulas, and what a bad network does to it.

mod common;

use common::member::{Member, candidate, places, term};
use common::{Net, complete, config, letters};
use protocol::dice::Dice;
use protocol::election::chang_roberts::Message;
use protocol::election::reign::Word;
use protocol::election::{ChangRoberts, Command};
use protocol::mutex::NoMutex;
use protocol::node::Input;
use protocol::wire::Kind;
use protocol::{Config, NodeId, Span};

/// Nodes that all hear each other, alike but for their names, on a ring in this order.
fn ring(order: &[usize]) -> Net<ChangRoberts, NoMutex> {
    Net::new(order.len(), complete, |index| (Config { hops: 1, ..config(index) }, ChangRoberts::new(), NoMutex))
        .in_ring(order)
        .alike()
}

/// A ring in the order of names.
fn plain(count: usize) -> Net<ChangRoberts, NoMutex> {
    ring(&(0..count).collect::<Vec<_>>())
}

/// Has nodes start elections at one moment, and lets these come to their end.
fn elect(net: &mut Net<ChangRoberts, NoMutex>, starters: &[usize]) {
    for &starter in starters {
        net.put(starter, Input::Election(Command::Call));
    }
    net.run(Span::from_millis(400));
}

/// A random order of `count` nodes.
fn shuffled(count: usize, dice: &mut Dice) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for left in (1..count).rev() {
        order.swap(left, dice.throw() as usize % (left + 1));
    }
    order
}

#[test]
fn c5_nodes_that_start_together_elect_the_best() {
    let mut net = plain(5);
    net.run(Span::from_secs(5));
    assert_eq!(net.leader(), Some(NodeId(5)));
}

#[test]
fn c6_started_by_17_the_highest_so_far_is_24_until_28_takes_it_from_there() {
    // The ring of the picture, clockwise from the one that starts: every name is one more than the node's index.
    let names = [17, 24, 1, 28, 15, 9, 4, 3];
    let sorted = |name: &usize| names.iter().filter(|&other| other < name).count();
    let order: Vec<usize> = names.iter().map(sorted).collect();
    let mut net = ring(&order);
    elect(&mut net, &[order[0]]);
    assert_eq!(net.leader(), Some(config(order[3]).me), "28");
    // 17 and 24 once each, 24 by 1 as well; 28 all the way round, and its victory.
    assert_eq!((net.said("election"), net.said("elected")), (3 + 8, 8));
}

#[test]
fn c7_started_right_after_the_maximum_it_takes_3n_less_1_letters() {
    for nodes in [4, 8, 9, 16] {
        let mut net = plain(nodes);
        elect(&mut net, &[0]);
        assert_eq!(net.leader(), Some(config(nodes - 1).me));
        assert_eq!(letters(&net, Kind::ChangRoberts), 3 * nodes - 1);
    }
}

#[test]
fn c7_started_by_the_maximum_it_takes_2n_letters() {
    for nodes in [4, 8, 16] {
        let mut net = plain(nodes);
        elect(&mut net, &[nodes - 1]);
        assert_eq!(net.leader(), Some(config(nodes - 1).me));
        assert_eq!(letters(&net, Kind::ChangRoberts), 2 * nodes);
    }
}

#[test]
fn c9_started_by_all_it_takes_n_times_the_harmonic_number_on_average() {
    for nodes in [4, 8, 16] {
        let mut dice = Dice::new(1);
        let mut passed = 0;
        for _ in 0..1_000 {
            let order = shuffled(nodes, &mut dice);
            let mut net = ring(&order);
            elect(&mut net, &order);
            assert_eq!(net.leader(), Some(config(nodes - 1).me));
            passed += letters(&net, Kind::ChangRoberts) - nodes; // and n to tell the result
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
        elect(&mut net, &order);
        assert_eq!(letters(&net, Kind::ChangRoberts), nodes * (nodes + 1) / 2 + nodes);
    }
}

fn election(round: u32, name: u32) -> Message {
    Message::Election { round, candidate: Some(candidate(name)) }
}

#[test]
fn c3_a_member_passes_on_what_is_higher_than_all_it_passed_on_before() {
    let mut member = Member::new(2, ChangRoberts::new());
    assert_eq!(member.hear(1, election(1, 1)), [(places(&[3]), election(1, 2))], "its own for a lower one");
    assert_eq!(member.hear(1, election(1, 1)), [], "once");
    assert_eq!(member.hear(1, election(1, 4)), [(places(&[3]), election(1, 4))]);
    assert_eq!(member.hear(1, election(1, 4)), [], "the same again");
    assert_eq!(member.hear(1, election(1, 3)), [], "lower than the last");
    assert_eq!(member.hear(1, election(1, 2)), [], "its own, but a better one is there");
    assert_eq!(member.hear(1, election(2, 1)), [(places(&[3]), election(2, 2))], "in a higher round all begins anew");
}

#[test]
fn c3_what_a_failed_successor_was_given_goes_to_the_next_one() {
    let mut member = Member::new(2, ChangRoberts::new());
    member.hear(1, election(1, 4));
    assert_eq!(member.lose(&[5]), []);
    assert_eq!(member.lose(&[3]), [(places(&[4]), election(1, 4))]);
    assert_eq!(member.restart(&[4]), [(places(&[4]), election(1, 4))]);
}

#[test]
fn c8_a_number_whose_owner_is_gone_is_not_passed_beyond_it() {
    let mut member = Member::new(4, ChangRoberts::new());
    assert_eq!(member.hear(3, election(1, 5)), [(places(&[5]), election(1, 5))]);
    assert_eq!(member.lose(&[5]), [(places(&[1]), election(2, 4))], "a higher round without it");
}

#[test]
fn c8_taking_part_ends_with_patience_in_a_higher_round() {
    let mut member = Member::new(2, ChangRoberts::new());
    member.hear(1, election(1, 5));
    assert_eq!(member.wait(), [(places(&[3]), election(2, 2))]);
}

#[test]
fn c4_the_news_go_round_once_and_not_beyond_a_leader_that_is_gone() {
    let elected = Message::Elected { term: term(1, 5), leader: candidate(5) };
    let mut member = Member::new(4, ChangRoberts::new());
    assert_eq!(member.hear(3, elected), [(places(&[5]), elected)]);
    assert_eq!(member.hear(3, elected), [], "once");
    assert_eq!(member.hear(3, election(1, 5)), [], "a number that comes late is of no use");
    let mut member = Member::new(4, ChangRoberts::new());
    member.lose(&[5]);
    assert_eq!(member.hear(3, elected), []);
}

#[test]
fn c3_an_election_under_a_number_that_is_too_low_is_held_again() {
    let mut member = Member::new(2, ChangRoberts::new());
    member.hear(1, Message::Reign(Word::Raise { term: term(7, 3) }));
    assert_eq!(member.hear(1, election(3, 5)), [(places(&[3]), election(8, 2))]);
}

#[test]
fn c8_a_maximum_that_crashes_when_its_number_has_passed_does_not_hang_the_ring() {
    for millis in 0..60 {
        let mut net = plain(6);
        net.put(2, Input::Election(Command::Call));
        net.run(Span::from_millis(millis));
        net.crash(5);
        net.run(Span::from_secs(12));
        assert_eq!(net.leader(), Some(NodeId(5)), "crashed after {millis} ms");
    }
}

#[test]
fn c8_a_starter_or_a_successor_that_crashes_costs_time_only() {
    for crashed in [0, 1, 2, 3] {
        for millis in 0..40 {
            let mut net = plain(6);
            net.put(0, Input::Election(Command::Call));
            net.run(Span::from_millis(millis));
            net.crash(crashed);
            net.run(Span::from_secs(12));
            assert_eq!(net.leader(), Some(NodeId(6)), "{crashed} crashed after {millis} ms");
        }
    }
}

#[test]
fn c8_a_leader_that_dies_is_replaced_by_the_next_best() {
    let mut net = plain(8);
    net.run(Span::from_secs(20));
    net.crash(7);
    net.run_until(|net| net.leader() == Some(NodeId(7)));
    net.boot(7);
    net.run(Span::from_secs(5));
    assert_eq!(net.leader(), Some(NodeId(8)), "one that has not settled gives way");
}

#[test]
fn e8_a_member_that_may_never_lead_passes_numbers_on_and_has_none() {
    let mut net = Net::new(4, complete, |index| {
        (Config { hops: 1, may_lead: index < 2, ..config(index) }, ChangRoberts::new(), NoMutex)
    })
    .in_group()
    .alike();
    elect(&mut net, &[3]);
    assert_eq!(net.leader(), Some(NodeId(2)));
    // From 4 to 1 none yet, 1 to 2; then 2 all the way round, twice.
    assert_eq!(letters(&net, Kind::ChangRoberts), 2 + 2 * 4);
}
