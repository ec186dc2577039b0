//! What the tests need to run a swarm and to look at what came of it.

use firmware::report::{Past, Report as Line};
use host_sim::boards::{App, Parts};
use host_sim::machine::Machine;
use host_sim::swarm::{self, Entry, Image, NodeReport, Options, Rack, Report, setup};
use host_sim::{Member, Peer, Scenario, World};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

/// How many swarms run at once.
const SWARMS_MAX: u32 = 2;

/// The image with the election that images have unless they are asked for another.
pub(crate) fn image() -> Option<Image> {
    static IMAGE: OnceLock<Option<Image>> = OnceLock::new();
    IMAGE.get_or_init(|| image_with(&Parts::default())).clone()
}

/// The image with these parts.
pub(crate) fn image_with(parts: &Parts) -> Option<Image> {
    let _turn = Turn::take(); // a compiler takes as much of the machine as a swarm
    let ready = setup::prepare(|command| eprintln!("setting up: {command}"));
    match ready.and_then(|toolchain| Image::build(parts, toolchain)) {
        Ok(image) => Some(image),
        Err(error) => {
            assert!(!std::env::var("CI").is_ok_and(|ci| ci == "true"), "no boards in CI: {error}");
            eprintln!("\n*** SKIPPED, NOTHING IS TESTED: {error} ***\n");
            None
        }
    }
}

/// A turn to run a swarm.
pub(crate) struct Turn;

fn turns() -> (MutexGuard<'static, u32>, &'static Condvar) {
    static TAKEN: Mutex<u32> = Mutex::new(0);
    static FREE: Condvar = Condvar::new();
    (TAKEN.lock().unwrap_or_else(PoisonError::into_inner), &FREE)
}

impl Turn {
    pub(crate) fn take() -> Self {
        let (taken, free) = turns();
        let mut taken = free.wait_while(taken, |taken| *taken >= SWARMS_MAX).unwrap_or_else(PoisonError::into_inner);
        *taken += 1;
        Self
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let (mut taken, free) = turns();
        *taken -= 1;
        free.notify_one();
    }
}

pub(crate) fn scenario(text: &str) -> Scenario {
    Scenario::parse("test.toml", text).unwrap()
}

pub(crate) fn conclave() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_conclave"))
}

/// Runs a scenario on boards; `None` where there are none.
pub(crate) fn run_with(
    scenario: &Scenario,
    change: impl FnOnce(&mut Options),
    meanwhile: impl FnMut(u64, &Rack),
) -> Option<Report> {
    let parts = Parts { election: scenario.election.clone(), ..Parts::default() };
    let image = if parts.are_usual() { image()? } else { image_with(&parts)? };
    let mut options = options(image);
    change(&mut options);
    Some(run_image(scenario, &options, meanwhile))
}

/// Runs a scenario on boards that contend for a lock; `None` where there are none.
pub(crate) fn run_contending(scenario: &Scenario, mutex: &str) -> Option<Report> {
    run_parts(scenario, Parts { mutex: mutex.to_owned(), app: App::Counter, ..Parts::default() })
}

/// Runs a scenario on boards with an application; `None` where there are none.
pub(crate) fn run_app(scenario: &Scenario, app: App) -> Option<Report> {
    run_parts(scenario, Parts { app, ..Parts::default() })
}

fn run_parts(scenario: &Scenario, parts: Parts) -> Option<Report> {
    let parts = Parts { election: scenario.election.clone(), ..parts };
    let options = Options { app: parts.app, ..options(image_with(&parts)?) };
    Some(run_image(scenario, &options, |_, _| {}))
}

fn options(image: Image) -> Options {
    let replay = "cargo test".to_owned();
    Options { image, desktop: conclave(), desktops: 0, board_options: 0, app: App::None, replay }
}

fn run_image(scenario: &Scenario, options: &Options, meanwhile: impl FnMut(u64, &Rack)) -> Report {
    let _turn = Turn::take();
    let report = swarm::run(scenario, 1, options, &mut (), meanwhile, &AtomicBool::new(false));
    report.unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn run(scenario: &Scenario) -> Option<Report> {
    run_with(scenario, |_| {}, |_, _| {})
}

pub(crate) fn assert_nothing_found(report: &Report) {
    assert!(report.violations.is_empty(), "{:#?}", report.violations);
}

/// Whom the simulator has lead the same scenario.
pub(crate) fn simulated_leader(scenario: &Scenario) -> Option<u32> {
    fn leader<M: Machine>(scenario: &Scenario) -> Option<u32> {
        let mut world = World::<M>::new(scenario, 1);
        world.run_until(scenario.duration, &mut ());
        world.leader()
    }
    if scenario.is_group() { leader::<Member>(scenario) } else { leader::<Peer>(scenario) }
}

/// The lines of each life of a node.
pub(crate) fn lives(node: &NodeReport) -> Vec<&[Entry]> {
    let starts = |entry: &Entry| matches!(entry.report(), Some(Line::Starting { .. }));
    let first = node.diary.iter().position(starts).unwrap_or(node.diary.len());
    node.diary[first..].chunk_by(|_, next| !starts(next)).collect()
}

pub(crate) fn past(life: &[Entry]) -> Option<Past> {
    life.iter().find_map(|entry| match entry.report() {
        Some(Line::Starting { records, .. }) => Some(records),
        _ => None, // every other line is about something else
    })
}

pub(crate) fn incarnation(life: &[Entry]) -> Option<u32> {
    life.iter().find_map(|entry| match entry.report() {
        Some(Line::Stored(records)) => Some(records.incarnation),
        _ => None, // every other line is about something else
    })
}

/// The numbers of the terms a node acted under, in order.
pub(crate) fn terms(life: &[Entry]) -> Vec<u32> {
    let term = |entry: &Entry| match entry.report() {
        Some(Line::Leading { term } | Line::Following { term, .. }) => Some(term.number),
        _ => None, // every other line is about something else
    };
    life.iter().filter_map(term).collect()
}
