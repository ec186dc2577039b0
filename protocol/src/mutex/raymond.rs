//! The tree lock of Raymond: requests go up a tree towards the token, and the token comes down the same way.
//!
//! Every member knows one thing: which of its neighbours in the tree is on the way to the token. A member that wants to
//! enter asks that neighbour, which asks its own in turn, once for all requests in its queue. A member that has the
//! token and does not hold the lock passes it to the first in its queue, and from then on the token is in that
//! direction.
//!
//! The tree is the one that the leader's heartbeats build, with any election: a member's parent is the neighbour from
//! which they arrive first. So in a multi-hop network every message is for a neighbour, and where all are neighbours
//! the tree is a star.
//!
//! # Paper
//! K. Raymond: A Tree-Based Algorithm for Distributed Mutual Exclusion, ACM TOCS 7(1), 1989.
//!
//! # Assumes
//! A leader, best in [`Mode::Quorum`](crate::base::quorum::Mode::Quorum): it issues lost tokens again, see
//! [`super::token`].
//!
//! # Messages
//! [`Message::Request`] towards the token, [`Message::Privilege`] back; [`Message::Void`] and [`Message::Full`] to
//! requests that cannot be met; requests to the issuer and leases as in [`super::token`].
//!
//! # Cost
//! An entry: 2 d messages, where d is the distance to the token in the tree, none to leave; on average O(log n). Where
//! many wait, about 4. A request and a lease besides, if the token was away from the leader for longer than a lease
//! lasts.
//!
//! # Departures
//! - A token is valid in the epoch the leader issued it in. A new one starts at the leader, with the tree of that
//!   moment: that repairs the tree when a member is gone, and the paper's recovery by asking all neighbours is not
//!   needed.
//! - Parents change at different moments, so they may point in a circle, and a member that suspected another has
//!   removed its request. So a member that waits long repeats its request: to the leader, if the token has never been
//!   here.
//! - A recall makes every member start over, without the requests of its neighbours. A member that knew of the new epoch
//!   before it was recalled itself keeps them, as they may be requests for the new token, and repeats its own.
//! - A request for the return of a token travels in the message that passes it.
//! - A token takes its lease along: how long the request had waited tells the receiver what is left of it.

use super::client::LockRequest;
use super::token::{Epoch, Need, Token, TokenLock, TokenManager, TokenMessage, impl_mutex};
use super::{LOCKS_MAX, LockId, Notice, Refusal};
use crate::algorithm::{Context, Fact, Outbox};
use crate::base::config::lease_at_holder;
use crate::base::ids::{NodeId, NodeSet};
use crate::base::time::{Duration, Instant};
use crate::wire::impl_message;
use branch::{Branch, OpenRequest, QUEUE_MAX, Waiter};
use heapless::Vec;
use serde::{Deserialize, Serialize};

mod branch;

/// A message between members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the sentence of each message names its fields")]
pub enum Message {
    /// Requests the token. `epoch` is that of the token the sender knows of.
    Request { lock: LockId, number: u32, epoch: Epoch },
    /// Passes the token.
    Privilege(Privilege),
    /// Refuses a request for a void token: the one to request is of `epoch`.
    Void { lock: LockId, epoch: Epoch },
    /// Refuses a request: no room for another lock, or in its queue.
    Full { lock: LockId },
    /// A message to or from the issuer.
    Issuer(TokenMessage),
}

/// The token of a lock on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Privilege {
    /// The lock.
    pub lock: LockId,
    /// Its token.
    pub token: Token,
    /// The number of the request that is answered.
    pub number: u32,
    /// The time the request waited.
    pub waited: Duration,
    /// The rest of the token's lease.
    pub lease_left: Duration,
    /// The number of a request to pass the token back.
    pub return_request: Option<u32>,
}

impl_message! {
    Reliable: Request = "request", Privilege = "privilege", Void = "void", Full = "full", Issuer(TokenMessage);
}

/// The tree lock, at one member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Raymond {
    manager: TokenManager,
    /// The neighbour from which the leader's heartbeats arrive.
    parent: Option<NodeId>,
    branches: Vec<Branch, LOCKS_MAX>,
}

type Out = Outbox<Message, Notice>;

impl Raymond {
    fn branch(&mut self, lock: LockId) -> Option<&mut Branch> {
        self.branches.iter_mut().find(|branch| branch.lock == lock)
    }

    /// Returns the neighbour on the way to a token of `lock` that has just been issued: the parent, or the issuer where no
    /// parent may be asked; empty at the issuer.
    fn toward(&mut self, cx: &Context<'_>, lock: LockId) -> NodeSet {
        let parent = self.parent.map_or(NodeSet::EMPTY, |parent| cx.roster.set_of(parent)).and(cx.up);
        let is_issuer = self.manager.is_issuer();
        let Some(local) = self.manager.get(lock).filter(|_| !is_issuer) else { return NodeSet::EMPTY };
        let parent = parent.and(local.via);
        if parent.is_empty() { local.issuer.without(cx.roster.set_of(cx.me)) } else { parent }
    }

    /// Returns the branch of `lock`, updated to the epoch of its token, or inserted if there is room.
    fn update_branch(&mut self, cx: &Context<'_>, lock: LockId) -> Option<&mut Branch> {
        let local = self.manager.get_or_insert(cx, lock)?;
        let (epoch, follows_recall) = (local.token.epoch, local.follows_recall());
        let me = cx.roster.set_of(cx.me);
        let toward = self.toward(cx, lock);
        if self.branch(lock).is_none() {
            let known = self.manager.locks();
            self.branches.retain(|branch| known.contains(&branch.lock));
            self.branches.push(Branch::new(lock, epoch, toward)).ok()?;
        }
        let branch = self.branch(lock)?;
        let first = branch.epoch == Epoch::before(epoch.term) && !follows_recall;
        if branch.epoch != epoch && !first {
            branch.reset(epoch, toward, me);
        }
        branch.epoch = epoch;
        if branch.toward.is_empty() {
            branch.toward = toward;
        }
        Some(branch)
    }

    fn on_request(&mut self, cx: &Context<'_>, from: NodeSet, request: (LockId, u32, Epoch), out: &mut Out) {
        let (lock, number, known) = request;
        let Some(local) = self.manager.get_or_insert(cx, lock) else {
            out.send(from, Message::Full { lock });
            return;
        };
        let epoch = local.token.epoch;
        if known < epoch && known != Epoch::before(epoch.term) {
            out.send(from, Message::Void { lock, epoch });
            return;
        }
        local.raise_epoch(known, cx.now);
        let waiter = Waiter { node: from, number, since: cx.now };
        if !self.update_branch(cx, lock).is_some_and(|branch| branch.enqueue(waiter)) {
            out.send(from, Message::Full { lock });
        }
        self.retry_request(cx, lock); // it may be repeated because this member's own was lost
    }

    /// Repeats an old request: it may be lost, and parents may point in a circle. A member that has had the token knows
    /// the way to it; any other asks the leader, where it started.
    fn retry_request(&mut self, cx: &Context<'_>, lock: LockId) {
        let me = cx.roster.set_of(cx.me);
        let Some((issuer, unseen)) = self.manager.get(lock).map(|local| (local.issuer.without(me), local.is_unseen()))
        else {
            return;
        };
        let Some(branch) = self.branch(lock) else { return };
        let old = |request: &mut OpenRequest| request.sent_at.after(cx.timing.lock_lease.mul_ratio(1, 2)) <= cx.now;
        if branch.open_request.take_if(old).is_some() && unseen && !issuer.is_empty() {
            branch.toward = issuer;
        }
    }

    /// Returns the lock of a recall whose epoch this member knows already, from a neighbour that was recalled earlier or
    /// from a lease, while the token of that epoch has not been here.
    fn is_late_recall(&mut self, message: TokenMessage) -> Option<LockId> {
        let TokenMessage::Recall { lock, epoch, .. } = message else { return None };
        let local = self.manager.get(lock)?;
        (local.token.epoch == epoch && !local.follows_recall() && local.is_unseen()).then_some(lock)
    }

    /// Requests the token again, on the way that a late recall names: the member that was asked has started over with
    /// the same recall, without the request. Neighbours that wait here have started over before, or will.
    fn ask_again(&mut self, cx: &Context<'_>, lock: LockId) {
        let toward = self.toward(cx, lock);
        if let Some(branch) = self.branch(lock) {
            (branch.toward, branch.open_request) = (toward, None);
        }
    }

    fn on_privilege(&mut self, cx: &Context<'_>, from: NodeSet, privilege: Privilege, out: &mut Out) {
        let Privilege { lock, token, number, waited, lease_left, return_request } = privilege;
        if self.manager.get_or_insert(cx, lock).is_none() || !self.manager.accept(cx, lock, token, out) {
            return;
        }
        let Some(branch) = self.update_branch(cx, lock) else { return };
        let request = branch.open_request.take().filter(|request| request.number == number && request.to == from);
        branch.toward = NodeSet::EMPTY;
        if let Some(number) = return_request {
            branch.enqueue(Waiter { node: from, number, since: cx.now });
        }
        if let (Some(request), Some(local)) = (request, self.manager.get(lock)) {
            local.inherit_lease(request.sent_at.after(lease_at_holder(waited)).after(lease_at_holder(lease_left)));
        }
    }

    /// Takes the refusal of a request: refuses all that wait here.
    fn on_full(&mut self, cx: &Context<'_>, from: NodeSet, lock: LockId, out: &mut Out) {
        let me = cx.roster.set_of(cx.me);
        let Some(branch) = self.branch(lock) else { return };
        if branch.open_request.take_if(|request| request.to == from).is_none() {
            return;
        }
        let waiters = branch.waiters();
        branch.remove(waiters);
        out.send(waiters.without(me), Message::Full { lock });
        if let Some(&LockRequest { number, .. }) = self.manager.client.get(lock) {
            self.manager.client.refuse(lock, number, Refusal::Full, out);
        }
    }

    /// Gives a token that is here to the head of the queue. Returns whether the next may be served.
    fn serve_head(&mut self, cx: &Context<'_>, lock: LockId, me: NodeSet, out: &mut Out) -> bool {
        let holds = self.manager.client.get(lock).is_some_and(|request| !request.is_waiting());
        let here = self.manager.is_here(lock);
        let Some(&head) = self.branch(lock).and_then(|branch| branch.head()).filter(|_| here && !holds) else {
            return false;
        };
        let own = self.manager.client.get(lock).copied().filter(|_| head.node == me);
        if let Some(request) = own {
            let granted = self.manager.enter(cx, &request, out);
            if let Some(branch) = self.branch(lock).filter(|_| granted.is_some()) {
                branch.dequeue();
            }
            return granted == Some(true);
        }
        if head.node == me || !cx.up.meets(head.node) {
            if let Some(branch) = self.branch(lock) {
                branch.dequeue(); // it was cancelled, or will be repeated
            }
            return true;
        }
        self.pass(cx, lock, head, out);
        false
    }

    /// Passes the token on to the head of the queue, and requests it back for the others.
    fn pass(&mut self, cx: &Context<'_>, lock: LockId, head: Waiter, out: &mut Out) {
        if self.manager.is_issuer() {
            self.manager.request(cx, lock, Need::Enter, out); // it goes with a fresh lease
        }
        let Some(local) = self.manager.get(lock) else { return };
        let lease_left = local.lease_left(cx.now);
        let token = local.pass(head.node);
        let Some(branch) = self.branch(lock) else { return };
        branch.dequeue();
        branch.toward = head.node;
        let return_request = (!branch.is_idle()).then(|| request_number(cx));
        branch.open_request = return_request.map(|number| OpenRequest { to: head.node, number, sent_at: cx.now });
        let (number, waited) = (head.number, cx.now.since(head.since));
        let privilege = Privilege { lock, token, number, waited, lease_left, return_request };
        out.send(head.node, Message::Privilege(privilege));
    }

    /// Requests the token for those that wait here, unless a request is open.
    fn request_token(&mut self, cx: &Context<'_>, lock: LockId, out: &mut Out) {
        let Some((here, epoch)) = self.manager.get(lock).map(|local| (local.is_here(), local.token.epoch)) else {
            return;
        };
        let Some(branch) = self.branch(lock) else { return };
        if here || branch.is_idle() || branch.open_request.is_some() {
            return;
        }
        let (to, number) = (branch.toward, request_number(cx));
        if to.is_empty() {
            self.manager.ensure_issued(cx, lock);
        } else if cx.up.meets(to) {
            branch.open_request = Some(OpenRequest { to, number, sent_at: cx.now });
            out.send(to, Message::Request { lock, number, epoch });
        }
    }
}

impl TokenLock for Raymond {
    type Message = Message;

    fn manager(&mut self) -> &mut TokenManager {
        &mut self.manager
    }

    fn on_message(&mut self, cx: &Context<'_>, from: NodeId, message: Message, out: &mut Out) {
        let sender = cx.roster.set_of(from);
        match message {
            Message::Request { lock, number, epoch } => self.on_request(cx, sender, (lock, number, epoch), out),
            Message::Privilege(privilege) => self.on_privilege(cx, sender, privilege, out),
            Message::Void { lock, epoch } => {
                if let Some(local) = self.manager.get(lock) {
                    local.raise_epoch(epoch, cx.now);
                }
            }
            Message::Full { lock } => self.on_full(cx, sender, lock, out),
            Message::Issuer(message) => {
                let late = self.is_late_recall(message);
                self.manager.on_message(cx, from, message, out);
                if let Some(lock) = late {
                    self.ask_again(cx, lock);
                }
            }
        }
    }

    fn on_fact(&mut self, cx: &Context<'_>, fact: Fact, _: &mut Out) {
        self.manager.on_fact(cx, fact);
        match fact {
            Fact::Parent(parent) => self.parent = Some(parent),
            Fact::PeerDown(set) | Fact::PeerReset(set) => {
                for branch in &mut self.branches {
                    branch.remove(set); // they repeat their requests
                    if branch.open_request.take_if(|request| request.to.meets(set)).is_some()
                        && let Some(local) = self.manager.get(branch.lock)
                    {
                        local.report_route_lost(cx);
                    }
                }
            }
            Fact::PeerUp(_) | Fact::View | Fact::Leader { .. } | Fact::NoLeader => {} // the manager's
        }
    }

    fn admit(&mut self, cx: &Context<'_>, lock: LockId) -> bool {
        self.update_branch(cx, lock).is_some()
    }

    fn repeat_request(&mut self, cx: &Context<'_>, lock: LockId, out: &mut Out) {
        self.manager.request(cx, lock, Need::Acquire, out);
        self.retry_request(cx, lock);
    }

    fn update(&mut self, cx: &Context<'_>, lock: LockId, out: &mut Out) {
        let me = cx.roster.set_of(cx.me);
        if self.update_branch(cx, lock).is_none() {
            return;
        }
        if let Some(requesters) = self.manager.requesters(lock) {
            *requesters = NodeSet::EMPTY; // they are in the queues
        }
        let waits = self.manager.client.get(lock).is_some_and(LockRequest::is_waiting);
        if let Some(branch) = self.branch(lock).filter(|branch| waits && !branch.waiters().meets(me)) {
            branch.enqueue(Waiter { node: me, number: 0, since: cx.now });
        }
        let mut steps = 0..=QUEUE_MAX;
        while steps.next().is_some() && self.serve_head(cx, lock, me, out) {}
        self.request_token(cx, lock, out);
        let ahead = self.branch(lock).map_or(0, |branch| branch.ahead(me));
        let idle = self.branch(lock).is_none_or(|branch| branch.is_idle());
        let waiting = self.manager.client.get(lock).copied().filter(LockRequest::is_waiting);
        let Some(local) = self.manager.get(lock) else { return };
        local.has_waiters = !idle;
        if let Some(request) = waiting {
            local.wait(cx);
            if !request.is_trying() && ahead > 0 {
                let ahead = u8::try_from(ahead).unwrap_or(u8::MAX);
                self.manager.client.notify_waiting(lock, request.number, ahead, out);
            }
        }
    }
}

/// Returns a number that no other recent request has.
fn request_number(cx: &Context<'_>) -> u32 {
    u32::try_from(cx.lamport.0 & u64::from(u32::MAX)).unwrap_or(0)
}

impl_mutex!(Raymond);

impl crate::base::options::Configurable for Raymond {}
