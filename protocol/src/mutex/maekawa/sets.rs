//! Voting sets: the members a requester asks. Any two intersect, so that no two are complete at once.

use crate::base::ids::NodeSet;
use crate::base::quorum::is_majority;

/// Members of a voting set: a row and a column of eight, of which one member is in both.
pub(super) const VOTERS_MAX: usize = 15;

/// Perfect difference sets: modulo the size of the group, every number but zero is the difference of exactly one pair.
/// So the shifts of one set intersect in exactly one member, as the lines of a finite projective plane do.
const DIFFERENCE_SETS: [(usize, &[usize]); 6] = [
    (3, &[0, 1]),
    (7, &[0, 1, 3]),
    (13, &[0, 1, 3, 9]),
    (21, &[0, 1, 4, 14, 16]),
    (31, &[0, 1, 3, 8, 12, 18]),
    (57, &[0, 1, 3, 13, 32, 36, 43, 52]),
];

/// A family of voting sets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum VotingSets {
    /// The group in rows of equal length, the last one possibly shorter: a row and a column.
    ///
    /// Any row with any column will do. Of two such sets, the row of one crosses the column of the other unless that
    /// column has a hole there, and all holes are in the last row: so both rows would have to be the last, and then
    /// they are equal. A node whose own row and column have a member that is down asks another row and column.
    #[default]
    Grid,
    /// The paper's sets: the lines of a finite projective plane, which exists for groups of 3, 7, 13, 21, 31 and 57.
    Plane,
    /// These sets, by the slot of the requester.
    Listed(&'static [NodeSet]),
}

impl VotingSets {
    /// The names of the families that can be chosen by name.
    pub(super) const NAMES: &'static [&'static str] = &["grid", "plane"];

    const fn name(self) -> &'static str {
        match self {
            Self::Grid => "grid",
            Self::Plane => "plane",
            Self::Listed(_) => "listed",
        }
    }

    pub(super) fn by_name(name: &str) -> Option<Self> {
        [Self::Grid, Self::Plane].into_iter().find(|family| family.name() == name)
    }

    /// Returns whether every two sets of `group` intersect, and none is too large: called when a group is built.
    #[must_use]
    pub fn is_valid_for(self, group: NodeSet) -> bool {
        let count = self.count(group);
        let valid = |number| {
            let set = self.set(group, number);
            let fits = usize::try_from(set.len()).is_ok_and(|len| len <= VOTERS_MAX);
            fits && (0..=number).all(|other| set.meets(self.set(group, other)))
        };
        group.is_empty() || (count > 0 && (0..count).all(valid))
    }

    /// Returns the set for the requester in `slot`: its own if all its members are up, otherwise the next such set. Where
    /// there is none, all members that are up, if they may stand in for one; otherwise its own.
    #[must_use]
    pub fn choose(self, group: NodeSet, slot: usize, up: NodeSet) -> NodeSet {
        let own = match self {
            Self::Grid | Self::Plane => rank(group, slot),
            Self::Listed(_) => slot,
        };
        let count = self.count(group);
        let numbers = (own..count).chain(0..own.min(count));
        let mut sets = numbers.map(|number| self.set(group, number));
        let all_up = sets.find(|set| set.without(up).is_empty());
        all_up.or_else(|| self.stand_in(group, up)).unwrap_or_else(|| self.set(group, own))
    }

    /// Returns the members that are up if they intersect every set, and any other members that stand in for one: they are
    /// a majority.
    fn stand_in(self, group: NodeSet, up: NodeSet) -> Option<NodeSet> {
        let set = group.and(up);
        let fits = usize::try_from(set.len()).is_ok_and(|len| len <= VOTERS_MAX);
        let meets_all = (0..self.count(group)).all(|number| set.meets(self.set(group, number)));
        (fits && meets_all && is_majority(set, group)).then_some(set)
    }

    fn count(self, group: NodeSet) -> usize {
        match self {
            Self::Grid => {
                let width = width(group);
                members(group).div_ceil(width).saturating_mul(width)
            }
            Self::Plane => differences(group).map_or(0, |_| members(group)),
            Self::Listed(family) => family.len(),
        }
    }

    /// Returns the set with this number: of a grid, the row and the column that cross at that position; of a plane, the
    /// difference set shifted by it.
    fn set(self, group: NodeSet, number: usize) -> NodeSet {
        match self {
            Self::Grid => {
                let width = width(group);
                let position = |rank: usize| (rank.checked_div(width), rank.checked_rem(width));
                let (row, column) = position(number);
                ranked(group, |rank| position(rank).0 == row || position(rank).1 == column)
            }
            Self::Plane => {
                let differences = differences(group).unwrap_or(&[]);
                let shift = |rank: usize| {
                    rank.saturating_add(members(group)).saturating_sub(number).checked_rem(members(group)).unwrap_or(0)
                };
                ranked(group, |rank| differences.contains(&shift(rank)))
            }
            Self::Listed(family) => family.get(number).copied().unwrap_or(NodeSet::EMPTY).and(group),
        }
    }
}

fn members(group: NodeSet) -> usize {
    usize::try_from(group.len()).unwrap_or(0)
}

fn rank(group: NodeSet, slot: usize) -> usize {
    members(group.and(NodeSet::first(slot)))
}

/// Returns the members of the group whose rank is in the set.
fn ranked(group: NodeSet, contains: impl Fn(usize) -> bool) -> NodeSet {
    let chosen = group.slots().enumerate().filter(|&(rank, _)| contains(rank));
    chosen.fold(NodeSet::EMPTY, |set, (_, slot)| set.with(NodeSet::slot(slot)))
}

/// Returns the length of a row: the least whose square has room for the group.
fn width(group: NodeSet) -> usize {
    let fits = |&width: &usize| width.saturating_mul(width) >= members(group);
    (1..=VOTERS_MAX).find(fits).unwrap_or(VOTERS_MAX)
}

/// Returns the difference set for the size of the group, if there is one.
fn differences(group: NodeSet) -> Option<&'static [usize]> {
    DIFFERENCE_SETS.into_iter().find(|&(size, _)| size == members(group)).map(|(_, differences)| differences)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(slots: &[usize]) -> NodeSet {
        slots.iter().fold(NodeSet::EMPTY, |set, &slot| set.with(NodeSet::slot(slot)))
    }

    #[test]
    fn mk1_every_two_sets_of_every_group_up_to_64_intersect() {
        for count in 1..=64 {
            assert!(VotingSets::Grid.is_valid_for(NodeSet::first(count)), "{count} members");
        }
        let group = NodeSet::first(40).without(set(&[0, 7, 13, 39]));
        assert!(VotingSets::Grid.is_valid_for(group), "slots need not be the first ones");
    }

    #[test]
    fn mk1_every_member_is_in_its_own_set() {
        for count in 1..=64 {
            let group = NodeSet::first(count);
            for family in [VotingSets::Grid, VotingSets::Plane].into_iter().filter(|sets| sets.is_valid_for(group)) {
                for slot in 0..count {
                    let own = family.choose(group, slot, group);
                    assert!(own.meets(NodeSet::slot(slot)), "{slot} of {count}");
                }
            }
        }
    }

    #[test]
    fn mk2_x9_a_square_group_has_sets_of_twice_its_root_less_one() {
        for root in 1..=8 {
            let group = NodeSet::first(root * root);
            for slot in 0..root * root {
                assert_eq!(VotingSets::Grid.choose(group, slot, group).len() as usize, 2 * root - 1);
            }
        }
    }

    #[test]
    fn mk2_rows_of_unequal_length_have_the_columns_that_are_left() {
        let group = NodeSet::first(5); // 0 1 2 / 3 4
        let own = |slot| VotingSets::Grid.choose(group, slot, group);
        assert_eq!(own(0), set(&[0, 1, 2, 3]));
        assert_eq!(own(2), set(&[0, 1, 2]));
        assert_eq!(own(4), set(&[3, 4, 1]));
    }

    #[test]
    fn a_set_with_a_member_that_is_down_is_exchanged_for_one_without() {
        let group = NodeSet::first(9);
        assert_eq!(VotingSets::Grid.choose(group, 0, group.without(set(&[3]))), set(&[0, 1, 2, 4, 7]));
        assert_eq!(VotingSets::Grid.choose(group, 0, group.without(set(&[1]))), set(&[0, 3, 4, 5, 6]));
    }

    #[test]
    fn where_every_row_or_column_lacks_a_member_a_majority_that_meets_all_sets_stands_in() {
        let group = NodeSet::first(9);
        let chosen = |down| VotingSets::Grid.choose(group, 0, group.without(set(down)));
        assert_eq!(chosen(&[2, 4, 6]), set(&[0, 1, 3, 5, 7, 8]), "a diagonal is down");
        assert_eq!(chosen(&[2, 3, 4, 5]), set(&[0, 1, 6, 7, 8]));
        let own = set(&[0, 1, 2, 3, 6]);
        assert_eq!(chosen(&[1, 3, 4, 5, 7]), own, "four of nine are no majority");
    }

    #[test]
    fn every_two_sets_that_are_chosen_intersect_whoever_is_down() {
        for count in 1..=10 {
            let group = NodeSet::first(count);
            let members = |bits: usize| (0..count).filter(move |slot| bits >> slot & 1 == 1);
            let ups = (0..1_usize << count).map(|bits| set(&members(bits).collect::<std::vec::Vec<_>>()));
            let choices = |sets: VotingSets| {
                let ups = ups.clone();
                let all = ups.flat_map(move |up| {
                    up.slots().map(move |slot| sets.choose(group, slot, up)).collect::<std::vec::Vec<_>>()
                });
                all.map(|set| set.slots().collect::<std::vec::Vec<_>>()).collect::<std::collections::BTreeSet<_>>()
            };
            for sets in [VotingSets::Grid, VotingSets::Plane].into_iter().filter(|sets| sets.is_valid_for(group)) {
                let chosen: std::vec::Vec<_> = choices(sets).iter().map(|slots| set(slots)).collect();
                assert!(chosen.iter().all(|one| chosen.iter().all(|other| one.meets(*other))), "{count} members");
            }
        }
    }

    #[test]
    fn mk3_a_plane_has_sets_of_k_members_for_k_times_k_less_1_plus_1_and_any_two_share_one() {
        let sizes: std::vec::Vec<_> = (1..=64).filter(|&n| VotingSets::Plane.is_valid_for(NodeSet::first(n))).collect();
        assert_eq!(sizes, [3, 7, 13, 21, 31, 57]);
        for count in sizes {
            let group = NodeSet::first(count);
            let own = |slot| VotingSets::Plane.choose(group, slot, group);
            for slot in 0..count {
                let size = own(slot).len() as usize;
                assert_eq!(size * (size - 1) + 1, count);
                assert!((0..slot).all(|other| own(slot).and(own(other)).len() == 1), "{slot} of {count}");
            }
        }
        let group = NodeSet::first(7);
        assert_eq!(VotingSets::Plane.choose(group, 0, group.without(set(&[1]))), set(&[2, 3, 5]));
    }

    #[test]
    fn families_are_chosen_by_name() {
        for &name in VotingSets::NAMES {
            assert_eq!(VotingSets::by_name(name).map(VotingSets::name), Some(name));
        }
        assert_eq!(VotingSets::by_name("listed"), None);
        assert_eq!(VotingSets::default().name(), VotingSets::NAMES[0]);
    }

    #[test]
    fn sets_that_do_not_intersect_are_invalid() {
        static APART: [NodeSet; 2] = [NodeSet::EMPTY; 2];
        assert!(!VotingSets::Listed(&APART).is_valid_for(NodeSet::first(2)));
        assert!(!VotingSets::Listed(&[]).is_valid_for(NodeSet::first(2)));
    }
}
