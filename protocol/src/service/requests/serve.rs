//! The leader's side: requests are handled at most once, and answered the way they came.

use super::{
    BUSY, Bytes, Handled, KEPT_HEARTBEATS, Notice, Once, Out, Refusal, Reply, RequestId, Requests, Route, timeout,
};
use crate::algorithm::Context;
use crate::base::time::Instant;

impl<const LONG: usize> Requests<LONG> {
    /// Hands a request to the application, or refuses it.
    pub(super) fn serve(
        &mut self,
        cx: &Context<'_>,
        id: RequestId,
        once: Option<Once>,
        route: Route,
        bytes: Bytes,
        out: &mut Out,
    ) {
        if let Some(reason) = self.refusal(cx, id, once) {
            return self.send_back(cx, id, route, Reply::Refused(reason), out);
        }
        let (repeatable, until) = (once.is_none(), cx.now.after(timeout(cx)));
        self.insert_handled(cx, id, route, repeatable, until);
        out.notify(Notice::Request { id, bytes, repeatable });
    }

    /// Returns why this node does not handle a new request, if it does not; otherwise there is room for it.
    pub(super) fn refusal(&mut self, cx: &Context<'_>, id: RequestId, once: Option<Once>) -> Option<Refusal> {
        match once {
            // It was for another leader, which has not got this copy: the origin knows whether there were others.
            Some((leader, _)) if leader != cx.me => Some(Refusal::NoRoute),
            Some((_, number)) if !self.has_led_under(number) => Some(Refusal::Unknown),
            Some(_) => (!self.make_name_room(cx, id) || !self.make_room()).then_some(BUSY),
            None => (!self.make_room()).then_some(BUSY),
        }
    }

    pub(super) fn insert_handled(
        &mut self,
        cx: &Context<'_>,
        id: RequestId,
        route: Route,
        repeatable: bool,
        until: Instant,
    ) {
        if !repeatable {
            self.keep_name(cx, id);
        }
        let _ = self.handled.push(Handled { id, route, repeatable, until, answer: None }); // it is not full
    }

    /// Forgets the oldest answer, but not the name of its request, where there is no room for another request; returns
    /// whether there is room now.
    fn make_room(&mut self) -> bool {
        if !self.handled.is_full() {
            return true;
        }
        let answered = self.handled.iter().filter(|handled| handled.answer.is_some());
        let Some(id) = answered.min_by_key(|handled| handled.until).map(|handled| handled.id) else { return false };
        self.handled.retain(|handled| handled.id != id);
        true
    }

    /// Returns whether a request was handled here, or is about to be.
    pub(super) fn is_copy(&self, id: RequestId) -> bool {
        self.handled.iter().any(|handled| handled.id == id) || self.is_named(id)
    }

    /// Answers a copy of a request as the first one was, or will be, over the way it came.
    pub(super) fn on_copy(&mut self, cx: &Context<'_>, id: RequestId, route: Route, out: &mut Out) {
        let Some(handled) = self.handled.iter_mut().find(|handled| handled.id == id) else {
            return self.send_back(cx, id, route, Reply::Refused(Refusal::Unknown), out);
        };
        if let Some(answer) = handled.answer.clone() {
            self.send_back(cx, id, route, Reply::Answer(answer), out);
        } else {
            handled.route = route;
        }
    }

    /// Returns whether this node led under the term whose number ends so, in this boot.
    fn has_led_under(&self, number: u16) -> bool {
        let low = |number: u32| {
            let [low, high, ..] = number.to_le_bytes();
            u16::from_le_bytes([low, high])
        };
        self.leader.zip(self.led_since).is_some_and(|((_, term), since)| {
            low(term.number).wrapping_sub(number) <= low(term.number).wrapping_sub(low(since))
        })
    }

    /// Sends the application's reply to a request, unless it came too late.
    pub(super) fn reply(&mut self, cx: &Context<'_>, id: RequestId, reply: Reply, out: &mut Out) {
        // The name of a long one is kept for as long as its parts may come.
        let times = if self.is_long(id) { super::long::LONG_TIMES } else { 1 };
        let of_it = |handled: &&mut Handled| handled.id == id && handled.answer.is_none();
        let Some(handled) = self.handled.iter_mut().find(of_it) else { return };
        let route = handled.route.clone();
        // What is kept for copies: a refusal was none of the application's doing, so a copy may be handled.
        if let Reply::Answer(bytes) = &reply {
            handled.answer = Some(bytes.clone());
            handled.until = cx.now.after(cx.timing.heartbeat.times(KEPT_HEARTBEATS.saturating_mul(times)));
        }
        let (answered, once) = (handled.answer.is_some(), !handled.repeatable);
        self.handled.retain(|handled| handled.id != id || answered && once);
        if once && answered {
            self.keep_name(cx, id);
        } else if once {
            self.forget_name(id);
        }
        self.free(id);
        self.send_back(cx, id, route, reply, out);
    }
}
