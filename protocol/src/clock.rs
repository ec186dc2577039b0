//! Logical time: the Lamport clock that orders events, and the term that orders leaders.

use crate::group::NodeId;
use serde::{Deserialize, Serialize};

/// A reading of a Lamport clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Stamp(pub u64);

/// A node's Lamport clock.
///
/// A step that hears a stamp moves past it; a step that speaks takes one stamp for everything it says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Clock(u64);

impl Clock {
    /// A clock that has already shown everything up to `stamp`.
    #[must_use]
    pub const fn after(stamp: Stamp) -> Self {
        Self(stamp.0)
    }

    /// The last reading.
    #[must_use]
    pub const fn reading(self) -> Stamp {
        Stamp(self.0)
    }

    /// Moves to where nothing heard or said so far has a stamp as high.
    pub fn hear(&mut self, stamp: Stamp) {
        self.0 = self.0.max(stamp.0);
    }

    /// The stamp of the next step.
    pub fn tick(&mut self) -> Stamp {
        self.0 = self.0.saturating_add(1);
        Stamp(self.0)
    }
}

/// What a leadership is held under: a number that grows, and the node that chose it.
///
/// No node chooses the same number twice, over reboots too, so no two leaderships share a term. Terms are compared
/// number first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Term {
    /// Grows with every election and every change of hands.
    pub number: u32,
    /// The node that chose the number.
    pub by: NodeId,
}

impl Term {
    /// Before every term.
    pub const ZERO: Self = Self { number: 0, by: NodeId(0) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_moves_past_what_it_hears() {
        let mut clock = Clock::after(Stamp(4));
        clock.hear(Stamp(9));
        assert_eq!(clock.tick(), Stamp(10));
        clock.hear(Stamp(3));
        assert_eq!(clock.tick(), Stamp(11));
    }

    #[test]
    fn terms_compare_number_first() {
        let low = Term { number: 1, by: NodeId(9) };
        let high = Term { number: 2, by: NodeId(1) };
        assert!(Term::ZERO < low && low < high);
    }
}
