//! Exhaustive exploration: every order of events of a few nodes, on the unchanged state machines.
//!
//! [`search`] visits every state of a [`search::Model`]: [`lock_model`], [`election_model`], [`lease_model`],
//! [`members_model`] and [`app_model`]. [`all`] lists the searches of every algorithm; `conclave check` and the tests run the same ones.

#![expect(clippy::disallowed_types, reason = "maps are looked up by fingerprint, and no order depends on theirs")]

pub mod app_model;
pub mod apps;
mod context;
mod diagram;
mod election_machine;
mod election_messages;
pub mod election_model;
pub mod elections;
mod interned;
pub mod lease_model;
mod lock_machine;
pub mod lock_model;
mod lock_node;
pub mod locks;
pub mod members_model;
pub mod schedule;
pub mod search;
pub mod textbook;

pub use diagram::diagram;
pub use lock_machine::Explored as ExploredLock;
pub use lock_node::{Event as LockEvent, Known, Memory};
use schedule::Course;
use search::{Figures, Limits, Violation};

/// What came of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// How many states were visited.
    pub states: usize,
    /// How many moves lead to the last state found.
    pub depth: u32,
    /// States from which a move led beyond the bounds.
    pub cut: usize,
    /// Whether every state within the bounds was visited.
    pub complete: bool,
    /// The run that must not be, if there is one.
    pub violation: Option<Violation>,
}

impl Outcome {
    /// Judges a search by what it found and by whether it reached what it is about: a complete search that did not proves
    /// nothing, and counts as a violation.
    #[must_use]
    pub fn new(found: Result<Figures, Box<Violation>>, reached: Result<(), &'static str>) -> Self {
        match found {
            Ok(Figures { states, depth, cut, complete }) => {
                let vacuous = reached.err().filter(|_| complete);
                let violation = vacuous.map(|why| Violation { why, states, steps: Vec::new() });
                Self { states, depth, cut, complete, violation }
            }
            Err(found) => {
                let (states, depth) = (found.states, found.steps.len() as u32);
                Self { states, depth, cut: 0, complete: false, violation: Some(*found) }
            }
        }
    }

    /// Returns what is wrong, if anything is.
    #[must_use]
    pub fn why(&self) -> Option<&'static str> {
        self.violation.as_ref().map(|violation| violation.why)
    }
}

/// How a search runs.
type Run = Box<dyn Fn(Course<'_>) -> Outcome + Send + Sync>;

/// One search of an algorithm.
pub struct Search {
    /// The word for the algorithm.
    pub algorithm: &'static str,
    /// What may happen in it.
    pub name: &'static str,
    /// How many nodes there are.
    pub nodes: usize,
    /// Whether it takes minutes, and a usual run leaves it out.
    pub is_long: bool,
    /// Whether it ends at bounds of numbers, such as terms or Lamport times, and not by itself.
    pub is_cut: bool,
    run: Run,
}

impl Search {
    /// Visits every state within the limits.
    #[must_use]
    pub fn run(&self, limits: Limits) -> Outcome {
        (self.run)(Course::Every(limits))
    }

    /// Makes the moves of a schedule, then visits every state within the limits.
    #[must_use]
    pub fn replay(&self, moves: &[String], limits: Limits) -> Outcome {
        (self.run)(Course::Along(moves, limits))
    }
}

/// The numbers of nodes that can be explored.
pub const NODES: std::ops::RangeInclusive<u32> = 2..=4;

/// Returns the searches of every algorithm among so many nodes: locks and elections, and with three nodes the lease, the
/// list of members and applications too.
#[must_use]
pub fn all(nodes: usize) -> Vec<Search> {
    let mut searches = elections::all(nodes);
    searches.extend(locks::all(nodes));
    if nodes == app_model::NODES {
        searches.extend(lease_model::SEARCHES.map(|(name, bounds)| Search {
            algorithm: "lease",
            name,
            nodes,
            is_long: false,
            is_cut: true,
            run: Box::new(move |course| lease_model::judge(bounds, course)),
        }));
        searches.extend(members_model::SEARCHES.map(|(name, bounds)| Search {
            algorithm: "members",
            name,
            nodes,
            is_long: false,
            is_cut: true,
            run: Box::new(move |course| members_model::judge(bounds, course)),
        }));
        searches.extend(apps::all());
    }
    searches
}

/// Returns the search of the lock whose replies do not name their request, which `conclave check textbook` shows to fail.
#[must_use]
pub fn textbook(nodes: usize) -> Search {
    let bounds = lock_model::Bounds { members: nodes, leader: 0, ..locks::DUPLICATING };
    Search {
        algorithm: TEXTBOOK,
        name: "duplicates and loss",
        nodes,
        is_long: false,
        is_cut: false,
        run: Box::new(move |course| {
            locks::explore_lock(bounds, course, |_| textbook::Textbook::new(textbook::Fault::Textbook))
        }),
    }
}

/// How many planted bugs the tests of the explorer find; the page of verification prints it.
pub const PLANTED: usize = 72;

/// The word for the lock with the fault of the textbooks.
pub const TEXTBOOK: &str = "textbook";
