//! The election of Le Lann on whole nodes: the formula, and what a bad network does to it.

mod common;

use common::member::{Member, places};
use common::{Net, complete, config, letters};
use protocol::capacity::Capacity;
use protocol::election::lelann::{Message, Number};
use protocol::election::{Command, Election, Lelann};
use protocol::mutex::NoMutex;
use protocol::node::Input;
use protocol::wire::Kind;
use protocol::{Config, NodeId, Span};

/// Nodes that all hear each other, alike but for their names.
fn room(count: usize) -> Net<Lelann, NoMutex> {
    Net::new(count, complete, |index| (Config { hops: 1, ..config(index) }, Lelann::new(), NoMutex)).in_group().alike()
}

/// Has nodes start elections at one moment, and lets these come to their end.
fn elect(net: &mut Net<Lelann, NoMutex>, starters: &[usize]) {
    for &starter in starters {
        net.put(starter, Input::Election(Command::Call));
    }
    net.run(Span::from_millis(400));
}

#[test]
fn l1_nodes_that_start_together_elect_the_best() {
    let mut net = room(5);
    net.run(Span::from_secs(5));
    assert_eq!(net.leader(), Some(NodeId(5)));
}

#[test]
fn l2_it_takes_n_squared_letters_whoever_starts_and_however_many_do() {
    for nodes in [4, 8, 16] {
        let all: Vec<usize> = (0..nodes).collect();
        for starters in [&all[..1], &all[nodes - 1..], &all[1..3], &all] {
            let mut net = room(nodes);
            elect(&mut net, starters);
            assert_eq!(net.leader(), Some(config(nodes - 1).me));
            assert_eq!(letters(&net, Kind::Lelann), nodes * nodes, "{nodes} nodes, started by {starters:?}");
        }
    }
}

#[test]
fn l2_the_dead_are_not_counted() {
    for nodes in [4, 8, 16] {
        let mut net = room(nodes);
        net.run(Span::from_secs(3));
        net.crash(nodes - 1);
        net.run(Span::from_secs(8));
        net.sent.clear();
        elect(&mut net, &[0]);
        assert_eq!(net.leader(), Some(config(nodes - 2).me));
        assert_eq!(letters(&net, Kind::Lelann), (nodes - 1) * (nodes - 1));
    }
}

fn number(round: u32, name: u32, hops: u8) -> Message {
    Message::Number(Number { round, owner: NodeId(name), capacity: Some(Capacity::new(500)), hops })
}

#[test]
fn l1_a_member_sends_its_own_number_first_and_passes_every_other_on_once() {
    let mut member = Member::new(2, Lelann::new());
    let to = places(&[3]);
    assert_eq!(member.hear(1, number(1, 1, 1)), [(to, number(1, 2, 1)), (to, number(1, 1, 2))]);
    assert_eq!(member.hear(1, number(1, 1, 1)), []);
    assert_eq!(member.hear(1, number(1, 5, 2)), [(to, number(1, 5, 3))]);
}

#[test]
fn l1_a_member_whose_number_is_back_waits_for_as_many_as_that_took_hops() {
    let mut member = Member::new(2, Lelann::new());
    for name in [1, 5, 3] {
        member.hear(1, number(1, name, 1));
    }
    assert_eq!(member.hear(1, number(1, 2, 5)), []);
    assert_eq!(member.election.leader(), None, "4 is missing, overtaken on the way");
    assert_eq!(member.hear(1, number(1, 4, 3)), [(places(&[3]), number(1, 4, 4))]);
    assert_eq!(member.election.leader().map(|(leader, _)| leader), Some(NodeId(5)));
}

#[test]
fn l1_a_ring_that_breaks_is_walked_anew() {
    let mut member = Member::new(2, Lelann::new());
    member.hear(1, number(1, 1, 1));
    assert_eq!(member.lose(&[4]), []);
    assert_eq!(member.lose(&[3]), [(places(&[5]), number(2, 2, 1))]);
    assert_eq!(member.hear(1, number(2, 4, 3)), [(places(&[5]), number(3, 2, 1))], "4 would not get it back");
    assert_eq!(member.wait(), [(places(&[5]), number(4, 2, 1))]);
}

#[test]
fn l1_a_lost_emitter_is_replaced_by_the_highest_number_left() {
    let mut net = room(8);
    net.run(Span::from_secs(20));
    net.crash(7);
    net.run_until(|net| net.leader() == Some(NodeId(7)));
    net.boot(7);
    net.run(Span::from_secs(5));
    assert_eq!(net.leader(), Some(NodeId(8)), "one that has not settled gives way");
}

#[test]
fn l1_a_member_that_crashes_in_the_middle_costs_time_only() {
    for crashed in [0, 1, 3, 5] {
        for millis in 0..60 {
            let mut net = room(6);
            net.put(0, Input::Election(Command::Call));
            net.run(Span::from_millis(millis));
            net.crash(crashed);
            net.run(Span::from_secs(15));
            let best = if crashed == 5 { 5 } else { 6 };
            assert_eq!(net.leader(), Some(NodeId(best)), "{crashed} crashed after {millis} ms");
        }
    }
}

#[test]
fn e8_a_member_that_may_never_lead_sends_a_number_that_cannot_win() {
    let mut net = Net::new(4, complete, |index| {
        (Config { hops: 1, may_lead: index < 2, ..config(index) }, Lelann::new(), NoMutex)
    })
    .in_group()
    .alike();
    elect(&mut net, &[3]);
    assert_eq!(net.leader(), Some(NodeId(2)));
    assert_eq!(letters(&net, Kind::Lelann), 4 * 4);
}
