//! A node's own requests: sent when there is a way, and ended once.

use super::{
    AGAIN_HEARTBEATS, Body, Bytes, Notice, Once, Out, Refusal, Reply, RequestId, Requests, Route, TRIES_MAX, timeout,
};
use crate::algorithm::Context;
use crate::base::ids::{NodeId, NodeSet};
use crate::base::rng::jitter;
use crate::base::term::Term;
use crate::base::time::Instant;

/// Progress of an own request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum State {
    /// To be sent as soon as there is a way.
    Ready,
    /// Refused by a relay without a way: to be sent again at this time.
    Waiting(Instant),
    /// Sent; again at this time, if at all.
    Sent(Option<Instant>),
}

/// An own request without an answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Own {
    id: RequestId,
    bytes: Bytes,
    repeatable: bool,
    until: Instant,
    state: State,
    /// How often it was sent, all parts of a long one counting as once.
    tries: u8,
    /// The leader it was sent to first, which alone may handle it, unless it is repeatable.
    once: Option<Once>,
}

impl Own {
    /// Returns when the request is sent again or times out.
    pub(super) fn deadline(&self) -> Instant {
        match self.state {
            State::Ready | State::Sent(None) => self.until,
            State::Waiting(at) | State::Sent(Some(at)) => at.min(self.until),
        }
    }

    /// Returns the leader that alone may handle it, when it is sent to this one; `None` where that is any.
    fn bound_to(&self, leader: NodeId, term: Term) -> Option<Once> {
        let [low, high, ..] = term.number.to_le_bytes();
        (!self.repeatable).then(|| self.once.unwrap_or((leader, u16::from_le_bytes([low, high]))))
    }
}

impl<const LONG: usize> Requests<LONG> {
    /// Returns the name of the next request or message of this node.
    pub(super) const fn next_id(&self, cx: &Context<'_>) -> RequestId {
        RequestId { origin: cx.me, boot: self.boot, number: self.number.wrapping_add(1) }
    }

    pub(super) fn request(&mut self, cx: &Context<'_>, bytes: Bytes, repeatable: bool, out: &mut Out) {
        let id = self.next_id(cx);
        let inserted = self.insert_own(id, bytes, repeatable, cx.now.after(timeout(cx)));
        out.notify(if inserted { Notice::Requested { id } } else { Notice::Full });
    }

    /// Makes a request; returns whether there is room for it.
    pub(super) fn insert_own(&mut self, id: RequestId, bytes: Bytes, repeatable: bool, until: Instant) -> bool {
        let own = Own { id, bytes, repeatable, until, state: State::Ready, tries: 0, once: None };
        let inserted = self.own.push(own).is_ok();
        if inserted {
            self.number = id.number;
        }
        inserted
    }

    /// Sends again what was sent and does no harm twice, as the leader or the way to it is another.
    pub(super) fn repeat_own(&mut self) {
        let mut repeated = heapless::Vec::<RequestId, { super::OWN_MAX }>::new();
        for own in self.own.iter_mut().filter(|own| own.repeatable && matches!(own.state, State::Sent(_))) {
            own.state = State::Ready;
            let _ = repeated.push(own.id); // there are no more
        }
        for id in repeated {
            self.send_all_parts(id);
        }
    }

    /// Sends an own request again, as parts of it are missing.
    pub(super) fn send_own_again(&mut self, id: RequestId) {
        if let Some(own) = self.own.iter_mut().find(|own| own.id == id) {
            own.state = State::Ready;
            own.tries = own.tries.saturating_add(1);
        }
    }

    /// Sends the next own request that is ready, or a part of it, if there is a way; returns whether it did.
    pub(super) fn send_own(&mut self, cx: &Context<'_>, out: &mut Out) -> bool {
        let leads = self.leads(cx.me);
        let to = self.parent.map(|parent| cx.roster.set_of(parent)).filter(|to| cx.peers.meets(*to));
        let Some((leader, term)) = self.leader.filter(|_| leads || to.is_some()) else { return false };
        let settled = self.new_until.is_none();
        let ready = |own: &&mut Own| own.state == State::Ready && (settled || own.repeatable);
        let Some(own) = self.own.iter_mut().find(ready) else { return false };
        if own.once.is_some_and(|(first, _)| first != leader) {
            own.state = State::Sent(None); // only the first leader knows whether it was handled
            return true;
        }
        own.once = own.bound_to(leader, term);
        let (id, once) = (own.id, own.once);
        let body = if self.is_long(id) {
            if leads {
                self.on_sent(cx, id);
                if !self.is_copy(id) {
                    self.serve_own_long(cx, id, once, out);
                }
                return true;
            }
            let Some((part, last)) = self.take_part(id) else {
                self.on_sent(cx, id);
                return true;
            };
            if last {
                self.on_sent(cx, id);
            }
            Body::Part(part)
        } else {
            self.on_sent(cx, id);
            let Some(own) = self.own.iter().find(|own| own.id == id) else { return true };
            Body::Whole(own.bytes.clone())
        };
        if leads {
            if let Body::Whole(bytes) = body
                && !self.is_copy(id)
            {
                self.serve(cx, id, once, Route::new(), bytes, out);
            }
            return true;
        }
        self.send_up(cx, id, to.unwrap_or(NodeSet::EMPTY), body.message(id, once, Route::new()), out);
        true
    }

    /// Sends a message of an own request to the parent, or ends the request where it does not fit a frame.
    fn send_up(&mut self, cx: &Context<'_>, id: RequestId, to: NodeSet, message: super::Message, out: &mut Out) {
        if message.fits() {
            out.send(to, message);
        } else {
            self.on_reply(cx, id, Reply::Refused(Refusal::TooFar), out);
        }
    }

    /// Records that all of a request is sent now, and plans when it is sent again.
    fn on_sent(&mut self, cx: &Context<'_>, id: RequestId) {
        let long = self.is_long(id);
        if let Some(own) = self.own.iter_mut().find(|own| own.id == id) {
            own.tries = own.tries.saturating_add(1);
            let again = cx.now.after(cx.timing.heartbeat.times(AGAIN_HEARTBEATS));
            own.state = State::Sent((own.repeatable || long || own.tries < TRIES_MAX).then_some(again));
        }
    }

    /// Takes in the end of an own request, unless it has ended before.
    pub(super) fn on_reply(&mut self, cx: &Context<'_>, id: RequestId, reply: Reply, out: &mut Out) {
        if self.own.iter().all(|own| own.id != id) {
            return;
        }
        let notice = match reply {
            Reply::Missing(parts) => return self.on_missing(id, parts),
            Reply::Refused(Refusal::NoRoute) if !self.is_lost(id) => return self.wait_for_route(cx, id),
            Reply::Refused(Refusal::NoRoute) => Notice::Refused { id, reason: Refusal::Unknown },
            Reply::Refused(reason) => Notice::Refused { id, reason },
            Reply::Answer(bytes) => Notice::Answered { id, bytes },
        };
        self.own.retain(|own| own.id != id);
        self.free(id);
        out.notify(notice);
    }

    /// Returns whether the leader that alone may handle an own request leads no more, and may have handled an earlier copy.
    fn is_lost(&self, id: RequestId) -> bool {
        let other = |first: NodeId| self.leader.is_some_and(|(leader, _)| leader != first);
        let lost = |own: &super::Own| own.tries > 1 && own.once.is_some_and(|(first, _)| other(first));
        self.own.iter().any(|own| own.id == id && lost(own))
    }

    /// A copy of an own request found no way: sends it again soon.
    fn wait_for_route(&mut self, cx: &Context<'_>, id: RequestId) {
        let long = self.is_long(id);
        let Some(own) = self.own.iter_mut().find(|own| own.id == id) else { return };
        let only = own.tries <= 1;
        if only {
            (own.tries, own.once) = (0, None); // the only copy: nobody has handled it
        }
        let pause = cx.timing.heartbeat.mul_ratio(1, 4);
        let again = State::Waiting(cx.now.after(pause.plus(jitter(pause, cx.random))));
        let spent = !own.repeatable && !long && own.tries >= TRIES_MAX;
        own.state = if spent { State::Sent(None) } else { again };
        if only {
            self.send_all_parts(id);
        }
    }

    pub(super) fn on_timeout(&mut self, cx: &Context<'_>, out: &mut Out) {
        self.new_until = self.new_until.filter(|&until| until > cx.now);
        self.handled.retain(|handled| handled.until > cx.now);
        self.names.retain(|names| names.until > cx.now);
        while let Some(lost) = self.own.iter().find(|own| own.until <= cx.now) {
            let id = lost.id;
            self.own.retain(|own| own.id != id);
            self.free(id);
            out.notify(Notice::TimedOut { id });
        }
        let due = |own: &&mut Own| matches!(own.state, State::Waiting(at) | State::Sent(Some(at)) if at <= cx.now);
        let mut again = heapless::Vec::<RequestId, { super::OWN_MAX }>::new();
        for own in self.own.iter_mut().filter(due) {
            own.state = State::Ready;
            let _ = again.push(own.id); // there are no more
        }
        for id in again {
            self.send_last_part(id);
        }
    }
}
