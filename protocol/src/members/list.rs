//! The list of members, and how it changes: by one member at a time.

use crate::base::ids::{NodeId, NodeSet};
use crate::base::membership::Group;
use crate::base::quorum::is_majority;
use crate::wire::encoded_bytes;
use heapless::Vec;
use serde::{Deserialize, Serialize};

/// The most members of a group whose list changes: as many as a board has slots.
pub const LISTED_MAX: usize = 32;

/// The longest list, encoded: it fits one frame with all around it. Ids below 128 take one byte, those below 16,384 two.
const LIST_BYTES_MAX: usize = 80;

/// A list of members in ascending order, and its epoch. Lists of one epoch are equal everywhere.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct List {
    epoch: u32,
    members: Vec<NodeId, LISTED_MAX, u8>,
}

/// One member more, or one less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Change {
    /// This node becomes a member.
    Add(NodeId),
    /// This member is one no longer.
    Remove(NodeId),
}

impl List {
    /// No list: that of a node that waits to be added to a group.
    pub const NONE: Self = Self { epoch: 0, members: Vec::new() };

    /// Returns the first list of a group, in whatever order its members are given; `None` where they are none, where one
    /// stands twice in it, or where they do not fit a frame.
    #[must_use]
    pub fn first(members: &[NodeId]) -> Option<Self> {
        let mut list = Self { epoch: 1, members: Vec::new() };
        for &member in members {
            list.insert(member)?;
        }
        (!members.is_empty()).then_some(list)
    }

    /// Returns how many lists there were, this one included; 0 where there is none.
    #[must_use]
    pub const fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Returns the members in ascending order.
    #[must_use]
    pub fn members(&self) -> &[NodeId] {
        &self.members
    }

    /// Returns whether a node is a member.
    #[must_use]
    pub fn contains(&self, id: NodeId) -> bool {
        self.members.contains(&id)
    }

    /// Returns the group of the members; `None` where there are none.
    #[must_use]
    pub fn group(&self) -> Option<Group> {
        Group::of(&self.members).ok()
    }

    /// Returns the list after a change; `None` where that changes nothing, or leaves none or more than fit.
    #[must_use]
    pub fn after(&self, change: Change) -> Option<Self> {
        let mut next = Self { epoch: self.epoch.checked_add(1)?, members: self.members.clone() };
        match change {
            Change::Add(id) => next.insert(id)?,
            Change::Remove(id) => {
                next.members.retain(|&member| member != id);
                let removed = next.members.len() < self.members.len();
                (removed && !next.members.is_empty()).then_some(())?;
            }
        }
        Some(next)
    }

    /// Adds a member at its place.
    fn insert(&mut self, id: NodeId) -> Option<()> {
        if self.contains(id) {
            return None;
        }
        self.members.push(id).ok()?;
        self.members.sort_unstable();
        let bytes: usize = self.members.iter().map(|member| encoded_bytes(member.0)).sum();
        (bytes <= LIST_BYTES_MAX).then_some(())
    }

    /// The members: slots in this list.
    fn all(&self) -> NodeSet {
        NodeSet::first(self.members.len())
    }

    /// The slot of a node in a change of this list: that of a member, or the one behind the last where the change adds it.
    pub(super) fn slot(&self, id: NodeId, change: Change) -> NodeSet {
        let known = self.members.iter().position(|&member| member == id);
        known.or((change == Change::Add(id)).then_some(self.members.len())).map_or(NodeSet::EMPTY, NodeSet::slot)
    }

    /// Returns whether `set` is a majority of this list.
    pub(super) fn is_majority(&self, set: NodeSet) -> bool {
        is_majority(set, self.all())
    }

    /// Returns whether `set` is a majority of the list after `change`.
    pub(super) fn is_majority_after(&self, set: NodeSet, change: Change) -> bool {
        let next = match change {
            Change::Add(id) => self.all().with(self.slot(id, change)),
            Change::Remove(id) => self.all().without(self.slot(id, change)),
        };
        is_majority(set, next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDS: [NodeId; 3] = [NodeId(300), NodeId(7), NodeId(90)];

    #[test]
    fn a_list_changes_by_one_member_and_stays_in_order() {
        let first = List::first(&IDS).unwrap();
        assert_eq!((first.epoch(), first.members()), (1, &[NodeId(7), NodeId(90), NodeId(300)][..]));
        let more = first.after(Change::Add(NodeId(8))).unwrap();
        assert_eq!((more.epoch(), more.members().get(1)), (2, Some(&NodeId(8))));
        assert_eq!(more.after(Change::Remove(NodeId(300))).unwrap().members(), [NodeId(7), NodeId(8), NodeId(90)]);
        assert_eq!(first.after(Change::Add(NodeId(7))), None);
        assert_eq!(first.after(Change::Remove(NodeId(8))), None);
        let alone = List::first(&[NodeId(7)]).unwrap();
        assert_eq!(alone.after(Change::Remove(NodeId(7))), None, "a group has a member");
    }

    #[test]
    fn a_list_that_fits_no_frame_is_refused() {
        let many = |from: u32, count: u32| (from..from + count).map(NodeId).collect::<std::vec::Vec<_>>();
        assert!(List::first(&many(0, 32)).is_some() && List::first(&many(0, 33)).is_none());
        assert!(List::first(&many(128, 32)).is_some());
        assert!(List::first(&many(1 << 30, 16)).is_some() && List::first(&many(1 << 30, 17)).is_none());
    }

    #[test]
    fn a_change_needs_majorities_of_both_lists() {
        let list = List::first(&[NodeId(7), NodeId(90)]).unwrap();
        let (add, remove) = (Change::Add(NodeId(8)), Change::Remove(NodeId(90)));
        let [seven, ninety, new] = [0, 1, 2].map(NodeSet::slot);
        assert_eq!(list.slot(NodeId(8), add), new, "behind the last: slots of members do not move");
        assert!(!list.is_majority(seven.with(new)) && list.is_majority_after(seven.with(new), add));
        assert!(list.is_majority(seven.with(ninety)) && list.is_majority_after(seven.with(ninety), add));
        assert!(!list.is_majority_after(ninety, remove) && list.is_majority_after(seven, remove));
    }
}
