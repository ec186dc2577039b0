//! The bully election on whole nodes: the textbooks' examples, the formulas, and what a bad network does to it.

mod common;

use common::{Net, complete, config, letters, line, lossy};
use protocol::describe::describe;
use protocol::election::Command;
use protocol::election::bully::{Bully, Manner, Recovery, Rules};
use protocol::mutex::NoMutex;
use protocol::node::Input;
use protocol::wire::Kind;
use protocol::{Config, NodeId, Span};
use std::collections::BTreeSet;

/// Nodes that all hear each other, alike but for their names.
fn room(count: usize, rules: Rules) -> Net<Bully, NoMutex> {
    Net::new(count, complete, move |index| (Config { hops: 1, ..config(index) }, Bully::new(rules), NoMutex))
        .in_group()
        .alike()
}

/// A room in which the best has led for a while and has just crashed.
fn bereaved(count: usize, rules: Rules) -> Net<Bully, NoMutex> {
    let mut net = room(count, rules);
    net.run(Span::from_secs(20));
    assert_eq!(net.leader(), Some(config(count - 1).me));
    net.crash(count - 1);
    net.sent.clear();
    net
}

#[test]
fn b3_nodes_that_start_together_elect_the_best() {
    let mut net = room(5, Rules::default());
    net.run(Span::from_secs(5));
    assert_eq!(net.leader(), Some(NodeId(5)));
}

#[test]
fn b13_four_finds_seven_dead_five_and_six_answer_six_wins_and_seven_returns() {
    let mut net = bereaved(7, Rules::default());
    net.put(3, Input::Election(Command::Call));
    net.run(Span::from_millis(1_500));
    assert_eq!(net.leader(), Some(NodeId(6)));
    net.boot(6);
    net.run(Span::from_secs(60));
    assert_eq!(net.leader(), Some(NodeId(7)));
}

#[test]
fn b15_called_by_the_worst_an_election_takes_as_many_letters_as_the_formula_says() {
    for nodes in [4, 8, 16] {
        let mut net = bereaved(nodes, Rules::default());
        net.put(0, Input::Election(Command::Call));
        net.run(Span::from_millis(1_500));
        assert_eq!(net.leader(), Some(config(nodes - 2).me));
        assert_eq!(letters(&net, Kind::Bully), nodes * nodes - nodes - 1, "{nodes} nodes");
    }
}

#[test]
fn b14_called_by_the_second_best_it_takes_one_to_the_dead_and_one_to_each_other() {
    for (skip_suspected, more) in [(false, 1), (true, 0)] {
        for nodes in [4, 8, 16] {
            let mut net = bereaved(nodes, Rules { skip_suspected, ..Rules::default() });
            if skip_suspected {
                while net.leaders()[nodes - 2].is_some() {
                    net.run(Span::from_millis(1)); // until it suspects the dead one
                }
            }
            net.put(nodes - 2, Input::Election(Command::Call));
            net.run(Span::from_millis(1_500));
            assert_eq!(net.leader(), Some(config(nodes - 2).me));
            assert_eq!(letters(&net, Kind::Bully), nodes - 2 + more, "{nodes} nodes");
        }
    }
}

#[test]
fn b5_one_that_holds_an_election_answers_and_holds_no_second() {
    let mut net = bereaved(5, Rules::default());
    net.put(2, Input::Election(Command::Call));
    net.put(0, Input::Election(Command::Call));
    net.put(1, Input::Election(Command::Call));
    net.run(Span::from_millis(1_500));
    assert_eq!(net.leader(), Some(NodeId(4)));
    // Every live member asks every better one once: as many as when the worst alone had called.
    assert_eq!(letters(&net, Kind::Bully), 5 * 5 - 5 - 1);
}

#[test]
fn b6_a_better_one_that_answers_and_then_fails_is_not_waited_for_for_ever() {
    let mut net = bereaved(4, Rules::default());
    net.put(0, Input::Election(Command::Call));
    net.run(Span::from_millis(50)); // the answers are in
    net.crash(2);
    net.run(Span::from_secs(10));
    assert_eq!(net.leader(), Some(NodeId(2)));
}

#[test]
fn b7_a_worse_leader_is_answered_by_an_election() {
    let mut net = room(4, Rules::default()).with_fate(|sender, _, _| sender != 3); // the best is not heard
    net.run(Span::from_secs(10));
    assert_eq!(net.leaders()[0].map(|(leader, _)| leader), Some(NodeId(3)));
    let mut net = net.with_fate(|_, _, _| true);
    net.run(Span::from_secs(30));
    assert_eq!(net.leader(), Some(NodeId(4)));
}

#[test]
fn b8_worse_ones_that_are_told_do_not_call_themselves() {
    let mut net = bereaved(5, Rules { alert: true, ..Rules::default() });
    net.put(2, Input::Election(Command::Call));
    net.run(Span::from_millis(1_500));
    assert_eq!(net.leader(), Some(NodeId(4)));
    net.run(Span::from_secs(5)); // all have missed the dead one by now
    let called = net.sent.iter().filter(|(_, bytes)| describe(&net.key(), bytes) == Some("election"));
    assert_eq!(called.map(|&(sender, _)| sender).collect::<BTreeSet<_>>(), BTreeSet::from([2, 3]));
}

/// Who leads five nodes two seconds after their best came back, and a minute after.
fn comes_back(recovery: Recovery) -> [Option<NodeId>; 2] {
    let mut net = bereaved(5, Rules { recovery, ..Rules::default() });
    net.run(Span::from_secs(20));
    assert_eq!(net.leader(), Some(NodeId(4)));
    net.boot(4);
    [2, 58].map(|secs| {
        net.run(Span::from_secs(secs));
        net.leader()
    })
}

#[test]
fn x1_one_that_comes_back_asks_elects_or_announces_as_it_was_told_to() {
    let [old, new] = [4, 5].map(|id| Some(NodeId(id)));
    assert_eq!(comes_back(Recovery::Announce), [new, new], "b9: it simply says that it leads");
    assert_eq!(comes_back(Recovery::Elect), [new, new], "b10: it holds an election");
    assert_eq!(comes_back(Recovery::Ask), [old, old], "b11: it lets a settled leader lead that is as good");
}

#[test]
fn b16_with_shouts_an_election_of_many_takes_a_few_frames() {
    let mut net = bereaved(16, Rules { manner: Manner::Shouts, ..Rules::default() });
    net.put(0, Input::Election(Command::Call));
    net.run(Span::from_millis(1_500));
    assert_eq!(net.leader(), Some(NodeId(15)));
    let shouts = net.sent.iter().filter(|(_, bytes)| describe(&net.key(), bytes) == Some("shout")).count();
    assert!(shouts <= 4, "{shouts} shouts");
    assert_eq!(letters(&net, Kind::Bully), 0);
}

#[test]
fn e7_the_best_leads_whatever_its_name() {
    for manner in [Manner::Letters, Manner::Shouts] {
        let rules = Rules { manner, ..Rules::default() };
        let mut net = Net::new(4, complete, move |index| (config(index), Bully::new(rules), NoMutex)).in_group();
        net.measure(&[300, 900, 100, 400]);
        net.run(Span::from_secs(8));
        assert_eq!(net.leader(), Some(NodeId(2)));
    }
}

#[test]
fn b3_the_best_of_a_line_leads_although_a_fifth_of_all_frames_is_lost() {
    for seed in 1..=30 {
        let mut net = Net::new(5, line, |index| (config(index), Bully::default(), NoMutex)).in_group();
        net = net.with_fate(lossy(20, seed));
        net.run(Span::from_secs(60));
        assert_eq!(net.leader(), Some(NodeId(5)), "seed {seed}");
        net.crash(4);
        net.run(Span::from_secs(60));
        assert_eq!(net.leader(), Some(NodeId(4)), "seed {seed}");
    }
}

#[test]
fn a_leader_that_yields_hands_over_to_the_runner_up() {
    let mut net = room(4, Rules::default());
    net.run(Span::from_secs(15));
    net.put(3, Input::Election(Command::Yield));
    net.run(Span::from_millis(1_500));
    assert_eq!(net.leader(), Some(NodeId(3)));
}

#[test]
fn a_member_that_may_not_lead_never_does() {
    let make = |index| (Config { may_lead: index < 2, ..config(index) }, Bully::default(), NoMutex);
    let mut net = Net::new(4, complete, make).in_group();
    net.run(Span::from_secs(15));
    assert_eq!(net.leader(), Some(NodeId(2)));
    net.crash(1);
    net.run(Span::from_secs(15));
    assert_eq!(net.leader(), Some(NodeId(1)));
}
