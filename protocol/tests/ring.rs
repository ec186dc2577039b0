//! The ring election on whole nodes: the textbooks' examples, the formulas, and what a bad network does to it.

mod common;

use common::faults;
use common::member::{Member, candidate, places, term};
use common::{Net, complete, config, letters};
use protocol::election::ring::{List, Message, Outcome, Ring, Rules, Winner};
use protocol::election::{Command, Direction};
use protocol::mutex::NoMutex;
use protocol::node::Input;
use protocol::wire::{self, Kind, Message as _, Path, To};
use protocol::{Config, NodeId, NodeSet, Span};

/// Nodes that all hear each other, alike but for their names. The textbook's process Pi is node i.
fn room(count: usize, rules: Rules) -> Net<Ring, NoMutex> {
    Net::new(count, complete, move |index| (Config { hops: 1, ..config(index) }, Ring::new(rules), NoMutex))
        .in_group()
        .alike()
}

/// A room in which these nodes have crashed, and are known to have.
fn without(crashed: &[usize], count: usize, rules: Rules) -> Net<Ring, NoMutex> {
    let mut net = room(count, rules);
    net.run(Span::from_secs(3));
    for &index in crashed {
        net.crash(index);
    }
    // Time enough to suspect them and to elect another leader.
    net.run(Span::from_secs(8));
    net.sent.clear();
    net
}

/// Has nodes start elections at one moment, and lets these come to their end.
fn elect(net: &mut Net<Ring, NoMutex>, starters: &[usize]) {
    for &starter in starters {
        net.put(starter, Input::Election(Command::Call));
    }
    net.run(Span::from_millis(400));
}

/// The letters of the election, each once, with the node that wrote it and the place of the one it is for.
fn passes(net: &Net<Ring, NoMutex>) -> Vec<(usize, usize, Message)> {
    let mut passes = Vec::new();
    for (sender, bytes) in &net.sent {
        let Ok(packet) = wire::open(&net.key(), bytes) else { continue };
        let (Kind::Ring, Path::Letter(letter)) = (packet.kind, packet.path) else { continue };
        let To::Members(set) = letter.to else { continue };
        let message = Message::decode(packet.kind, packet.body).unwrap();
        for slot in set.slots() {
            if !passes.contains(&(*sender, slot, message)) {
                passes.push((*sender, slot, message));
            }
        }
    }
    passes
}

fn set(slots: &[usize]) -> NodeSet {
    slots.iter().fold(NodeSet::EMPTY, |set, &slot| set.with(NodeSet::slot(slot)))
}

#[test]
fn r1_nodes_that_start_together_elect_the_best() {
    let mut net = room(5, Rules::default());
    net.run(Span::from_secs(5));
    assert_eq!(net.leader(), Some(NodeId(5)));
}

#[test]
fn r7_with_p2_to_p5_on_the_list_and_p0_dead_it_skips_to_p1() {
    let mut net = without(&[0], 6, Rules::default());
    elect(&mut net, &[2]);
    let passes = passes(&net);
    let last = passes.iter().find(|(from, ..)| *from == 5);
    assert!(
        matches!(last, Some((5, 1, Message::Election(List { members, .. }))) if *members == set(&[2, 3, 4, 5])),
        "{last:?}"
    );
    assert_eq!(passes.len(), 2 * 5);
}

#[test]
fn r7_with_7_dead_6_sends_to_0() {
    let mut net = without(&[7], 8, Rules::default());
    elect(&mut net, &[3]);
    let passes = passes(&net);
    assert!(passes.iter().any(|(from, to, said)| matches!((from, to, said), (6, 0, Message::Election(_)))));
    assert_eq!(net.leader(), Some(NodeId(7)), "6, as the textbook counts");
}

#[test]
fn r8_it_takes_2n_letters_for_n_members_that_are_up_whoever_starts() {
    for nodes in [4, 8, 16] {
        for starter in [0, nodes / 2, nodes - 2] {
            let mut net = room(nodes, Rules::default());
            elect(&mut net, &[starter]);
            assert_eq!(net.leader(), Some(config(nodes - 1).me));
            assert_eq!((net.said("election"), net.said("coordinator")), (nodes, nodes));
        }
    }
}

#[test]
fn r8_counted_with_the_dead_leader_it_takes_2_less_than_2n() {
    for nodes in [4, 8, 16] {
        let mut net = without(&[nodes - 1], nodes, Rules::default());
        elect(&mut net, &[0]);
        assert_eq!(net.leader(), Some(config(nodes - 2).me));
        assert_eq!(letters(&net, Kind::Ring), 2 * (nodes - 1));
    }
}

#[test]
fn r3_the_result_names_the_leader_the_runner_up_and_the_ring() {
    let mut net = without(&[2], 6, Rules::default());
    elect(&mut net, &[4]);
    let results: Vec<Outcome> = passes(&net)
        .into_iter()
        .filter_map(|(_, _, said)| if let Message::Coordinator(outcome) = said { Some(outcome) } else { None })
        .collect();
    assert_eq!(results.len(), 5, "round once, and removed");
    assert!(results.iter().all(|result| *result == results[0]));
    let Outcome { term, leader, second, ring } = results[0];
    assert_eq!((term.by, leader.id, second.map(|second| second.id)), (NodeId(5), NodeId(6), Some(NodeId(5))));
    assert_eq!(ring, set(&[0, 1, 3, 4, 5]));
}

#[test]
fn r4_the_lowest_may_win_as_well_and_stays_in_office() {
    let rules = Rules { winner: Winner::Lowest, ..Rules::default() };
    for starter in 0..5 {
        let mut net = room(5, rules);
        elect(&mut net, &[starter]);
        assert_eq!(net.leader(), Some(NodeId(1)));
        assert_eq!(letters(&net, Kind::Ring), 2 * 5);
        net.run(Span::from_secs(60));
        assert_eq!(net.leader(), Some(NodeId(1)));
        assert_eq!(letters(&net, Kind::Ring), 2 * 5, "nobody has reason to hold another election");
        net.crash(0);
        net.run(Span::from_secs(10));
        assert_eq!(net.leader(), Some(NodeId(2)));
        net.boot(0);
        net.run(Span::from_secs(60));
        assert_eq!(net.leader(), Some(NodeId(1)));
    }
}

#[test]
fn r4_two_lowest_leaders_that_meet_leave_the_lower_one() {
    let rules = Rules { winner: Winner::Lowest, ..Rules::default() };
    let mut net = room(6, rules);
    net.relink(|a, b| (a < 3) == (b < 3));
    net.run(Span::from_secs(15));
    assert_eq!(net.leaders()[5].map(|(leader, _)| leader), Some(NodeId(4)));
    net.relink(complete);
    net.run(Span::from_secs(40));
    assert_eq!(net.leader(), Some(NodeId(1)));
}

#[test]
fn r5_either_direction_will_do() {
    let rules = Rules { direction: Direction::Back, ..Rules::default() };
    let mut net = without(&[0], 6, rules);
    elect(&mut net, &[2]);
    let passes = passes(&net);
    assert!(passes.iter().any(|(from, to, said)| matches!((from, to, said), (1, 5, Message::Election(_)))));
    assert_eq!((net.leader(), passes.len()), (Some(NodeId(6)), 2 * 5));
}

#[test]
fn r6_with_as_many_dead_in_a_row_as_it_knows_a_member_asks_nobody() {
    let rules = Rules { successors: 2, ..Rules::default() };
    let mut net = without(&[3, 4], 7, rules);
    elect(&mut net, &[0]);
    assert_eq!((net.said("seek"), letters(&net, Kind::Ring)), (0, 2 * 5));
    assert_eq!(net.leader(), Some(NodeId(7)));
}

#[test]
fn r6_with_more_dead_in_a_row_than_it_knows_a_member_asks_who_is_there() {
    let rules = Rules { successors: 2, ..Rules::default() };
    let mut net = without(&[2, 3, 4], 7, rules);
    elect(&mut net, &[0]);
    let passes = passes(&net);
    assert_eq!(net.said("seek"), 1, "who asked once knows");
    assert_eq!(net.said("here"), 3);
    assert!(passes.iter().any(|(from, to, said)| matches!((from, to, said), (1, 5, Message::Election(_)))));
    assert_eq!((net.said("election"), net.said("coordinator")), (4, 4));
    assert_eq!(net.leader(), Some(NodeId(7)));
}

#[test]
fn r6_the_last_one_left_leads() {
    for successors in [0, 2, u8::MAX] {
        let mut net = without(&[1, 2, 3, 4], 5, Rules { successors, ..Rules::default() });
        net.run(Span::from_secs(5));
        assert_eq!(net.leader(), Some(NodeId(1)), "{successors} successors known");
    }
}

#[test]
fn e8_two_that_start_at_once_end_with_one_leader_and_the_higher_term() {
    let mut net = room(8, Rules::default());
    elect(&mut net, &[1, 5]);
    assert_eq!(net.leader(), Some(NodeId(8)));
    assert!(net.leaders().iter().all(|leader| leader.is_some_and(|(_, term)| term.by == NodeId(6))));
    // The lower one is stopped by the other starter.
    assert_eq!((net.said("election"), net.said("coordinator")), (8 + 4, 8));
}

#[test]
fn e8_a_member_that_may_never_lead_is_in_the_ring_all_the_same() {
    let mut net = Net::new(4, complete, |index| {
        (Config { hops: 1, may_lead: index < 2, ..config(index) }, Ring::default(), NoMutex)
    })
    .in_group()
    .alike();
    elect(&mut net, &[3]);
    assert_eq!(net.leader(), Some(NodeId(2)));
    assert_eq!(letters(&net, Kind::Ring), 2 * 4);
}

/// The list of an election with these on it; the names are those of the best two.
fn list(number: u32, starter: u32, members: &[u32]) -> Message {
    let mut best = members.to_vec();
    best.sort_unstable();
    let mut best = best.into_iter().rev().map(candidate);
    let (first, second) = (best.next(), best.next());
    Message::Election(List { term: term(number, starter), members: places(members), first, second })
}

fn result(number: u32, starter: u32) -> Message {
    let (leader, second) = (candidate(5), Some(candidate(4)));
    Message::Coordinator(Outcome { term: term(number, starter), leader, second, ring: places(&[1, 2, 3, 4, 5]) })
}

#[test]
fn r1_a_member_puts_itself_on_the_list_once() {
    let mut member = Member::new(2, Ring::default());
    assert_eq!(member.hear(1, list(1, 5, &[5, 1])), [(places(&[3]), list(1, 5, &[5, 1, 2]))]);
    assert_eq!(member.hear(1, list(1, 5, &[5, 1])), [], "the same again");
    assert_eq!(member.hear(1, list(1, 4, &[4, 5, 1])), [], "a lower term");
    assert_eq!(member.hear(1, list(2, 4, &[4, 5, 1, 2])), [], "one it is on, from before it was restarted");
    assert_eq!(member.hear(1, list(2, 5, &[5, 1])), [(places(&[3]), list(2, 5, &[5, 1, 2]))]);
}

#[test]
fn r1_a_list_a_failed_successor_was_given_goes_to_the_next_one() {
    let mut member = Member::new(2, Ring::default());
    member.hear(1, list(1, 1, &[1]));
    assert_eq!(member.lose(&[4]), []);
    assert_eq!(member.lose(&[3]), [(places(&[5]), list(1, 1, &[1, 2]))]);
    assert_eq!(member.restart(&[5]), [(places(&[5]), list(1, 1, &[1, 2]))]);
}

#[test]
fn r2_a_list_whose_starter_is_gone_goes_no_further_and_another_is_begun() {
    let mut member = Member::new(2, Ring::default());
    assert_eq!(member.hear(1, list(1, 3, &[3, 4, 5, 1])), [(places(&[3]), list(1, 3, &[3, 4, 5, 1, 2]))]);
    assert_eq!(member.lose(&[3]), []);
    assert_eq!(member.wait(), [(places(&[4]), list(2, 2, &[2]))]);
}

#[test]
fn r2_whoever_started_an_election_starts_again_when_nothing_comes_back() {
    let mut member = Member::new(2, Ring::default());
    assert_eq!(member.call(), [(places(&[3]), list(1, 2, &[2]))]);
    assert_eq!(member.wait(), [(places(&[3]), list(2, 2, &[2]))]);
    assert_eq!(member.hear(1, list(1, 2, &[2, 3, 4, 5, 1])), [], "too late");
    assert_eq!(member.hear(1, list(2, 2, &[2, 3, 4, 5, 1])), [(places(&[3]), result(2, 2))]);
    assert_eq!(member.hear(1, list(2, 2, &[2, 3, 4, 5, 1])), [], "once");
    assert_eq!(member.hear(1, result(2, 2)), [], "round once");
}

#[test]
fn r2_a_result_goes_round_once_and_not_beyond_its_starter() {
    let mut member = Member::new(2, Ring::default());
    assert_eq!(member.hear(1, result(1, 3)), [(places(&[3]), result(1, 3))]);
    assert_eq!(member.election.members(), places(&[1, 2, 3, 4, 5]));
    assert_eq!(member.hear(1, result(1, 3)), [], "once");
    let mut member = Member::new(2, Ring::default());
    member.lose(&[3]);
    assert_eq!(member.hear(1, result(1, 3)), []);
}

#[test]
fn r2_a_starter_that_crashes_leaves_nothing_going_round() {
    for millis in 0..40 {
        let mut net = room(6, Rules::default());
        net.put(2, Input::Election(Command::Call));
        net.run(Span::from_millis(millis));
        net.crash(2);
        net.run(Span::from_secs(15));
        assert_eq!(net.leader(), Some(NodeId(6)), "crashed after {millis} ms");
        net.sent.clear();
        net.run(Span::from_secs(10));
        assert_eq!(letters(&net, Kind::Ring), 0, "crashed after {millis} ms");
    }
}

#[test]
fn r1_a_member_that_crashes_with_the_list_in_its_hands_costs_time_only() {
    for crashed in [0, 3, 4, 5] {
        for millis in 0..40 {
            let mut net = room(6, Rules::default());
            net.put(2, Input::Election(Command::Call));
            net.run(Span::from_millis(millis));
            net.crash(crashed);
            net.run(Span::from_secs(15));
            let best = if crashed == 5 { 5 } else { 6 };
            assert_eq!(net.leader(), Some(NodeId(best)), "{crashed} crashed after {millis} ms");
        }
    }
}

#[test]
fn r6_whatever_goes_wrong_members_that_know_one_successor_find_another() {
    for seed in 0..300 {
        faults::afflict(seed, || Ring::new(Rules { successors: 1, direction: Direction::Back, ..Rules::default() }));
    }
}
