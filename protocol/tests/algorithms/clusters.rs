//! Clusters: who serves whom, on lines where everything is known.

use crate::support::prelude::*;
use protocol::election::Clusters;

/// Capacities of nine nodes in a line. With a horizon of two, a greedy choice takes 4, then 7 and 1, which are three hops away.
const CAPACITIES: [u16; 9] = [4_000, 6_000, 1_000, 1_500, 9_000, 1_000, 1_500, 6_500, 5_000];

fn nine_in_a_line(horizon: u8) -> Net<Clusters, NoMutex> {
    let make = move |index| (config(index), Clusters::new(horizon), NoMutex);
    Net::new(9, line, make).with_capacities(|index| CAPACITIES[index])
}

/// The leader of each node that is up, by index.
fn leaders(net: &Net<Clusters, NoMutex>) -> Vec<Option<u32>> {
    net.up().into_iter().map(|index| net.node(index).leader().map(|(leader, _)| leader.0 - 1)).collect()
}

fn some(leaders: &[u32]) -> Vec<Option<u32>> {
    leaders.iter().copied().map(Some).collect()
}

#[test]
fn the_best_serve_and_the_others_follow_the_nearest() {
    let mut net = nine_in_a_line(2);
    net.run_secs(30);
    assert_eq!(leaders(&net), some(&[1, 1, 1, 4, 4, 4, 7, 7, 7]));
}

#[test]
fn with_a_horizon_of_one_hop_neighbours_of_a_super_peer_do_not_serve() {
    let mut net = nine_in_a_line(1);
    net.run_secs(30);
    assert_eq!(leaders(&net), some(&[1, 1, 1, 4, 4, 4, 7, 7, 7]));
}

#[test]
fn with_a_horizon_of_eight_hops_the_best_serves_all() {
    let mut net = nine_in_a_line(8);
    net.run_secs(30);
    assert_eq!(leaders(&net), some(&[4; 9]));
}

#[test]
fn with_frames_lost_the_same_ones_serve() {
    for seed in 0..5 {
        let mut net = nine_in_a_line(2).with_filter(lossy(15, seed));
        net.run_secs(60);
        assert_eq!(leaders(&net), some(&[1, 1, 1, 4, 4, 4, 7, 7, 7]), "seed {seed}");
    }
}

#[test]
fn the_clients_of_a_lost_super_peer_go_to_the_others_within_reach() {
    let mut net = nine_in_a_line(2);
    net.run_secs(30).crash(4).run_secs(15);
    assert_eq!(leaders(&net), some(&[1, 1, 1, 1, 7, 7, 7, 7]));
}

#[test]
fn where_nobody_else_is_within_reach_the_best_client_serves() {
    let mut net = nine_in_a_line(1);
    net.run_secs(30).crash(7).run_secs(15);
    assert_eq!(leaders(&net), some(&[1, 1, 1, 4, 4, 4, 6, 8]));
}

#[test]
fn a_super_peer_that_reboots_never_repeats_a_term() {
    let mut net = nine_in_a_line(8);
    let mut terms = Vec::new();
    for _ in 0..3 {
        net.run_secs(60);
        let (leader, term) = net.node(0).leader().unwrap();
        assert_eq!(leader, config(4).me);
        terms.push(term);
        net.crash(4);
        net.boot(4);
    }
    assert!(terms.is_sorted_by(|earlier, later| earlier < later), "{terms:?}");
}

#[test]
fn of_two_super_peers_that_meet_the_worse_resigns() {
    let apart = |a: usize, b: usize| line(a, b) && (a < 3) == (b < 3);
    let make = |index| (config(index), Clusters::new(8), NoMutex);
    let mut net = Net::new(6, apart, make).with_capacities(|index| CAPACITIES[index]);
    net.run_secs(20);
    assert_eq!(leaders(&net), some(&[1, 1, 1, 4, 4, 4]));
    net.relink(line).run_secs(20);
    assert_eq!(leaders(&net), some(&[4; 6]));
}

#[test]
fn an_incumbent_is_not_unseated_by_a_little_more_capacity() {
    let make = |index| (config(index), Clusters::new(2), NoMutex);
    let mut net = Net::new(2, complete, make).with_capacities(|index| [5_000, 4_000][index]);
    net.run_secs(60).measure(&[5_000, 5_500]);
    net.run_secs(60);
    assert_eq!(leaders(&net), some(&[0, 0]), "an eighth above 5,000 is 5,625");
    net.measure(&[5_000, 5_700]);
    net.run_secs(60);
    assert_eq!(leaders(&net), some(&[1, 1]));
}
