//! The token ring: a token goes round, and the member that has it may enter.
//!
//! The members of the view are a ring in the order of the group's list. Each lock has a token of its own. A member that
//! has the token and wants to enter keeps it until it has left; any other passes it on to the next. The token carries
//! an [`Epoch`](super::token::Epoch), which tells a token that was thought lost from its successor, and a sequence
//! number that grows with every hop and entry: both together are the fence.
//!
//! # Paper
//! G. Le Lann: Distributed Systems, Towards a Formal Approach, IFIP 1977. Here as lecture notes have it.
//!
//! # Assumes
//! A leader, best in [`Mode::Quorum`](crate::base::quorum::Mode::Quorum): it issues lost tokens again, see
//! [`super::token`]. The link acknowledges each hop.
//!
//! # Messages
//! [`Message::Token`] from member to member; requests and leases as in [`super::token`].
//!
//! # Cost
//! 1 to unboundedly many messages an entry. Here: a request and a lease, unless there is one, and the hops from the
//! leader to the member and on to the leader, shared by all that enter in that round. Nothing while no member wants the
//! lock.
//!
//! # Departures
//! - An idle token does not go round. It rests at the leader until a member requests it, then goes round once.
//! - A member that is not up is skipped. If the member it was passed to is gone, the sender reports that to the leader,
//!   which recalls the token from all members; the sender never passes its copy to another.
//! - A holder enters under a lease of the leader: only so can another token be issued when the holder is cut off.
//! - The order is that of the ring, not that of the requests.

use super::client::{LockRequest, Phase};
use super::token::{Need, Token, TokenLock, TokenManager, TokenMessage, impl_mutex};
use super::{LockId, Notice, Refusal};
use crate::algorithm::{Context, Fact, Outbox};
use crate::base::ids::{NodeId, NodeSet};
use crate::base::time::Instant;
use crate::wire::impl_message;
use serde::{Deserialize, Serialize};

/// A message between members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are the lock and its token")]
pub enum Message {
    /// The token of a lock.
    Token { lock: LockId, token: Token },
    /// A message to or from the issuer.
    Issuer(TokenMessage),
}

impl_message! {
    Reliable: Token = "token", Issuer(TokenMessage);
}

/// The token ring, at one member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TokenRing {
    manager: TokenManager,
}

type Out = Outbox<Message, Notice>;

impl TokenRing {
    fn on_token(&mut self, cx: &Context<'_>, lock: LockId, token: Token, out: &mut Out) {
        if self.manager.get_or_insert(cx, lock).is_none() {
            out.send(successor(cx), Message::Token { lock, token: token.next() }); // no room to keep it
        } else {
            self.manager.accept(cx, lock, token, out);
        }
    }

    /// Passes the token on; at the issuer it rests while no member wants it.
    fn pass(&mut self, cx: &Context<'_>, lock: LockId, out: &mut Out) {
        let to = successor(cx);
        let has_leader = !self.manager.leader(cx).is_empty();
        let wanted = match self.manager.requesters(lock) {
            Some(requesters) => !core::mem::take(requesters).without(cx.roster.set_of(cx.me)).is_empty(),
            None => has_leader && !self.manager.is_issuer(),
        };
        if wanted
            && !to.is_empty()
            && let Some(local) = self.manager.get(lock)
        {
            let token = local.pass(to);
            out.send(to, Message::Token { lock, token });
        }
    }
}

impl TokenLock for TokenRing {
    type Message = Message;

    fn manager(&mut self) -> &mut TokenManager {
        &mut self.manager
    }

    fn on_message(&mut self, cx: &Context<'_>, from: NodeId, message: Message, out: &mut Out) {
        match message {
            Message::Token { lock, token } => self.on_token(cx, lock, token, out),
            Message::Issuer(message) => self.manager.on_message(cx, from, message, out),
        }
    }

    fn on_fact(&mut self, cx: &Context<'_>, fact: Fact, _: &mut Out) {
        self.manager.on_fact(cx, fact);
    }

    fn admit(&mut self, cx: &Context<'_>, lock: LockId) -> bool {
        self.manager.get_or_insert(cx, lock).is_some()
    }

    fn repeat_request(&mut self, _: &Context<'_>, _: LockId, _: &mut Out) {} // the update does

    fn update(&mut self, cx: &Context<'_>, lock: LockId, out: &mut Out) {
        let request = self.manager.client.get(lock).copied();
        let Some(local) = self.manager.get(lock) else { return };
        let here = local.is_here();
        match request {
            Some(request @ LockRequest { phase: Phase::Waiting { .. }, .. }) => {
                if here {
                    self.manager.enter(cx, &request, out);
                } else if local.announce(cx, request.number) && !self.manager.request(cx, lock, Need::Acquire, out) {
                    self.manager.client.refuse(lock, request.number, Refusal::Full, out);
                }
            }
            None if here => self.pass(cx, lock, out),
            Some(LockRequest { phase: Phase::Held { .. }, .. }) | None => {} // kept, or not here
        }
    }
}

/// Returns the next member of the ring that is up.
fn successor(cx: &Context<'_>) -> NodeSet {
    let me = cx.roster.slot_of(cx.me).unwrap_or(0);
    let others = cx.view.and(cx.up);
    let after = others.without(NodeSet::first(me));
    let first = |set: NodeSet| set.slots().next().map_or(NodeSet::EMPTY, NodeSet::slot);
    if after.is_empty() { first(others) } else { first(after) }
}

impl_mutex!(TokenRing);
