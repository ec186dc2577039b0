//! The leader lease on whole nodes, whatever elected the leader.

use crate::support::prelude::*;
use protocol::base::capacity::Capacity;
use protocol::base::quorum::Mode;
use protocol::election::{Bully, Command, Election, Wireless};
use protocol::lease::Notice;
use protocol::node::{self, Input};

fn group<E: Election + Default + 'static>(count: usize, linked: fn(usize, usize) -> bool) -> Net<E, NoMutex> {
    let make = |index| (Config { mode: Mode::Quorum, ..config(index) }, E::default(), NoMutex);
    Net::new(count, linked, make).in_group()
}

/// The nodes that may act at this moment.
fn acting<E: Election>(net: &Net<E, NoMutex>) -> Vec<u32> {
    let nodes = net.nodes.iter().flatten().zip(1..);
    nodes.filter(|(node, _)| node.acting_term(net.now).is_some()).map(|(_, id)| id).collect()
}

/// The notices of one node since number `from`.
fn notices<E: Election>(net: &Net<E, NoMutex>, index: usize, from: usize) -> Vec<Notice> {
    let roles = net.notices[from..].iter().filter(|(_, node, _)| *node == index);
    let roles = roles.map(|(_, _, notice)| match notice {
        node::Notice::Role(role) => *role,
        node::Notice::Reorganising { .. }
        | node::Notice::Mutex(_)
        | node::Notice::Service(_)
        | node::Notice::SameId
        | node::Notice::Halted(_) => {
            panic!("{notice:?}")
        }
    });
    roles.collect()
}

#[test]
fn f2_only_the_leader_of_a_majority_may_act() {
    let mut net = group::<Bully>(5, complete);
    net.run_secs(10);
    assert_eq!((acting(&net), net.leader()), (vec![5], Some(NodeId(5))));
    let seen = net.notices.len();
    net.relink(|a, b| (a < 3) == (b < 3)); // the best two on one side, three on the other
    net.run_secs(12);
    assert_eq!(acting(&net), [3]);
    let mut new = notices(&net, 4, seen);
    assert!(new.contains(&Notice::Degraded), "{new:?}");
    new.retain(|notice| *notice != Notice::Degraded); // it learns of that when it suspects the others
    let [Notice::Losing { until }, Notice::Lost, Notice::Leaderless] = new[..] else { panic!("{new:?}") };
    assert!(until < net.now);
    assert_eq!(net.leaders()[3..], [None, None], "no node leads a minority");
    let seen = net.notices.len();
    net.relink(complete).run_secs(20);
    assert_eq!(acting(&net), [5]);
    assert!(matches!(notices(&net, 4, seen)[..], [.., Notice::Gained { .. }]), "{:?}", notices(&net, 4, seen));
}

#[test]
fn f1_in_available_mode_each_partition_has_a_leader_that_knows_it_has_no_quorum() {
    let mut net = Net::new(5, complete, |index| (config(index), Bully::default(), NoMutex)).in_group();
    net.run_secs(10);
    let seen = net.notices.len();
    net.relink(|a, b| (a < 3) == (b < 3)).run_secs(12);
    assert_eq!(acting(&net), [3, 5]);
    assert_eq!(notices(&net, 4, seen), [Notice::Degraded]);
    let seen = net.notices.len();
    net.relink(complete).run_secs(20);
    assert_eq!(acting(&net), [5]);
    let new = notices(&net, 4, seen);
    assert!(matches!(new[..], [Notice::Gained { .. }, ..]), "whole again: {new:?}");
}

#[test]
fn a_leader_that_slept_through_the_end_of_its_lease_may_not_act() {
    let mut net = group::<Bully>(3, complete);
    net.run_secs(10);
    let sleeper = net.take(2).unwrap();
    assert!(sleeper.acting_term(net.now).is_some());
    net.run_secs(12);
    assert_eq!(acting(&net), [2]);
    assert_eq!(sleeper.leader().map(|(leader, _)| leader), Some(NodeId(3)), "it still believes so");
    assert_eq!(sleeper.acting_term(net.now), None);
}

#[test]
fn a_leader_that_yields_releases_its_lease() {
    let mut net = group::<Bully>(5, complete);
    // Whoever hears the successor's first heartbeat before the release grants it the next one.
    net.run_secs(15).put(4, Input::Election(Command::Yield)).run(Duration::from_millis(1_500));
    assert_eq!(acting(&net), [4], "well before the old lease would have expired");
}

#[test]
fn a_group_that_starts_waits_for_leases_of_before() {
    let mut net = group::<Bully>(3, complete);
    net.run(Duration::from_millis(3_300));
    assert_eq!(acting(&net), []);
    net.run_secs(3);
    assert_eq!(acting(&net), [3]);
}

#[test]
fn the_best_of_a_wireless_line_acts_while_it_reaches_a_majority() {
    let mut net = group::<Wireless>(5, line);
    net.run_secs(15);
    assert_eq!((acting(&net), net.leader()), (vec![5], Some(NodeId(5))));
    net.crash(2); // two at either end
    net.run_secs(15);
    assert_eq!(acting(&net), []);
    net.boot(2).run_secs(30);
    assert_eq!(acting(&net), [5]);
}

#[test]
fn crashed_members_leave_the_view_and_restarted_ones_come_back() {
    let mut net = group::<Bully>(5, complete);
    net.run_secs(10).crash(0).run_secs(6);
    let view = |net: &Net<Bully, NoMutex>, index: usize| net.nodes[index].as_ref().unwrap().view().len();
    assert_eq!((view(&net, 4), view(&net, 1)), (4, 4));
    net.crash(1).crash(2).run_secs(20);
    assert_eq!(view(&net, 4), 4, "without a majority no member is removed");
    for index in 0..3 {
        net.boot(index).put(index, Input::Capacity(Some(Capacity::new(100))));
    }
    net.run_secs(20);
    assert_eq!((view(&net, 4), view(&net, 0)), (5, 5));
}
