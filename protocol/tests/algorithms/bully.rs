//! The bully election on whole nodes: the textbooks' examples, the formulas, and a bad network.

use crate::support::prelude::*;
use protocol::election::Command;
use protocol::election::bully::{Bully, Message, Options, Recovery, Transport};
use protocol::node::Input;
use protocol::registry::message_name;
use std::collections::BTreeSet;

/// How long an election takes at most.
const ELECTION: Duration = Duration::from_millis(1_500);

fn room(count: usize, rules: Options) -> Net<Bully, NoMutex> {
    Net::room(count, move || Bully::new(rules))
}

/// A room in which the best has led for a while and has just crashed.
fn leaderless(count: usize, rules: Options) -> Net<Bully, NoMutex> {
    let mut net = room(count, rules);
    net.run_secs(20);
    assert_eq!(net.leader(), Some(config(count - 1).me));
    net.crash(count - 1);
    net.sent.clear();
    net
}

/// The senders of frames of this name.
fn senders(net: &Net<Bully, NoMutex>, name: &str) -> Vec<usize> {
    let named = net.sent.iter().filter(|(_, bytes)| message_name(&net.key(), bytes) == Some(name));
    named.map(|&(sender, _)| sender).collect()
}

#[test]
fn b13_four_finds_seven_dead_five_and_six_answer_six_wins_and_seven_returns() {
    let mut net = leaderless(7, Options::default());
    net.elect(&[3], ELECTION);
    assert_eq!(net.leader(), Some(NodeId(6)));
    net.boot(6).run_secs(60);
    assert_eq!(net.leader(), Some(NodeId(7)));
}

#[test]
fn b13_who_answers_holds_an_election_of_its_own() {
    let mut net = leaderless(7, Options::default());
    net.elect(&[3], ELECTION);
    assert_eq!(BTreeSet::from_iter(senders(&net, "ok")), BTreeSet::from([4, 5]), "5 and 6 answer");
    assert_eq!(BTreeSet::from_iter(senders(&net, "election")), BTreeSet::from([3, 4, 5]), "and hold elections");
    assert_eq!(BTreeSet::from_iter(senders(&net, "coordinator")), BTreeSet::from([5]), "6 alone announces that it won");
}

#[test]
fn b7_a_worse_leader_is_answered_at_once_while_it_is_new() {
    let mut net = room(4, Options::default()).with_filter(|sender, _| sender != 3); // the best is not heard
    net.run_until(Duration::from_secs(10), |net| net.leaders()[0].is_some_and(|(leader, _)| leader == NodeId(3)));
    net.set_filter(|_, _| true);
    let timing = Timing::LAN;
    // It waits until the election it missed is surely over, the shares of the best in the stagger, and a failed answer.
    net.run(timing.takeover_delay_unsettled.plus(timing.heartbeat).plus(timing.stagger));
    assert_eq!(net.leader(), Some(NodeId(4)));
}

#[test]
fn b7_the_announcement_of_a_lower_id_is_answered_in_the_same_step() {
    let announced = || Message::Coordinator { term: term(1, 2), leader: candidate(500, 2), runner_up: None };
    let mut third = Single::new(3, roster(1..=5), Bully::default());
    let asks = Message::Election { term: term(2, 3), caller: Some(candidate(500, 3)) };
    let elections = |sends: Vec<(NodeSet, Message)>| -> Vec<_> {
        sends.into_iter().filter(|(_, message)| !matches!(message, Message::Ask)).collect()
    };
    assert_eq!(elections(third.receive(2, announced())), [(members(&[4, 5]), asks)], "it asks those that are better");
    let mut best = Single::new(5, roster(1..=5), Bully::default());
    let wins = Message::Coordinator { term: term(2, 5), leader: candidate(500, 5), runner_up: None };
    assert_eq!(elections(best.receive(2, announced())), [(members(&[1, 2, 3, 4]), wins)], "the best just announces");
    let mut first = Single::new(1, roster(1..=5), Bully::default());
    assert_eq!(elections(first.receive(2, announced())), [], "and whoever is worse follows");
}

#[test]
fn b15_called_by_the_worst_an_election_takes_as_many_messages_as_the_formula_says() {
    for nodes in [4, 8, 16] {
        let mut net = leaderless(nodes, Options::default());
        net.elect(&[0], ELECTION);
        assert_eq!(net.leader(), Some(config(nodes - 2).me));
        assert_eq!(net.copies_of(Bully::KIND), nodes * nodes - nodes - 1, "{nodes} nodes");
    }
}

#[test]
fn b14_called_by_the_second_best_it_takes_one_to_the_dead_and_one_to_each_other() {
    for (skip_suspected, more) in [(false, 1), (true, 0)] {
        for nodes in [4, 8, 16] {
            let mut net = leaderless(nodes, Options { skip_suspected, ..Options::default() });
            if skip_suspected {
                net.run_until(Duration::from_secs(60), |net| net.leaders()[nodes - 2].is_none());
            }
            net.elect(&[nodes - 2], ELECTION);
            assert_eq!(net.leader(), Some(config(nodes - 2).me));
            assert_eq!(net.copies_of(Bully::KIND), nodes - 2 + more, "{nodes} nodes");
        }
    }
}

#[test]
fn b5_a_node_that_holds_an_election_answers_and_holds_no_second() {
    let mut net = leaderless(5, Options::default());
    net.elect(&[2, 0, 1], ELECTION);
    assert_eq!(net.leader(), Some(NodeId(4)));
    // Every live member asks every better one once: as many as when the worst alone had called.
    assert_eq!(net.copies_of(Bully::KIND), 5 * 5 - 5 - 1);
}

#[test]
fn b6_a_better_node_that_answers_and_then_crashes_is_not_waited_for_for_ever() {
    let mut net = leaderless(4, Options::default());
    net.put(0, Input::Election(Command::Call)).run(Duration::from_millis(50)); // the answers are in
    net.crash(2).run_secs(10);
    assert_eq!(net.leader(), Some(NodeId(2)));
}

#[test]
fn b7_a_worse_leader_is_answered_by_an_election() {
    let mut net = room(4, Options::default()).with_filter(|sender, _| sender != 3); // the best is not heard
    net.run_secs(10);
    assert_eq!(net.leaders()[0].map(|(leader, _)| leader), Some(NodeId(3)));
    net.set_filter(|_, _| true).run_secs(30);
    assert_eq!(net.leader(), Some(NodeId(4)));
}

#[test]
fn b8_worse_nodes_that_are_alerted_do_not_call_elections_themselves() {
    let mut net = leaderless(5, Options { alert: true, ..Options::default() });
    net.elect(&[2], ELECTION);
    assert_eq!(net.leader(), Some(NodeId(4)));
    net.run_secs(5); // all suspect the dead one by now
    assert_eq!(BTreeSet::from_iter(senders(&net, "election")), BTreeSet::from([2, 3]));
}

#[test]
fn an_election_that_the_leader_ends_leaves_no_alerted_member_to_call_the_next() {
    for alert in [false, true] {
        let mut net = room(7, Options { alert, ..Options::default() });
        net.run_secs(20);
        net.sent.clear();
        net.elect(&[3], Duration::from_secs(60));
        assert_eq!(net.leader(), Some(NodeId(7)), "alert: {alert}");
        let callers = BTreeSet::from_iter(senders(&net, "election"));
        assert_eq!(callers, BTreeSet::from([3, 4, 5]), "alert: {alert}");
        let alerting = if alert { callers } else { BTreeSet::new() };
        assert_eq!(BTreeSet::from_iter(senders(&net, "alert")), alerting);
    }
}

/// The leader of five nodes two seconds after their best restarted, and a minute after.
fn recover(recovery: Recovery) -> [Option<NodeId>; 2] {
    let mut net = leaderless(5, Options { recovery, ..Options::default() });
    net.run_secs(20);
    assert_eq!(net.leader(), Some(NodeId(4)));
    net.boot(4);
    [2, 58].map(|secs| {
        net.run(Duration::from_secs(secs));
        net.leader()
    })
}

#[test]
fn x1_a_node_that_restarts_asks_elects_or_announces_as_its_rules_say() {
    let [old, new] = [4, 5].map(|id| Some(NodeId(id)));
    assert_eq!(recover(Recovery::Announce), [new, new], "b9: it announces that it leads");
    assert_eq!(recover(Recovery::Elect), [new, new], "b10: it holds an election");
    assert_eq!(recover(Recovery::Ask), [old, old], "b11: it lets an incumbent lead that is as good");
}

#[test]
fn b16_with_broadcasts_an_election_of_many_takes_a_few_frames() {
    let mut net = leaderless(16, Options { transport: Transport::Broadcast, ..Options::default() });
    net.elect(&[0], ELECTION);
    assert_eq!(net.leader(), Some(NodeId(15)));
    let broadcasts = senders(&net, "broadcast").len();
    assert!(broadcasts <= 4, "{broadcasts} broadcasts");
    assert_eq!(net.copies_of(Bully::KIND), 0);
}

#[test]
fn e7_the_best_leads_whatever_its_id() {
    for transport in [Transport::Unicast, Transport::Broadcast] {
        let rules = Options { transport, ..Options::default() };
        let mut net = Net::new(4, complete, move |index| (config(index), Bully::new(rules), NoMutex)).in_group();
        net.measure(&[300, 900, 100, 400]);
        net.run_secs(8);
        assert_eq!(net.leader(), Some(NodeId(2)));
    }
}

#[test]
fn b3_the_best_of_a_line_leads_although_a_fifth_of_all_frames_is_lost() {
    for seed in 1..=30 {
        let mut net = Net::new(5, line, |index| (config(index), Bully::default(), NoMutex))
            .in_group()
            .with_filter(lossy(20, seed));
        net.run_secs(60);
        assert_eq!(net.leader(), Some(NodeId(5)), "seed {seed}");
        net.crash(4).run_secs(60);
        assert_eq!(net.leader(), Some(NodeId(4)), "seed {seed}");
    }
}

#[test]
fn a_leader_that_yields_hands_over_to_the_runner_up() {
    let mut net = room(4, Options::default());
    net.run_secs(15).put(3, Input::Election(Command::Yield)).run(ELECTION);
    assert_eq!(net.leader(), Some(NodeId(3)));
}

#[test]
fn a_member_that_may_not_lead_never_does() {
    let make = |index| (Config { may_lead: index < 2, ..config(index) }, Bully::default(), NoMutex);
    let mut net = Net::new(4, complete, make).in_group();
    net.run_secs(15);
    assert_eq!(net.leader(), Some(NodeId(2)));
    net.crash(1).run_secs(15);
    assert_eq!(net.leader(), Some(NodeId(1)));
}

#[test]
fn a_leader_that_is_asked_to_yield_where_nobody_else_can_lead_goes_on() {
    let make = |index| (Config { may_lead: index == 3, ..config(index) }, Bully::default(), NoMutex);
    let mut net = Net::new(4, complete, make).in_group();
    net.run_secs(15);
    let term = net.nodes[3].as_ref().unwrap().acting_term(net.now);
    net.put(3, Input::Election(Command::Yield));
    for _ in 0..20 {
        net.run_secs(1);
        assert_eq!(net.leader(), Some(NodeId(4)));
    }
    assert!(term.is_some() && net.nodes[3].as_ref().unwrap().acting_term(net.now) == term, "under the same term");
}

#[test]
fn a_leader_whose_only_rival_is_down_does_not_hand_over_to_it() {
    let make = |index| (Config { may_lead: index > 1, ..config(index) }, Bully::default(), NoMutex);
    let mut net = Net::new(4, complete, make).in_group();
    net.run_secs(15);
    net.crash(2).run_secs(15).put(3, Input::Election(Command::Yield));
    for _ in 0..20 {
        net.run_secs(1);
        assert_eq!(net.leader(), Some(NodeId(4)));
    }
}
