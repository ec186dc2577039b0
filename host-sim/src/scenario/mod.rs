//! Scenarios: read from a TOML file, validated once, then a plain value.
//!
//! `SCENARIOS.md` documents every key. `raw` mirrors the file; `validate` turns it into a [`Scenario`] or one sentence
//! with the first error and its line.

mod app;
mod error;
mod expect;
mod faults;
mod locks;
mod raw;
mod read;
pub(crate) mod shipped;
mod validate;
mod values;

pub use error::ScenarioError;
pub(crate) use expect::{Expect, Limit};

use crate::base::Micros;
use crate::base::algorithm_words::check_words;
use crate::base::nearest::unknown;
use crate::sim::world::WorldPlan;
use crate::workload::apps::APP_GROUP_MAX;
use crate::workload::locks::LOCK_GROUP_MAX;
use protocol::Timing;
use protocol::algorithm::{Algorithm, Scope};
use protocol::base::config::ConfigError;
use protocol::base::ids::{NodeSet, SLOTS_MAX};
use protocol::base::quorum::Mode;
use protocol::election::{Election, Winner};
use protocol::mutex::Mutex;
use protocol::registry::{AnyDetection, AnyElection, AnyMutex};
use std::num::NonZeroU8;
use std::ops::Range;
use std::path::Path;

/// The names of the termination detections a scenario can choose.
pub const DETECTIONS: &[&str] = AnyDetection::<APP_GROUP_MAX>::NAMES;

/// How many members a group without locks and applications may have.
pub(crate) const MEMBERS_MAX: usize = SLOTS_MAX;

#[must_use]
pub(crate) fn needs_group(name: &str) -> bool {
    AnyElection::by_name(name).is_some_and(|election| election.scope() == Scope::Group)
}

/// Checks that the mutex `words` stand for works in a group of so many nodes, over so many hops.
fn supports(words: &str, nodes: u32, hops: u8) -> Result<(), String> {
    let mutex = AnyMutex::by_name(words);
    if mutex.as_ref().is_some_and(|mutex| hops > mutex.hops_max()) {
        return Err(format!("the mutex \"{words}\" cannot be used with hops = {hops}: {}", ConfigError::LockOverHops));
    }
    let fits = |nodes: u32| mutex.as_ref().is_some_and(|mutex| mutex.supports(NodeSet::first(nodes as usize)));
    if fits(nodes) {
        return Ok(());
    }
    let sizes: Vec<_> =
        (2..=LOCK_GROUP_MAX as u32).filter(|&nodes| fits(nodes)).map(|nodes| nodes.to_string()).collect();
    Err(format!("the mutex \"{words}\" does not work in a group of {nodes}; it does in one of {}", sizes.join(", ")))
}

/// Everything about a run but its seed.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The name of its file, as it was given.
    pub(crate) file: String,
    /// The flags that override the file.
    pub overrides: String,
    /// Its name.
    pub name: String,
    /// What it shows, in a sentence.
    pub about: String,
    /// The world it runs in.
    pub world: WorldPlan,
    /// The seeds to run if the user names none.
    pub seeds: Range<u64>,
    /// How long after the last disturbance the network must agree.
    pub(crate) settle_time: Micros,
    /// The name of the election.
    pub election: String,
    /// How many of the nodes are members at first, where the list of members changes: those with the lowest ids.
    pub members: Option<u32>,
    /// The hop limit of reliable messages.
    pub hops: u8,
    /// The timeouts and intervals of the protocol.
    pub timing: Timing,
    /// Its claims.
    pub expect: Expect,
}

impl Scenario {
    /// Returns whether all nodes are members of one group, as the election, mode, locks or application demands.
    #[must_use]
    pub fn is_group(&self) -> bool {
        let world = &self.world;
        world.mode == Mode::Quorum || world.locks.is_some() || world.app.is_some() || needs_group(&self.election)
    }

    /// Returns which candidate the election lets win.
    #[must_use]
    pub fn winner(&self) -> Winner {
        AnyElection::by_name(&self.election).map_or(Winner::Highest, |election| election.winner())
    }

    /// Returns how many hops a node may be from its leader, where the election makes clusters.
    #[must_use]
    pub fn horizon(&self) -> Option<u8> {
        AnyElection::by_name(&self.election).and_then(|election| election.horizon())
    }

    /// Returns how many clients a super-peer may have, where that is limited.
    #[must_use]
    pub fn clients_max(&self) -> Option<u8> {
        AnyElection::by_name(&self.election).and_then(|election| election.clients_max()).map(NonZeroU8::get)
    }

    /// Returns whether the super-peers elect a chief.
    #[must_use]
    pub fn has_chief(&self) -> bool {
        AnyElection::by_name(&self.election).is_some_and(|election| election.has_chief())
    }

    /// Reads a scenario from a file; `[expect]` may choose among `lock_checkers`.
    ///
    /// # Errors
    /// The first error, with its file and line.
    pub fn load(path: &Path, lock_checkers: &[&'static str]) -> Result<Self, ScenarioError> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| ScenarioError::unreadable(&file, &error))?;
        Self::parse(&file, &text, lock_checkers)
    }

    /// Reads a scenario from text. Errors call it `file`; `[expect]` may choose among `lock_checkers`.
    ///
    /// # Errors
    /// The first error, with its file and line.
    pub fn parse(file: &str, text: &str, lock_checkers: &[&'static str]) -> Result<Self, ScenarioError> {
        validate::scenario(file, text, lock_checkers)
    }

    /// Returns the same scenario with another election.
    ///
    /// # Errors
    /// If there is no such election, or its group would be too large.
    pub fn with_election(mut self, name: &str) -> Result<Self, String> {
        check_words("election", name, AnyElection::OPTIONS)?;
        self.election = self.overridden("election", name);
        self.check_leaders()?;
        let members_max = self.members_max();
        if self.is_group() && self.world.nodes > members_max as u32 {
            return Err(format!("the election \"{name}\" works in a group, which has at most {members_max} members"));
        }
        Ok(self)
    }

    /// Returns the same scenario with another mutex.
    ///
    /// # Errors
    /// If there is no such mutex, it does not work in so large a group, or the scenario has no locks.
    pub fn with_mutex(mut self, name: &str) -> Result<Self, String> {
        check_words("mutex", name, AnyMutex::OPTIONS)?;
        let mutex = self.overridden("mutex", name);
        let missing = || format!("{}: there are no locks: the table [locks] is missing.", self.file);
        self.world.locks.as_mut().ok_or_else(missing)?.mutex = mutex;
        supports(name, self.world.nodes, self.hops)?;
        Ok(self)
    }

    /// Returns the same scenario with another termination detection.
    ///
    /// # Errors
    /// If there is no such detection, or the scenario has no job.
    pub fn with_detection(mut self, name: &str) -> Result<Self, String> {
        if !DETECTIONS.contains(&name) {
            return Err(unknown("detection", name, DETECTIONS.iter().copied()));
        }
        let detection = self.overridden("detection", name);
        let missing = || format!("{}: there is no job that terminates: [app] is not \"diffusing\".", self.file);
        self.world.app.as_mut().filter(|app| app.terminates()).ok_or_else(missing)?.detection = detection;
        Ok(self)
    }

    /// Refuses mode *quorum* where the election makes clusters, which have a leader each.
    fn check_leaders(&self) -> Result<(), String> {
        let refused = self.world.mode == Mode::Quorum && self.horizon().is_some();
        if refused { Err(ConfigError::ClustersWithQuorum.to_string()) } else { Ok(()) }
    }

    /// Records the flag that overrides the file; returns its value.
    fn overridden(&mut self, noun: &str, name: &str) -> String {
        self.overrides = format!("{} --{noun} {name}", self.overrides);
        name.to_owned()
    }

    pub(crate) fn members_max(&self) -> usize {
        if self.world.locks.is_some() {
            LOCK_GROUP_MAX
        } else if self.world.app.is_some() {
            APP_GROUP_MAX
        } else {
            MEMBERS_MAX
        }
    }
}

#[cfg(test)]
mod tests;
