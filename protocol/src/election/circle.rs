//! The group as a ring: who comes after whom.
//!
//! The order is that of the group's list, the same at every member, and the last is followed by the first. Whoever is not
//! up is passed over. Nothing is ever passed beyond the member it belongs to: whoever would have to, knows that this
//! member is gone, so nothing goes round for ever.

use crate::algorithm::Context;
use crate::dice::within;
use crate::group::{NodeId, NodeSet, SLOTS_MAX};
use crate::time::Span;

/// Which way round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Direction {
    /// In the order of the group's list.
    #[default]
    Onward,
    /// Against it.
    Back,
}

/// The ring, seen from one member.
#[derive(Clone, Copy, Debug)]
pub(super) struct Circle {
    me: usize,
    direction: Direction,
}

impl Circle {
    /// The ring as this node sees it.
    pub(super) fn of(cx: &Context<'_>, direction: Direction) -> Self {
        Self { me: cx.roster.slot_of(cx.me).unwrap_or(0), direction }
    }

    /// How far it is to a place; once round to one's own. Places nobody has take no part in it.
    fn way(self, slot: usize) -> usize {
        let (from, to) = match self.direction {
            Direction::Onward => (self.me, slot),
            Direction::Back => (slot, self.me),
        };
        let way = to.wrapping_sub(from) & SLOTS_MAX.wrapping_sub(1);
        if way == 0 { SLOTS_MAX } else { way }
    }

    /// The one of `set` that comes first.
    pub(super) fn next(self, set: NodeSet) -> NodeSet {
        set.slots().min_by_key(|&slot| self.way(slot)).map_or(NodeSet::EMPTY, NodeSet::slot)
    }

    /// Those of `set` that come before `to`; all of them where that is nobody.
    pub(super) fn short_of(self, set: NodeSet, to: NodeSet) -> NodeSet {
        let end = to.slots().map(|slot| self.way(slot)).min().unwrap_or(SLOTS_MAX);
        set.slots().filter(|&slot| self.way(slot) < end).fold(NodeSet::EMPTY, |set, slot| set.with(NodeSet::slot(slot)))
    }

    /// Whether what belongs to `owner`, another member, would be passed beyond it by being passed to `to`.
    pub(super) fn oversteps(self, cx: &Context<'_>, to: NodeSet, owner: NodeId) -> bool {
        owner != cx.me && !self.short_of(cx.roster.set_of(owner), to).is_empty()
    }
}

const _: () = assert!(SLOTS_MAX.is_power_of_two(), "places are counted round the ring by their lowest bits");

/// How long an election may take to come round twice: until a silent successor is suspected, and an attempt or two for
/// every member. Whoever started it is the first to lose patience.
pub(super) fn patience(cx: &Context<'_>, started: bool) -> Span {
    let timing = cx.timing;
    let rounds = timing.lease().plus(timing.retry.times(cx.roster.all().len().saturating_mul(4)));
    let spread = within(timing.stagger, cx.random);
    if started { rounds.plus(spread.share(1, 4)) } else { rounds.plus(timing.stagger).plus(spread) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(slots: &[usize]) -> NodeSet {
        slots.iter().fold(NodeSet::EMPTY, |set, &slot| set.with(NodeSet::slot(slot)))
    }

    #[test]
    fn the_last_is_followed_by_the_first_and_oneself_comes_last() {
        let onward = Circle { me: 5, direction: Direction::Onward };
        assert_eq!(onward.next(set(&[0, 1, 5, 6])), set(&[6]));
        assert_eq!(onward.next(set(&[0, 1, 5])), set(&[0]));
        assert_eq!(onward.next(set(&[5])), set(&[5]));
        assert_eq!(onward.next(NodeSet::EMPTY), NodeSet::EMPTY);
        let back = Circle { me: 0, direction: Direction::Back };
        assert_eq!(back.next(set(&[1, 6])), set(&[6]));
    }

    #[test]
    fn those_passed_over_lie_between() {
        let onward = Circle { me: 5, direction: Direction::Onward };
        assert_eq!(onward.short_of(set(&[0, 1, 4, 6, 7]), set(&[1])), set(&[0, 6, 7]));
        assert_eq!(onward.short_of(set(&[0, 6]), NodeSet::EMPTY), set(&[0, 6]));
    }
}
