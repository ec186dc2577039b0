//! The ring election on whole nodes and message by message: the textbooks' examples, the formulas, and a bad network.

use crate::election_chaos;
use crate::support::prelude::*;
use protocol::election::Winner;
use protocol::election::ring::{List, Message, Options, Outcome, Ring};
use protocol::election::{Command, Direction, Notice};
use protocol::wire::{self, Destination, Payload, Recipients};

/// Nodes in range of each other that differ by their ids only. The textbook's process Pi is node i.
fn room(count: usize, rules: Options) -> Net<Ring, NoMutex> {
    Net::room(count, move || Ring::new(rules))
}

/// How long an election takes at most.
const ELECTION: Duration = Duration::from_millis(400);

/// A room in which these nodes have crashed and are suspected.
fn without(crashed: &[usize], count: usize, rules: Options) -> Net<Ring, NoMutex> {
    let mut net = room(count, rules);
    net.run_secs(3);
    for &index in crashed {
        net.crash(index);
    }
    // Time enough to suspect them and to elect another leader.
    net.run_secs(8);
    net.sent.clear();
    net
}

/// The messages of the election, each once, with its sender and the slot of its recipient.
fn passes(net: &Net<Ring, NoMutex>) -> Vec<(usize, usize, Message)> {
    let mut passes = Vec::new();
    for (sender, bytes) in &net.sent {
        let mut buffer = [0; wire::FRAME_MAX];
        let Ok(packet) = wire::open(&net.key(), bytes, &mut buffer) else { continue };
        let (Ring::KIND, Destination::Reliable(header)) = (packet.kind, packet.destination) else { continue };
        let Recipients::Members { set, .. } = header.recipients else { continue };
        let message = Message::decode(packet.kind, packet.body).unwrap();
        for slot in set.slots() {
            if !passes.contains(&(*sender, slot, message)) {
                passes.push((*sender, slot, message));
            }
        }
    }
    passes
}

#[test]
fn r7_with_p2_to_p5_on_the_list_and_p0_dead_it_skips_to_p1() {
    let mut net = without(&[0], 6, Options::default());
    net.elect(&[2], ELECTION);
    let passes = passes(&net);
    let last = passes.iter().find(|(from, ..)| *from == 5);
    let Some((5, 1, Message::Election(List { members, .. }))) = last else { panic!("{last:?}") };
    assert_eq!(*members, slots(&[2, 3, 4, 5]));
    assert_eq!(passes.len(), 2 * 5);
}

#[test]
fn r7_with_7_dead_6_sends_to_0() {
    let mut net = without(&[7], 8, Options::default());
    net.elect(&[3], ELECTION);
    let passes = passes(&net);
    assert!(passes.iter().any(|(from, to, message)| matches!((from, to, message), (6, 0, Message::Election(_)))));
    assert_eq!(net.leader(), Some(NodeId(7)), "6, as the textbook counts");
}

#[test]
fn r8_it_takes_2n_messages_for_n_members_that_are_up_whichever_starts() {
    for nodes in [4, 8, 16] {
        for starter in [0, nodes / 2, nodes - 2] {
            let mut net = room(nodes, Options::default());
            net.elect(&[starter], ELECTION);
            assert_eq!(net.leader(), Some(config(nodes - 1).me));
            assert_eq!((net.messages_named("election"), net.messages_named("coordinator")), (nodes, nodes));
        }
    }
}

#[test]
fn r8_counted_with_the_dead_leader_it_takes_2_less_than_2n() {
    for nodes in [4, 8, 16] {
        let mut net = without(&[nodes - 1], nodes, Options::default());
        net.elect(&[0], ELECTION);
        assert_eq!(net.leader(), Some(config(nodes - 2).me));
        assert_eq!(net.copies_of(Ring::KIND), 2 * (nodes - 1));
    }
}

#[test]
fn r3_the_result_names_the_leader_the_runner_up_and_the_ring() {
    let mut net = without(&[2], 6, Options::default());
    net.elect(&[4], ELECTION);
    let result = |(_, _, message)| if let Message::Coordinator(outcome) = message { Some(outcome) } else { None };
    let results: Vec<Outcome> = passes(&net).into_iter().filter_map(result).collect();
    assert_eq!(results.len(), 5, "round once, and removed");
    assert!(results.iter().all(|result| *result == results[0]));
    let Outcome { term, leader, runner_up, members } = results[0];
    assert_eq!((term.by, leader.id, runner_up.map(|runner_up| runner_up.id)), (NodeId(5), NodeId(6), Some(NodeId(5))));
    assert_eq!(members, slots(&[0, 1, 3, 4, 5]));
}

#[test]
fn r4_the_lowest_may_win_as_well_and_stays_leader() {
    let rules = Options { winner: Winner::Lowest, ..Options::default() };
    for starter in 0..5 {
        let mut net = room(5, rules);
        net.elect(&[starter], ELECTION);
        assert_eq!(net.leader(), Some(NodeId(1)));
        assert_eq!(net.copies_of(Ring::KIND), 2 * 5);
        net.run_secs(60);
        assert_eq!(net.leader(), Some(NodeId(1)));
        assert_eq!(net.copies_of(Ring::KIND), 2 * 5, "no node has reason to hold another election");
        net.crash(0).run_secs(10);
        assert_eq!(net.leader(), Some(NodeId(2)));
        net.boot(0).run_secs(60);
        assert_eq!(net.leader(), Some(NodeId(1)));
    }
}

#[test]
fn e8_a_lowest_leader_that_yielded_takes_no_leadership_of_a_round_that_it_joined_before() {
    let rules = Options { winner: Winner::Lowest, ..Options::default() };
    let mut lowest = Single::new(1, roster(1..=5), Ring::new(rules));
    let result = |number| {
        let members = members(&[1, 2, 3, 4, 5]);
        Message::Coordinator(Outcome { term: term(number, 2), leader: candidate(500, 1), runner_up: None, members })
    };
    lowest.receive(5, result(1));
    lowest.command(Command::Yield);
    let gained = |notices: &[Notice]| notices.iter().filter(|notice| matches!(notice, Notice::Gained { .. })).count();
    assert_eq!(gained(&lowest.notices), 1);
    for _ in 0..2 {
        lowest.receive(5, result(4));
    }
    assert_eq!(gained(&lowest.notices), 1, "{:?}", lowest.notices);
}

#[test]
fn r4_two_lowest_leaders_that_meet_leave_the_lower_one() {
    let rules = Options { winner: Winner::Lowest, ..Options::default() };
    let mut net = room(6, rules);
    net.relink(|a, b| (a < 3) == (b < 3)).run_secs(15);
    assert_eq!(net.leaders()[5].map(|(leader, _)| leader), Some(NodeId(4)));
    net.relink(complete).run_secs(40);
    assert_eq!(net.leader(), Some(NodeId(1)));
}

#[test]
fn r5_either_direction_will_do() {
    let rules = Options { direction: Direction::Backward, ..Options::default() };
    let mut net = without(&[0], 6, rules);
    net.elect(&[2], ELECTION);
    let passes = passes(&net);
    assert!(passes.iter().any(|(from, to, message)| matches!((from, to, message), (1, 5, Message::Election(_)))));
    assert_eq!((net.leader(), passes.len()), (Some(NodeId(6)), 2 * 5));
}

#[test]
fn r6_with_as_many_dead_in_a_row_as_it_knows_a_member_seeks_no_successor() {
    let rules = Options { successors: 2, ..Options::default() };
    let mut net = without(&[3, 4], 7, rules);
    net.elect(&[0], ELECTION);
    assert_eq!((net.messages_named("seek"), net.copies_of(Ring::KIND)), (0, 2 * 5));
    assert_eq!(net.leader(), Some(NodeId(7)));
}

#[test]
fn r6_with_more_dead_in_a_row_than_it_knows_a_member_seeks_a_successor() {
    let rules = Options { successors: 2, ..Options::default() };
    let mut net = without(&[2, 3, 4], 7, rules);
    net.elect(&[0], ELECTION);
    let passes = passes(&net);
    assert_eq!(net.messages_named("seek"), 1, "a member that asked once knows");
    assert_eq!(net.messages_named("here"), 3);
    assert!(passes.iter().any(|(from, to, message)| matches!((from, to, message), (1, 5, Message::Election(_)))));
    assert_eq!((net.messages_named("election"), net.messages_named("coordinator")), (4, 4));
    assert_eq!(net.leader(), Some(NodeId(7)));
}

#[test]
fn r6_the_last_one_left_leads() {
    for successors in [0, 2, u8::MAX] {
        let mut net = without(&[1, 2, 3, 4], 5, Options { successors, ..Options::default() });
        net.run_secs(5);
        assert_eq!(net.leader(), Some(NodeId(1)), "{successors} successors known");
    }
}

#[test]
fn e8_two_that_start_at_once_end_with_one_leader_and_the_higher_term() {
    let mut net = room(8, Options::default());
    net.elect(&[1, 5], ELECTION);
    assert_eq!(net.leader(), Some(NodeId(8)));
    assert!(net.leaders().iter().all(|leader| leader.is_some_and(|(_, term)| term.by == NodeId(6))));
    // The lower one is stopped by the other starter.
    assert_eq!((net.messages_named("election"), net.messages_named("coordinator")), (8 + 4, 8));
}

/// Member 2 of a group of five.
fn second() -> Single<Ring> {
    Single::new(2, roster(1..=5), Ring::default())
}

/// The list of an election with these members on it, the best two of them as candidates.
fn list(number: u32, starter: u32, ids: &[u32]) -> Message {
    let mut best = ids.to_vec();
    best.sort_unstable();
    let mut best = best.into_iter().rev().map(|id| candidate(500, id));
    let (best, runner_up) = (best.next(), best.next());
    Message::Election(List { term: term(number, starter), members: members(ids), best, runner_up })
}

fn result(number: u32, starter: u32) -> Message {
    let (leader, runner_up) = (candidate(500, 5), Some(candidate(500, 4)));
    Message::Coordinator(Outcome { term: term(number, starter), leader, runner_up, members: members(&[1, 2, 3, 4, 5]) })
}

#[test]
fn r1_a_member_puts_itself_on_the_list_once() {
    let mut member = second();
    assert_eq!(member.receive(1, list(1, 5, &[5, 1])), [(members(&[3]), list(1, 5, &[5, 1, 2]))]);
    assert_eq!(member.receive(1, list(1, 5, &[5, 1])), [], "the same again");
    assert_eq!(member.receive(1, list(1, 4, &[4, 5, 1])), [], "a lower term");
    assert_eq!(member.receive(1, list(2, 4, &[4, 5, 1, 2])), [], "one it is on, from before it was restarted");
    assert_eq!(member.receive(1, list(2, 5, &[5, 1])), [(members(&[3]), list(2, 5, &[5, 1, 2]))]);
}

#[test]
fn r1_a_list_a_failed_successor_was_sent_goes_to_the_next_one() {
    let mut member = second();
    member.receive(1, list(1, 1, &[1]));
    assert_eq!(member.suspect(members(&[4])), []);
    assert_eq!(member.suspect(members(&[3])), [(members(&[5]), list(1, 1, &[1, 2]))]);
    assert_eq!(member.fact(Fact::PeerReset(members(&[5]))), [(members(&[5]), list(1, 1, &[1, 2]))]);
}

#[test]
fn r2_a_list_whose_starter_is_gone_goes_no_further_and_another_is_begun() {
    let mut member = second();
    assert_eq!(member.receive(1, list(1, 3, &[3, 4, 5, 1])), [(members(&[3]), list(1, 3, &[3, 4, 5, 1, 2]))]);
    assert_eq!(member.suspect(members(&[3])), []);
    assert_eq!(member.wait(), [(members(&[4]), list(2, 2, &[2]))]);
}

#[test]
fn r2_a_starter_starts_again_when_nothing_comes_back() {
    let mut member = second();
    assert_eq!(member.command(Command::Call), [(members(&[3]), list(1, 2, &[2]))]);
    assert_eq!(member.wait(), [(members(&[3]), list(2, 2, &[2]))]);
    assert_eq!(member.receive(1, list(1, 2, &[2, 3, 4, 5, 1])), [], "too late");
    assert_eq!(member.receive(1, list(2, 2, &[2, 3, 4, 5, 1])), [(members(&[3]), result(2, 2))]);
    assert_eq!(member.receive(1, list(2, 2, &[2, 3, 4, 5, 1])), [], "once");
    assert_eq!(member.receive(1, result(2, 2)), [], "round once");
}

#[test]
fn r2_a_result_goes_round_once_and_not_beyond_its_starter() {
    let mut member = second();
    assert_eq!(member.receive(1, result(1, 3)), [(members(&[3]), result(1, 3))]);
    assert_eq!(member.algorithm.members(), members(&[1, 2, 3, 4, 5]));
    assert_eq!(member.receive(1, result(1, 3)), [], "once");
    let mut member = second();
    member.suspect(members(&[3]));
    assert_eq!(member.receive(1, result(1, 3)), []);
}

#[test]
fn r2_a_starter_that_crashes_leaves_nothing_going_round() {
    for millis in 0..40 {
        let mut net = room(6, Options::default());
        net.elect(&[2], Duration::from_millis(millis)).crash(2).run_secs(15);
        assert_eq!(net.leader(), Some(NodeId(6)), "crashed after {millis} ms");
        net.sent.clear();
        net.run_secs(10);
        assert_eq!(net.copies_of(Ring::KIND), 0, "crashed after {millis} ms");
    }
}

#[test]
fn r6_after_any_faults_members_that_know_one_successor_find_another() {
    for seed in 0..300 {
        election_chaos::storm(seed, || {
            Ring::new(Options { successors: 1, direction: Direction::Backward, ..Options::default() })
        });
    }
}
