//! Node ids, and sets of the few nodes one node deals with.
//!
//! A [`NodeId`] is sent in frames; there may be millions. Each node keeps a roster of at most [`SLOTS_MAX`] nodes, each
//! in a slot, and a [`NodeSet`] has one bit per slot. A set has a meaning only together with its roster.

use serde::{Deserialize, Serialize};

/// A node's id, unique in its network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct NodeId(pub u32);

/// The most nodes a roster can hold: one bit of a [`NodeSet`] each.
pub const SLOTS_MAX: usize = 64;

/// The first 32 slots of a set, in half the space, for tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FirstSlots(u32);

impl FirstSlots {
    /// The empty set.
    pub const EMPTY: Self = Self(0);
}

impl From<NodeSet> for FirstSlots {
    fn from(set: NodeSet) -> Self {
        Self(u32::try_from(set.0 & u64::from(u32::MAX)).unwrap_or(0))
    }
}

impl From<FirstSlots> for NodeSet {
    fn from(slots: FirstSlots) -> Self {
        Self(u64::from(slots.0))
    }
}

/// A set of roster slots.
///
/// ```
/// use protocol::NodeSet;
///
/// let (all, this) = (NodeSet::first(3), NodeSet::slot(1));
/// let others = all.without(this);
/// assert_eq!(others.len(), 2);
/// assert!(all.meets(this) && !others.meets(this));
/// assert_eq!(others.slots().collect::<Vec<_>>(), [0, 2]);
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct NodeSet(u64);

impl NodeSet {
    /// The empty set.
    pub const EMPTY: Self = Self(0);

    /// Returns the set of one slot; empty if the slot is beyond every roster.
    #[must_use]
    pub fn slot(slot: usize) -> Self {
        let bit = u32::try_from(slot).ok().and_then(|slot| 1_u64.checked_shl(slot));
        Self(bit.unwrap_or(0))
    }

    /// Returns the first `count` slots.
    #[must_use]
    pub fn first(count: usize) -> Self {
        match u32::try_from(count).ok().and_then(|count| 1_u64.checked_shl(count)) {
            Some(bit) => Self(bit.wrapping_sub(1)),
            None => Self(u64::MAX),
        }
    }

    /// Returns the union of both sets.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns this set less `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns the intersection of both sets.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns whether the set is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns whether the sets intersect.
    #[must_use]
    pub const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns the number of nodes in the set.
    #[must_use]
    #[cfg_attr(target_os = "none", inline(never))] // no instruction of a Cortex-M counts bits
    pub const fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// Returns the slots of the set, lowest first.
    pub fn slots(self) -> impl Iterator<Item = usize> {
        let mut left = self.0;
        core::iter::from_fn(move || {
            let slot = usize::try_from(left.trailing_zeros()).ok()?;
            left &= left.checked_sub(1)?;
            Some(slot)
        })
    }
}

impl core::fmt::Debug for NodeSet {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_set().entries(self.slots()).finish()
    }
}

/// A table of nodes. Each keeps its slot until it is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Roster<const N: usize> {
    ids: [NodeId; N],
    used: NodeSet,
}

impl<const N: usize> Roster<N> {
    /// Creates an empty roster.
    #[must_use]
    pub const fn new() -> Self {
        const { assert!(N <= SLOTS_MAX, "a roster has one bit of a NodeSet per slot") };
        Self { ids: [NodeId(0); N], used: NodeSet::EMPTY }
    }

    /// Returns a view for lookups.
    #[must_use]
    pub fn view(&self) -> RosterView<'_> {
        RosterView { ids: &self.ids, used: self.used }
    }

    /// Returns the slot of `id`, which is added if necessary; `None` if the roster is full.
    pub fn insert(&mut self, id: NodeId) -> Option<usize> {
        if let Some(slot) = self.view().slot_of(id) {
            return Some(slot);
        }
        let slot = NodeSet::first(N).without(self.used).slots().next()?;
        *self.ids.get_mut(slot)? = id;
        self.used = self.used.with(NodeSet::slot(slot));
        Some(slot)
    }

    /// Frees the slots of `set`.
    pub fn remove(&mut self, set: NodeSet) {
        self.used = self.used.without(set);
    }
}

impl<const N: usize> Default for Roster<N> {
    fn default() -> Self {
        Self::new()
    }
}

/// A borrowed roster of any size.
#[derive(Clone, Copy, Debug)]
pub struct RosterView<'a> {
    ids: &'a [NodeId],
    used: NodeSet,
}

impl<'a> RosterView<'a> {
    /// Returns the roster restricted to `set`; slots stay the same.
    #[must_use]
    pub const fn only(self, set: NodeSet) -> RosterView<'a> {
        RosterView { ids: self.ids, used: self.used.and(set) }
    }

    /// Returns all nodes of the roster.
    #[must_use]
    pub fn all(&self) -> NodeSet {
        self.used
    }

    /// Returns the slot of `id`.
    #[must_use]
    pub fn slot_of(&self, id: NodeId) -> Option<usize> {
        let slot = self.ids.iter().position(|&known| known == id)?;
        if self.used.meets(NodeSet::slot(slot)) {
            return Some(slot);
        }
        // A freed slot still holds its last id: search the used slots.
        self.used.slots().find(|&slot| self.id_of(slot) == Some(id))
    }

    /// Returns the set of `id` alone; empty if it is not in the roster.
    #[must_use]
    pub fn set_of(&self, id: NodeId) -> NodeSet {
        self.slot_of(id).map_or(NodeSet::EMPTY, NodeSet::slot)
    }

    /// Returns the id in `slot`.
    #[must_use]
    pub fn id_of(&self, slot: usize) -> Option<NodeId> {
        if self.used.meets(NodeSet::slot(slot)) { self.ids.get(slot).copied() } else { None }
    }

    /// Returns the ids of `set`, lowest slot first.
    pub fn ids_of(&self, set: NodeSet) -> impl Iterator<Item = NodeId> {
        set.slots().filter_map(|slot| self.id_of(slot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_lists_its_slots_in_order() {
        let set = NodeSet::slot(3).with(NodeSet::slot(0)).with(NodeSet::slot(63));
        assert!(set.slots().eq([0, 3, 63]));
        assert_eq!(set.len(), 3);
        assert_eq!(set.without(NodeSet::slot(3)).and(NodeSet::first(3)), NodeSet::slot(0));
    }

    #[test]
    fn sets_at_the_edges_are_total() {
        assert_eq!(NodeSet::first(64).len(), 64);
        assert_eq!(NodeSet::first(65).len(), 64);
        assert_eq!(NodeSet::first(0), NodeSet::EMPTY);
        assert_eq!(NodeSet::slot(64), NodeSet::EMPTY);
    }

    #[test]
    fn a_full_roster_rejects_an_id_and_reuses_a_freed_slot() {
        let mut roster = Roster::<2>::new();
        assert_eq!(roster.insert(NodeId(7)), Some(0));
        assert_eq!(roster.insert(NodeId(8)), Some(1));
        assert_eq!(roster.insert(NodeId(7)), Some(0));
        assert_eq!(roster.insert(NodeId(9)), None);
        roster.remove(NodeSet::slot(0));
        assert_eq!(roster.view().slot_of(NodeId(7)), None);
        assert_eq!(roster.insert(NodeId(9)), Some(0));
        assert_eq!(roster.view().all().len(), 2);
    }

    #[test]
    fn an_id_left_in_a_freed_slot_does_not_hide_the_used_one() {
        let mut roster = Roster::<3>::new();
        for id in [5, 6, 7] {
            roster.insert(NodeId(id));
        }
        roster.remove(NodeSet::slot(0).with(NodeSet::slot(1)));
        assert_eq!(roster.insert(NodeId(6)), Some(0));
        roster.remove(NodeSet::slot(0));
        roster.insert(NodeId(1));
        assert_eq!(roster.insert(NodeId(6)), Some(1));
        assert_eq!(roster.view().slot_of(NodeId(6)), Some(1));
    }
}
