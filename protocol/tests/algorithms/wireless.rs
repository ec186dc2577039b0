//! The wireless election among whole nodes: bytes in, bytes out.

use crate::support::prelude::*;
use protocol::base::capacity::Capacity;
use protocol::election::{Command, Wireless};
use protocol::lease::Notice;
use protocol::node::{self, Input};

fn net(count: usize, linked: impl Fn(usize, usize) -> bool) -> Net<Wireless, NoMutex> {
    Net::new(count, linked, |index| (config(index), Wireless::new(), NoMutex)).started()
}

#[test]
fn w1_w2_the_best_of_a_line_or_a_neighbourhood_leads_although_a_third_of_all_frames_is_lost() {
    let links: [fn(usize, usize) -> bool; 2] = [line, complete];
    for (count, linked, lost, secs) in [(6, links[0], 0, 4), (8, links[1], 0, 4), (8, links[0], 30, 20)] {
        let mut net = net(count, linked).with_filter(lossy(lost, 1));
        net.run_secs(secs);
        assert_eq!(net.leader(), Some(config(count - 1).me), "{count} nodes, {lost} % lost");
    }
}

#[test]
fn when_the_leader_dies_the_next_best_takes_over() {
    let mut net = net(6, line);
    net.run_secs(4).crash(5).run_secs(6);
    assert_eq!(net.leader(), Some(NodeId(5)));
}

#[test]
fn f1_two_partitions_have_two_leaders_and_one_after_the_merge() {
    let mut net = net(8, line);
    net.relink(|a, b| line(a, b) && (a < 4) == (b < 4)).run_secs(10);
    let leaders = net.leaders();
    assert!(leaders[..4].iter().all(|leader| leader.unwrap().0 == NodeId(4)));
    assert!(leaders[4..].iter().all(|leader| leader.unwrap().0 == NodeId(8)));
    net.relink(line).run_secs(10);
    assert_eq!(net.leader(), Some(NodeId(8)));
}

#[test]
fn the_better_leader_wins_a_merge_although_its_term_is_lower() {
    let mut net = net(4, line);
    net.relink(|a, b| line(a, b) && (a < 2) == (b < 2)).run_secs(4);
    for _ in 0..5 {
        net.put(0, Input::Election(Command::Call)).run_secs(1);
    }
    let (low, high) = (net.leaders()[3].unwrap().1, net.leaders()[0].unwrap().1);
    assert!(low < high, "{low:?} {high:?}");
    net.relink(line).run_secs(8);
    assert_eq!(net.leader(), Some(NodeId(4)));
    assert!(net.leaders()[0].unwrap().1 > high);
}

#[test]
fn a_one_way_link_carries_no_leadership() {
    let mut net = net(4, line);
    net.links[1][2] = false; // node 2 receives what node 3 sends, but not the other way round
    net.run_secs(10);
    let leaders: Vec<NodeId> = net.leaders().into_iter().map(|leader| leader.unwrap().0).collect();
    assert_eq!(leaders, [NodeId(2), NodeId(2), NodeId(4), NodeId(4)]);
}

#[test]
fn no_term_is_used_again_after_the_whole_network_restarts() {
    let mut net = net(4, line);
    net.run_secs(4);
    let before = net.leaders()[0].unwrap().1;
    (0..4).for_each(|index| _ = net.crash(index));
    (0..4).for_each(|index| _ = net.boot(index));
    net.run_secs(4);
    assert_eq!(net.leader(), Some(NodeId(4)));
    assert!(net.leaders()[0].unwrap().1 > before);
}

#[test]
fn a_leader_that_yields_is_succeeded_by_the_runner_up() {
    let mut net = net(5, line);
    net.run_secs(4).put(4, Input::Election(Command::Yield)).run_secs(1);
    assert_eq!(net.leader(), Some(NodeId(4)));
}

#[test]
fn a_leader_that_becomes_unfit_is_succeeded_by_the_runner_up() {
    let mut net = net(5, line);
    net.run_secs(4).put(4, Input::Capacity(None)).run_secs(1);
    assert_eq!(net.leader(), Some(NodeId(4)));
    net.run_secs(60);
    assert_eq!(net.leader(), Some(NodeId(4)));
}

#[test]
fn a_node_that_became_better_takes_over_after_the_takeover_delay_and_not_before() {
    let mut net = net(4, line);
    net.run_secs(60).put(0, Input::Capacity(Some(Capacity::new(5_000)))).run_secs(9);
    assert_eq!(net.leader(), Some(NodeId(4)));
    net.run_secs(5);
    assert_eq!(net.leader(), Some(NodeId(1)));
}

#[test]
fn a_restarted_leader_comes_back_under_a_higher_term() {
    let mut net = net(4, line);
    net.run_secs(4);
    let before = net.leaders()[0].unwrap().1;
    net.crash(3).run_secs(1).boot(3).run_secs(10);
    let (leader, after) = net.leaders()[0].unwrap();
    assert_eq!(net.leader(), Some(leader));
    assert!(after > before, "{before:?} {after:?}");
}

#[test]
fn a_node_that_cannot_lead_elects_the_leader_it_lost_when_that_is_back_without_its_records() {
    let mut net =
        Net::new(2, line, |index| (Config { may_lead: index == 0, ..config(index) }, Wireless::new(), NoMutex));
    net.boot(0).boot(1).run_secs(10);
    assert_eq!(net.leader(), Some(config(0).me));
    net.crash(0).run_secs(2).boot_with(0, None);
    assert!(net.run_until(Duration::from_secs(60), |net| net.leader() == Some(config(0).me)));
}

#[test]
fn nodes_that_may_never_lead_do_not() {
    let make = |index| (Config { may_lead: index < 2, ..config(index) }, Wireless::new(), NoMutex);
    let mut net = Net::new(4, line, make).started();
    net.run_secs(10);
    assert_eq!(net.leader(), Some(NodeId(2)));
}

#[test]
fn a_quiet_network_sends_little_more_than_the_leaders_pulses_and_a_heartbeat_every_eight_seconds() {
    let mut net = net(6, line);
    net.run_secs(120);
    let before = net.sent.len();
    net.run_secs(60);
    let (pulses, heartbeats, hellos) = (5 * 60, 6 * 8, 6 * 4);
    let frames = net.sent.len() - before;
    assert!(frames >= pulses && frames <= pulses + 2 * heartbeats + hellos, "{frames}");
}

#[test]
fn no_notice_is_repeated() {
    let mut net = net(6, complete);
    net.run_secs(30);
    for index in 0..6 {
        let notices: Vec<_> =
            net.notices.iter().filter(|(_, node, _)| *node == index).map(|&(_, _, notice)| notice).collect();
        assert!(notices.windows(2).all(|pair| pair[0] != pair[1]), "{notices:?}");
        assert!(matches!(
            notices.last(),
            Some(node::Notice::Role(Notice::LeaderChanged { leader: NodeId(6), .. } | Notice::Gained { .. }))
        ));
    }
}
