//! Voting sets: whom a node asks. Any two have a member in common, so that no two are complete at once.

use crate::group::NodeSet;

/// The most members of a voting set: a row and a column of eight, of which one member is in both.
pub const VOTERS_MAX: usize = 15;

/// A family of voting sets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Sets {
    /// The group in rows of equal length, the last one possibly shorter: a row and a column.
    ///
    /// Any row with any column will do. Of two such sets, the row of one crosses the column of the other unless that column
    /// has a hole there, and all holes are in the last row: so both rows would have to be the last, and then they are the
    /// same. A node whose own row and column have a member that is down asks another row and column.
    #[default]
    Grid,
    /// These, by the place of whoever asks.
    Given(&'static [NodeSet]),
}

impl Sets {
    /// Whether every two sets of `group` have a member in common, and none has too many: to be asked when a group is built.
    #[must_use]
    pub fn suit(self, group: NodeSet) -> bool {
        let count = self.count(group);
        let sound = |number| {
            let set = self.set(group, number);
            let fits = usize::try_from(set.len()).is_ok_and(|len| len <= VOTERS_MAX);
            fits && (0..=number).all(|other| set.meets(self.set(group, other)))
        };
        group.is_empty() || (count > 0 && (0..count).all(sound))
    }

    /// The set whoever is in `slot` asks: its own if everybody in it is up, otherwise the next that is; its own if none is.
    #[must_use]
    pub fn choose(self, group: NodeSet, slot: usize, up: NodeSet) -> NodeSet {
        let own = match self {
            Self::Grid => rank(group, slot),
            Self::Given(_) => slot,
        };
        let count = self.count(group);
        let numbers = (own..count).chain(0..own.min(count));
        let mut sets = numbers.map(|number| self.set(group, number));
        let all_up = sets.find(|set| set.without(up).is_empty());
        all_up.unwrap_or_else(|| self.set(group, own))
    }

    /// How many sets there are.
    fn count(self, group: NodeSet) -> usize {
        match self {
            Self::Grid => {
                let width = width(group);
                members(group).div_ceil(width).saturating_mul(width)
            }
            Self::Given(family) => family.len(),
        }
    }

    /// The set with this number: of a grid, the row and the column that cross at that place.
    fn set(self, group: NodeSet, number: usize) -> NodeSet {
        match self {
            Self::Grid => {
                let width = width(group);
                let place = |rank: usize| (rank.checked_div(width), rank.checked_rem(width));
                let (row, column) = place(number);
                let crosses = |rank| place(rank).0 == row || place(rank).1 == column;
                let ranked = group.slots().enumerate().filter(|&(rank, _)| crosses(rank));
                ranked.fold(NodeSet::EMPTY, |set, (_, slot)| set.with(NodeSet::slot(slot)))
            }
            Self::Given(family) => family.get(number).copied().unwrap_or(NodeSet::EMPTY).and(group),
        }
    }
}

fn members(group: NodeSet) -> usize {
    usize::try_from(group.len()).unwrap_or(0)
}

/// The place of `slot` in the group.
fn rank(group: NodeSet, slot: usize) -> usize {
    members(group.and(NodeSet::first(slot)))
}

/// The length of a row: the least whose square has room for the group.
fn width(group: NodeSet) -> usize {
    let fits = |&width: &usize| width.saturating_mul(width) >= members(group);
    (1..=VOTERS_MAX).find(fits).unwrap_or(VOTERS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(slots: &[usize]) -> NodeSet {
        slots.iter().fold(NodeSet::EMPTY, |set, &slot| set.with(NodeSet::slot(slot)))
    }

    #[test]
    fn mk1_every_two_sets_of_every_group_up_to_64_have_a_member_in_common() {
        for count in 1..=64 {
            assert!(Sets::Grid.suit(NodeSet::first(count)), "{count} members");
        }
        assert!(Sets::Grid.suit(NodeSet::first(40).without(set(&[0, 7, 13, 39]))), "slots need not be the first ones");
    }

    #[test]
    fn mk1_every_member_is_in_its_own_set() {
        for count in 1..=64 {
            let group = NodeSet::first(count);
            for slot in 0..count {
                let own = Sets::Grid.choose(group, slot, group);
                assert!(own.meets(NodeSet::slot(slot)), "{slot} of {count}");
            }
        }
    }

    #[test]
    fn mk2_x9_a_square_group_has_sets_of_twice_its_root_less_one() {
        for root in 1..=8 {
            let group = NodeSet::first(root * root);
            for slot in 0..root * root {
                assert_eq!(Sets::Grid.choose(group, slot, group).len() as usize, 2 * root - 1);
            }
        }
    }

    #[test]
    fn mk2_rows_of_unequal_length_have_the_columns_that_are_left() {
        let group = NodeSet::first(5); // 0 1 2 / 3 4
        let own = |slot| Sets::Grid.choose(group, slot, group);
        assert_eq!(own(0), set(&[0, 1, 2, 3]));
        assert_eq!(own(2), set(&[0, 1, 2]));
        assert_eq!(own(4), set(&[3, 4, 1]));
    }

    #[test]
    fn a_set_with_a_member_that_is_down_is_exchanged_for_one_without() {
        let group = NodeSet::first(9);
        assert_eq!(Sets::Grid.choose(group, 0, group.without(set(&[3]))), set(&[0, 1, 2, 4, 7]));
        assert_eq!(Sets::Grid.choose(group, 0, group.without(set(&[1]))), set(&[0, 3, 4, 5, 6]));
        // Nobody of a diagonal is up: every row and column lacks somebody.
        assert_eq!(Sets::Grid.choose(group, 0, group.without(set(&[2, 4, 6]))), set(&[0, 1, 2, 3, 6]));
    }

    #[test]
    fn sets_that_do_not_meet_do_not_suit() {
        static APART: [NodeSet; 2] = [NodeSet::EMPTY; 2];
        assert!(!Sets::Given(&APART).suit(NodeSet::first(2)));
        assert!(!Sets::Given(&[]).suit(NodeSet::first(2)));
    }
}
