//! The group as a ring: which member comes after which.
//!
//! The order is that of the group's list, the same at every member; the first member follows the last. Members that are
//! not up are skipped. Nothing is passed beyond the member it belongs to: a member that would have to do so knows that
//! the owner is gone, so nothing circulates for ever.

use crate::algorithm::Context;
use crate::base::ids::{NodeId, NodeSet, SLOTS_MAX};
use crate::base::named;
use crate::base::rng::jitter;
use crate::base::time::Duration;

/// The direction in which messages travel round the ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Direction {
    /// In the order of the group's list.
    #[default]
    Forward,
    /// Against the order of the group's list.
    Backward,
}

named! { Direction: Forward = "forward", Backward = "backward" }

/// The ring, seen from one member.
#[derive(Clone, Copy, Debug)]
pub(super) struct RingOrder {
    me: usize,
    direction: Direction,
}

impl RingOrder {
    pub(super) fn of(cx: &Context<'_>, direction: Direction) -> Self {
        Self { me: cx.roster.slot_of(cx.me).unwrap_or(0), direction }
    }

    /// Returns the distance to a slot; a whole round to this member's own. Free slots only add to it.
    fn distance(self, slot: usize) -> usize {
        let (from, to) = match self.direction {
            Direction::Forward => (self.me, slot),
            Direction::Backward => (slot, self.me),
        };
        let distance = to.wrapping_sub(from) & SLOTS_MAX.wrapping_sub(1);
        if distance == 0 { SLOTS_MAX } else { distance }
    }

    pub(super) fn next(self, set: NodeSet) -> NodeSet {
        set.slots().min_by_key(|&slot| self.distance(slot)).map_or(NodeSet::EMPTY, NodeSet::slot)
    }

    /// Returns the members of `set` nearer than `to`; all of them where `to` is empty.
    pub(super) fn nearer_than(self, set: NodeSet, to: NodeSet) -> NodeSet {
        let end = to.slots().map(|slot| self.distance(slot)).min().unwrap_or(SLOTS_MAX);
        let nearer = set.slots().filter(|&slot| self.distance(slot) < end);
        nearer.fold(NodeSet::EMPTY, |set, slot| set.with(NodeSet::slot(slot)))
    }

    /// Returns whether passing to `to` skips `owner`, another member.
    pub(super) fn skips(self, cx: &Context<'_>, to: NodeSet, owner: NodeId) -> bool {
        owner != cx.me && !self.nearer_than(cx.roster.set_of(owner), to).is_empty()
    }
}

const _: () = assert!(SLOTS_MAX.is_power_of_two(), "distances round the ring are computed modulo SLOTS_MAX by a mask");

/// Returns how long a round may take to travel round the ring twice: until a silent successor is suspected, and an
/// attempt or two for every member. The member that started it times out first.
pub(super) fn round_timeout(cx: &Context<'_>, started: bool) -> Duration {
    let timing = cx.timing;
    let rounds = timing.lease().plus(timing.retry.times(cx.roster.all().len().saturating_mul(4)));
    let spread = jitter(timing.stagger, cx.random);
    if started { rounds.plus(spread.mul_ratio(1, 4)) } else { rounds.plus(timing.stagger).plus(spread) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(slots: &[usize]) -> NodeSet {
        slots.iter().fold(NodeSet::EMPTY, |set, &slot| set.with(NodeSet::slot(slot)))
    }

    #[test]
    fn the_first_member_follows_the_last_and_a_member_is_its_own_last_successor() {
        let forward = RingOrder { me: 5, direction: Direction::Forward };
        assert_eq!(forward.next(set(&[0, 1, 5, 6])), set(&[6]));
        assert_eq!(forward.next(set(&[0, 1, 5])), set(&[0]));
        assert_eq!(forward.next(set(&[5])), set(&[5]));
        assert_eq!(forward.next(NodeSet::EMPTY), NodeSet::EMPTY);
        let backward = RingOrder { me: 0, direction: Direction::Backward };
        assert_eq!(backward.next(set(&[1, 6])), set(&[6]));
    }

    #[test]
    fn skipped_members_are_nearer_than_the_successor() {
        let forward = RingOrder { me: 5, direction: Direction::Forward };
        assert_eq!(forward.nearer_than(set(&[0, 1, 4, 6, 7]), set(&[1])), set(&[0, 6, 7]));
        assert_eq!(forward.nearer_than(set(&[0, 6]), NodeSet::EMPTY), set(&[0, 6]));
    }
}
