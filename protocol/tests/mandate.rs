//! Who may act: on whole nodes, whatever elected them.

mod common;

use common::{Net, complete, config, line};
use protocol::capacity::Capacity;
use protocol::election::{Bully, Command, Election, Grouped, Wireless};
use protocol::mandate::{Mode, Notice};
use protocol::mutex::NoMutex;
use protocol::node::{self, Input};
use protocol::{Config, NodeId, Span};

fn group<E: Election + Default + 'static>(count: usize, linked: fn(usize, usize) -> bool) -> Net<E, NoMutex> {
    let make = |index| (Config { mode: Mode::Quorum, ..config(index) }, E::default(), NoMutex);
    Net::new(count, linked, make).in_group()
}

/// Who may act at this moment.
fn acting<E: Election>(net: &Net<E, NoMutex>) -> Vec<u32> {
    net.nodes.iter().flatten().zip(1..).filter(|(node, _)| node.acts(net.now).is_some()).map(|(_, id)| id).collect()
}

/// What one node was told since notice number `from`.
fn told<E: Election>(net: &Net<E, NoMutex>, index: usize, from: usize) -> Vec<Notice> {
    let roles = net.notices[from..].iter().filter(|(_, node, _)| *node == index);
    let roles = roles.map(|(_, _, notice)| match notice {
        node::Notice::Role(role) => *role,
        node::Notice::Mutex(_) | node::Notice::Halted(_) => panic!("{notice:?}"),
    });
    roles.collect()
}

/// Cuts every link between the nodes below `at` and the others.
fn cut<E: Election>(net: &mut Net<E, NoMutex>, at: usize, open: bool) {
    for a in 0..net.nodes.len() {
        for b in 0..net.nodes.len() {
            if (a < at) != (b < at) {
                net.links[a][b] = open;
            }
        }
    }
}

#[test]
fn f2_only_where_there_is_a_majority_somebody_may_act() {
    let mut net = group::<Bully>(5, complete);
    net.run(Span::from_secs(10));
    assert_eq!((acting(&net), net.leader()), (vec![5], Some(NodeId(5))));
    let seen = net.notices.len();
    cut(&mut net, 3, false); // the best two on one side, three on the other
    net.run(Span::from_secs(12));
    assert_eq!(acting(&net), [3]);
    let mut told_so = told(&net, 4, seen);
    assert!(told_so.contains(&Notice::Degraded), "{told_so:?}");
    told_so.retain(|notice| *notice != Notice::Degraded); // it hears of that when it suspects the others
    let [Notice::Losing { until }, Notice::Lost, Notice::Leaderless] = told_so[..] else { panic!("{told_so:?}") };
    assert!(until < net.now);
    assert_eq!(net.leaders()[3..], [None, None], "nobody leads a minority");
    let seen = net.notices.len();
    cut(&mut net, 3, true);
    net.run(Span::from_secs(20));
    assert_eq!(acting(&net), [5]);
    assert!(matches!(told(&net, 4, seen)[..], [.., Notice::Gained { .. }]), "{:?}", told(&net, 4, seen));
}

#[test]
fn f1_in_available_mode_each_side_has_its_leader_and_knows_that_it_is_but_a_part() {
    let mut net = Net::new(5, complete, |index| (config(index), Bully::default(), NoMutex)).in_group();
    net.run(Span::from_secs(10));
    let seen = net.notices.len();
    cut(&mut net, 3, false);
    net.run(Span::from_secs(12));
    assert_eq!(acting(&net), [3, 5]);
    assert_eq!(told(&net, 4, seen), [Notice::Degraded]);
    let seen = net.notices.len();
    cut(&mut net, 3, true);
    net.run(Span::from_secs(20));
    assert_eq!(acting(&net), [5]);
    assert!(matches!(told(&net, 4, seen)[..], [Notice::Gained { .. }, ..]), "whole again: {:?}", told(&net, 4, seen));
}

#[test]
fn a_leader_that_slept_through_the_end_of_its_mandate_may_not_act_before_it_has_looked() {
    let mut net = group::<Bully>(3, complete);
    net.run(Span::from_secs(10));
    let sleeper = net.nodes[2].take().unwrap();
    assert!(sleeper.acts(net.now).is_some());
    net.run(Span::from_secs(12));
    assert_eq!(acting(&net), [2]);
    assert_eq!(sleeper.leader().map(|(leader, _)| leader), Some(NodeId(3)), "it still believes so");
    assert_eq!(sleeper.acts(net.now), None);
}

#[test]
fn a_leader_that_yields_frees_the_others_from_their_promise() {
    let mut net = group::<Bully>(5, complete);
    net.run(Span::from_secs(15));
    net.put(4, Input::Election(Command::Yield));
    net.run(Span::from_millis(500));
    assert_eq!(acting(&net), [4], "well before the promises to the old one would have ended");
}

#[test]
fn a_group_that_starts_waits_for_what_may_have_been_promised_before() {
    let mut net = group::<Bully>(3, complete);
    net.run(Span::from_millis(3_300));
    assert_eq!(acting(&net), []);
    net.run(Span::from_secs(3));
    assert_eq!(acting(&net), [3]);
}

#[test]
fn the_best_of_a_wireless_line_acts_while_it_hears_of_a_majority() {
    let mut net = group::<Grouped<Wireless>>(5, line);
    net.run(Span::from_secs(15));
    assert_eq!((acting(&net), net.leader()), (vec![5], Some(NodeId(5))));
    net.crash(2); // two at either end
    net.run(Span::from_secs(15));
    assert_eq!(acting(&net), []);
    net.boot(2);
    net.run(Span::from_secs(30));
    assert_eq!(acting(&net), [5]);
}

#[test]
fn members_that_are_gone_leave_the_view_and_come_back_into_it() {
    let mut net = group::<Bully>(5, complete);
    net.run(Span::from_secs(10));
    net.crash(0);
    net.run(Span::from_secs(6));
    let view = |net: &Net<Bully, NoMutex>, index: usize| net.nodes[index].as_ref().unwrap().view().len();
    assert_eq!((view(&net, 4), view(&net, 1)), (4, 4));
    net.crash(1);
    net.crash(2);
    net.run(Span::from_secs(20));
    assert_eq!(view(&net, 4), 4, "without a majority nobody is taken out");
    for index in 0..3 {
        net.boot(index);
        net.put(index, Input::Capacity(Some(Capacity::new(100))));
    }
    net.run(Span::from_secs(20));
    assert_eq!((view(&net, 4), view(&net, 0)), (5, 5));
}
