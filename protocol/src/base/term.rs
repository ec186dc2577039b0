//! Terms: they order leaderships.

use crate::base::ids::NodeId;
use serde::{Deserialize, Serialize};

/// The term of a leadership: a growing number, and the node that chose it.
///
/// No node chooses the same number twice, not even after a reboot, so no two leaderships share a term. Terms compare by
/// number first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Term {
    /// Grows with every election and every handover.
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
    fn terms_compare_by_number_first() {
        let low = Term { number: 1, by: NodeId(9) };
        let high = Term { number: 2, by: NodeId(1) };
        assert!(Term::ZERO < low && low < high);
    }
}
