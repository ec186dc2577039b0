//! The two best candidates.

use super::Winner;
use crate::base::capacity::Candidate;

/// The best candidate and the runner-up among those inserted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct TopTwo {
    pub(super) best: Option<Candidate>,
    pub(super) runner_up: Option<Candidate>,
}

impl TopTwo {
    /// Inserts a candidate, if there is one; the same candidate counts once.
    pub(super) fn insert(&mut self, candidate: Option<Candidate>) {
        self.insert_for(candidate, Winner::Highest);
    }

    /// Inserts a candidate where `winner` says which is better.
    pub(super) fn insert_for(&mut self, candidate: Option<Candidate>, winner: Winner) {
        if winner.prefers(candidate, self.best) {
            self.runner_up = self.best;
            self.best = candidate;
        } else if candidate != self.best && winner.prefers(candidate, self.runner_up) {
            self.runner_up = candidate;
        }
    }
}
