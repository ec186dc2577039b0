//! Quorums: any two majorities of a group share a member.

use crate::base::ids::NodeSet;
use crate::base::named;

/// What a leader needs besides having been elected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Mode {
    /// Nothing: each part of a partitioned network has its own leader.
    #[default]
    Available,
    /// A lease from a majority of the group: never two leaders, and none without a majority.
    Quorum,
}

named! { Mode: Available = "available", Quorum = "quorum" }

/// Returns whether `set` holds more than half of `group`. Every set is a majority of an empty group, which stands for a
/// node without one.
pub(crate) const fn is_majority(set: NodeSet, group: NodeSet) -> bool {
    set.and(group).len().saturating_mul(2) > group.len() || group.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_majority_is_more_than_half_of_the_group_and_outsiders_do_not_count() {
        for (members, group, majority) in [(0, 0, true), (0, 1, false), (1, 2, false), (2, 3, true), (2, 4, false)] {
            assert_eq!(is_majority(NodeSet::first(members), NodeSet::first(group)), majority, "{members} of {group}");
        }
        assert!(!is_majority(NodeSet::first(8).without(NodeSet::first(3)), NodeSet::first(4)));
    }
}
