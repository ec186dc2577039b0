//! The plan of a run's application.

use super::APP_GROUP_MAX;
use crate::base::Micros;
use crate::base::rng::Probability;
use protocol::registry::AnyApplication;

/// The application of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct AppPlan {
    pub(crate) kind: String,
    /// How many tokens each node of a bank begins with.
    pub tokens: u32,
    /// The mean time between two transfers of a bank, or the time of a unit of work.
    pub(crate) pause: Micros,
    pub(crate) detection: String,
    /// How often a message is overtaken by a marker that was sent after it, as on a channel that is not FIFO.
    pub reordering: Probability,
}

impl AppPlan {
    /// The bank whose tokens move between nodes.
    pub(crate) const TOKENS: &'static str = AnyApplication::<APP_GROUP_MAX>::NAMES[0];
    /// The diffusing computation: a job that spreads over the nodes and terminates.
    pub(crate) const DIFFUSING: &'static str = AnyApplication::<APP_GROUP_MAX>::NAMES[1];
    /// The shared clock alone.
    pub(crate) const CLOCK: &'static str = "clock";

    /// The sequencer: every member submits messages, and all deliver them in one order.
    pub(crate) const SEQUENCER: &'static str = "sequencer";

    /// Two-phase commit: the leader proposes changes, and all members apply each or none does.
    pub(crate) const COMMIT: &'static str = "commit";

    pub(crate) const KINDS: [&'static str; 5] =
        [Self::TOKENS, Self::DIFFUSING, Self::CLOCK, Self::SEQUENCER, Self::COMMIT];

    pub(crate) fn is_commit(&self) -> bool {
        self.kind == Self::COMMIT
    }

    pub(crate) fn is_ordered(&self) -> bool {
        self.kind == Self::SEQUENCER
    }

    pub(crate) fn terminates(&self) -> bool {
        self.kind == Self::DIFFUSING
    }

    pub(crate) fn is_clock(&self) -> bool {
        self.kind == Self::CLOCK
    }

    /// Returns the sum of all tokens on so many nodes; `None` if the application is no bank.
    #[must_use]
    pub fn token_sum(&self, nodes: u32) -> Option<u64> {
        (self.kind == Self::TOKENS).then(|| u64::from(nodes) * u64::from(self.tokens))
    }
}
