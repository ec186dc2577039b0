//! What a keeper of tokens hears, as leader and as member.

use super::super::claims::Phase;
use super::super::{Claims, LockId, Notice, Refusal};
use super::office::{Fate, Ruling};
use super::{Generation, Keeper, Need, Token, Word};
use crate::algorithm::{Context, Outbox};
use crate::clock::Stamp;
use crate::config::{granted, usable};
use crate::group::{NodeId, NodeSet};

impl Keeper {
    /// Hears what is said about a token.
    pub(in super::super) fn hear<M: From<Word>>(
        &mut self,
        cx: &Context<'_>,
        from: NodeId,
        word: Word,
        claims: &mut Claims,
        out: &mut Outbox<M, Notice>,
    ) {
        let sender = cx.roster.set_of(from);
        match word {
            Word::Call { lock, number, need, generation } => {
                if self.leads() {
                    let call = (need, generation);
                    self.hear_call(cx, sender, lock, number, call, claims, out);
                } // who calls here has not heard yet who leads, and will call again
            }
            Word::Warrant { lock, number, generation, ahead } => {
                self.hear_warrant(cx, lock, number, generation, ahead, claims, out);
            }
            Word::Refuse { lock, number } => {
                let asked = self.get(lock).and_then(|place| place.pending);
                let claim = claims.get(lock).map(|claim| claim.request);
                if let (Some(pending), Some(request)) = (asked, claim)
                    && pending.number == number
                {
                    claims.refuse(lock, request, Refusal::Full, out);
                }
            }
            Word::Recall { lock, generation, via } => {
                let inside = claims.holds(lock, cx.now).is_some();
                let Some(place) = self.open(cx, lock, claims) else { return }; // it will be waited out
                if generation < place.token.generation {
                    return; // of a leader that leads no more
                }
                place.raise(generation, cx.now);
                (place.root, place.via, place.owed) = (sender, via, sender);
                self.clear(cx, lock, inside, out);
            }
            Word::Clear { lock, generation, had } => self.hear_clear(cx, sender, lock, (generation, had)),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "a call has many sides")]
    fn hear_call<M: From<Word>>(
        &mut self,
        cx: &Context<'_>,
        sender: NodeSet,
        lock: LockId,
        number: Stamp,
        call: (Need, Generation),
        claims: &Claims,
        out: &mut Outbox<M, Notice>,
    ) {
        let ruling = self.open(cx, lock, claims).is_some().then(|| self.rule(cx, sender, lock, call)).flatten();
        match ruling {
            None => out.send(sender, Word::Refuse { lock, number }.into()),
            Some(Ruling::Warranted(generation)) => {
                let ahead = self.ahead(lock, sender);
                out.send(sender, Word::Warrant { lock, number, generation, ahead }.into());
            }
            Some(Ruling::Void(generation)) => out.send(sender, Word::Recall { lock, generation, via: cx.up }.into()),
            Some(Ruling::Noted | Ruling::Lost) => {} // nothing, or everybody will be asked
        }
    }

    /// How many come before a caller: all others that want the token, if it is not here and free.
    fn ahead(&self, lock: LockId, caller: NodeSet) -> u8 {
        let others = self.office.as_ref().and_then(|office| office.post(lock)).map_or(0, |post| {
            let rests = post.fate != Fate::Made || self.places.iter().any(|place| place.lock == lock && place.here);
            let busy = u32::from(!rests);
            post.calls.without(caller).len().max(busy)
        });
        u8::try_from(others).unwrap_or(u8::MAX)
    }

    #[expect(clippy::too_many_arguments, reason = "a warrant has many sides")]
    fn hear_warrant<M: From<Word>>(
        &mut self,
        cx: &Context<'_>,
        lock: LockId,
        number: Stamp,
        generation: Generation,
        ahead: u8,
        claims: &mut Claims,
        out: &mut Outbox<M, Notice>,
    ) {
        let Some(place) = self.get(lock) else { return };
        let Some(pending) = place.pending.filter(|pending| pending.number == number) else { return };
        place.pending = None;
        place.raise(generation, cx.now);
        let until = pending.at.after(usable(cx.timing.lock_lease));
        place.warrant = Some((generation, until));
        let Some(&claim) = claims.get(lock) else { return };
        match claim.phase {
            Phase::Waiting { trying: true, .. } if ahead > 0 && !place.here => {
                claims.refuse(lock, claim.request, Refusal::Busy, out);
            }
            Phase::Waiting { .. } if ahead > 0 => claims.wait(lock, claim.request, ahead, out),
            Phase::Held { renewal: Some(renewal), .. } => {
                claims.renewed(lock, renewal.number, until.min(renewal.asked.after(renewal.lease)), out);
            }
            Phase::Waiting { .. } | Phase::Held { renewal: None, .. } => {} // it comes at once, or is there
        }
    }

    /// Says that this node is not inside, if it is owed and so; a node that has just started may have forgotten.
    pub(in super::super) fn clear<M: From<Word>>(
        &mut self,
        cx: &Context<'_>,
        lock: LockId,
        inside: bool,
        out: &mut Outbox<M, Notice>,
    ) {
        let me = cx.roster.set_of(cx.me);
        let Some(place) = self.get(lock).filter(|place| !inside && !place.owed.is_empty()) else { return };
        let knows = cx.uptime >= granted(cx.timing.lock_lease);
        if place.had.is_none() && !knows {
            return;
        }
        let (to, generation, had) = (place.owed, place.token.generation, place.had.take());
        place.owed = NodeSet::EMPTY;
        if to == me {
            self.hear_clear(cx, me, lock, (generation, had));
        } else {
            out.send(to, Word::Clear { lock, generation, had }.into());
        }
    }

    fn hear_clear(
        &mut self,
        cx: &Context<'_>,
        sender: NodeSet,
        lock: LockId,
        answer: (Generation, Option<Generation>),
    ) {
        let Some(office) = &mut self.office else { return };
        if office.hear_clear(cx, sender, lock, answer) {
            self.make(cx, lock);
        }
    }

    /// Makes a token, unless this leader has heard of a token of a later one: that is not its to make. Members learn who
    /// leads at different moments, so one that still leads may be told by another's request that it does no more.
    pub(super) fn make(&mut self, cx: &Context<'_>, lock: LockId) {
        let Some(generation) = self.office.as_mut().and_then(|office| office.made(cx, lock)) else { return };
        if let Some(place) = self.get(lock) {
            place.raise(generation, cx.now);
            if place.token.generation == generation {
                (place.here, place.passed) = (true, NodeSet::EMPTY);
            }
        }
    }

    /// A token has come. Whether it is good: the latest there is, and not seen before.
    pub(in super::super) fn receive<M: From<Word>>(
        &mut self,
        cx: &Context<'_>,
        lock: LockId,
        token: Token,
        claims: &Claims,
        out: &mut Outbox<M, Notice>,
    ) -> bool {
        let inside = claims.holds(lock, cx.now).is_some();
        let leader = self.leader(cx);
        let Some(place) = self.get(lock) else { return false };
        if token.generation < place.token.generation {
            // It was on its way when it was recalled: it is found.
            place.had = place.had.max(Some(token.generation));
            if place.owed.is_empty() {
                place.owed = leader;
            }
            self.clear(cx, lock, inside, out);
            return false;
        }
        if token <= place.token {
            return false; // a second copy
        }
        if let Some(office) = &mut self.office {
            let Some(post) = office.post_mut(lock).filter(|post| post.generation == token.generation) else {
                return false;
            };
            post.sign = cx.now;
        }
        if let Some(place) = self.get(lock) {
            (place.token, place.here, place.passed, place.touched) = (token, true, NodeSet::EMPTY, cx.now);
        }
        true
    }
}
