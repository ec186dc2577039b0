//! The two best candidates.

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
        if candidate > self.best {
            self.runner_up = self.best;
            self.best = candidate;
        } else if candidate != self.best && candidate > self.runner_up {
            self.runner_up = candidate;
        }
    }
}
