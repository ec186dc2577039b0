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
fn a_super_peer_that_meets_a_better_one_serves_until_its_clients_have_another() {
    // The better one, 4, comes within two hops of 1, and not within two of 0, which 1 serves.
    let apart = |a: usize, b: usize| line(a, b) && (a < 4) == (b < 4);
    let make = |index| (config(index), Clusters::new(2), NoMutex);
    let mut net = Net::new(5, apart, make).with_capacities(|index| CAPACITIES[index]);
    net.run_secs(60);
    assert_eq!(leaders(&net), some(&[1, 1, 1, 1, 4]));
    net.relink(|a, b| apart(a, b) || (a.min(b), a.max(b)) == (2, 4));
    for _ in 0..400 {
        net.run(Duration::from_millis(50));
        let followed = leaders(&net);
        let own = followed[0].and_then(|leader| followed[usize::try_from(leader).unwrap()]);
        assert!(own.is_some() && own == followed[0], "{followed:?}: nobody serves node 0");
    }
    assert_eq!(leaders(&net), some(&[0, 0, 4, 4, 4]), "0 is the nearest of 1");
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

/// Who is chief, by index, as each node that is up knows.
fn chiefs(net: &Net<Clusters, NoMutex>) -> Vec<Option<u32>> {
    net.up().into_iter().map(|index| net.node(index).chief().map(|(chief, _)| chief.0 - 1)).collect()
}

#[test]
fn p1_super_peers_elect_the_best_of_them_as_chief_and_another_where_it_fails() {
    let make = move |index| (config(index), Clusters::new(2).with_chief(), NoMutex);
    let mut net = Net::new(9, line, make).with_capacities(|index| CAPACITIES[index]);
    net.run_secs(40);
    assert_eq!(leaders(&net), some(&[1, 1, 1, 4, 4, 4, 7, 7, 7]));
    assert_eq!(chiefs(&net), some(&[4; 9]));
    net.relink(|a, b| line(a, b) && a.min(b) != 5).run_secs(30);
    assert_eq!(chiefs(&net), some(&[4, 4, 4, 4, 4, 4, 7, 7, 7]), "one for each part of a network");
    net.relink(line).run_secs(30);
    assert_eq!(chiefs(&net), some(&[4; 9]));
    net.crash(4).boot(4).run_secs(1).crash(4).run_secs(40);
    let left: Vec<_> = chiefs(&net).into_iter().take(4).collect();
    assert_eq!(left, some(&[1; 4]), "beyond the gap is another part");
}

#[test]
fn a_chief_never_repeats_a_term() {
    let make = move |index| (config(index), Clusters::new(1).with_chief(), NoMutex);
    let mut net = Net::new(3, line, make).with_capacities(|index| [1_000, 9_000, 2_000][index]);
    let mut terms = Vec::new();
    for _ in 0..3 {
        net.run_secs(60);
        terms.push(net.node(0).chief().unwrap().1);
        net.crash(1);
        net.boot(1);
    }
    assert!(terms.is_sorted_by(|earlier, later| earlier < later), "{terms:?}");
}

#[test]
fn without_an_election_of_one_there_is_no_chief() {
    let mut net = nine_in_a_line(2);
    net.run_secs(30);
    assert_eq!(chiefs(&net), [None; 9]);
}

#[test]
fn p1_a_super_peer_with_too_many_clients_lets_the_next_best_take_some() {
    let limit = core::num::NonZeroU8::new(4).unwrap();
    let make = move |index| (config(index), Clusters::new(2).with_clients_max(limit), NoMutex);
    let mut net = Net::new(10, complete, make).with_capacities(|index| 1_000 * u16::try_from(index).unwrap());
    net.run_secs(120);
    let leaders = leaders(&net);
    let serving: Vec<u32> = (0..10).filter(|&index| leaders[index as usize] == Some(index)).collect();
    let clients = |super_peer: u32| leaders.iter().filter(|&&leader| leader == Some(super_peer)).count() - 1;
    assert!(leaders.iter().all(Option::is_some) && serving.contains(&9), "{leaders:?}");
    assert!(serving.iter().all(|&super_peer| clients(super_peer) <= 4), "{leaders:?}");
    assert!(serving.len() <= 4, "no more serve than are needed, give or take one: {leaders:?}");
    let counted: Vec<_> = serving.iter().map(|&super_peer| net.node(super_peer as usize).clients()).collect();
    let expected: Vec<_> = serving.iter().map(|&super_peer| u8::try_from(clients(super_peer)).ok()).collect();
    assert_eq!(counted, expected, "each has counted its clients");
}

#[test]
fn where_fewer_clients_are_left_than_one_may_have_one_serves_them_all() {
    let limit = core::num::NonZeroU8::new(4).unwrap();
    let make = move |index| (config(index), Clusters::new(2).with_clients_max(limit), NoMutex);
    let mut net = Net::new(10, complete, make).with_capacities(|index| 1_000 * u16::try_from(index).unwrap());
    net.run_secs(120);
    for index in 0..6 {
        net.crash(index);
    }
    net.run_secs(120);
    assert_eq!(leaders(&net), some(&[9; 4]));
}
