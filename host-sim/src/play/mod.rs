//! A run to watch and to break: advanced bit by bit, shown to a page, and changed by faults while it runs.
//!
//! Every act of the user is a table `[[faults]]`, read by the reader of scenarios and added to the plan of the run at a
//! moment when nothing else happens. The scenario's text with these tables is the run: [`Play::text`] replays to the same
//! trace hash.

mod edit;
pub(crate) mod overview;
mod request;
mod watch;

pub use edit::{set_key, with_positions, without_table};
pub use request::answer;

use crate::base::Micros;
use crate::check;
use crate::nodes::{self, AnyNode};
use crate::scenario::Scenario;
use crate::sim::medium::MediumPlan;
use crate::sim::topology::Point;
use crate::sim::world::World;
use watch::Watch;

/// What errors call the text of a scenario that is no file.
const FILE: &str = "scenario";

/// A run in progress.
pub struct Play {
    scenario: Scenario,
    /// The scenario with all acts so far.
    text: String,
    seed: u64,
    world: World<AnyNode>,
    watch: Watch,
    /// Where the nodes were in the beginning.
    places: Vec<Point>,
    /// The version of the links that were shown last.
    links_shown: Option<u64>,
}

impl Play {
    /// Reads a scenario, and stands before its first event.
    ///
    /// # Errors
    /// The first error in the text.
    pub fn open(text: &str, seed: u64) -> Result<Self, String> {
        Ok(Self::of(parse(text)?, text, seed))
    }

    /// As [`Play::open`], of a scenario that was read.
    pub(crate) fn of(scenario: Scenario, text: &str, seed: u64) -> Self {
        let world = nodes::world::<AnyNode>(&scenario, seed);
        let places = (0..scenario.world.nodes).map(|id| world.view(id).position).collect();
        let watch = Watch::new(&scenario);
        Self { scenario, text: text.to_owned(), seed, world, watch, places, links_shown: None }
    }

    /// Runs to a moment, or until `budget` events have happened; returns whether it came so far.
    pub fn run(&mut self, until: Micros, budget: u32) -> bool {
        let until = until.min(self.scenario.world.duration);
        for _ in 0..budget {
            let Some(at) = self.world.next_at().filter(|&at| at <= until) else {
                self.sample_before(until);
                self.world.run_until(until, &mut self.watch);
                return true;
            };
            self.sample_before(at);
            self.world.step(&mut self.watch);
        }
        false
    }

    /// Runs to the next event that can be seen: a frame, or a sentence.
    pub fn step(&mut self) {
        let seen = self.watch.seen();
        while self.watch.seen() == seen && self.world.step(&mut self.watch) {}
        self.sample_before(self.world.now());
    }

    /// Takes the samples of the charts that fall due before a moment.
    fn sample_before(&mut self, moment: Micros) {
        while let Some(at) = self.watch.sample_at(moment) {
            self.world.run_until(at, &mut self.watch);
            let agreeing = overview::agreement(&self.world, self.scenario.horizon());
            self.watch.sample(agreeing);
        }
    }

    /// Injects a fault now: the keys of a table `[[faults]]` but for its moment, which is returned.
    ///
    /// # Errors
    /// A sentence where the reader of scenarios refuses the fault, or where the run has ended.
    pub fn act(&mut self, fault: &str) -> Result<Micros, String> {
        let at = self.world.free_moment().ok_or("the run has ended: go back in time, or make it longer")?;
        let before = without_table(&self.text, "expect");
        let text = format!("{}\n\n[[faults]]\nat = \"{at}us\"\n{}\n", before.trim_end(), fault.trim());
        let scenario = parse(&text)?;
        let known = self.scenario.world.faults.iter().map(|step| step.number + 1).max().unwrap_or(0);
        for step in scenario.world.faults.iter().filter(|step| step.number >= known) {
            self.world.add_fault(step.clone());
        }
        (self.scenario, self.text) = (scenario, text);
        Ok(at)
    }

    /// Returns the scenario with all acts: the run, as a file. Claims are left out once there are acts, which they do not
    /// foresee.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the hash of all events so far.
    #[must_use]
    pub fn trace_hash(&self) -> u64 {
        self.world.trace_hash()
    }

    fn range(&self) -> Option<(f64, f64)> {
        match self.scenario.world.medium {
            MediumPlan::Radio(radio) => Some((radio.reach.range, radio.reach.range_max)),
            MediumPlan::Lan(_) => None,
        }
    }
}

fn parse(text: &str) -> Result<Scenario, String> {
    Scenario::parse(FILE, text, check::OF_LOCKS).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests;
