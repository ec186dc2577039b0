//! Requests that take many frames: drafted, sent in parts, and put together at the leader.
//!
//! A part goes to the leader as a request does. What the leader misses it asks for, some time after the last part that
//! came; where the origin hears nothing it sends the last part again, which makes the leader ask or answer. Relays keep nothing.

use super::{Bytes, LONG_MAX, Notice, Once, Out, PART_MAX, Part, Refusal, Reply, RequestId, Requests, Route};
use crate::algorithm::Context;
use crate::base::time::{Duration, Instant};
use heapless::Vec;

/// How many times the time of a request a long one may take.
pub(super) const LONG_TIMES: u32 = 2;

/// A buffer in use.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Long {
    id: RequestId,
    bytes: Vec<u8, LONG_MAX>,
    pub(super) state: State,
}

/// What a buffer is used for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum State {
    /// The application writes it; it is dropped at `until`.
    Draft { until: Instant },
    /// A request of this node, of which these parts are to be sent.
    Outgoing { unsent: u64 },
    /// A request to this node, of which these parts are missing; they are asked for at `ask`, and it is dropped at `until`.
    Incoming { missing: u64, route: Route, ask: Instant, until: Instant },
    /// A whole request, for the application to read until then.
    Whole { until: Instant },
}

/// Returns the bits of all parts of so many bytes.
fn all_parts(length: usize) -> u64 {
    let parts = u32::try_from(length.div_ceil(PART_MAX)).unwrap_or(u32::MAX);
    u64::MAX.checked_shr(u64::BITS.saturating_sub(parts)).unwrap_or(0)
}

impl Long {
    /// Returns the part with this index.
    fn part(&self, index: u32) -> Option<Part> {
        let bytes = self.bytes.chunks(PART_MAX).nth(usize::try_from(index).ok()?)?;
        let length = u16::try_from(self.bytes.len()).ok()?;
        Some(Part { length, index: u8::try_from(index).ok()?, bytes: Vec::from_slice(bytes).ok()? })
    }

    /// Returns when it changes by itself.
    pub(super) fn deadline(&self) -> Option<Instant> {
        match self.state {
            State::Draft { until } | State::Whole { until } => Some(until),
            State::Outgoing { .. } => None,
            State::Incoming { ask, until, .. } => Some(ask.min(until)),
        }
    }
}

impl<const LONG: usize> Requests<LONG> {
    /// Returns the bytes of a long request to this node that is neither answered nor refused.
    #[must_use]
    pub fn long(&self, id: RequestId) -> Option<&[u8]> {
        let whole = |long: &&Long| long.id == id && matches!(long.state, State::Whole { .. });
        self.longs.iter().find(whole).map(|long| &long.bytes[..])
    }

    /// Returns how long a long request may take.
    fn long_timeout(cx: &Context<'_>) -> Duration {
        super::timeout(cx).times(LONG_TIMES)
    }

    fn draft(&mut self) -> Option<&mut Long> {
        self.longs.iter_mut().find(|long| matches!(long.state, State::Draft { .. }))
    }

    /// Adds to the draft. What finds no room spoils it: no request is made of it.
    pub(super) fn append(&mut self, cx: &Context<'_>, bytes: &Bytes, out: &mut Out) {
        let state = State::Draft { until: cx.now.after(super::timeout(cx)) };
        if self.draft().is_none() {
            let id = RequestId { origin: cx.me, boot: self.boot, number: 0 };
            let _ = self.longs.push(Long { id, bytes: Vec::new(), state: state.clone() });
        }
        let written = self.draft().is_some_and(|draft| {
            draft.state = state;
            draft.bytes.extend_from_slice(bytes).is_ok()
        });
        if !written {
            self.longs.retain(|long| !matches!(long.state, State::Draft { .. }));
            out.notify(Notice::Full);
        }
    }

    /// Makes a request of the draft.
    pub(super) fn request_long(&mut self, cx: &Context<'_>, repeatable: bool, out: &mut Out) {
        let until = cx.now.after(Self::long_timeout(cx));
        let id = self.next_id(cx);
        if self.draft().is_none_or(|draft| draft.bytes.is_empty())
            || !self.insert_own(id, Bytes::new(), repeatable, until)
        {
            self.longs.retain(|long| !matches!(long.state, State::Draft { .. }));
            out.notify(Notice::Full);
            return;
        }
        if let Some(draft) = self.draft() {
            draft.id = id;
            draft.state = State::Outgoing { unsent: all_parts(draft.bytes.len()) };
        }
        out.notify(Notice::Requested { id });
    }

    fn outgoing(&mut self, id: RequestId) -> Option<(&mut u64, usize)> {
        self.longs.iter_mut().find(|long| long.id == id).and_then(|long| match &mut long.state {
            State::Outgoing { unsent } => Some((unsent, long.bytes.len())),
            State::Draft { .. } | State::Incoming { .. } | State::Whole { .. } => None,
        })
    }

    /// Returns whether an own request is a long one.
    pub(super) fn is_long(&self, id: RequestId) -> bool {
        LONG > 0 && self.longs.iter().any(|long| long.id == id && !matches!(long.state, State::Draft { .. }))
    }

    /// Plans to send all parts of an own request.
    pub(super) fn send_all_parts(&mut self, id: RequestId) {
        if let Some((unsent, length)) = self.outgoing(id) {
            *unsent = all_parts(length);
        }
    }

    /// Plans to send the last part of an own request, unless others are left to send: the leader answers it, or asks for others.
    pub(super) fn send_last_part(&mut self, id: RequestId) {
        if let Some((unsent, length)) = self.outgoing(id).filter(|(unsent, _)| **unsent == 0) {
            let all = all_parts(length);
            *unsent = all & !(all >> 1);
        }
    }

    /// Takes out the next part of an own request to send: the part, and whether it is the last one to send.
    pub(super) fn take_part(&mut self, id: RequestId) -> Option<(Part, bool)> {
        let long = self.longs.iter_mut().find(|long| long.id == id)?;
        let State::Outgoing { unsent } = &mut long.state else { return None };
        let index = unsent.trailing_zeros();
        *unsent &= unsent.saturating_sub(1);
        let last = *unsent == 0;
        Some((long.part(index)?, last))
    }

    /// Hands a whole request of the leader's own to its application.
    pub(super) fn serve_own_long(&mut self, cx: &Context<'_>, id: RequestId, once: Option<Once>, out: &mut Out) {
        if let Some(reason) = self.refusal(cx, id, once) {
            return self.on_reply(cx, id, Reply::Refused(reason), out);
        }
        self.hand_long(cx, id, once.is_none(), Route::new(), out);
    }

    fn hand_long(&mut self, cx: &Context<'_>, id: RequestId, repeatable: bool, route: Route, out: &mut Out) {
        let until = cx.now.after(Self::long_timeout(cx));
        let Some(long) = self.longs.iter_mut().find(|long| long.id == id) else { return };
        long.state = State::Whole { until };
        let length = u16::try_from(long.bytes.len()).unwrap_or(u16::MAX);
        self.insert_handled(cx, id, route, repeatable, until);
        out.notify(Notice::LongRequest { id, length, repeatable });
    }

    /// Takes in a part, as the leader.
    pub(super) fn serve_part(
        &mut self,
        cx: &Context<'_>,
        id: RequestId,
        once: Option<Once>,
        route: Route,
        part: &Part,
        out: &mut Out,
    ) {
        if self.is_copy(id) {
            // Of all copies the last part alone is answered: the origin sends it again where the answer was lost.
            let length = usize::from(part.length);
            let last = length.div_ceil(PART_MAX) == usize::from(part.index).saturating_add(1);
            if last {
                self.on_copy(cx, id, route, out);
            }
            return;
        }
        let refusal = self.refusal(cx, id, once).or_else(|| self.make_buffer(cx, id, &route, part));
        if let Some(reason) = refusal {
            self.longs.retain(|long| long.id != id);
            return self.send_back(cx, id, route, Reply::Refused(reason), out);
        }
        let whole = self.store(cx, id, route.clone(), part);
        if whole {
            self.hand_long(cx, id, once.is_none(), route, out);
        }
    }

    /// Makes room for a long request to this node, unless it has some; returns why there is none.
    fn make_buffer(&mut self, cx: &Context<'_>, id: RequestId, route: &Route, part: &Part) -> Option<Refusal> {
        let length = usize::from(part.length);
        if LONG == 0 || !(1..=LONG_MAX).contains(&length) {
            return Some(Refusal::TooLong);
        }
        if self.longs.iter().any(|long| long.id == id) {
            return None;
        }
        let mut bytes = Vec::new();
        let _ = bytes.resize(length, 0); // it fits, as checked above
        let (ask, until) = (cx.now, cx.now.after(super::timeout(cx)));
        let state = State::Incoming { missing: all_parts(length), route: route.clone(), ask, until };
        self.longs.push(Long { id, bytes, state }).is_err().then_some(super::BUSY)
    }

    /// Stores a part; returns whether the request is whole.
    fn store(&mut self, cx: &Context<'_>, id: RequestId, from: Route, part: &Part) -> bool {
        let Some(long) = self.longs.iter_mut().find(|long| long.id == id) else { return false };
        let State::Incoming { missing, route, ask, until } = &mut long.state else { return false };
        let fits = usize::from(part.length) == long.bytes.len();
        let room = long.bytes.chunks_mut(PART_MAX).nth(usize::from(part.index));
        let Some(room) = room.filter(|room| fits && room.len() == part.bytes.len()) else { return false };
        room.copy_from_slice(&part.bytes);
        let bit = 1_u64.checked_shl(u32::from(part.index)).unwrap_or(0);
        (*missing, *route) = (*missing & !bit, from);
        (*ask, *until) = (cx.now.after(cx.timing.heartbeat.mul_ratio(1, 2)), cx.now.after(super::timeout(cx)));
        *missing == 0
    }

    /// Asks for the missing parts of one request where some are overdue; drops what has taken too long.
    pub(super) fn poll_longs(&mut self, cx: &Context<'_>, out: &mut Out) {
        self.longs.retain(|long| match long.state {
            State::Draft { until } | State::Incoming { until, .. } | State::Whole { until } => until > cx.now,
            State::Outgoing { .. } => true, // as long as the request
        });
        let due = self.longs.iter_mut().find_map(|long| match &mut long.state {
            State::Incoming { missing, route, ask, .. } if *ask <= cx.now => {
                *ask = cx.now.after(cx.timing.heartbeat);
                Some((long.id, *missing, route.clone()))
            }
            State::Draft { .. } | State::Outgoing { .. } | State::Incoming { .. } | State::Whole { .. } => None,
        });
        if let Some((id, parts, route)) = due {
            self.send_back(cx, id, route, Reply::Missing(parts), out);
        }
    }

    /// Takes in what the leader misses of an own request.
    pub(super) fn on_missing(&mut self, id: RequestId, parts: u64) {
        if let Some((unsent, length)) = self.outgoing(id) {
            *unsent |= parts & all_parts(length);
            self.send_own_again(id);
        }
    }

    /// Frees the buffer of a request that has ended.
    pub(super) fn free(&mut self, id: RequestId) {
        self.longs.retain(|long| long.id != id);
    }
}
