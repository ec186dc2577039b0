//! The names of the requests that a leader has handled, so that it knows copies of them.
//!
//! A client numbers its requests, so the last number and which of those before it were handled say it all: a client has one
//! entry, however often it asks. One that asked lately keeps it for long, as a congested network delivers copies late.

use super::{KEPT_HEARTBEATS, RequestId, Requests};
use crate::algorithm::Context;
use crate::base::ids::NodeId;
use crate::base::time::{Duration, Instant};

/// For how many times [`KEPT_HEARTBEATS`] a client's names are kept after its last request, and how many of them nothing
/// shortens: room for other clients is made after that.
const KEPT_TIMES: u32 = 4;
const KEPT_TIMES_MIN: u32 = 2;

/// The names of one client in one boot: up to eight, of which `number` is the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Names {
    origin: NodeId,
    number: u16,
    boot: u8,
    /// Which of `number` and those before it were handled, the last one in the lowest bit.
    handled: u8,
    pub(super) until: Instant,
}

impl Names {
    fn is_of(&self, id: RequestId) -> bool {
        (self.origin, self.boot) == (id.origin, id.boot)
    }

    /// Returns by how much a request is older than the last one handled; `None` where it is newer.
    fn age(&self, id: RequestId) -> Option<u32> {
        let age = self.number.wrapping_sub(id.number);
        (age <= u16::MAX >> 1).then_some(u32::from(age))
    }

    /// Returns whether a request was handled, or is too old to know.
    fn contain(&self, id: RequestId) -> bool {
        self.age(id).is_some_and(|age| 1_u8.checked_shl(age).is_none_or(|bit| self.handled & bit != 0))
    }

    fn add(&mut self, id: RequestId) {
        if let Some(age) = self.age(id) {
            self.handled |= 1_u8.checked_shl(age).unwrap_or(0);
            return;
        }
        let later = u32::from(id.number.wrapping_sub(self.number));
        (self.number, self.handled) = (id.number, self.handled.checked_shl(later).unwrap_or(0) | 1);
    }

    fn remove(&mut self, id: RequestId) {
        if let Some(bit) = self.age(id).and_then(|age| 1_u8.checked_shl(age)) {
            self.handled &= !bit;
        }
    }
}

fn kept(cx: &Context<'_>, times: u32) -> Duration {
    cx.timing.heartbeat.times(KEPT_HEARTBEATS.saturating_mul(times))
}

impl<const LONG: usize> Requests<LONG> {
    pub(super) fn names_of(&mut self, id: RequestId) -> Option<&mut Names> {
        self.names.iter_mut().find(|names| names.is_of(id))
    }

    /// Returns whether a request was handled here at most once and may not be again, by its name.
    pub(super) fn is_named(&self, id: RequestId) -> bool {
        self.names.iter().any(|names| names.is_of(id) && names.contain(id))
    }

    /// Makes room for the name of a request, in place of a client that has not asked for long; returns whether there is room.
    pub(super) fn make_name_room(&mut self, cx: &Context<'_>, id: RequestId) -> bool {
        if !self.names.is_full() || self.names_of(id).is_some() {
            return true;
        }
        let Some(first) = self.names.iter().map(|names| names.until).min() else { return false };
        let open = first <= cx.now.after(kept(cx, KEPT_TIMES.saturating_sub(KEPT_TIMES_MIN)));
        self.names.retain(|names| !open || names.until > first);
        open
    }

    /// Records the name of a request that is handled, for which there is room, or keeps it for longer.
    pub(super) fn keep_name(&mut self, cx: &Context<'_>, id: RequestId) {
        let until = cx.now.after(kept(cx, KEPT_TIMES));
        if let Some(names) = self.names_of(id) {
            names.add(id);
            names.until = until;
        } else {
            let RequestId { origin, boot, number } = id;
            let _ = self.names.push(Names { origin, number, boot, handled: 1, until }); // it is not full
        }
    }

    /// Forgets the name of a request that was not handled after all.
    pub(super) fn forget_name(&mut self, id: RequestId) {
        if let Some(names) = self.names_of(id) {
            names.remove(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u16) -> RequestId {
        RequestId { origin: NodeId(7), boot: 1, number }
    }

    #[test]
    fn a_client_has_the_names_of_its_last_eight_requests_and_older_ones_are_too_old_to_know() {
        let mut names = Names { origin: NodeId(7), number: u16::MAX, boot: 1, handled: 1, until: Instant::ZERO };
        names.add(id(2));
        assert_eq!([u16::MAX, 0, 1, 2, 3].map(|number| names.contain(id(number))), [true, false, false, true, false]);
        names.add(id(1));
        assert_eq!([0, 1, 2].map(|number| names.contain(id(number))), [false, true, true]);
        assert_eq!([u16::MAX - 4, u16::MAX - 5].map(|number| names.contain(id(number))), [false, true]);
        names.remove(id(2));
        assert!(!names.contain(id(2)));
        names.add(id(12));
        assert_eq!([2, 4, 5, 12].map(|number| names.contain(id(number))), [true, true, false, true]);
        assert!(!names.is_of(RequestId { boot: 2, ..id(12) }), "another boot counts anew");
    }
}
