//! Applications on emulated boards: what a bank's snapshots find, when a job is over, and how boards flash together.

use crate::bench::{assert_nothing_found, run_app};
use host_sim::boards::App;
use host_sim::swarm::{End, app_scenario};

#[test]
fn every_snapshot_of_a_bank_of_boards_finds_all_tokens_and_one_without_a_board_says_so() {
    let Some(report) = run_app(&app_scenario(App::Tokens, 4), App::Tokens) else { return };
    let bank = report.bank.as_ref().unwrap();
    println!("{bank}");
    assert_nothing_found(&report);
    assert_eq!(bank.tokens, 400);
    // In eleven seconds there are turns for five of them.
    assert!(bank.right() >= 3, "{bank}");
    let before = bank.snapshots.iter().filter(|picture| picture.end == End::Taken { judged: true });
    assert!(before.clone().all(|picture| picture.states.len() == 4 && picture.sum() == 400));
    let initiators: std::collections::BTreeSet<u32> = before.map(|picture| picture.initiator).collect();
    assert!(initiators.len() > 1, "any board may begin one: {initiators:?}");
}

#[test]
fn the_end_of_a_job_on_boards_is_told_to_all_when_all_its_work_is_done() {
    let Some(report) = run_app(&app_scenario(App::Diffusing, 4), App::Diffusing) else { return };
    let jobs = report.jobs.as_ref().unwrap();
    println!("{jobs}");
    assert_nothing_found(&report);
    assert_eq!(jobs.begun.len(), 3);
    let last = jobs.ended.values().last().unwrap();
    assert_eq!((last.done.len(), last.done.values().sum::<u32>()), (4, jobs.units()));
    assert!(last.done.values().filter(|&&done| done > 0).count() > 1, "work was shared: {last:?}");
}

#[test]
fn boards_flash_together_and_go_on_when_their_leader_is_gone() {
    let Some(report) = run_app(&app_scenario(App::Clock, 4), App::Clock) else { return };
    let clock = report.clock.as_ref().unwrap();
    println!("{clock}");
    assert_nothing_found(&report);
    let with = |boards: u32| clock.seconds.values().filter(|flash| flash.boards == boards).count();
    assert!(with(4) >= 3 && with(3) >= 3, "with the first leader and with the next: {clock}");
}
