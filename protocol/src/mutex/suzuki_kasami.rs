//! The broadcast lock of Suzuki and Kasami: a request goes to every member at once, the token straight to the
//! requester.
//!
//! Each member numbers its requests and remembers the latest number it received from every other. The token carries the
//! number of each member's request that was served last. The member that has the token and does not need it looks for
//! one whose latest request is newer than the last one served, and passes the token to it. Where nobody wants it, the
//! token stays: its holder enters again without a message. On a shared radio a request is one frame and the token one.
//!
//! # Paper
//! I. Suzuki, T. Kasami: A Distributed Mutual Exclusion Algorithm, ACM TOCS 3(4), 1985. The search for the next
//! requester is that of the equivalent algorithm by G. Ricart, A. Agrawala, Communications of the ACM 26(2), 1983.
//!
//! # Assumes
//! A leader, best in [`Mode::Quorum`](crate::base::quorum::Mode::Quorum): it issues lost tokens again, see
//! [`super::token`].
//!
//! # Messages
//! [`Message::Request`] to all members, [`Message::Token`] to one; requests to the issuer and leases as in
//! [`super::token`].
//!
//! # Cost
//! An entry: n - 1 requests and one token, n messages; none where the token is. A request and a lease besides, if the
//! token was away from the leader for longer than a lease lasts.
//!
//! # Departures
//! - The token has no queue. The next requester is the first one after the holder in the order of the group, as Ricart
//!   and Agrawala have it: nobody is served twice while another waits, and the token of 16 members fits one frame.
//! - Numbers are bytes, compared modulo 256: a member has one request at a time. After a reboot of a member the others
//!   take its next request for unserved; at worst the token visits it once in vain.
//! - A token is valid in the epoch the leader issued it in, and takes its lease along, as in [`super::raymond`]. A new
//!   token starts from what the leader knows of served requests: at worst it visits members that want it no more.
//! - A member that waits long repeats its request, and sends it again to members that were away.

use super::client::{LockRequest, Phase};
use super::token::{Epoch, Need, Token, TokenLock, TokenManager, TokenMessage, impl_mutex};
use super::{LOCKS_MAX, LockId, Notice};
use crate::algorithm::{Context, Fact, Outbox};
use crate::base::config::lease_at_holder;
use crate::base::ids::{NodeId, NodeSet};
use crate::base::lamport::LamportTime;
use crate::base::time::{Duration, Instant};
use crate::wire::impl_message;
use heapless::Vec;
use serde::{Deserialize, Serialize};

/// Members of a group that may use this lock. A larger group is refused.
pub const MEMBERS_MAX: usize = 16;

/// A message between members.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the sentence of each message names its fields")]
pub enum Message {
    /// Requests the token, to all members. `number` counts the sender's requests in this boot, `id` is one that no boot
    /// repeats.
    Request { lock: LockId, number: u8, id: u16 },
    /// Passes the token, in reply to request `id`.
    Token { lock: LockId, token: Token, id: u16, lease: PassedLease, served: Vec<u8, MEMBERS_MAX> },
    /// A message to or from the issuer.
    Issuer(TokenMessage),
}

/// What is left of a token's lease, in whole milliseconds, rounded down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PassedLease {
    /// The time that the request had waited at the sender.
    pub waited: u16,
    /// The rest of the lease.
    pub left: u16,
}

impl_message! {
    Reliable: Request = "request", Token = "token", Issuer(TokenMessage);
}

/// An own request that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct OpenRequest {
    /// The application's request that it is for.
    request: LamportTime,
    id: u16,
    sent_at: Instant,
}

/// The latest request of a member that this node received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct PeerRequest {
    number: u8,
    id: u16,
    received_at: Instant,
}

/// The requests for one lock.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Requests {
    lock: LockId,
    /// The number of this node's latest request.
    number: u8,
    open: Option<OpenRequest>,
    /// The latest request of each member, by slot.
    latest: [Option<PeerRequest>; MEMBERS_MAX],
    /// The number of each member's request served last, as the token had it here.
    served: [u8; MEMBERS_MAX],
    /// Members that rebooted since: what the token says of them is about an earlier boot.
    rebooted: NodeSet,
    /// The epoch of the token that `served` is of.
    epoch: Option<Epoch>,
}

impl Requests {
    const fn new(lock: LockId) -> Self {
        let (latest, served) = ([None; MEMBERS_MAX], [0; MEMBERS_MAX]);
        Self { lock, number: 0, open: None, latest, served, rebooted: NodeSet::EMPTY, epoch: None }
    }

    /// Returns the request of the member in `slot`, if it is newer than the last one served.
    fn unserved(&self, slot: usize) -> Option<PeerRequest> {
        let served = *self.served.get(slot)?;
        let request = (*self.latest.get(slot)?)?;
        let newer = request.number.wrapping_sub(served);
        (newer > 0 && newer < 128).then_some(request)
    }

    /// Returns the first member after slot `me` in the order of the group, among `up`, with an unserved request.
    fn next(&self, me: usize, up: NodeSet) -> Option<(usize, PeerRequest)> {
        let after = up.slots().filter(|&slot| slot > me);
        let before = up.slots().filter(|&slot| slot < me);
        after.chain(before).find_map(|slot| Some((slot, self.unserved(slot)?)))
    }

    /// Records that the latest request of this node, in slot `me`, was served or is not wanted any more.
    fn served_own(&mut self, me: usize) {
        self.open = None;
        if let Some(served) = self.served.get_mut(me) {
            *served = self.number;
        }
    }

    /// Takes the latest request of the member in `slot` for unserved.
    fn reopen(&mut self, slot: usize) {
        if let (Some(served), Some(Some(request))) = (self.served.get_mut(slot), self.latest.get(slot)) {
            *served = request.number.wrapping_sub(1);
            self.rebooted = self.rebooted.without(NodeSet::slot(slot));
        }
    }

    /// Takes over what the token says was served, but for members that rebooted since.
    fn on_token(&mut self, epoch: Epoch, served: &[u8]) {
        for (own, &carried) in self.served.iter_mut().zip(served) {
            *own = carried;
        }
        self.epoch = Some(epoch);
        self.rebooted.slots().for_each(|slot| self.reopen(slot));
    }

    /// Starts a token that was issued here: how many requests an earlier one has served is not known.
    fn on_issue(&mut self, epoch: Epoch) {
        if self.epoch != Some(epoch) {
            self.epoch = Some(epoch);
            (0..MEMBERS_MAX).for_each(|slot| self.reopen(slot));
        }
    }

    fn on_reset(&mut self, set: NodeSet) {
        self.rebooted = self.rebooted.with(set);
        for slot in set.slots() {
            if let Some(latest) = self.latest.get_mut(slot) {
                *latest = None;
            }
        }
    }
}

/// The broadcast lock, at one member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SuzukiKasami {
    manager: TokenManager,
    requests: Vec<Requests, LOCKS_MAX>,
}

type Out = Outbox<Message, Notice>;

impl SuzukiKasami {
    fn get(&mut self, lock: LockId) -> Option<&mut Requests> {
        self.requests.iter_mut().find(|requests| requests.lock == lock)
    }

    /// Returns the requests for `lock`, inserted if there is room.
    fn get_or_insert(&mut self, cx: &Context<'_>, lock: LockId) -> Option<&mut Requests> {
        self.manager.get_or_insert(cx, lock)?;
        if self.get(lock).is_none() {
            let known = self.manager.locks();
            self.requests.retain(|requests| known.contains(&requests.lock));
            self.requests.push(Requests::new(lock)).ok()?;
        }
        self.get(lock)
    }

    fn on_request(&mut self, cx: &Context<'_>, from: NodeId, lock: LockId, (number, id): (u8, u16)) {
        let Some(slot) = cx.roster.slot_of(from) else { return };
        let Some(requests) = self.get_or_insert(cx, lock) else { return }; // the sender repeats it, or asks the issuer
        if let Some(latest) = requests.latest.get_mut(slot) {
            *latest = Some(PeerRequest { number, id, received_at: cx.now });
        }
        if self.manager.is_here(lock)
            && let Some(requests) = self.get(lock).filter(|requests| requests.rebooted.meets(NodeSet::slot(slot)))
        {
            requests.reopen(slot);
        }
        self.manager.ensure_issued(cx, lock);
    }

    fn on_token(
        &mut self,
        cx: &Context<'_>,
        (lock, token): (LockId, Token),
        reply: (u16, PassedLease),
        served: &[u8],
        out: &mut Out,
    ) {
        if self.get_or_insert(cx, lock).is_none() || !self.manager.accept(cx, lock, token, out) {
            return;
        }
        let (id, PassedLease { waited, left }) = reply;
        let Some(requests) = self.get(lock) else { return };
        requests.on_token(token.epoch, served);
        let open = requests.open.filter(|open| open.id == id);
        if let (Some(open), Some(local)) = (open, self.manager.get(lock)) {
            let millis = |millis: u16| lease_at_holder(Duration::from_millis(millis.into()));
            local.inherit_lease(open.sent_at.after(millis(waited)).after(millis(left)));
        }
    }

    /// Sends the request to all members, unless it was sent.
    fn request_token(&mut self, cx: &Context<'_>, request: &LockRequest, out: &mut Out) {
        let lock = request.lock;
        let Some(requests) = self.get(lock) else { return };
        if requests.open.is_none_or(|open| open.request != request.number) {
            requests.number = requests.number.wrapping_add(1);
            let id = u16::try_from(cx.lamport.0 & u64::from(u16::MAX)).unwrap_or(0);
            requests.open = Some(OpenRequest { request: request.number, id, sent_at: cx.now });
            let number = requests.number;
            out.send(cx.up, Message::Request { lock, number, id });
            self.manager.ensure_issued(cx, lock);
        }
        let others =
            cx.up.slots().filter(|&slot| self.get(lock).is_some_and(|known| known.unserved(slot).is_some())).count();
        if let Some(local) = self.manager.get(lock) {
            local.wait(cx);
        }
        if others > 0 && !request.is_trying() {
            self.manager.client.notify_waiting(lock, request.number, u8::try_from(others).unwrap_or(u8::MAX), out);
        }
    }

    /// Passes the token on to the next member with an unserved request, if there is one.
    fn pass(&mut self, cx: &Context<'_>, lock: LockId, me: usize, out: &mut Out) {
        let Some((slot, request)) = self.get(lock).and_then(|requests| requests.next(me, cx.up)) else { return };
        if self.manager.is_issuer() {
            self.manager.request(cx, lock, Need::Enter, out); // it goes with a fresh lease
        }
        let Some(local) = self.manager.get(lock) else { return };
        let (to, left) = (NodeSet::slot(slot), local.lease_left(cx.now));
        let token = local.pass(to);
        let Some(requests) = self.get(lock) else { return };
        let members = cx.roster.all().slots().last().map_or(0, |last| last.saturating_add(1));
        let served = requests.served.iter().copied().take(members).collect();
        let millis = |duration: Duration| u16::try_from(duration.as_micros() / 1000).unwrap_or(u16::MAX);
        let lease = PassedLease { waited: millis(cx.now.since(request.received_at)), left: millis(left) };
        out.send(to, Message::Token { lock, token, id: request.id, lease, served });
    }
}

impl TokenLock for SuzukiKasami {
    type Message = Message;

    fn manager(&mut self) -> &mut TokenManager {
        &mut self.manager
    }

    fn on_message(&mut self, cx: &Context<'_>, from: NodeId, message: Message, out: &mut Out) {
        match message {
            Message::Request { lock, number, id } => self.on_request(cx, from, lock, (number, id)),
            Message::Token { lock, token, id, lease, served } => {
                self.on_token(cx, (lock, token), (id, lease), &served, out);
            }
            Message::Issuer(message) => self.manager.on_message(cx, from, message, out),
        }
    }

    fn on_fact(&mut self, cx: &Context<'_>, fact: Fact, out: &mut Out) {
        self.manager.on_fact(cx, fact);
        match fact {
            Fact::PeerReset(set) => self.requests.iter_mut().for_each(|requests| requests.on_reset(set)),
            Fact::PeerUp(set) => {
                let mut due_at = cx.now;
                for &Requests { lock, number, open, .. } in &self.requests {
                    let Some(OpenRequest { id, .. }) = open else { continue };
                    if due_at == cx.now {
                        out.send(set, Message::Request { lock, number, id });
                    } else if let Some(local) = self.manager.get(lock) {
                        // One a step: all at once, with what each lock's update sends, are more than a step may have.
                        local.repeat_at(due_at);
                    }
                    due_at = due_at.after(cx.timing.retry);
                }
            }
            Fact::PeerDown(_) | Fact::View | Fact::Parent(_) | Fact::Leader { .. } | Fact::NoLeader => {}
        }
    }

    fn admit(&mut self, cx: &Context<'_>, lock: LockId) -> bool {
        self.get_or_insert(cx, lock).is_some()
    }

    fn repeat_request(&mut self, cx: &Context<'_>, lock: LockId, out: &mut Out) {
        self.manager.request(cx, lock, Need::Acquire, out);
        if let Some(requests) = self.get(lock) {
            requests.open = None; // the update sends it
        }
    }

    fn update(&mut self, cx: &Context<'_>, lock: LockId, out: &mut Out) {
        if let Some(requesters) = self.manager.requesters(lock) {
            *requesters = NodeSet::EMPTY; // their requests are here
        }
        let me = cx.roster.slot_of(cx.me).unwrap_or(0);
        let here = self.manager.is_here(lock);
        let epoch = self.manager.get(lock).map(|local| local.token.epoch).filter(|_| here);
        if let (Some(epoch), Some(requests)) = (epoch, self.get(lock)) {
            requests.on_issue(epoch);
        }
        match self.manager.client.get(lock).copied() {
            Some(request @ LockRequest { phase: Phase::Waiting { .. }, .. }) if here => {
                let granted = self.manager.enter(cx, &request, out);
                if let Some(requests) = self.get(lock).filter(|_| granted.is_some()) {
                    requests.served_own(me);
                }
            }
            Some(request @ LockRequest { phase: Phase::Waiting { .. }, .. }) => self.request_token(cx, &request, out),
            Some(LockRequest { phase: Phase::Held { .. }, .. }) => {}
            None => {
                if let Some(requests) = self.get(lock) {
                    requests.served_own(me);
                }
                if here {
                    self.pass(cx, lock, me, out);
                }
            }
        }
        let busy = self.get(lock).is_some_and(|requests| requests.open.is_some());
        if let Some(local) = self.manager.get(lock) {
            local.has_waiters = busy;
        }
    }
}

impl_mutex! {
    SuzukiKasami,
    fn supports(&self, group: NodeSet) -> bool {
        group.without(NodeSet::first(MEMBERS_MAX)).is_empty()
    }

    fn hops_max(&self) -> u8 {
        1
    }
}

impl crate::base::options::Configurable for SuzukiKasami {}
