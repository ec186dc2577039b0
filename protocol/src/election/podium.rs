//! The best of those who would lead.

use crate::capacity::Standing;

/// The two best candidates heard of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Podium {
    pub(super) best: Option<Standing>,
    pub(super) second: Option<Standing>,
}

impl Podium {
    /// Counts one more candidate in; the same one twice counts once.
    pub(super) fn admit(&mut self, candidate: Option<Standing>) {
        if candidate > self.best {
            self.second = self.best;
            self.best = candidate;
        } else if candidate != self.best && candidate > self.second {
            self.second = candidate;
        }
    }
}
