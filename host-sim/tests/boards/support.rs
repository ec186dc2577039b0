//! Running swarms, and reading the logs of their boards.

use crate::emulator::{Share, image, image_with};
use firmware::report::{RecordsAtBoot, Report as Line};
use host_sim::Scenario;
use host_sim::boards::{App, Parts};
use host_sim::metrics::run::run_of;
use host_sim::swarm::{self, Entry, Fleet, Image, NodeReport, Options, Report};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// The share of the machine of a swarm, and of one whose test is about time.
const SWARM: u32 = 1;
const TIMED: u32 = 3;

/// Parses a scenario of nodes in a grid that relay over four hops.
pub(crate) fn grid(name: &str, nodes: u32, rest: &str) -> Scenario {
    scenario(name, nodes, &format!("hops = 4\ntopology = {{ shape = \"grid\" }}\n{rest}"))
}

/// Parses a scenario of nodes on a LAN.
pub(crate) fn lan(name: &str, nodes: u32, rest: &str) -> Scenario {
    let lan = "topology = { shape = \"complete\" }\nmedium = { kind = \"lan\" }";
    scenario(name, nodes, &format!("{lan}\n{rest}"))
}

fn scenario(name: &str, nodes: u32, rest: &str) -> Scenario {
    Scenario::parse("test.toml", &format!("name = \"{name}\"\nnodes = {nodes}\n{rest}"), &[]).unwrap()
}

/// A swarm to be run.
pub(crate) struct Swarm<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) parts: Parts,
    /// An image that was built elsewhere.
    pub(crate) image: Option<Image>,
    pub(crate) share: u32,
    /// How many nodes, the last ones, are desktop nodes.
    pub(crate) desktops: u32,
    /// Option bits of the boards' config pages.
    pub(crate) board_options: u32,
}

impl<'a> Swarm<'a> {
    pub(crate) fn new(scenario: &'a Scenario) -> Self {
        let parts = Parts { election: scenario.election.clone(), ..Parts::default() };
        Self { scenario, parts, image: None, share: SWARM, desktops: 0, board_options: 0 }
    }

    /// Gives the boards a lock to contend for.
    pub(crate) fn mutex(mut self, mutex: &str) -> Self {
        self.parts = Parts { mutex: mutex.to_owned(), app: App::Counter, ..self.parts };
        self
    }

    /// Gives the boards an application.
    pub(crate) fn app(mut self, app: App) -> Self {
        self.parts.app = app;
        self
    }

    /// Runs fewer other swarms at the same time.
    pub(crate) fn timed(mut self) -> Self {
        self.share = TIMED;
        self
    }

    /// Runs the swarm; `None` if this machine has no emulated boards.
    pub(crate) fn run(self) -> Option<Report> {
        self.run_while(&mut |_, _| {})
    }

    /// The same, with a callback that is called again and again.
    pub(crate) fn run_while(self, meanwhile: &mut dyn FnMut(u64, &Fleet)) -> Option<Report> {
        let options = Options {
            image: Some(match self.image {
                Some(image) => image,
                None if self.parts.are_default() => image()?,
                None => image_with(&self.parts)?,
            }),
            desktop: PathBuf::from(env!("CARGO_BIN_EXE_conclave")),
            desktops: self.desktops,
            board_options: self.board_options,
            app: self.parts.app,
            replay: "cargo test".to_owned(),
        };
        let _share = Share::take(self.share);
        let report = swarm::run(self.scenario, 1, &options, &mut (), meanwhile, &AtomicBool::new(false));
        Some(report.unwrap_or_else(|error| panic!("{error}")))
    }

    /// Runs the swarm; asserts that there is no violation.
    pub(crate) fn passes(self) -> Option<Report> {
        let report = self.run()?;
        assert_no_violation(&report);
        Some(report)
    }
}

pub(crate) fn assert_no_violation(report: &Report) {
    assert!(report.violations.is_empty(), "{}: {:#?}", report.scenario, report.violations);
}

/// Runs a check for each name at the same time.
pub(crate) fn side_by_side(names: &[&str], check: impl Fn(&str) + Sync) {
    std::thread::scope(|scope| {
        for name in names {
            scope.spawn(|| check(name));
        }
    });
}

/// Returns the leader of the same scenario in the simulator.
pub(crate) fn simulated_leader(scenario: &Scenario) -> Option<u32> {
    run_of(scenario, 1, &mut ()).leader
}

/// Splits a node's log at its boots.
pub(crate) fn boots(node: &NodeReport) -> Vec<&[Entry]> {
    let starts = |entry: &Entry| matches!(entry.report(), Some(Line::Starting { .. }));
    let first = node.log.iter().position(starts).unwrap_or(node.log.len());
    node.log[first..].chunk_by(|_, next| !starts(next)).collect()
}

pub(crate) fn records_at_boot(boot: &[Entry]) -> Option<RecordsAtBoot> {
    boot.iter().find_map(|entry| match entry.report() {
        Some(Line::Starting { records, .. }) => Some(records),
        _ => None, // another line
    })
}

pub(crate) fn incarnation(boot: &[Entry]) -> Option<u32> {
    boot.iter().find_map(|entry| match entry.report() {
        Some(Line::Stored(records)) => Some(records.incarnation),
        _ => None, // another line
    })
}

/// Returns the numbers of the terms that a node acted under, in order.
pub(crate) fn terms(log: &[Entry]) -> Vec<u32> {
    let term = |entry: &Entry| match entry.report() {
        Some(Line::Leading { term } | Line::Following { term, .. }) => Some(term.number),
        _ => None, // another line
    };
    log.iter().filter_map(term).collect()
}
