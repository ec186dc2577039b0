//! The lock of Ricart and Agrawala: a requester asks every member, and enters when all have replied.
//!
//! A member replies at once, unless it holds the lock or its own request came before: then it defers the reply until it
//! has left. "Before" is by Lamport time, and by node where that is equal, so that of any two requesters exactly one
//! waits for the other.
//!
//! # Paper
//! G. Ricart, A. Agrawala: An Optimal Algorithm for Mutual Exclusion in Computer Networks, CACM 24(1), 1981.
//!
//! # Assumes
//! Messages that arrive in order or not at all (the link's), clocks as in [`crate::lease`], and Lamport times that no
//! reboot sets back. The rules that make a crash harmless are in [`super::permission`]. In
//! [`Mode::Available`](crate::base::quorum::Mode::Available) no member is ever removed from the view: the lock is as
//! safe, and blocks while a member is down.
//!
//! # Messages
//! [`PermissionMessage::Request`] to all others of the view, [`Message::Reply`] back, at once or deferred. Beyond the
//! paper: [`PermissionMessage::Try`] and [`Message::Busy`] for requests that will not wait;
//! [`PermissionMessage::Repeat`] after a long silence, answered with [`Message::Deferred`] while the reply is deferred,
//! so that silence means failure; [`Message::Cancel`]; [`PermissionMessage::Outdated`] and [`PermissionMessage::Full`].
//!
//! # Cost
//! 2(n-1) messages for an entry and its exit, contended or not, while no request waits for longer than three quarters
//! of a heartbeat; an exit sends only the deferred replies. A request that waits for longer costs 2 more for each
//! missing reply, then and once every [`crate::Timing::lease`]; and when it may enter but its permissions have ended,
//! or almost, 2 for each of the (n-1)/2 + 2 members that renew theirs. Before entry one round trip; between two holders
//! one message.
//!
//! After the crash of a holder the next is granted the lock as soon as both the lease has ended, 3 % later than
//! granted, and the view has changed (detection, and a heartbeat); then one round trip. The crash of any other member
//! costs the change of the view only, and a reboot [`crate::Timing::lock_lease`], 3 % longer, in which the member gives
//! no permission.
//!
//! # Departures
//! - A reply names the round it answers: a reply to an earlier one would admit two.
//! - Every reply is a lease. Deferred replies go to all requesters in one message.
//! - There are no messages to oneself, and none of release: lecture notes count both in places.

use super::client::{LockRequest, Phase};
use super::permission::{
    PeerRequest, PermissionMessage, PermissionRequest, Permissions, QueuePosition, RepliedRounds, Round, impl_mutex,
    own_priority,
};
use super::{LockClient, LockId, Notice, Refusal};
use crate::algorithm::{Context, Input, Outbox};
use crate::base::ids::{NodeId, NodeSet};
use crate::base::lamport::LamportTime;
use crate::base::time::Instant;
use crate::wire::impl_message;
use serde::{Deserialize, Serialize};

/// A message between members. A reply names the `round` it answers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are the lock and the round or rounds")]
pub enum Message {
    /// A request, or a reply that all permission-based locks share.
    Permission(PermissionMessage),
    /// Gives permission: no request of the sender comes first.
    Reply { lock: LockId, rounds: RepliedRounds },
    /// Answers a repeated request: it is queued, and a request of the sender comes first.
    Deferred { lock: LockId, round: Round },
    /// Answers a try: a request of the sender comes first.
    Busy { lock: LockId, round: Round },
    /// Withdraws the request.
    Cancel { lock: LockId },
}

impl_message! {
    // A waiting member asks again.
    ReliableLatest: Reply = "reply", Deferred = "deferred", Busy = "busy", Cancel = "cancel",
        Permission(PermissionMessage);
    {
        fn topic(&self) -> u32 {
            match self {
                Self::Permission(message) => message.lock().number(),
                Self::Reply { lock, .. }
                | Self::Deferred { lock, .. }
                | Self::Busy { lock, .. }
                | Self::Cancel { lock } => lock.number(),
            }
        }
    }
}

/// The lock of Ricart and Agrawala, at one member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RicartAgrawala {
    permissions: Permissions,
}

type Out = Outbox<Message, Notice>;

impl RicartAgrawala {
    /// Ends the holds that are over: the members that wait get their replies at the end of the step.
    fn expire(&mut self, cx: &Context<'_>, out: &mut Out) {
        while self.permissions.expire(cx, out).is_some() {}
    }

    fn run_due(&mut self, cx: &Context<'_>, out: &mut Out) {
        // With every permission the request is first: a member whose request comes before gives none.
        self.permissions.enter(cx, out, |_, _| QueuePosition::First);
        self.reply(cx, out);
        let timeout = cx.timing.heartbeat.mul_ratio(3, 4);
        if let Some(refused) = self.permissions.poll_send(cx, timeout, out, |_, _| NodeSet::EMPTY) {
            self.withdraw(cx, &refused, out);
            self.reply(cx, out);
        }
    }

    /// Has the members that defer their reply remove a request.
    fn withdraw(&mut self, cx: &Context<'_>, request: &LockRequest, out: &mut Out) {
        let deferring = self.permissions.close_round(cx, request.lock);
        out.send(deferring, Message::Cancel { lock: request.lock });
    }

    fn on_message(&mut self, cx: &Context<'_>, (from, _): (NodeId, LamportTime), message: Message, out: &mut Out) {
        match message {
            Message::Permission(message) => self.on_permission_message(cx, from, message, out),
            Message::Reply { lock, rounds } => self.permissions.count_reply(cx, from, lock, &rounds),
            Message::Deferred { lock, round } => {
                let missing = self.permissions.round(lock).map_or(NodeSet::EMPTY, |round| round.missing(cx));
                if let Some(request) = self.permissions.waiting_request(lock, round) {
                    let ahead = u8::try_from(missing.len()).unwrap_or(u8::MAX);
                    self.permissions.client.notify_waiting(lock, request.number, ahead, out);
                }
            }
            Message::Busy { lock, round } => self.refuse(cx, lock, round, Refusal::Busy, out),
            Message::Cancel { lock } => self.permissions.remove_peer_requests(lock, cx.roster.set_of(from)),
        }
    }

    fn on_permission_message(&mut self, cx: &Context<'_>, from: NodeId, message: PermissionMessage, out: &mut Out) {
        match message {
            PermissionMessage::Request(request) => {
                self.answer_or_defer(cx, from, request, out);
            }
            PermissionMessage::Try(request) => {
                if self.answer_or_defer(cx, from, request, out) {
                    let PermissionRequest { lock, round, .. } = request;
                    self.permissions.remove_peer_requests(lock, cx.roster.set_of(from));
                    out.send(cx.roster.set_of(from), Message::Busy { lock, round });
                }
            }
            PermissionMessage::Repeat(request) => {
                if self.answer_or_defer(cx, from, request, out) {
                    let PermissionRequest { lock, round, .. } = request;
                    out.send(cx.roster.set_of(from), Message::Deferred { lock, round });
                }
            }
            PermissionMessage::Outdated { lock, round } => self.permissions.on_outdated(cx, lock, round),
            PermissionMessage::Full { lock, round } => self.refuse(cx, lock, round, Refusal::Full, out),
        }
    }

    /// Replies to a request, or defers the reply; returns whether it is deferred.
    fn answer_or_defer(&mut self, cx: &Context<'_>, from: NodeId, request: PermissionRequest, out: &mut Out) -> bool {
        let queued = self.permissions.on_request(cx, from, request, out);
        self.reply(cx, out);
        queued && self.permissions.owes_reply(request.lock, cx.roster.set_of(from))
    }

    /// Ends the request of this round, which a member refuses.
    fn refuse(&mut self, cx: &Context<'_>, lock: LockId, round: Round, reason: Refusal, out: &mut Out) {
        if let Some(request) = self.permissions.waiting_request(lock, round) {
            self.permissions.client.refuse(lock, request.number, reason, out);
            self.withdraw(cx, &request, out);
        }
    }

    /// Replies to all requests that come before this node's own request or hold.
    fn reply(&mut self, cx: &Context<'_>, out: &mut Out) {
        let ready = |client: &LockClient, peer: &PeerRequest| {
            client.get(peer.lock).is_none_or(|own| match own.phase {
                Phase::Held { .. } => false,
                Phase::Waiting { .. } => peer.priority(cx) < own_priority(cx, own),
            })
        };
        self.permissions.grant_all(cx, out, ready, |_, lock, rounds| Message::Reply { lock, rounds });
        self.permissions.remove_answered();
    }
}

impl_mutex!(RicartAgrawala);

impl crate::base::options::Configurable for RicartAgrawala {}
