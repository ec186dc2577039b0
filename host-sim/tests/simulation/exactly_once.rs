//! In every storm, every reliable message is received exactly once, whichever nodes reboot and however quickly.

use crate::support::{REPEAT, load, seeds, storm, survives};
use crate::{app_storms, election_storms, lock_storms};
use host_sim::Scenario;
use protocol::registry::{AnyElection, AnyMutex};

/// Asserts that no message is received twice in any of these storms.
fn received_once(storms: impl IntoIterator<Item = Scenario>, seeds: u64) {
    let mut repeats = Vec::new();
    for scenario in storms {
        let report = storm(&scenario, seeds);
        let found = report.violations.iter().filter(|violation| violation.checker == REPEAT);
        repeats.extend(found.map(|violation| format!("{}: {}", violation.command, violation.text)));
    }
    assert!(repeats.is_empty(), "{} messages were received twice:\n{}", repeats.len(), repeats.join("\n"));
}

fn of_every_lock(name: &str) -> impl Iterator<Item = Scenario> {
    AnyMutex::NAMES.iter().map(move |mutex| load(name).with_mutex(mutex).unwrap())
}

fn of_elections<'a>(name: &str, elections: impl Iterator<Item = &'a str>) -> impl Iterator<Item = Scenario> {
    elections.map(move |election| load(name).with_election(election).unwrap())
}

fn of_every_application(names: [&str; 2]) -> Vec<Scenario> {
    let [tokens, job] = names.map(load);
    let mut by_deficits = job.clone().with_detection("dijkstra-scholten").unwrap();
    by_deficits.expect.terminations = None; // if the root crashes, the end cannot be detected
    vec![tokens, job, by_deficits]
}

fn quick_reboots() -> Vec<Scenario> {
    let applications = of_every_application(["quick-reboots-tokens", "quick-reboots-job"]);
    of_every_lock("quick-reboots").chain(applications).collect()
}

fn reboot_seeds() -> u64 {
    seeds(30, 2_000)
}

#[test]
fn every_message_of_an_election_is_received_exactly_once_in_its_storm() {
    let all = AnyElection::NAMES.iter().copied();
    received_once(of_elections("storm", all), election_storms::storm_seeds());
    let of_one_leader = of_elections("storm-quorum", AnyElection::of_one_leader());
    received_once(of_one_leader, election_storms::quorum_storm_seeds());
}

#[test]
fn every_message_of_a_lock_is_received_exactly_once_in_its_storm() {
    received_once(of_every_lock("lock-storm"), lock_storms::storm_seeds());
}

#[test]
fn every_message_of_an_application_is_received_exactly_once_in_its_storm() {
    received_once(of_every_application(["snapshot-storm", "termination-storm"]), app_storms::storm_seeds());
}

#[test]
fn every_message_is_received_exactly_once_in_quick_reboots() {
    received_once(quick_reboots(), reboot_seeds());
}

/// Where no message is received twice, no lock has two holders, no cut is inconsistent, and nobody waits for ever.
#[test]
fn every_lock_and_application_survives_quick_reboots() {
    for scenario in quick_reboots() {
        survives(&scenario, reboot_seeds());
    }
}
