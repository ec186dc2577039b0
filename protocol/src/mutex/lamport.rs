//! Lamport's lock: every member keeps the same queue of requests, and the member at its head enters.
//!
//! A request goes to all members; each queues it and acknowledges it. Requests are ordered by Lamport time, and by node
//! where that is equal. A member enters when its request is at the head of its own queue and every other member has
//! sent it a message with a later Lamport time: then no earlier request can still be on its way. On exit all members
//! remove the request.
//!
//! # Paper
//! L. Lamport: Time, Clocks, and the Ordering of Events in a Distributed System, CACM 21(7), 1978.
//!
//! # Assumes
//! Messages that arrive in order or not at all (the link's), clocks as in [`crate::lease`], and Lamport times that no
//! reboot sets back. The rules that make a crash harmless are in [`super::permission`]. In
//! [`Mode::Available`](crate::base::quorum::Mode::Available) no member is ever removed from the view: the lock is as
//! safe, and blocks while a member is down.
//!
//! # Messages
//! [`PermissionMessage::Request`] to all others of the view, [`Message::RequestAck`] back at once, [`Message::Release`]
//! to all at the end. Beyond the paper: [`PermissionMessage::Repeat`] after a long wait, to members that have not
//! replied or come first; [`PermissionMessage::Outdated`] and [`PermissionMessage::Full`]. [`PermissionMessage::Try`]
//! is a request that will not wait.
//!
//! # Cost
//! 3(n-1) messages for an entry and its exit, contended or not, while no request waits for longer than
//! [`crate::Timing::lease`] or three quarters of its lease. A request that waits for longer is sent again when it is at
//! the head, to (n-1)/2 + 2 members: 2 more for each, and 2 for each request ahead, as often as the former time passes.
//! Before entry one round trip; between two holders one message. No acknowledgement is deferred, so every member knows how many come
//! first.
//!
//! After the crash of a holder the next is granted the lock as soon as both the lease has ended, 3 % later than
//! granted, and the view has changed (detection, and a heartbeat); then one round trip. The crash of any other member
//! costs the change of the view only, and a reboot [`crate::Timing::lock_lease`], 3 % longer, in which the member gives
//! no permission.
//!
//! # Departures
//! - [`EntryRule::LaterMessage`] is the paper's rule, to the letter: any message of a later time will do, of whatever
//!   round and lock. It needs the paper's network, in which no message is lost and no member leaves: a message that is
//!   abandoned, to a member wrongly suspected, may let two in. It is there to be compared; the rest is about the default.
//! - Lecture notes wait for an acknowledgement of every member; the paper for any later message. Here it is an
//!   acknowledgement of this round, sent later than the request. Another message orders requests as well, but promises
//!   nothing: its sender may never receive the request, and would not wait for a holder that leaves the view.
//! - An acknowledgement carries its sender's own request. The paper reads that from the order of messages, but messages
//!   to a suspected member are abandoned.
//! - Every acknowledgement is a lease.

use super::client::LockRequest;
use super::permission::{
    PermissionMessage, PermissionRound, Permissions, QueuePosition, RepliedRounds, impl_mutex, own_priority,
};
use super::{LOCKS_MAX, LockId, Notice, Refusal};
use crate::algorithm::{Context, Input, Outbox};
use crate::base::ids::{NodeId, NodeSet};
use crate::base::lamport::LamportTime;
use crate::base::named;
use crate::base::options::{Configurable, OptionKeys, set_all};
use crate::base::time::Instant;
use crate::wire::impl_message;
use heapless::Vec;
use serde::{Deserialize, Serialize};

/// Some locks of one member.
pub type Locks = Vec<LockId, LOCKS_MAX>;

/// A message between members.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the sentence of each message names its fields")]
pub enum Message {
    /// A request, or a reply that all permission-based locks share.
    Permission(PermissionMessage),
    /// Acknowledges the requests of `rounds`: they are queued. `own` is the number of the sender's own request, if any:
    /// the message that carried it may be lost.
    RequestAck { lock: LockId, own: Option<LamportTime>, rounds: RepliedRounds },
    /// Removes the sender's requests for `locks` from the queue.
    Release { locks: Locks },
}

impl_message! {
    ReliableLatest: RequestAck = "request-ack", Release = "release", Permission(PermissionMessage); // a waiting member asks again
    {
        fn topic(&self) -> u32 {
            match self {
                Self::Permission(message) => message.lock().number(),
                Self::RequestAck { lock, .. } => lock.number(),
                // All that ended at once; one alone is its own topic.
                Self::Release { locks } => locks.iter().fold(0, |topic, lock| topic ^ lock.number()),
            }
        }
    }
}

/// What a member waits for before it enters, from every other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum EntryRule {
    /// An acknowledgement of this round.
    #[default]
    Acknowledged,
    /// Any message of a later time, as in the paper.
    LaterMessage,
}

named! { EntryRule: Acknowledged = "acknowledged", LaterMessage = "later-message" }

/// Lamport's lock, at one member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Lamport {
    permissions: Permissions,
    entry: EntryRule,
}

type Out = Outbox<Message, Notice>;

impl Lamport {
    /// Makes a member of a group with this rule of entry; the same at all members.
    #[must_use]
    pub fn new(entry: EntryRule) -> Self {
        Self { entry, ..Self::default() }
    }

    /// Returns the queue for `lock` at this member, head first.
    pub fn queue<'a>(&'a self, cx: &'a Context<'_>, lock: LockId) -> impl Iterator<Item = (LamportTime, NodeId)> + 'a {
        let own = self.permissions.client.get(lock).map(|request| own_priority(cx, request));
        let next = move |last: Option<(LamportTime, NodeId)>| {
            let all = self.permissions.peer_requests(cx, lock).map(|peer| peer.priority(cx)).chain(own);
            all.filter_map(|(number, id)| Some((number, id?))).filter(|&priority| Some(priority) > last).min()
        };
        core::iter::successors(next(None), move |&last| next(Some(last)))
    }

    /// Has all other members remove a request.
    fn withdraw(&mut self, cx: &Context<'_>, request: &LockRequest, out: &mut Out) {
        self.permissions.close_round(cx, request.lock);
        let mut locks = Locks::new();
        let _ = locks.push(request.lock); // there is room for one
        out.send(cx.view.and(cx.up), Message::Release { locks });
    }

    /// Has all other members remove the requests whose hold is over.
    fn expire(&mut self, cx: &Context<'_>, out: &mut Out) {
        let mut locks = Locks::new();
        while let Some(lost) = self.permissions.expire(cx, out) {
            let _ = locks.push(lost.lock); // there is room for all
        }
        if !locks.is_empty() {
            out.send(cx.view.and(cx.up), Message::Release { locks });
        }
    }

    fn on_message(&mut self, cx: &Context<'_>, sender: (NodeId, LamportTime), message: Message, out: &mut Out) {
        let (from, _) = sender;
        match message {
            Message::Permission(
                PermissionMessage::Request(request)
                | PermissionMessage::Try(request)
                | PermissionMessage::Repeat(request),
            ) => {
                self.permissions.on_request(cx, from, request, out);
            }
            Message::Permission(PermissionMessage::Outdated { lock, round }) => {
                self.permissions.on_outdated(cx, lock, round);
            }
            Message::Permission(PermissionMessage::Full { lock, round }) => {
                if let Some(request) = self.permissions.waiting_request(lock, round) {
                    self.permissions.client.refuse(lock, request.number, Refusal::Full, out);
                    self.withdraw(cx, &request, out);
                }
            }
            Message::RequestAck { lock, own, rounds } => self.on_ack(cx, sender, lock, own, &rounds),
            Message::Release { locks } => {
                for &lock in &locks {
                    self.permissions.remove_peer_requests(lock, cx.roster.set_of(from));
                }
            }
        }
        match self.entry {
            EntryRule::Acknowledged => {} // counted above
            EntryRule::LaterMessage => self.permissions.count_later_message(cx, sender),
        }
    }

    fn on_ack(
        &mut self,
        cx: &Context<'_>,
        (from, sent_at): (NodeId, LamportTime),
        lock: LockId,
        own: Option<LamportTime>,
        rounds: &RepliedRounds,
    ) {
        let recorded = self.permissions.record_peer_request(cx, from, lock, own);
        let later = self.permissions.round(lock).is_some_and(|round| sent_at > round.request);
        if recorded && later {
            self.permissions.count_reply(cx, from, lock, rounds);
        }
    }

    fn position(permissions: &Permissions, cx: &Context<'_>, request: &LockRequest) -> QueuePosition {
        let own = own_priority(cx, request);
        let ahead = permissions.peer_requests(cx, request.lock).filter(|peer| peer.priority(cx) < own).count();
        if ahead == 0 { QueuePosition::First } else { QueuePosition::Behind(u8::try_from(ahead).unwrap_or(u8::MAX)) }
    }

    /// Returns the members whose requests come before this node's.
    fn ahead(permissions: &Permissions, cx: &Context<'_>, round: &PermissionRound) -> NodeSet {
        let own = (round.request, Some(cx.me));
        let ahead = permissions.peer_requests(cx, round.lock).filter(|peer| peer.priority(cx) < own);
        ahead.fold(NodeSet::EMPTY, |set, peer| set.with(peer.requester()))
    }

    fn run_due(&mut self, cx: &Context<'_>, out: &mut Out) {
        if let Some(refused) = self.permissions.enter(cx, out, |all, request| Self::position(all, cx, request)) {
            self.withdraw(cx, &refused, out);
        }
        self.acknowledge(cx, out);
        let timeout = cx.timing.lease();
        if let Some(refused) = self.permissions.poll_send(cx, timeout, out, |all, round| Self::ahead(all, cx, round)) {
            self.withdraw(cx, &refused, out);
        }
    }

    fn acknowledge(&mut self, cx: &Context<'_>, out: &mut Out) {
        self.permissions.grant_all(
            cx,
            out,
            |_, _| true,
            |client, lock, rounds| {
                let own = client.get(lock).map(|request| request.number);
                Message::RequestAck { lock, own, rounds }
            },
        );
    }
}

impl_mutex!(Lamport);

impl Configurable for Lamport {
    const OPTIONS: OptionKeys = &[("entry", EntryRule::NAMES)];

    fn from_options(words: &str) -> Option<Self> {
        let mut entry = EntryRule::default();
        set_all(words, |key, value| {
            entry = EntryRule::by_name(value).filter(|_| key == "entry")?;
            Some(())
        })?;
        Some(Self::new(entry))
    }
}
