//! Applications on emulated boards: snapshots of a bank, the end of jobs, a shared clock, and an elected uplink.

use crate::broker::broker;
use crate::support::Swarm;
use host_sim::boards::App;
use host_sim::swarm::{SnapshotEnd, app_scenario};

#[test]
fn every_snapshot_of_a_bank_of_boards_finds_all_tokens_and_one_without_a_board_is_not_checked() {
    let Some(report) = Swarm::new(&app_scenario(App::Tokens, 4)).app(App::Tokens).passes() else { return };
    let bank = report.bank.as_ref().unwrap();
    assert_eq!(bank.tokens, 400);
    // In eleven seconds there are turns for five of them.
    assert!(bank.correct() >= 3, "{bank}");
    let checked = bank.snapshots.iter().filter(|snapshot| snapshot.end == SnapshotEnd::Taken { checked: true });
    assert!(checked.clone().all(|snapshot| snapshot.states.len() == 4 && snapshot.sum() == 400), "{bank}");
    let initiators: std::collections::BTreeSet<u32> = checked.map(|snapshot| snapshot.initiator).collect();
    assert!(initiators.len() > 1, "any board can begin one: {initiators:?}");
}

#[test]
fn the_end_of_a_job_on_boards_is_announced_to_all_when_all_work_is_done() {
    let Some(report) = Swarm::new(&app_scenario(App::Diffusing, 4)).app(App::Diffusing).passes() else { return };
    let jobs = report.jobs.as_ref().unwrap();
    assert_eq!(jobs.begun.len(), 3, "{jobs}");
    let last = jobs.ended.values().last().unwrap();
    assert_eq!((last.done.len(), last.done.values().sum::<u32>()), (4, jobs.units()), "{jobs}");
    assert!(last.done.values().filter(|&&done| done > 0).count() > 1, "the work is shared: {last:?}");
}

#[test]
fn boards_flash_together_and_go_on_after_the_crash_of_their_leader() {
    let Some(report) = Swarm::new(&app_scenario(App::Clock, 4)).app(App::Clock).timed().passes() else { return };
    let clock = report.clock.as_ref().unwrap();
    let with = |boards: u32| clock.seconds.values().filter(|flash| flash.boards == boards).count();
    assert!(with(4) >= 3 && with(3) >= 3, "with the first leader and with the next: {clock}");
}

#[test]
fn readings_of_boards_arrive_once_whatever_becomes_of_their_gateway() {
    if broker().is_none() {
        return;
    }
    let Some(report) = Swarm::new(&app_scenario(App::Uplink, 5)).app(App::Uplink).passes() else { return };
    let uplink = report.uplink.as_ref().unwrap();
    assert!(uplink.gateways.len() >= 3, "one at first, one after the crash, one after the pause: {uplink}");
    assert!(uplink.nodes.values().all(|readings| readings.stored >= 15), "{uplink}");
}
