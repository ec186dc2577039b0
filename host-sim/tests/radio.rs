//! The boards' radio transport on the simulator's air: the program that runs on a board, with a mock where the driver of
//! its radio is, in the scenarios that the simulator's own nodes are held to.

#[path = "radio/board.rs"]
mod board;
#[path = "radio/clock.rs"]
mod clock;
#[path = "radio/mock.rs"]
mod mock;

use board::RadioBoard;
use host_sim::campaign::{Report, campaign};
use host_sim::{Scenario, World};
use std::path::Path;

fn scenario(name: &str) -> Scenario {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios").join(format!("{name}.toml"));
    Scenario::load(&path).unwrap()
}

/// Every run ends with one leader known to all, the true best, and nothing is violated.
fn holds(name: &str, seeds: u64) -> Report {
    let report = campaign::<RadioBoard>(&scenario(name), 0..seeds, || {});
    assert_eq!(report.violations.iter().map(|violation| &violation.text).collect::<Vec<_>>(), [""; 0], "{name}");
    assert_eq!((report.converged, report.leader_is_best), (report.seeds, report.seeds), "{name}");
    report
}

#[test]
fn boards_around_a_hub_that_do_not_hear_each_other_agree() {
    let report = holds("hidden-terminals", 200);
    assert!(report.medium.collided > 0.0, "hidden terminals collide");
}

#[test]
fn thirty_boards_in_a_line_that_lose_every_tenth_frame_elect_their_best() {
    holds("line30-cold-start", 1_000);
}

#[test]
fn thirty_boards_in_a_line_replace_a_crashed_leader() {
    holds("line30-leader-crash", 200);
}

#[test]
fn thirty_boards_in_a_line_split_and_heal() {
    holds("line30-split-heal", 200);
}

#[test]
fn boards_count_what_the_channel_did_to_their_frames() {
    let mut world = World::<RadioBoard>::new(&scenario("hidden-terminals"), 1);
    world.run_until(20_000_000, &mut |_: &host_sim::TraceEvent| {});
    for name in 0..world.nodes() {
        let (counted, _) = world.machine(name).unwrap().counted();
        assert!(counted.sent > 10 && counted.received > 10, "node {name}: {counted:?}");
        let lost = counted.send_too_long + counted.send_refused + counted.receive_foreign + counted.receive_crowded;
        assert_eq!(lost, 0, "node {name}: {counted:?}");
    }
}
