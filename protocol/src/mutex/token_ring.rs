//! The token ring: a token goes round, and whoever has it may enter.
//!
//! The members of the view are a ring in the order of the group's list. Each lock has a token of its own. Whoever has it
//! and wants to enter keeps it until it has left; whoever does not want to passes it on to the next. The token carries a
//! [`Generation`](super::keeper::Generation), by which one that was thought lost is told from the one made in its place,
//! and a sequence that grows with every hop and entry: both together are the fence.
//!
//! # Paper
//! G. Le Lann: Distributed Systems, Towards a Formal Approach, IFIP 1977. Here as lecture notes have it.
//!
//! # Assumes
//! A leader, best in [`crate::mandate::Mode::Quorum`]: see [`super::keeper`], which makes lost tokens anew. The receipts of
//! the link are the acknowledgement of a hop.
//!
//! # Messages
//! [`Message::Token`] from member to member; calls and warrants as in [`super::keeper`].
//!
//! # Cost
//! 1 to unboundedly many letters an entry. Here: a call and a warrant, unless there is one, and the hops from the leader to
//! the member and on to the leader, shared by all that enter in that round. Nothing while nobody wants the lock.
//!
//! # Departures
//! - An idle token does not go round. It rests at the leader until somebody calls for it, then goes round once.
//! - A member that is not up is passed over, as long as the token is in hand. If whoever it was passed to is gone, the
//!   sender tells the leader, which asks everybody; it never sends its copy to another.
//! - A holder enters under a warrant of the leader: only so can another token be made when it is cut off.
//! - The order is that of the ring, not that of the requests.

use super::claims::{Claim, Phase, Task};
use super::keeper::{Keeper, Need, Token};
use super::{Claims, Command, Fence, LockId, Mutex, Notice, Refusal};
use crate::algorithm::{Algorithm, Context, Input, Outbox, Scope};
use crate::group::NodeSet;
use crate::time::{Instant, sooner};

mod message;

pub use message::Message;

/// The token ring of one member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TokenRing {
    claims: Claims,
    keeper: Keeper,
}

type Out = Outbox<Message, Notice>;

impl TokenRing {
    /// A member that has seen no token.
    #[must_use]
    pub const fn new() -> Self {
        Self { claims: Claims::new(), keeper: Keeper::new() }
    }

    fn obey(&mut self, cx: &Context<'_>, command: Command, out: &mut Out) {
        match self.claims.command(cx, command, out) {
            Some(Task::Ask(claim)) => {
                if self.keeper.open(cx, claim.lock, &self.claims).is_none() {
                    self.claims.refuse(claim.lock, claim.request, Refusal::Full, out);
                }
            }
            Some(Task::Renew(claim, renewal)) => {
                self.keeper.call(cx, &self.claims, claim.lock, Need::Keep, out);
                self.keeper.renew_own(cx, claim.lock, renewal, &mut self.claims, out);
            }
            Some(Task::Release(claim)) => self.keeper.clear(cx, claim.lock, false, out),
            Some(Task::Cancel(_)) | None => {} // the token will find nobody here who wants it
        }
    }

    fn hear_token(&mut self, cx: &Context<'_>, lock: LockId, token: Token, out: &mut Out) {
        if self.keeper.open(cx, lock, &self.claims).is_none() {
            out.send(next(cx), Message::Token { lock, token: token.next() }); // no room to keep it
        } else {
            self.keeper.receive(cx, lock, token, &self.claims, out);
        }
    }

    /// Does with a token what is to be done.
    fn settle(&mut self, cx: &Context<'_>, lock: LockId, out: &mut Out) {
        let leads = self.keeper.leads();
        let Some(place) = self.keeper.get(lock) else { return };
        let here = place.here;
        match self.claims.get(lock).copied() {
            Some(claim @ Claim { phase: Phase::Waiting { .. }, .. }) => {
                if place.may_enter(cx, &claim) {
                    let granted = place.enter(cx, &claim);
                    self.claims.grant(cx, granted, out);
                } else if here && !place.calls() {
                    self.keeper.call(cx, &self.claims, lock, Need::Enter, out);
                    if leads {
                        self.enter_own(cx, lock, &claim, out);
                    }
                } else if !here && place.tell(cx, claim.request) {
                    self.ask(cx, &claim, out);
                }
            }
            None if here => self.pass(cx, lock, out),
            Some(Claim { phase: Phase::Held { .. }, .. }) | None => {} // kept, or not here
        }
    }

    fn ask(&mut self, cx: &Context<'_>, claim: &Claim, out: &mut Out) {
        if !self.keeper.call(cx, &self.claims, claim.lock, Need::Want, out) {
            self.claims.refuse(claim.lock, claim.request, Refusal::Full, out);
        }
    }

    /// A leader needs nobody's answer.
    fn enter_own(&mut self, cx: &Context<'_>, lock: LockId, claim: &Claim, out: &mut Out) {
        if let Some(place) = self.keeper.get(lock).filter(|place| place.may_enter(cx, claim)) {
            let granted = place.enter(cx, claim);
            self.claims.grant(cx, granted, out);
        }
    }

    /// Passes a token on that nobody wants here; or lets it rest, where the leader has it and nobody wants it at all.
    fn pass(&mut self, cx: &Context<'_>, lock: LockId, out: &mut Out) {
        let to = next(cx);
        let known = !self.keeper.leader(cx).is_empty();
        let wanted = match self.keeper.calls(lock) {
            Some(calls) => !core::mem::take(calls).without(cx.roster.set_of(cx.me)).is_empty(),
            None => known && !self.keeper.leads(),
        };
        if wanted
            && !to.is_empty()
            && let Some(place) = self.keeper.get(lock)
        {
            let token = place.pass(to);
            out.send(to, Message::Token { lock, token });
        }
    }
}

/// The next member of the ring that is up.
fn next(cx: &Context<'_>) -> NodeSet {
    let me = cx.roster.slot_of(cx.me).unwrap_or(0);
    let others = cx.view.and(cx.up);
    let after = others.without(NodeSet::first(me));
    let first = |set: NodeSet| set.slots().next().map_or(NodeSet::EMPTY, NodeSet::slot);
    if after.is_empty() { first(others) } else { first(after) }
}

impl Algorithm for TokenRing {
    type Message = Message;
    type Command = Command;
    type Notice = Notice;

    fn scope(&self) -> Scope {
        Scope::Group
    }

    fn handle(&mut self, cx: &Context<'_>, input: Input<Message, Command>, out: &mut Out) {
        // One a step: what it leaves to say takes room. The next one is due at once.
        if let Some(ended) = self.claims.expire(cx.now, out) {
            self.keeper.clear(cx, ended.lock, false, out);
        }
        match input {
            Input::Message { message: Message::Token { lock, token }, .. } => self.hear_token(cx, lock, token, out),
            Input::Message { from, message: Message::Keeper(word), .. } => {
                self.keeper.hear(cx, from, word, &mut self.claims, out);
            }
            Input::Command(command) => self.obey(cx, command, out),
            Input::Fact(fact) => self.keeper.learn(cx, fact),
            Input::Timeout => {} // what is due is done below
        }
        self.keeper.tend(cx, &self.claims, out);
        for lock in &self.keeper.locks() {
            self.settle(cx, *lock, out);
            if self.keeper.try_no_longer(cx, *lock, &mut self.claims, out) {
                self.settle(cx, *lock, out); // it wants the token no more
            }
        }
    }

    fn deadline(&self) -> Option<Instant> {
        sooner(self.claims.deadline(), self.keeper.deadline())
    }
}

impl Mutex for TokenRing {
    fn holds(&self, lock: LockId, now: Instant) -> Option<Fence> {
        self.claims.holds(lock, now)
    }
}
