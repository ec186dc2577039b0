//! Grants on their way to the leader.

use crate::base::ids::NodeSet;

/// Of how many heartbeats grants are still carried: over many hops an answer takes longer than a heartbeat.
pub(super) const ROUNDS_MAX: usize = 3;
pub(super) const OLDEST: usize = ROUNDS_MAX - 1;

/// Who has granted the lease that each of the last heartbeats asked for.
///
/// A member that granted a heartbeat has granted all before it, as its promise lasts longer. So the sets are nested, what
/// two nodes know joins to what they know together, and hearing the same twice changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Grants {
    count: u32,
    /// Who granted heartbeat `count`, the one before it, and so on.
    sets: [NodeSet; ROUNDS_MAX],
}

impl Grants {
    /// No grant of any heartbeat.
    pub(super) const NONE: Self = Self { count: 0, sets: [NodeSet::EMPTY; ROUNDS_MAX] };

    /// Grants as a message carries them: of each heartbeat, those that granted no later one.
    pub(super) fn received(count: u32, new: [NodeSet; ROUNDS_MAX]) -> Self {
        let mut grants = Self { count, ..Self::NONE };
        for (age, set) in new.into_iter().enumerate() {
            grants.add(age, set);
        }
        grants
    }

    /// The form of [`Grants::received`].
    pub(super) fn to_message(self) -> (u32, [NodeSet; ROUNDS_MAX]) {
        let mut later = NodeSet::EMPTY;
        let new = self.sets.map(|set| set.without(core::mem::replace(&mut later, set)));
        (self.count, new)
    }

    /// The newest heartbeat.
    pub(super) const fn count(&self) -> u32 {
        self.count
    }

    /// Who granted the newest heartbeat but `age`.
    pub(super) fn granted(&self, age: usize) -> NodeSet {
        self.sets.get(age).copied().unwrap_or(NodeSet::EMPTY)
    }

    /// Moves on to heartbeat `count`, if that is newer.
    pub(super) fn advance(&mut self, count: u32) {
        let by = usize::try_from(count.saturating_sub(self.count)).unwrap_or(ROUNDS_MAX);
        if by > 0 {
            let old = core::mem::replace(self, Self { count, ..Self::NONE });
            for (new, set) in self.sets.iter_mut().skip(by).zip(old.sets) {
                *new = set;
            }
        }
    }

    /// Records that these members granted heartbeat `count`.
    pub(super) fn grant(&mut self, count: u32, set: NodeSet) {
        self.advance(count);
        let age = usize::try_from(self.count.saturating_sub(count)).unwrap_or(ROUNDS_MAX);
        self.add(age, set);
    }

    fn add(&mut self, age: usize, set: NodeSet) {
        for older in self.sets.iter_mut().skip(age) {
            *older = older.with(set);
        }
    }

    /// Adds what another node knows.
    pub(super) fn join(&mut self, other: &Self) {
        self.advance(other.count);
        let behind = usize::try_from(self.count.saturating_sub(other.count)).unwrap_or(ROUNDS_MAX);
        for (age, &set) in other.sets.iter().enumerate() {
            self.add(age.saturating_add(behind), set);
        }
    }

    /// Returns whether `other` would add nothing.
    pub(super) fn covers(&self, other: &Self) -> bool {
        let mut joined = *self;
        joined.join(other);
        joined == *self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_holds_for_earlier_heartbeats_and_is_forgotten_when_it_is_too_old() {
        let [a, b] = [0, 1].map(NodeSet::slot);
        let mut grants = Grants::NONE;
        grants.grant(7, a);
        grants.grant(9, b);
        assert_eq!([0, 1, 2].map(|age| grants.granted(age)), [b, b, a.with(b)]);
        grants.grant(8, a);
        assert_eq!([0, 1, 2].map(|age| grants.granted(age)), [b, a.with(b), a.with(b)]);
        grants.advance(11);
        assert_eq!([0, 1, 2].map(|age| grants.granted(age)), [NodeSet::EMPTY, NodeSet::EMPTY, b]);
        grants.advance(99);
        assert_eq!(grants.granted(2), NodeSet::EMPTY);
    }

    #[test]
    fn what_two_nodes_know_joins_in_any_order_and_survives_the_wire() {
        let mut nodes = [Grants::NONE; 2];
        nodes[0].grant(5, NodeSet::slot(0));
        nodes[0].grant(3, NodeSet::slot(3));
        nodes[1].grant(4, NodeSet::slot(1));
        nodes[1].grant(3, NodeSet::slot(2));
        let [mut left, mut right] = nodes;
        assert!(!left.covers(&right) && !right.covers(&left));
        left.join(&nodes[1]);
        right.join(&nodes[0]);
        assert_eq!(left, right);
        assert!(left.covers(&nodes[0]) && left.covers(&nodes[1]));
        let (count, new) = left.to_message();
        assert_eq!(new, [NodeSet::slot(0), NodeSet::slot(1), NodeSet::slot(2).with(NodeSet::slot(3))]);
        assert_eq!(Grants::received(count, new), left);
    }
}
