//! The group as a ring: which member comes after which.
//!
//! The order is that of the group's list, the same at every member; the first member follows the last. Members that are
//! not up are skipped. Nothing is passed beyond the member it belongs to: a member that would have to do so knows that
//! the owner is gone, so nothing circulates for ever.
//!
//! A ring may also be known by its successors only ([`Successor::Found`]): there is no list and no number of members.
//! Each node has its successor from the hellos it receives: the neighbour with the next higher id, or the lowest of all
//! where there is none. So the ring is found when nodes boot, and repaired when one is lost or joins; no message is
//! spent on it.

use crate::algorithm::Context;
use crate::base::ids::{NodeId, NodeSet, RosterView, SLOTS_MAX};
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

/// How a member knows its successor on the ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Successor {
    /// From the group's list.
    #[default]
    Listed,
    /// By hellos: the neighbour with the next id. There is no group; all nodes must be in range of each other.
    Found,
}

named! { Successor: Listed = "listed", Found = "found" }

/// The ring, seen from one member.
#[derive(Clone, Copy, Debug)]
pub(super) struct RingOrder<'a> {
    roster: RosterView<'a>,
    me: NodeId,
    direction: Direction,
    successor: Successor,
}

impl<'a> RingOrder<'a> {
    /// Returns the ring of the group's list.
    pub(super) fn of(cx: &Context<'a>, direction: Direction) -> Self {
        Self::known_by(cx, direction, Successor::Listed)
    }

    /// Returns the ring whose successors are known this way.
    pub(super) fn known_by(cx: &Context<'a>, direction: Direction, successor: Successor) -> Self {
        Self { roster: cx.roster, me: cx.me, direction, successor }
    }

    /// Returns the place of a member on the ring; free places only add to distances.
    fn place(self, id: NodeId) -> Option<u32> {
        match self.successor {
            Successor::Listed => self.roster.slot_of(id).and_then(|slot| u32::try_from(slot).ok()),
            Successor::Found => Some(id.0),
        }
    }

    /// Returns the distance to a member; a whole round to this one. `None` where it is not on the ring.
    fn distance(self, id: NodeId) -> Option<u32> {
        let (me, other) = (self.place(self.me).unwrap_or(0), self.place(id)?);
        let distance = match self.direction {
            Direction::Forward => other.wrapping_sub(me),
            Direction::Backward => me.wrapping_sub(other),
        };
        let distance = match self.successor {
            Successor::Listed => distance & SLOTS_MASK,
            Successor::Found => distance,
        };
        Some(if distance == 0 { u32::MAX } else { distance })
    }

    fn distance_of_slot(self, slot: usize) -> Option<u32> {
        self.distance(self.roster.id_of(slot)?)
    }

    pub(super) fn next(self, set: NodeSet) -> NodeSet {
        let near = set.slots().filter_map(|slot| Some((self.distance_of_slot(slot)?, slot))).min();
        near.map_or(NodeSet::EMPTY, |(_, slot)| NodeSet::slot(slot))
    }

    /// Returns the distance to the nearest of a set; a whole round where it is empty.
    fn reach(self, to: NodeSet) -> u32 {
        to.slots().filter_map(|slot| self.distance_of_slot(slot)).min().unwrap_or(u32::MAX)
    }

    /// Returns the members of `set` nearer than `to`; all of them where `to` is empty.
    pub(super) fn nearer_than(self, set: NodeSet, to: NodeSet) -> NodeSet {
        let end = self.reach(to);
        let nearer = set.slots().filter(|&slot| self.distance_of_slot(slot).is_some_and(|distance| distance < end));
        nearer.fold(NodeSet::EMPTY, |set, slot| set.with(NodeSet::slot(slot)))
    }

    /// Returns whether passing to `to` skips `owner`, another member.
    pub(super) fn skips(self, to: NodeSet, owner: NodeId) -> bool {
        owner != self.me && self.distance(owner).is_some_and(|distance| distance < self.reach(to))
    }
}

#[expect(clippy::cast_possible_truncation, clippy::as_conversions, reason = "a constant below a hundred")]
const SLOTS_MASK: u32 = (SLOTS_MAX as u32).wrapping_sub(1);

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
    use crate::base::ids::Roster;

    fn set(slots: &[usize]) -> NodeSet {
        slots.iter().fold(NodeSet::EMPTY, |set, &slot| set.with(NodeSet::slot(slot)))
    }

    /// A roster of these ids, in this order.
    fn roster(ids: &[u32]) -> Roster<8> {
        let mut roster = Roster::new();
        for &id in ids {
            roster.insert(NodeId(id)).unwrap();
        }
        roster
    }

    /// The ring of a list, seen from the member in `slot`.
    fn ring(roster: &Roster<8>, slot: usize, direction: Direction) -> RingOrder<'_> {
        let view = roster.view();
        RingOrder { roster: view, me: view.id_of(slot).unwrap(), direction, successor: Successor::Listed }
    }

    #[test]
    fn the_first_member_follows_the_last_and_a_member_is_its_own_last_successor() {
        let listed = roster(&[10, 11, 12, 13, 14, 15, 16, 17]);
        let forward = ring(&listed, 5, Direction::Forward);
        assert_eq!(forward.next(set(&[0, 1, 5, 6])), set(&[6]));
        assert_eq!(forward.next(set(&[0, 1, 5])), set(&[0]));
        assert_eq!(forward.next(set(&[5])), set(&[5]));
        assert_eq!(forward.next(NodeSet::EMPTY), NodeSet::EMPTY);
        let backward = ring(&listed, 0, Direction::Backward);
        assert_eq!(backward.next(set(&[1, 6])), set(&[6]));
    }

    #[test]
    fn skipped_members_are_nearer_than_the_successor() {
        let listed = roster(&[10, 11, 12, 13, 14, 15, 16, 17]);
        let forward = ring(&listed, 5, Direction::Forward);
        assert_eq!(forward.nearer_than(set(&[0, 1, 4, 6, 7]), set(&[1])), set(&[0, 6, 7]));
        assert_eq!(forward.nearer_than(set(&[0, 6]), NodeSet::EMPTY), set(&[0, 6]));
        assert!(forward.skips(set(&[1]), NodeId(10)) && !forward.skips(set(&[1]), NodeId(11)));
        assert!(!forward.skips(set(&[1]), NodeId(99)), "no member");
    }

    #[test]
    fn c1_without_a_list_the_successor_is_the_neighbour_with_the_next_id() {
        let heard = roster(&[40, 7, 900, 22]);
        let found = RingOrder { successor: Successor::Found, ..ring(&heard, 0, Direction::Forward) };
        assert_eq!(found.next(set(&[1, 2, 3])), set(&[2]), "900 after 40");
        assert_eq!(found.next(set(&[1, 3])), set(&[1]), "7 where 900 is gone: the lowest follows the highest");
        assert!(found.skips(set(&[2]), NodeId(41)), "41 is on the ring, although this node never heard of it");
        let back = RingOrder { direction: Direction::Backward, ..found };
        assert_eq!(back.next(set(&[1, 2, 3])), set(&[3]), "22 before 40");
    }
}
