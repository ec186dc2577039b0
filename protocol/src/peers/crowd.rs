//! Crowds: more nodes in range than the table has slots.
//!
//! Each pair of nodes has a *weight*, the same at both ends and as good as random. A full table keeps the nodes of the
//! highest weights, so most nodes keep each other: what remains of the links is a random graph of bounded degree, which
//! hangs together however many nodes share the room. A node that all others leave out becomes a *guest*
//! (`table/hellos.rs`).
//!
//! How many nodes are in range is estimated from whose frames arrive: those of the table, or others.
//!
//! # Paper
//! Ranking by a hash that both ends compute is rendezvous hashing (D. Thaler, C. Ravishankar: Using Name-Based Mappings to
//! Increase Hit Rates, IEEE/ACM Transactions on Networking 1998). That a random graph of small degree is connected is P. Erdős's and A. Rényi's.

use crate::base::ids::NodeId;

/// Share of frames from nodes without a slot, of 65,536, from which a node counts as crowded.
const CROWDED: u16 = 8_192;
/// A frame counts for this part of the estimate, as a power of two.
const WEIGHT_BITS: u32 = 5;
/// The largest crowd that is told apart from larger ones.
const CROWD_MAX: u32 = 255;

/// Returns the weight of the link between two nodes.
pub(super) fn weight(a: NodeId, b: NodeId) -> u32 {
    let (low, high) = (a.0.min(b.0), a.0.max(b.0));
    let mixed = low.wrapping_mul(0x9e37_79b1) ^ high.wrapping_mul(0x85eb_ca6b).rotate_left(16);
    let mixed = (mixed ^ (mixed >> 15)).wrapping_mul(0x2c1b_3c6d);
    mixed ^ (mixed >> 13)
}

/// The share of frames that come from nodes without a slot, of 65,536.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Crowd(u16);

impl Crowd {
    /// Records a frame of a node that has a slot, or of one that has `none`.
    pub(super) fn record(&mut self, none: bool) {
        let down = self.0 >> WEIGHT_BITS;
        let up = if none { u16::MAX >> WEIGHT_BITS } else { 0 };
        self.0 = self.0.saturating_sub(down).saturating_add(up);
    }

    /// Returns whether far more nodes are in range than have slots.
    pub(super) const fn is_beyond_table(self) -> bool {
        self.0 >= CROWDED
    }

    /// Returns how many nodes are in range, where `known` of them have slots.
    pub(super) fn estimate(self, known: u32) -> u32 {
        let share = u32::from(u16::MAX.saturating_sub(self.0)).max(1);
        known.saturating_mul(u32::from(u16::MAX)).checked_div(share).unwrap_or(known).min(CROWD_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crowd_is_estimated_by_whose_frames_arrive() {
        let mut crowd = Crowd::default();
        assert_eq!((crowd.estimate(32), crowd.is_beyond_table()), (32, false));
        // 128 others beside 32 in the table: four frames of five.
        for frame in 0..500 {
            crowd.record(frame % 5 != 0);
        }
        let estimate = crowd.estimate(32);
        assert!((130..190).contains(&estimate) && crowd.is_beyond_table(), "{estimate}");
        for _ in 0..500 {
            crowd.record(false);
        }
        assert_eq!((crowd.estimate(32), crowd.is_beyond_table()), (32, false));
    }

    #[test]
    fn a_weight_is_the_same_at_both_ends_and_most_of_the_best_links_are_too() {
        let (nodes, slots) = (200_u32, 32_usize);
        let best = |node: u32| {
            let mut others: std::vec::Vec<u32> = (0..nodes).filter(|&other| other != node).collect();
            others.sort_by_key(|&other| core::cmp::Reverse(weight(NodeId(node), NodeId(other))));
            others.truncate(slots);
            others
        };
        let tables: std::vec::Vec<_> = (0..nodes).map(best).collect();
        for (node, table) in (0..).zip(&tables) {
            let mutual = table.iter().filter(|&&other| tables[other as usize].contains(&node)).count();
            assert!(mutual >= slots / 2, "node {node} has {mutual} links of {slots}");
        }
    }
}
