//! The bully election on whole nodes: the seeds' examples, the formulas, and what a bad network does to it.

mod common;

use common::{Net, complete, config, letters};
use protocol::election::Command;
use protocol::election::bully::{Bully, Rules};
use protocol::mutex::NoMutex;
use protocol::node::Input;
use protocol::wire::Kind;
use protocol::{Config, NodeId, Span};

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
