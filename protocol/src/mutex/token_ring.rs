//! The token ring: a token goes round, and the member that has it may enter.
//!
//! The members of the view are a ring in the order of the group's list. Each lock has a token of its own. A member that
//! has the token and wants to enter keeps it until it has left; any other passes it on to the next. The token carries
//! an [`Epoch`], which tells a token that was thought lost from its successor, and a sequence
//! number that grows with every hop and entry: both together are the fence.
//!
//! [`Idle`] says what a token does that no member wants: it rests at the leader until it is requested, or it circulates,
//! as in textbooks, and there is nothing to ask. A token that circulates brings its lease along: whoever passed it on,
//! and gets it again from a later lap of the leader, knows that the leader has leased it since.
//!
//! # Paper
//! G. Le Lann: Distributed Systems, Towards a Formal Approach, IFIP 1977. Here as lecture notes have it.
//!
//! # Assumes
//! A leader, best in [`Mode::Quorum`](crate::base::quorum::Mode::Quorum): it issues lost tokens again, see
//! [`super::token`]. The link acknowledges each hop.
//!
//! # Messages
//! [`Message::Token`] from member to member, [`Message::Circulating`] where it circulates; requests and leases as in
//! [`super::token`].
//!
//! # Cost
//! 1 to unboundedly many messages an entry, and a delay of 0 to n - 1 message times. Circulating: exactly that, 1 where
//! every member enters each time, a message for each message time where none does. Resting: a request and a lease,
//! unless there is one, and the hops from the leader to the member and on to the leader, shared by all that enter in
//! that round; nothing while no member wants the lock. A member is passed the token when it has acknowledged the one of
//! the last lap, and acknowledgements wait for their turn within the contention window: a token that circulates among six
//! on a radio is up to 30 ms behind its hops, on a LAN 1.2 ms.
//!
//! # Departures
//! - Unless it is told to circulate, an idle token does not go round. It rests at the leader until a member requests
//!   it, then goes round once.
//! - A token that circulates is requested once, so that the leader knows of the lock; again where it was lost, where
//!   the leader has changed, and where the last lap took so long that its lease is short. It circulates until the leader
//!   changes, so there are as many locks as tables have room for, and no more later. After [`SEQUENCE_MAX`] hops the
//!   leader issues another.
//! - A member that is not up is skipped. If the member it was passed to is gone, the sender reports that to the leader,
//!   which recalls the token from all members; the sender never passes its copy to another.
//! - A holder enters under a lease of the leader: only so can another token be issued when the holder is cut off.
//! - The order is that of the ring, not that of the requests.

use super::client::{LockRequest, Phase};
use super::token::{Epoch, Need, Token, TokenLock, TokenManager, TokenMessage, impl_mutex};
use super::{LOCKS_MAX, LockId, Notice, Refusal};
use crate::algorithm::{Context, Fact, Outbox};
use crate::base::config::lease_at_holder;
use crate::base::ids::{NodeId, NodeSet};
use crate::base::named;
use crate::base::options::{Configurable, OptionKeys, set_all};
use crate::base::time::Instant;
use crate::wire::impl_message;
use heapless::Vec;
use serde::{Deserialize, Serialize};

/// A message between members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the sentence of each message names its fields")]
pub enum Message {
    /// The token of a lock.
    Token { lock: LockId, token: Token },
    /// A message to or from the issuer.
    Issuer(TokenMessage),
    /// The token of a lock that circulates, on this lap from the issuer.
    Circulating { lock: LockId, token: Token, lap: u32 },
}

impl_message! {
    Reliable: Token = "token", Issuer(TokenMessage), Circulating = "token";
}

/// What a token does while no member wants it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Idle {
    /// It rests at the leader.
    #[default]
    Resting,
    /// It goes round for ever.
    Circulating,
}

named! { Idle: Resting = "resting", Circulating = "circulating" }

/// The number of hops and entries after which a token that circulates is replaced: its sequence number must not end.
pub const SEQUENCE_MAX: u32 = 1 << 31;

/// The last lap of a lock's token that passed this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Lap {
    lock: LockId,
    epoch: Epoch,
    number: u32,
    /// When this node passed it on.
    passed_at: Option<Instant>,
}

/// The token ring, at one member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TokenRing {
    manager: TokenManager,
    idle: Idle,
    /// The laps of tokens that circulate.
    laps: Vec<Lap, LOCKS_MAX>,
}

type Out = Outbox<Message, Notice>;

impl TokenRing {
    /// Makes a member of a group whose idle tokens rest or circulate; the same at all members.
    #[must_use]
    pub fn new(idle: Idle) -> Self {
        Self { idle, ..Self::default() }
    }

    /// Takes a token that circulates. If this node passed it on in an earlier lap, the issuer has leased it since: the
    /// lease counts from then, as if passing it on had been a request.
    fn on_circulating(&mut self, cx: &Context<'_>, lock: LockId, token: Token, lap: u32, out: &mut Out) {
        if self.manager.get_or_insert(cx, lock).is_none() {
            out.send(successor(cx), Message::Circulating { lock, token: token.next(), lap }); // no room to keep it
            return;
        }
        if !self.manager.accept(cx, lock, token, out) {
            return;
        }
        let passed =
            self.lap(lock, token.epoch).filter(|before| before.number < lap).and_then(|before| before.passed_at);
        if let (Some(at), Some(local)) = (passed, self.manager.get(lock)) {
            local.inherit_lease(at.after(lease_at_holder(cx.timing.lock_lease)));
        }
        self.set_lap(Lap { lock, epoch: token.epoch, number: lap, passed_at: None });
    }

    fn lap(&self, lock: LockId, epoch: Epoch) -> Option<Lap> {
        self.laps.iter().find(|lap| lap.lock == lock && lap.epoch == epoch).copied()
    }

    /// Replaces the lap of a lock. There is room: locks that the manager has forgotten are removed.
    fn set_lap(&mut self, lap: Lap) {
        let known = self.manager.locks();
        self.laps.retain(|other| other.lock != lap.lock && known.contains(&other.lock));
        let _ = self.laps.push(lap);
    }

    /// Passes on a token that circulates. At the issuer another lap begins, and with it another lease.
    fn circulate(&mut self, cx: &Context<'_>, lock: LockId, out: &mut Out) {
        let to = successor(cx);
        if to.is_empty() || self.manager.leader(cx).is_empty() {
            return; // nobody to pass it to, or nobody who would lease it
        }
        let Some(token) = self.manager.get(lock).map(|local| local.token) else { return };
        let before = self.lap(lock, token.epoch).map_or(0, |lap| lap.number);
        let issuer = self.manager.is_issuer();
        if issuer && token.sequence >= SEQUENCE_MAX {
            self.manager.reissue(cx, lock);
            return;
        }
        if issuer {
            self.manager.lease_to_all(cx, lock);
        }
        let number = before.saturating_add(u32::from(issuer));
        if let Some(local) = self.manager.get(lock) {
            let token = local.pass(to);
            out.send(to, Message::Circulating { lock, token, lap: number });
            self.set_lap(Lap { lock, epoch: token.epoch, number, passed_at: Some(cx.now) });
        }
    }

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
            Message::Circulating { lock, token, lap } => self.on_circulating(cx, lock, token, lap, out),
        }
    }

    fn on_fact(&mut self, cx: &Context<'_>, fact: Fact, _: &mut Out) {
        self.manager.on_fact(cx, fact);
    }

    fn admit(&mut self, cx: &Context<'_>, lock: LockId) -> bool {
        self.manager.get_or_insert(cx, lock).is_some()
    }

    fn repeat_request(&mut self, cx: &Context<'_>, lock: LockId, out: &mut Out) {
        match self.idle {
            Idle::Resting => {} // the update does
            // It did not come: the issuer finds out whether it is lost.
            Idle::Circulating => _ = self.manager.request(cx, lock, Need::Acquire, out),
        }
    }

    fn update(&mut self, cx: &Context<'_>, lock: LockId, out: &mut Out) {
        let request = self.manager.client.get(lock).copied();
        let Some(local) = self.manager.get(lock) else { return };
        let here = local.is_here();
        match request {
            Some(request @ LockRequest { phase: Phase::Waiting { .. }, .. }) => {
                if here {
                    self.manager.enter(cx, &request, out);
                } else if self.idle == Idle::Circulating && local.token.sequence > 0 {
                    local.wait_a_lease(cx); // it comes round again
                } else if local.announce(cx, request.number) && !self.manager.request(cx, lock, Need::Acquire, out) {
                    self.manager.client.refuse(lock, request.number, Refusal::Full, out);
                }
            }
            None if here => match self.idle {
                Idle::Resting => self.pass(cx, lock, out),
                Idle::Circulating => self.circulate(cx, lock, out),
            },
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

impl Configurable for TokenRing {
    const OPTIONS: OptionKeys = &[("token", Idle::NAMES)];

    fn from_options(words: &str) -> Option<Self> {
        let mut idle = Idle::default();
        set_all(words, |key, value| {
            idle = Idle::by_name(value).filter(|_| key == "token")?;
            Some(())
        })?;
        Some(Self::new(idle))
    }
}
