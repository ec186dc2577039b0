//! The Invitation election, message by message and on whole nodes: groups that form, merge, split and merge again.

use crate::support::prelude::*;
use protocol::base::quorum::Mode;
use protocol::election::invitation::Message;
use protocol::election::leadership::LeaderMessage;
use protocol::election::{Command, Election, Invitation, Notice};
use protocol::node;
use protocol::registry::message_name;

/// How long an election takes at most.
const ELECTION: Duration = Duration::from_secs(2);

fn room(count: usize) -> Net<Invitation, NoMutex> {
    Net::room(count, Invitation::new)
}

/// A member of a group of five.
fn member(id: u32) -> Single<Invitation> {
    Single::new(id, roster(1..=5), Invitation::new())
}

fn answer(id: u32) -> Message {
    Message::Answer { term: term(0, 0), coordinator: Some(candidate(500, id)), incumbent: false }
}

fn invitation(number: u32, id: u32) -> Message {
    Message::Invitation { group: term(number, id), coordinator: candidate(500, id) }
}

fn accept(group: Term, number: u32, forwarded: &[u32]) -> Message {
    Message::Accept { group, term: term(number, 1), forwarded: members(forwarded) }
}

fn ready(number: u32, id: u32, ids: &[u32]) -> Message {
    Message::Ready { group: term(number, id), term: term(number, id), members: members(ids) }
}

fn heartbeat(number: u32, id: u32, count: u32) -> Message {
    let (term, leader) = (term(number, id), candidate(500, id));
    Message::Leadership(LeaderMessage::Heartbeat { term, leader, runner_up: None, count, age: 0 })
}

/// Member 5, which leads 1 and 2 under this number.
fn coordinator() -> Single<Invitation> {
    let mut best = member(5);
    best.command(Command::Call);
    for id in 1..=2 {
        best.receive(id, answer(id));
    }
    best.suspect(members(&[3, 4]));
    for id in 1..=2 {
        best.receive(id, accept(term(1, 5), 0, &[]));
    }
    for id in 1..=2 {
        best.receive(id, Message::Acknowledge { term: term(1, 5) });
    }
    assert_eq!(best.algorithm.leader(), Some((NodeId(5), term(1, 5))));
    assert_eq!(best.algorithm.members(), members(&[1, 2, 5]));
    best
}

/// Member 2, which follows this leader in a group of 1, 2 and it.
fn follower(leader: u32) -> Single<Invitation> {
    let mut second = member(2);
    second.receive(leader, invitation(1, leader));
    second.receive(leader, ready(1, leader, &[1, 2, leader]));
    second.receive(leader, heartbeat(1, leader, 1));
    assert_eq!(second.algorithm.leader(), Some((NodeId(leader), term(1, leader))));
    second.notices.clear();
    second
}

#[test]
fn g1_a_coordinator_asks_invites_and_leads_when_all_know_the_members() {
    let mut best = member(5);
    let all = members(&[1, 2, 3, 4]);
    let asks = Message::Ask { term: Term::ZERO, coordinator: Some(candidate(500, 5)) };
    assert_eq!(best.command(Command::Call), [(all, asks)]);
    for id in 1..=3 {
        assert_eq!(best.receive(id, answer(id)), []);
    }
    assert_eq!(best.receive(4, answer(4)), [(all, invitation(1, 5))]);
    for id in 1..=3 {
        assert_eq!(best.receive(id, accept(term(1, 5), 0, &[])), []);
    }
    assert_eq!(best.receive(4, accept(term(1, 5), 0, &[])), [(all, ready(1, 5, &[1, 2, 3, 4, 5]))]);
    let group = members(&[1, 2, 3, 4, 5]);
    assert_eq!(best.notices, [Notice::Reorganising { members: group }]);
    for id in 1..=3 {
        assert_eq!(best.receive(id, Message::Acknowledge { term: term(1, 5) }), []);
    }
    assert_eq!(best.algorithm.leader(), None, "4 may not know the group yet");
    best.receive(4, Message::Acknowledge { term: term(1, 5) });
    assert_eq!(best.notices, [Notice::Reorganising { members: group }, Notice::Gained { term: term(1, 5) }]);
    assert_eq!(best.algorithm.members(), group);
    let peers = members(&[1, 2, 3, 4]);
    assert_eq!(best.wait()[0], (peers, heartbeat(1, 5, 1)), "work begins with a heartbeat at once");
}

#[test]
fn g1_a_member_accepts_hears_who_is_in_the_group_and_then_follows() {
    let mut second = member(2);
    assert_eq!(second.receive(5, invitation(3, 5)), [(members(&[5]), accept_of(term(3, 5)))]);
    assert_eq!(second.receive(4, invitation(9, 4)), [], "it takes part in one merge at a time");
    assert_eq!(second.receive(4, ready(9, 4, &[2, 4])), []);
    assert_eq!(second.notices, []);
    let acknowledges = Message::Acknowledge { term: term(3, 5) };
    assert_eq!(second.receive(5, ready(3, 5, &[1, 2, 5])), [(members(&[5]), acknowledges)]);
    assert_eq!(second.notices, [Notice::Reorganising { members: members(&[1, 2, 5]) }]);
    assert_eq!((second.algorithm.leader(), second.algorithm.members()), (None, NodeSet::EMPTY), "work begins later");
    second.receive(5, heartbeat(3, 5, 1));
    assert_eq!(second.notices[1..], [Notice::Following { leader: NodeId(5), term: term(3, 5) }]);
    assert_eq!(second.algorithm.members(), members(&[1, 2, 5]));
}

/// The acceptance of a member that has followed nobody.
fn accept_of(group: Term) -> Message {
    Message::Accept { group, term: Term::ZERO, forwarded: NodeSet::EMPTY }
}

#[test]
fn g1_no_member_follows_a_coordinator_whose_group_it_is_not_in() {
    let mut alone = member(2);
    assert_eq!(alone.receive(5, heartbeat(7, 5, 3)), []);
    assert_eq!(alone.algorithm.leader(), None);
    let mut second = follower(4);
    assert_eq!(second.receive(5, heartbeat(7, 5, 3)), [], "though that one is better and its term is higher");
    assert_eq!(second.algorithm.leader(), Some((NodeId(4), term(1, 4))));
    assert_eq!(second.receive(5, invitation(8, 5)), [], "its own coordinator was not invited");
    second.receive(5, ready(8, 5, &[2, 5]));
    assert_eq!(second.algorithm.leader(), Some((NodeId(4), term(1, 4))));
}

#[test]
fn g1_a_member_follows_its_coordinator_into_the_group_of_another() {
    let mut second = follower(4);
    assert_eq!(second.receive(4, invitation(8, 5))[0].0, members(&[5]), "forwarded by 4, accepted to 5");
    assert_eq!(second.notices, [Notice::Leaderless], "its work stops");
}

#[test]
fn g1_an_invited_coordinator_stops_and_forwards_the_invitation_to_its_members() {
    let mut leads = coordinator();
    let better = Message::Invitation { group: term(6, 4), coordinator: candidate(900, 4) };
    let accepts = Message::Accept { group: term(6, 4), term: term(1, 5), forwarded: members(&[1, 2]) };
    assert_eq!(leads.receive(4, better), [(members(&[4]), accepts), (members(&[1, 2]), better)]);
    assert_eq!(leads.algorithm.leader(), None);
}

#[test]
fn g1_a_coordinator_that_is_better_asks_instead_of_accepting() {
    let mut best = coordinator();
    let sends = best.receive(4, invitation(6, 4));
    assert!(matches!(sends[..], [(to, Message::Ask { .. })] if to == members(&[4])), "{sends:?}");
    assert_eq!(best.algorithm.leader(), Some((NodeId(5), term(1, 5))));
}

#[test]
fn g1_the_less_capable_a_coordinator_is_the_longer_it_waits_for_better_ones_to_invite() {
    let waits = |id: u32, answers: std::ops::RangeInclusive<u32>| {
        let mut node = member(id);
        node.command(Command::Call);
        let others: Vec<u32> = (1..=5).filter(|other| *other != id).collect();
        node.suspect(members(&others.iter().copied().filter(|other| !answers.contains(other)).collect::<Vec<_>>()));
        let from = node.now;
        for other in others.into_iter().filter(|other| answers.contains(other)) {
            node.receive(other, answer(other));
        }
        let sends = node.wait();
        assert!(sends.iter().any(|(_, message)| matches!(message, Message::Invitation { .. })), "{sends:?}");
        node.now.since(from)
    };
    let (worst, second, third) = (waits(1, 1..=5), waits(1, 1..=4), waits(3, 1..=4));
    assert!(third < second && second < worst, "{third:?} {second:?} {worst:?}");
}

#[test]
fn g1_a_member_that_its_coordinator_asks_is_left_out_and_recovers_alone() {
    let mut second = follower(5);
    let asks = |number| Message::Ask { term: term(number, 5), coordinator: Some(candidate(500, 5)) };
    assert_eq!(second.receive(5, asks(0)), [], "asked before it was invited");
    let sends = second.receive(5, asks(1));
    assert!(matches!(sends[..], [(to, Message::Answer { .. })] if to == members(&[5])), "{sends:?}");
    assert_eq!(second.notices, [Notice::Leaderless]);
    assert_eq!(second.receive(5, invitation(2, 5)).len(), 1, "and is invited again");
}

#[test]
fn g1_a_group_is_formed_again_without_the_members_that_did_not_acknowledge() {
    let mut best = member(5);
    best.command(Command::Call);
    for id in 1..=4 {
        best.receive(id, answer(id));
    }
    for id in 1..=4 {
        best.receive(id, accept(term(1, 5), 0, &[]));
    }
    for id in 1..=3 {
        best.receive(id, Message::Acknowledge { term: term(1, 5) });
    }
    assert_eq!(best.wait(), [(members(&[1, 2, 3]), invitation(2, 5))]);
}

#[test]
fn g1_the_number_of_a_group_is_above_all_that_its_members_have_followed() {
    let mut best = member(5);
    best.command(Command::Call);
    best.suspect(members(&[1, 3, 4]));
    best.receive(2, answer(2));
    let new = Message::Ready { group: term(1, 5), term: term(8, 5), members: members(&[2, 5]) };
    assert_eq!(best.receive(2, accept(term(1, 5), 7, &[])), [(members(&[2]), new)]);
}

#[test]
fn g1_a_merge_takes_as_many_messages_as_its_formula_says() {
    for nodes in [4, 8, 16] {
        for (starter, each) in [(nodes - 1, 6), (0, 8), (nodes / 2, 8)] {
            let mut net = room(nodes);
            net.elect(&[starter], ELECTION);
            assert_eq!(net.leader(), Some(config(nodes - 1).me));
            assert_eq!(net.copies_of(Invitation::KIND), each * (nodes - 1), "{nodes} nodes, started by {starter}");
        }
    }
}

/// The groups of a network by the members each node knows.
fn groups(net: &Net<Invitation, NoMutex>) -> Vec<Vec<usize>> {
    net.nodes.iter().flatten().map(|node| node.group_members().slots().collect()).collect()
}

#[test]
fn g1_both_parts_of_a_network_that_splits_lead_themselves_and_merge_again() {
    let mut net = room(6);
    net.run_secs(20);
    assert_eq!(groups(&net), vec![vec![0, 1, 2, 3, 4, 5]; 6]);
    net.relink(|a, b| (a < 3) == (b < 3)).run_secs(20);
    let led =
        |net: &Net<Invitation, NoMutex>| net.leaders().iter().map(|leader| leader.unwrap().0.0).collect::<Vec<_>>();
    assert_eq!(led(&net), [3, 3, 3, 6, 6, 6]);
    assert_eq!(groups(&net)[..3], vec![vec![0, 1, 2]; 3]);
    let from = net.notices.len();
    net.relink(|_, _| true).run_secs(20);
    assert_eq!((led(&net), groups(&net)), (vec![6; 6], vec![vec![0, 1, 2, 3, 4, 5]; 6]));
    // Every application hears of the reorganisation before it hears of the leader under whom work goes on.
    for index in 0..6 {
        let of_node: Vec<_> =
            net.notices[from..].iter().filter(|(_, node, _)| *node == index).map(|(_, _, notice)| *notice).collect();
        let all = node::Notice::Reorganising { members: NodeSet::first(6) };
        let told = of_node.iter().position(|notice| *notice == all).expect("it is told");
        assert!(of_node[told + 1..].iter().any(|notice| matches!(notice, node::Notice::Role(_))), "{of_node:?}");
    }
}

#[test]
fn g1_in_mode_quorum_the_group_of_a_minority_has_a_coordinator_that_does_not_act() {
    let make = |index| (Config { hops: 1, mode: Mode::Quorum, ..config(index) }, Invitation::new(), NoMutex);
    let mut net = Net::new(5, complete, make).in_group().alike();
    net.run_secs(20).relink(|a, b| (a < 2) == (b < 2)).run_secs(30);
    let acting: Vec<_> = net.nodes.iter().flatten().map(|node| node.acting_term(net.now).is_some()).collect();
    assert_eq!(acting, [false, false, false, false, true]);
    // Nobody left the group of the coordinator that goes on: it is as it was.
    assert_eq!(groups(&net)[..2], [vec![0, 1], vec![0, 1]]);
    assert_eq!(groups(&net)[2..], vec![vec![0, 1, 2, 3, 4]; 3]);
}

#[test]
fn g1_a_member_that_restarts_is_invited_into_the_group_again_and_its_leader_goes_on() {
    let mut net = room(5);
    net.run_secs(20).crash(1).run_secs(10).boot(1).run_secs(10);
    assert_eq!((net.leader(), groups(&net)), (Some(NodeId(5)), vec![vec![0, 1, 2, 3, 4]; 5]));
    net.crash(4).await_leader(NodeId(4));
    net.run_secs(5);
    assert_eq!(groups(&net), vec![vec![0, 1, 2, 3]; 4]);
}

#[test]
fn g1_in_a_calm_network_no_group_is_reorganised() {
    let mut net = room(5);
    net.run_secs(30);
    net.sent.clear();
    net.run_secs(120);
    let key = net.key();
    let rounds = ["ask", "answer", "invitation", "accept", "ready", "acknowledge"];
    let sent: Vec<_> = net.sent.iter().filter_map(|(_, bytes)| message_name(&key, bytes)).collect();
    assert!(!sent.iter().any(|name| rounds.contains(name)), "{sent:?}");
}
