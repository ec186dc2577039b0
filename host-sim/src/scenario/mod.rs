//! What a run is: read from a TOML file, checked once, then a plain value.
//!
//! `SCENARIOS.md` documents every key. `raw` mirrors the file, `check` turns it into a [`Scenario`] or says in one
//! sentence what is wrong with it, and where.

mod app;
mod check;
mod error;
mod expect;
mod locks;
mod plan;
mod raw;
mod values;

pub use app::AppPlan;
pub use error::ScenarioError;
pub use expect::{Expect, Limit};
pub use locks::LockPlan;
pub use plan::{Action, PauseClock, Sets, Step, Who};

use crate::app::ACTORS_MAX;
use crate::mobility::Mobility;
use crate::peer::{self, LOCKERS_MAX, MEMBERS_MAX};
use crate::queue::Micros;
use crate::random::Chance;
use crate::topology::{Reach, Shape};
use protocol::Timing;
use protocol::mandate::Mode;
use std::ops::Range;
use std::path::Path;

/// A run, but for its seed.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The file it was read from, as it was named.
    pub file: String,
    /// What was chosen instead of what the file says, as on the command line.
    pub choices: String,
    /// Its name.
    pub name: String,
    /// What it shows.
    pub about: String,
    /// How many nodes there are.
    pub nodes: u32,
    /// How long a run takes.
    pub duration: Micros,
    /// Which seeds to run where none are asked for.
    pub seeds: Range<u64>,
    /// How long nothing must have happened before the network has to agree.
    pub calm: Micros,
    /// The word for the election.
    pub election: String,
    /// What a leader needs besides having been elected.
    pub mode: Mode,
    /// Over how many hops the link carries.
    pub hops: u8,
    /// How nodes are laid out.
    pub shape: Shape,
    /// How they walk, if they do.
    pub mobility: Option<Mobility>,
    /// What carries their frames.
    pub medium: Medium,
    /// What they are worth.
    pub capacity: CapacityPlan,
    /// How far clocks run off, in millionths, either way.
    pub drift_ppm: u32,
    /// Within which time from the start all nodes boot.
    pub boot_spread: Micros,
    /// How long things take in the protocol.
    pub timing: Timing,
    /// What goes wrong, in the order of time.
    pub faults: Vec<Step>,
    /// The locks, if there are any.
    pub locks: Option<LockPlan>,
    /// What stands on top of the nodes, if anything does.
    pub app: Option<AppPlan>,
    /// What it claims.
    pub expect: Expect,
}

/// What carries frames.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Medium {
    /// A radio channel.
    Radio(RadioPlan),
    /// A local network.
    Lan(LanPlan),
}

/// A radio channel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RadioPlan {
    /// How far frames carry.
    pub reach: Reach,
    /// Bits in a second.
    pub bit_rate: u32,
    /// Whether transmitters listen before they talk.
    pub csma: bool,
    /// Whether overlapping frames spoil each other.
    pub collisions: bool,
    /// The chance that a frame is not heard by one hearer, whatever the distance.
    pub loss: Chance,
    /// The share of links that work in one direction only.
    pub one_way: Chance,
    /// How many frames wait at a transmitter before new ones are dropped.
    pub queue: u16,
}

/// A local network: one broadcast domain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LanPlan {
    /// The shortest way.
    pub delay_min: Micros,
    /// The longest way.
    pub delay_max: Micros,
    /// The chance that a frame does not reach one hearer.
    pub loss: Chance,
}

/// What nodes are worth.
#[derive(Clone, Debug, PartialEq)]
pub struct CapacityPlan {
    /// How capacities are given out.
    pub rule: CapacityRule,
    /// By how much measured capacities are off, at most, either way.
    pub noise: f64,
    /// How often a node measures its capacity.
    pub period: Micros,
    /// Nodes that may never lead.
    pub never: Vec<u32>,
}

/// How capacities are given out.
#[derive(Clone, Debug, PartialEq)]
pub enum CapacityRule {
    /// Drawn, no two alike while there are enough numbers.
    Random,
    /// All alike.
    Equal(u16),
    /// Rising with the node's number.
    Rising,
    /// Falling with the node's number.
    Falling,
    /// As listed.
    Values(Vec<u16>),
}

impl Scenario {
    /// Whether all nodes are members of one group: the election needs one, or the leader, the locks or the application.
    #[must_use]
    pub fn is_group(&self) -> bool {
        self.mode == Mode::Quorum || self.locks.is_some() || self.app.is_some() || peer::needs_group(&self.election)
    }

    /// Reads a scenario from a file.
    ///
    /// # Errors
    /// One sentence that says what is wrong, in which file and line.
    pub fn load(path: &Path) -> Result<Self, ScenarioError> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| ScenarioError::unreadable(&file, &error))?;
        Self::parse(&file, &text)
    }

    /// Reads a scenario from text; `file` is what errors call it.
    ///
    /// # Errors
    /// One sentence that says what is wrong, in which file and line.
    pub fn parse(file: &str, text: &str) -> Result<Self, ScenarioError> {
        check::scenario(file, text)
    }

    /// The same with another election.
    ///
    /// # Errors
    /// One sentence, where there is no such election or it does not work with so many nodes.
    pub fn with_election(mut self, name: &str) -> Result<Self, String> {
        if !peer::ELECTIONS.contains(&name) {
            return Err(error::unknown("election", name, peer::ELECTIONS.iter().copied()));
        }
        name.clone_into(&mut self.election);
        self.choices = format!("{} --election {name}", self.choices);
        let most = self.members_max();
        if self.is_group() && self.nodes > most as u32 {
            return Err(format!("the election \"{name}\" works in a group, which has at most {most} members"));
        }
        Ok(self)
    }

    /// The same with another lock.
    ///
    /// # Errors
    /// One sentence, where there is no such lock or the scenario has none at all.
    pub fn with_mutex(mut self, name: &str) -> Result<Self, String> {
        if !peer::MUTEXES.contains(&name) {
            return Err(error::unknown("mutex", name, peer::MUTEXES.iter().copied()));
        }
        let missing = || format!("{}: nobody asks for a lock here: the table [locks] is missing.", self.file);
        let locks = self.locks.as_mut().ok_or_else(missing)?;
        name.clone_into(&mut locks.mutex);
        self.choices = format!("{} --mutex {name}", self.choices);
        Ok(self)
    }

    /// The same with another detection of the end of its job.
    ///
    /// # Errors
    /// One sentence, where there is no such detection or the scenario has no job.
    pub fn with_detection(mut self, name: &str) -> Result<Self, String> {
        if !peer::DETECTIONS.contains(&name) {
            return Err(error::unknown("detection", name, peer::DETECTIONS.iter().copied()));
        }
        let missing =
            || format!("{}: there is no job whose end could be found: [app] is not \"diffusing\".", self.file);
        let app = self.app.as_mut().filter(|app| app.has_end()).ok_or_else(missing)?;
        name.clone_into(&mut app.detection);
        self.choices = format!("{} --detection {name}", self.choices);
        Ok(self)
    }

    /// How many members a group may have here.
    #[must_use]
    pub fn members_max(&self) -> usize {
        if self.locks.is_some() {
            LOCKERS_MAX
        } else if self.app.is_some() {
            ACTORS_MAX
        } else {
            MEMBERS_MAX
        }
    }

    /// How far frames carry. A local network knows no distance; what it is drawn with is as good as any.
    #[must_use]
    pub fn reach(&self) -> Reach {
        match self.medium {
            Medium::Radio(radio) => radio.reach,
            Medium::Lan(_) => Reach { range: 15.0, grey: 15.0 },
        }
    }
}

#[cfg(test)]
mod tests;
