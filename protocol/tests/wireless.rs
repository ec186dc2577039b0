//! The wireless election among whole nodes: bytes in, bytes out.

mod common;

use common::{Net, complete, config, line, lossy};
use protocol::capacity::Capacity;
use protocol::election::{Command, Wireless};
use protocol::mandate::Notice;
use protocol::mutex::NoMutex;
use protocol::node::{self, Input};
use protocol::{NodeId, Span};

fn net(count: usize, linked: impl Fn(usize, usize) -> bool) -> Net<Wireless, NoMutex> {
    Net::new(count, linked, |index| (config(index), Wireless::new(), NoMutex))
}

#[test]
fn w1_the_best_of_a_line_leads_nodes_that_do_not_hear_it() {
    let mut net = net(6, line);
    net.run(Span::from_secs(4));
    assert_eq!(net.leader(), Some(NodeId(6)));
}

#[test]
fn w2_the_best_of_a_crowd_leads() {
    let mut net = net(8, complete);
    net.run(Span::from_secs(4));
    assert_eq!(net.leader(), Some(NodeId(8)));
}

#[test]
fn the_best_leads_although_a_third_of_all_frames_is_lost() {
    let mut net = net(8, line).with_fate(lossy(30, 1));
    net.run(Span::from_secs(20));
    assert_eq!(net.leader(), Some(NodeId(8)));
}

#[test]
fn when_the_leader_dies_the_next_best_takes_over() {
    let mut net = net(6, line);
    net.run(Span::from_secs(4));
    net.crash(5);
    net.run(Span::from_secs(6));
    assert_eq!(net.leader(), Some(NodeId(5)));
}

#[test]
fn f1_two_halves_have_two_leaders_and_one_again_when_joined() {
    let mut net = net(8, line);
    net.links[3][4] = false;
    net.links[4][3] = false;
    net.run(Span::from_secs(10));
    let leaders = net.leaders();
    assert!(leaders[..4].iter().all(|leader| leader.unwrap().0 == NodeId(4)));
    assert!(leaders[4..].iter().all(|leader| leader.unwrap().0 == NodeId(8)));
    net.links[3][4] = true;
    net.links[4][3] = true;
    net.run(Span::from_secs(10));
    assert_eq!(net.leader(), Some(NodeId(8)));
}

#[test]
fn the_better_leader_wins_a_merge_although_its_term_is_lower() {
    let mut net = net(4, line);
    net.links[1][2] = false;
    net.links[2][1] = false;
    net.run(Span::from_secs(4));
    for _ in 0..5 {
        net.put(0, Input::Election(Command::Call));
        net.run(Span::from_secs(1));
    }
    let (low, high) = (net.leaders()[3].unwrap().1, net.leaders()[0].unwrap().1);
    assert!(low < high, "{low:?} {high:?}");
    net.links[1][2] = true;
    net.links[2][1] = true;
    net.run(Span::from_secs(8));
    assert_eq!(net.leader(), Some(NodeId(4)));
    assert!(net.leaders()[0].unwrap().1 > high);
}

#[test]
fn a_one_way_link_carries_no_leadership() {
    let mut net = net(4, line);
    net.links[1][2] = false; // node 2 hears node 3 and all it says, but not the other way round
    net.run(Span::from_secs(10));
    let leaders: Vec<NodeId> = net.leaders().into_iter().map(|leader| leader.unwrap().0).collect();
    assert_eq!(leaders, [NodeId(2), NodeId(2), NodeId(4), NodeId(4)]);
}

#[test]
fn no_term_is_used_again_after_the_whole_network_restarts() {
    let mut net = net(4, line);
    net.run(Span::from_secs(4));
    let before = net.leaders()[0].unwrap().1;
    for index in 0..4 {
        net.crash(index);
    }
    for index in 0..4 {
        net.boot(index);
    }
    net.run(Span::from_secs(4));
    assert_eq!(net.leader(), Some(NodeId(4)));
    assert!(net.leaders()[0].unwrap().1 > before);
}

#[test]
fn a_leader_that_yields_is_followed_by_the_runner_up() {
    let mut net = net(5, line);
    net.run(Span::from_secs(4));
    net.put(4, Input::Election(Command::Yield));
    net.run(Span::from_secs(1));
    assert_eq!(net.leader(), Some(NodeId(4)));
}

#[test]
fn a_leader_that_lost_its_function_is_followed_by_the_runner_up() {
    let mut net = net(5, line);
    net.run(Span::from_secs(4));
    net.put(4, Input::Capacity(None));
    net.run(Span::from_secs(1));
    assert_eq!(net.leader(), Some(NodeId(4)));
    net.run(Span::from_secs(60));
    assert_eq!(net.leader(), Some(NodeId(4)));
}

#[test]
fn a_node_that_grew_better_takes_over_after_the_hold_and_not_before() {
    let mut net = net(4, line);
    net.run(Span::from_secs(60));
    net.put(0, Input::Capacity(Some(Capacity::new(5_000))));
    net.run(Span::from_secs(9));
    assert_eq!(net.leader(), Some(NodeId(4)));
    net.run(Span::from_secs(5));
    assert_eq!(net.leader(), Some(NodeId(1)));
}

#[test]
fn a_restarted_leader_comes_back_under_a_higher_term() {
    let mut net = net(4, line);
    net.run(Span::from_secs(4));
    let before = net.leaders()[0].unwrap().1;
    net.crash(3);
    net.run(Span::from_secs(1));
    net.boot(3);
    net.run(Span::from_secs(10));
    let (leader, after) = net.leaders()[0].unwrap();
    assert_eq!(net.leader(), Some(leader));
    assert!(after > before, "{before:?} {after:?}");
}

#[test]
fn nodes_that_may_never_lead_do_not() {
    let mut net = Net::new(4, line, |index| {
        let config = protocol::Config { may_lead: index < 2, ..config(index) };
        (config, Wireless::new(), NoMutex)
    });
    net.run(Span::from_secs(10));
    assert_eq!(net.leader(), Some(NodeId(2)));
}

#[test]
fn a_quiet_network_says_little_more_than_its_beats() {
    let mut net = net(6, line);
    net.run(Span::from_secs(120));
    let before = net.frames;
    net.run(Span::from_secs(60));
    let beats = 6 * 60;
    let frames = net.frames - before;
    assert!(frames >= beats && frames <= beats + 6 * 4, "{frames}");
}

#[test]
fn nobody_is_told_twice() {
    let mut net = net(6, complete);
    net.run(Span::from_secs(30));
    for index in 0..6 {
        let told: Vec<_> =
            net.notices.iter().filter(|(_, node, _)| *node == index).map(|&(_, _, notice)| notice).collect();
        assert!(told.windows(2).all(|pair| pair[0] != pair[1]), "{told:?}");
        assert!(matches!(
            told.last(),
            Some(node::Notice::Role(Notice::LeaderChanged { leader: NodeId(6), .. } | Notice::Gained { .. }))
        ));
    }
}
