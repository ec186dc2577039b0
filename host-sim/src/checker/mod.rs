//! What must hold: one file per property.
//!
//! Some properties hold at every moment and are watched event by event; the others hold when the network has had time
//! to settle, and are checked on a picture of it ([`Settled`]).

mod best_leads;
mod clock_runs_on;
mod consistent_cuts;
mod everyone_knows;
mod fences_grow;
mod frame_limit;
mod no_early_end;
mod no_stale_write;
mod nobody_halts;
mod nobody_waits_for_ever;
mod one_acts;
mod one_holder;
mod one_leader;
mod one_leader_per_term;
mod settled;
mod sum_conserved;
mod terms_grow;

pub use settled::{Settled, SettledNode, Wanting};

use crate::queue::Micros;
use crate::scenario::Expect;
#[cfg(test)]
use crate::trace::{Act, Deed, What};
use crate::trace::{Observer, TraceEvent};
#[cfg(test)]
use protocol::clock::{Stamp, Term};
#[cfg(test)]
use protocol::mutex::Fence;
#[cfg(test)]
use protocol::{NodeId, snapshot};

/// The words for the checkers.
pub const NAMES: [&str; 16] = [
    one_leader::NAME,
    everyone_knows::NAME,
    best_leads::NAME,
    terms_grow::NAME,
    one_leader_per_term::NAME,
    frame_limit::NAME,
    nobody_halts::NAME,
    one_acts::NAME,
    one_holder::NAME,
    fences_grow::NAME,
    no_stale_write::NAME,
    nobody_waits_for_ever::NAME,
    consistent_cuts::NAME,
    sum_conserved::NAME,
    no_early_end::NAME,
    clock_runs_on::NAME,
];

/// Those of locks.
pub const OF_LOCKS: [&str; 4] =
    [one_holder::NAME, fences_grow::NAME, no_stale_write::NAME, nobody_waits_for_ever::NAME];

/// A property that did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// When.
    pub at: Micros,
    /// Which property.
    pub checker: &'static str,
    /// What was wrong.
    pub text: String,
}

/// How many findings of one run are kept: the first ones tell the story.
const FINDINGS_MAX: usize = 20;

/// All checkers, over one run.
#[derive(Default)]
pub struct Checkers {
    terms_grow: terms_grow::TermsGrow,
    one_leader_per_term: one_leader_per_term::OneLeaderPerTerm,
    fences_grow: fences_grow::FencesGrow,
    no_stale_write: no_stale_write::NoStaleWrite,
    consistent_cuts: consistent_cuts::ConsistentCuts,
    sum_conserved: sum_conserved::SumConserved,
    no_early_end: no_early_end::NoEarlyEnd,
    /// Which of the checkers of locks watch; all of them where nothing is said.
    of_locks: Option<Vec<&'static str>>,
    findings: Vec<Finding>,
}

impl Checkers {
    /// Those that a scenario chose.
    #[must_use]
    pub fn new(expect: &Expect) -> Self {
        let sum_conserved = sum_conserved::SumConserved::of(expect.tokens);
        Self { of_locks: expect.locks.clone(), sum_conserved, ..Self::default() }
    }

    /// What was found so far.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Checks what must hold of a network that had time to settle.
    pub fn check_settled(&mut self, settled: &Settled) {
        for text in one_leader::check(settled) {
            self.note(settled.at, one_leader::NAME, text);
        }
        for text in everyone_knows::check(settled) {
            self.note(settled.at, everyone_knows::NAME, text);
        }
        for text in best_leads::check(settled) {
            self.note(settled.at, best_leads::NAME, text);
        }
        for text in nobody_waits_for_ever::check(settled) {
            self.note(settled.at, nobody_waits_for_ever::NAME, text);
        }
    }

    fn note(&mut self, at: Micros, checker: &'static str, text: String) {
        let watches =
            self.of_locks.as_ref().is_none_or(|chosen| !OF_LOCKS.contains(&checker) || chosen.contains(&checker));
        if watches && self.findings.len() < FINDINGS_MAX {
            self.findings.push(Finding { at, checker, text });
        }
    }
}

/// Whether the network ended as it should: one leader per component, known to all its nodes.
#[must_use]
pub fn converged(settled: &Settled) -> bool {
    one_leader::check(settled).next().is_none() && everyone_knows::check(settled).next().is_none()
}

/// Whether the best node of every component leads it.
#[must_use]
pub fn best_leads(settled: &Settled) -> bool {
    converged(settled) && best_leads::check(settled).next().is_none()
}

impl Observer for Checkers {
    fn see(&mut self, event: &TraceEvent) {
        if let Some(text) = self.terms_grow.see(event) {
            self.note(event.at, terms_grow::NAME, text);
        }
        if let Some(text) = self.one_leader_per_term.see(event) {
            self.note(event.at, one_leader_per_term::NAME, text);
        }
        if let Some(text) = frame_limit::see(event) {
            self.note(event.at, frame_limit::NAME, text);
        }
        if let Some(text) = nobody_halts::see(event) {
            self.note(event.at, nobody_halts::NAME, text);
        }
        if let Some(text) = one_acts::see(event) {
            self.note(event.at, one_acts::NAME, text);
        }
        if let Some(text) = one_holder::see(event) {
            self.note(event.at, one_holder::NAME, text);
        }
        if let Some(text) = self.fences_grow.see(event) {
            self.note(event.at, fences_grow::NAME, text);
        }
        if let Some(text) = self.no_stale_write.see(event) {
            self.note(event.at, no_stale_write::NAME, text);
        }
        if let Some(text) = self.consistent_cuts.see(event) {
            self.note(event.at, consistent_cuts::NAME, text);
        }
        if let Some(text) = self.sum_conserved.see(event) {
            self.note(event.at, sum_conserved::NAME, text);
        }
        if let Some(text) = self.no_early_end.see(event) {
            self.note(event.at, no_early_end::NAME, text);
        }
        if let Some(text) = clock_runs_on::see(event) {
            self.note(event.at, clock_runs_on::NAME, text);
        }
    }
}

/// A grant of a lock, for tests.
#[cfg(test)]
fn granted(node: u32, lock: u8, count: u64) -> TraceEvent {
    of_lock(node, lock, Deed::Acquired { fence: fence(count) })
}

/// A write that was let through, for tests.
#[cfg(test)]
fn wrote(node: u32, lock: u8, count: u64) -> TraceEvent {
    of_lock(node, lock, Deed::Wrote { fence: fence(count), accepted: true })
}

#[cfg(test)]
fn of_lock(node: u32, lock: u8, deed: Deed) -> TraceEvent {
    TraceEvent { at: 0, node: Some(node), what: What::Lock { lock, deed } }
}

/// Nothing found, for tests.
#[cfg(test)]
const NOTHING: [String; 0] = [];

/// A snapshot, for tests.
#[cfg(test)]
const ID: snapshot::Id = snapshot::Id { initiator: NodeId(0), incarnation: 1, number: 1 };

/// What an application did, for tests.
#[cfg(test)]
fn acted(node: u32, act: Act) -> TraceEvent {
    TraceEvent { at: 0, node: Some(node), what: What::App { act } }
}

#[cfg(test)]
fn fence(count: u64) -> Fence {
    Fence { term: Term::ZERO, count: Stamp(count) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_chooses_which_checkers_of_locks_watch() {
        let grants = [granted(1, 0, 5), granted(2, 0, 5)];
        let found = |locks: Option<Vec<&'static str>>| {
            let mut checkers = Checkers::new(&Expect { locks, ..Expect::default() });
            for event in &grants {
                checkers.see(event);
            }
            checkers.findings().len()
        };
        assert_eq!([found(None), found(Some(vec!["fences-grow"])), found(Some(vec!["one-holder"]))], [1, 1, 0]);
    }
}
