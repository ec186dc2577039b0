//! A node's own requests: sent when there is a way, and ended once.

use super::{
    AGAIN_HEARTBEATS, Bytes, Message, Notice, Once, Out, Refusal, Reply, RequestId, Requests, Route, TRIES_MAX, timeout,
};
use crate::algorithm::Context;
use crate::base::rng::jitter;
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
    /// How often it was sent.
    tries: u8,
    /// The leader it was sent to first, which alone may handle it, unless it is repeatable.
    once: Option<Once>,
}

impl Own {
    /// Sends the request again, if it has been sent and does no harm twice.
    pub(super) fn repeat(&mut self) {
        if self.repeatable && matches!(self.state, State::Sent(_)) {
            self.state = State::Ready;
        }
    }

    /// Returns when the request is sent again or times out.
    pub(super) fn deadline(&self) -> Instant {
        match self.state {
            State::Ready | State::Sent(None) => self.until,
            State::Waiting(at) | State::Sent(Some(at)) => at.min(self.until),
        }
    }
}

impl Requests {
    pub(super) fn request(&mut self, cx: &Context<'_>, bytes: Bytes, repeatable: bool, out: &mut Out) {
        let number = self.number.wrapping_add(1);
        let id = RequestId { origin: cx.me, boot: self.boot, number };
        let (until, state) = (cx.now.after(timeout(cx)), State::Ready);
        let own = Own { id, bytes, repeatable, until, state, tries: 0, once: None };
        if self.own.push(own).is_ok() {
            self.number = number;
            out.notify(Notice::Requested { id });
        } else {
            out.notify(Notice::Full);
        }
    }

    /// Sends the next own request that is ready, if there is a way; returns whether it did.
    pub(super) fn send_own(&mut self, cx: &Context<'_>, out: &mut Out) -> bool {
        let leads = self.leads(cx.me);
        let to = self.parent.map(|parent| cx.roster.set_of(parent)).filter(|to| cx.peers.meets(*to));
        let Some((leader, term)) = self.leader.filter(|_| leads || to.is_some()) else { return false };
        let Some(own) = self.own.iter_mut().find(|own| own.state == State::Ready) else { return false };
        let [low, high, ..] = term.number.to_le_bytes();
        if own.once.is_some_and(|(first, _)| first != leader) {
            own.state = State::Sent(None); // only the first leader knows whether it was handled
            return true;
        }
        let once = (!own.repeatable).then(|| own.once.unwrap_or((leader, u16::from_le_bytes([low, high]))));
        own.tries = own.tries.saturating_add(1);
        let again = cx.now.after(cx.timing.heartbeat.times(AGAIN_HEARTBEATS));
        own.state = State::Sent((own.repeatable || own.tries < TRIES_MAX).then_some(again));
        own.once = once;
        let (id, bytes) = (own.id, own.bytes.clone());
        if leads {
            if !self.is_copy(id) {
                self.serve(cx, id, once, Route::new(), bytes, out);
            }
            return true;
        }
        let message = Message::Request { id, once, route: Route::new(), bytes };
        if let Some(to) = to.filter(|_| message.fits()) {
            out.send(to, message);
        } else {
            self.on_reply(cx, id, Reply::Refused(Refusal::TooFar), out);
        }
        true
    }

    /// Takes in the end of an own request, unless it has ended before.
    pub(super) fn on_reply(&mut self, cx: &Context<'_>, id: RequestId, reply: Reply, out: &mut Out) {
        let Some(at) = self.own.iter().position(|own| own.id == id) else { return };
        if reply == Reply::Refused(Refusal::NoRoute) {
            if let Some(own) = self.own.get_mut(at) {
                if own.tries <= 1 {
                    (own.tries, own.once) = (0, None); // the only copy: nobody has handled it
                }
                let pause = cx.timing.heartbeat.mul_ratio(1, 4);
                let again = State::Waiting(cx.now.after(pause.plus(jitter(pause, cx.random))));
                let spent = !own.repeatable && own.tries >= TRIES_MAX;
                own.state = if spent { State::Sent(None) } else { again };
            }
            return;
        }
        self.own.retain(|own| own.id != id);
        out.notify(match reply {
            Reply::Answer(bytes) => Notice::Answered { id, bytes },
            Reply::Refused(reason) => Notice::Refused { id, reason },
        });
    }

    pub(super) fn on_timeout(&mut self, cx: &Context<'_>, out: &mut Out) {
        self.handled.retain(|handled| handled.until > cx.now);
        self.names.retain(|&(_, until)| until > cx.now);
        self.own.retain(|own| {
            let lost = own.until <= cx.now;
            if lost {
                out.notify(Notice::TimedOut { id: own.id });
            }
            !lost
        });
        for own in &mut self.own {
            if let State::Waiting(at) | State::Sent(Some(at)) = own.state
                && at <= cx.now
            {
                own.state = State::Ready;
            }
        }
    }
}
