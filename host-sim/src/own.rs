//! The simulator as a library: an application of one's own in a scenario, with every checker and one of one's own.
//!
//! [`OwnApp`] makes an application known to the simulator, [`Checker`] is a property of it. [`run_seeds`] runs a scenario over
//! many seeds; [`world`] is one run, to be stepped by a test.

use crate::check::Finding;
use crate::metrics::run::{Outcome, run};
use crate::metrics::seeds::{Report, report};
use crate::nodes::{self, protocol_node::ProtocolNode};
use crate::scenario::Scenario;
use crate::sim::world::World;
use crate::trace::{Observer, TraceEvent};
pub use crate::workload::apps::{APP_GROUP_MAX, Own, OwnApp, OwnCommand as Command, OwnNotice as Notice};
use protocol::mutex::NoMutex;
use rayon::prelude::*;
use std::ops::Range;

/// A node that runs the application `A`.
pub type OwnNode<A> = ProtocolNode<APP_GROUP_MAX, NoMutex, Own<A>>;

/// A property of one's own application. A run has one of its own.
pub trait Checker: Default {
    /// Its name in the report.
    const NAME: &'static str;

    /// Checks one event; returns the violation in words.
    fn observe(&mut self, event: &TraceEvent) -> Option<String>;

    /// Checks what is left to check at the end of the run.
    fn finish(&mut self) -> Option<String> {
        None
    }
}

/// A checker with what it found, and when.
#[derive(Default)]
struct Checked<C> {
    checker: C,
    found: Vec<(u64, String)>,
}

impl<C: Checker> Observer for Checked<C> {
    fn observe(&mut self, event: &TraceEvent) {
        self.found.extend(self.checker.observe(event).map(|text| (event.at, text)));
    }
}

/// Runs a scenario over `seeds`, with the checkers that ship and with `C`.
///
/// # Errors
/// A sentence where the nodes of the scenario are no group that can run an application.
pub fn run_seeds<A: OwnApp, C: Checker>(scenario: &Scenario, seeds: Range<u64>) -> Result<Report, String> {
    check_group(scenario)?;
    let outcomes: Vec<_> = seeds.into_par_iter().map(|seed| outcome::<A, C>(scenario, seed)).collect();
    let mut report = report(scenario, &outcomes);
    for violation in &mut report.violations {
        violation.command = format!("run seed {} of this scenario alone", violation.seed);
    }
    Ok(report)
}

/// Creates one run of a scenario, before its first event.
///
/// # Errors
/// A sentence where the nodes of the scenario are no group that can run an application.
pub fn world<A: OwnApp>(scenario: &Scenario, seed: u64) -> Result<World<OwnNode<A>>, String> {
    check_group(scenario)?;
    Ok(nodes::world(scenario, seed))
}

fn outcome<A: OwnApp, C: Checker>(scenario: &Scenario, seed: u64) -> Outcome {
    let mut checked = Checked::<C>::default();
    let mut outcome = run::<OwnNode<A>>(scenario, seed, &mut checked);
    let end = scenario.world.duration;
    let last = checked.checker.finish().map(|text| (end, text));
    let findings = checked.found.into_iter().chain(last).map(|(at, text)| Finding { at, checker: C::NAME, text });
    outcome.findings.extend(findings);
    outcome
}

fn check_group(scenario: &Scenario) -> Result<(), String> {
    let nodes = scenario.world.nodes;
    if !scenario.is_group() {
        return Err(format!(
            "{}: an application needs a group: choose an election that works in one, such as \"bully\", or mode = \"quorum\"",
            scenario.name
        ));
    }
    if nodes as usize > APP_GROUP_MAX {
        return Err(format!(
            "{}: {nodes} nodes are more than the {APP_GROUP_MAX} of a group with an application",
            scenario.name
        ));
    }
    Ok(())
}
