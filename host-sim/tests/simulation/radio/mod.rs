//! The boards' radio transport on the simulated medium: the whole program of a board, with a mock instead of its radio
//! driver, in scenarios that the simulator's own nodes are held to.

mod board;
mod clock;
mod mock;

use crate::support::{converges_with, load, seeds};
use board::RadioBoard;
use host_sim::nodes::world;

#[test]
fn boards_around_a_hub_that_do_not_receive_each_other_agree() {
    let report = converges_with::<RadioBoard>(&load("hidden-terminals"), seeds(50, 200));
    assert!(report.medium.collided > 0.0, "hidden terminals collide");
}

#[test]
fn thirty_boards_in_a_line_with_ten_percent_loss_elect_their_best() {
    converges_with::<RadioBoard>(&load("line30-cold-start"), seeds(100, 1_000));
}

#[test]
fn thirty_boards_in_a_line_replace_a_crashed_leader() {
    // The p99 of fewer than a hundred seeds is the slowest of them.
    converges_with::<RadioBoard>(&load("line30-leader-crash"), 200);
}

#[test]
fn thirty_boards_in_a_line_split_and_merge() {
    converges_with::<RadioBoard>(&load("line30-split-heal"), seeds(50, 200));
}

#[test]
fn boards_count_the_frames_that_the_channel_carried_and_lost() {
    let mut world = world::<RadioBoard>(&load("hidden-terminals"), 1);
    world.run_until(20_000_000, &mut ());
    for node in 0..world.node_count() {
        let counters = world.node(node).unwrap().counters();
        assert!(counters.sent > 10 && counters.received > 10, "node {node}: {counters:?}");
        let lost = counters.send_too_long + counters.send_refused + counters.receive_foreign + counters.receive_no_room;
        assert_eq!(lost, 0, "node {node}: {counters:?}");
    }
}
