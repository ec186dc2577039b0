//! What must hold: one file per property.
//!
//! Some properties hold at every moment and are watched event by event; the others hold when the network has had time
//! to settle, and are checked on a picture of it ([`Settled`]).

mod best_leads;
mod everyone_knows;
mod frame_limit;
mod nobody_halts;
mod one_acts;
mod one_leader;
mod one_leader_per_term;
mod settled;
mod terms_grow;

pub use settled::{Settled, SettledNode};

use crate::queue::Micros;
use crate::trace::{Observer, TraceEvent};

/// The words for the checkers.
pub const NAMES: [&str; 8] = [
    one_leader::NAME,
    everyone_knows::NAME,
    best_leads::NAME,
    terms_grow::NAME,
    one_leader_per_term::NAME,
    frame_limit::NAME,
    nobody_halts::NAME,
    one_acts::NAME,
];

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
    findings: Vec<Finding>,
}

impl Checkers {
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
    }

    fn note(&mut self, at: Micros, checker: &'static str, text: String) {
        if self.findings.len() < FINDINGS_MAX {
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
    }
}
