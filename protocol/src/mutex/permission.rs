//! Permissions: the common part of the locks in which every member must give its permission.
//!
//! A requester asks every other member of the view, and enters when all have replied to that very round. The meaning of
//! a permission differs: with Ricart and Agrawala "I do not come before you", with Lamport "your request is in my
//! queue, and this is my own". The rules that make a crash, a reboot and a change of the view harmless are the same,
//! and are here.
//!
//! # Why two never hold one lock
//! - A permission is a lease: the grantor counts it long from its reply, the requester short from its request. Between
//!   two members of one view the algorithm's own rule decides, and a permission lasts until the request ends;
//!   permissions have to end only for members that left.
//! - A permission is for a view. It is given only where both have the same view, and a change of the view voids all
//!   permissions: every member of the new view is asked.
//! - A member that left the view may still hold a lock by permission of members that stayed. No member gives or uses a
//!   permission in the new view before its own permissions to members outside have ended. Any two views share a member,
//!   as each is a majority, and its permissions keep two holders apart that are in no common view. For that it is enough
//!   that every majority without the holder has a member whose permission has not ended: (n-1)/2 of them.
//! - A member that has just started gives and uses no permission until all it has forgotten have ended.
//! - Suspicion changes nothing: only a leader with a quorum changes the view ([`crate::lease`]). Where there is none,
//!   as in [`Mode::Available`](crate::base::quorum::Mode::Available), all members must be up.
//!
//! # Why fences grow
//! The fence is the request's Lamport time, and requests are granted in that order within a view. A member that was
//! away may return with an old request, above which others were granted: a member that saw it return replies that the
//! request is outdated, and it makes a new one.
//!
//! # Limits
//! A group of [`MEMBERS_MAX`] with [`LOCKS_MAX`] locks each; a node queues all requests of such a group and replies to
//! one more with [`PermissionMessage::Full`]. Outputs beyond the budget of a step are left to the next, at once.

use super::client::{ClientAction, LockRequest};
use super::{Command, LOCKS_MAX, LockClient, LockId, Notice};
use crate::algorithm::{Context, Fact, OUTPUTS_MAX, Outbox};
use crate::base::ids::{NodeId, NodeSet};
use crate::base::lamport::LamportTime;
use crate::base::time::{Duration, Instant, earliest};
use heapless::Vec;

/// Implements [`Mutex`](super::Mutex) for a lock with permissions. Its own part of a step is in `expire`, `on_message`,
/// `withdraw` and `run_due`.
macro_rules! impl_mutex {
    ($lock:ident) => {
        impl $crate::Algorithm for $lock {
            type Message = Message;
            type Command = $crate::mutex::Command;
            type Notice = Notice;

            fn scope(&self) -> $crate::algorithm::Scope {
                $crate::algorithm::Scope::Group
            }

            fn handle(&mut self, cx: &Context<'_>, input: Input<Message, $crate::mutex::Command>, out: &mut Out) {
                self.expire(cx, out);
                self.permissions.update_view(cx);
                match self.permissions.client.input(cx, input) {
                    Input::Message { from, sent_at, message } => self.on_message(cx, (from, sent_at), message, out),
                    Input::Command(command) => {
                        if let Some(ended) = self.permissions.command(cx, command, out) {
                            self.withdraw(cx, &ended, out);
                        }
                    }
                    Input::Fact(fact) => self.permissions.on_fact(cx, fact),
                    Input::Timeout => {} // due work is done below
                }
                self.run_due(cx, out);
                self.permissions.reschedule(cx, out);
            }

            fn deadline(&self) -> Option<Instant> {
                self.permissions.deadline()
            }
        }

        impl $crate::mutex::Mutex for $lock {
            fn holds(&self, lock: LockId, now: Instant) -> Option<$crate::mutex::Fence> {
                self.permissions.client.holds(lock, now)
            }

            fn hops_max(&self) -> u8 {
                1
            }

            fn resume(&mut self, floor: $crate::base::lamport::LamportTime) {
                self.permissions.resume(floor);
            }

            fn floor(&self) -> $crate::base::lamport::LamportTime {
                self.permissions.floor()
            }
        }
    };
}

mod enter;
mod granted;
mod message;
mod round;

use granted::{GrantedPermissions, Verdict};
pub(super) use impl_mutex;
use message::add_reply;
pub use message::{PermissionMessage, PermissionRequest, RepliedRounds, Round};
pub(super) use round::PermissionRound;
use round::{Rounds, Subject};

/// Members of a group in which all must give permission. Members beyond get none.
pub const MEMBERS_MAX: usize = 16;
/// Requests of other members: all there can be.
const PEER_REQUESTS_MAX: usize = (MEMBERS_MAX - 1) * LOCKS_MAX;
/// Outputs after which a step leaves the rest to the next: nothing here adds more than two at a time.
const STEP_BUDGET: usize = OUTPUTS_MAX - 2;

/// The position of an own request that all members permitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueuePosition {
    /// It may enter.
    First,
    /// This many requests come first.
    Behind(u8),
}

/// The order of requests: by Lamport time, and by node where that is equal. The lowest comes first.
pub(super) type Priority = (LamportTime, Option<NodeId>);

/// A request of another member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct PeerRequest {
    number: LamportTime,
    view: NodeSet,
    pub(super) lock: LockId,
    lease: Duration,
    slot: u8,
    round: Round,
    answered: bool,
}

impl PeerRequest {
    pub(super) fn requester(&self) -> NodeSet {
        NodeSet::slot(usize::from(self.slot))
    }

    pub(super) fn priority(&self, cx: &Context<'_>) -> Priority {
        (self.number, cx.roster.id_of(usize::from(self.slot)))
    }

    /// Returns the request as it was received.
    const fn received(&self) -> PermissionRequest {
        let Self { number: request, view, lock, lease, round, .. } = *self;
        PermissionRequest { lock, request, round, lease, view }
    }
}

pub(super) const fn own_priority(cx: &Context<'_>, request: &LockRequest) -> Priority {
    (request.number, Some(cx.me))
}

/// The permissions of one node, received and given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Permissions {
    pub(super) client: LockClient,
    rounds: Rounds,
    granted: GrantedPermissions,
    peer_requests: Vec<PeerRequest, PEER_REQUESTS_MAX>,
    /// No round is sent before this, unless the application requests one: nodes that ask each other about all their
    /// locks at once, when a member returns, keep each other from replying.
    send_after: Instant,
    /// Other due work: a permission to a removed member ends, or a step was not enough.
    wake_at: Option<Instant>,
}

type Out<M> = Outbox<M, Notice>;

impl Permissions {
    /// Resumes after a reboot before which nothing above `floor` was permitted.
    pub(super) fn resume(&mut self, floor: LamportTime) {
        self.granted.resume(floor);
    }

    /// Returns the highest number of an own request.
    pub(super) fn floor(&self) -> LamportTime {
        self.client.iter().map(|request| request.number).max().unwrap_or(LamportTime(0))
    }

    /// Takes a command; returns the request that it ended, to be withdrawn at the others.
    pub(super) fn command<M>(&mut self, cx: &Context<'_>, command: Command, out: &mut Out<M>) -> Option<LockRequest> {
        let (request, renewal) = match self.client.command(cx, command, out)? {
            ClientAction::Acquire(request) => (request, None),
            ClientAction::Renew(request, renewal) => {
                (LockRequest { lease: renewal.lease, ..request }, Some(renewal.number))
            }
            ClientAction::Release(request) | ClientAction::Cancel(request) => return Some(request),
        };
        self.begin_round(cx, &request, renewal);
        None
    }

    /// Takes a fact. A suspicion is no reason to enter, and the leader does not matter; the view was updated before.
    pub(super) fn on_fact(&mut self, cx: &Context<'_>, fact: Fact) {
        match fact {
            Fact::PeerReset(set) => self.on_peer_reset(cx, set),
            Fact::PeerUp(set) => {
                // Messages to these were lost meanwhile.
                let asking = self.rounds.iter_mut().filter(|round| round.missing(cx).meets(set));
                asking.for_each(|round| round.send_afresh(cx));
            }
            Fact::PeerDown(_) | Fact::Leader { .. } | Fact::NoLeader | Fact::Parent(_) | Fact::View => {}
        }
    }

    /// Ends and returns a hold that is over.
    pub(super) fn expire<M>(&mut self, cx: &Context<'_>, out: &mut Out<M>) -> Option<LockRequest> {
        let ended = self.client.expire(cx.now, out)?;
        self.rounds.close(ended.lock);
        Some(ended)
    }

    /// Returns the requests for `lock` of other members of the view.
    pub(super) fn peer_requests<'a>(
        &'a self,
        cx: &'a Context<'_>,
        lock: LockId,
    ) -> impl Iterator<Item = &'a PeerRequest> {
        self.peer_requests.iter().filter(move |peer| peer.lock == lock && cx.view.meets(peer.requester()))
    }

    pub(super) fn round(&self, lock: LockId) -> Option<&PermissionRound> {
        self.rounds.get(lock)
    }

    /// Takes the current view: when it has changed, all rounds begin again.
    pub(super) fn update_view(&mut self, cx: &Context<'_>) {
        if self.granted.update_view(cx) {
            let open = self.rounds.clone();
            for round in open.iter() {
                self.rounds.begin(cx, round.subject());
            }
        }
    }

    fn begin_round(&mut self, cx: &Context<'_>, request: &LockRequest, renewal: Option<LamportTime>) {
        let LockRequest { lock, number: request, lease, .. } = *request;
        self.send_after = cx.now;
        self.rounds.begin(cx, Subject { lock, request, renewal, lease });
    }

    /// Closes the round for `lock`; returns the members that had not replied.
    pub(super) fn close_round(&mut self, cx: &Context<'_>, lock: LockId) -> NodeSet {
        let missing = self.rounds.get(lock).map_or(NodeSet::EMPTY, |round| round.missing(cx));
        self.rounds.close(lock);
        missing.and(cx.up)
    }

    /// Takes a request of another member; returns whether it was queued.
    pub(super) fn on_request<M: From<PermissionMessage>>(
        &mut self,
        cx: &Context<'_>,
        from: NodeId,
        request: PermissionRequest,
        out: &mut Out<M>,
    ) -> bool {
        let PermissionRequest { lock, request: number, round, lease, view } = request;
        let requester = cx.roster.set_of(from);
        if self.granted.judge(cx, from, &request) == Verdict::Outdated {
            // A queued request stays: the lock may be held by an earlier permission.
            out.send(requester, PermissionMessage::Outdated { lock, round }.into());
            return false;
        }
        self.remove_peer_requests(lock, requester);
        let slot = cx.roster.slot_of(from).filter(|&slot| slot < MEMBERS_MAX).and_then(|slot| u8::try_from(slot).ok());
        let queued = slot.is_some_and(|slot| {
            self.peer_requests.push(PeerRequest { number, view, lock, lease, slot, round, answered: false }).is_ok()
        });
        if !queued {
            out.send(requester, PermissionMessage::Full { lock, round }.into());
        }
        queued
    }

    /// Records the number of a peer's own request as it reports it, if any; returns whether there was room.
    pub(super) fn record_peer_request(
        &mut self,
        cx: &Context<'_>,
        from: NodeId,
        lock: LockId,
        reported: Option<LamportTime>,
    ) -> bool {
        let requester = cx.roster.set_of(from);
        let known = self.peer_requests.iter_mut().find(|peer| peer.lock == lock && peer.requester() == requester);
        match (known, reported) {
            (None, None) => true,
            (Some(_), None) => {
                self.remove_peer_requests(lock, requester);
                true
            }
            (Some(peer), Some(number)) => {
                peer.number = number;
                true
            }
            (None, Some(number)) => {
                let slot = cx.roster.slot_of(from).and_then(|slot| u8::try_from(slot).ok());
                // The peer will ask by itself; until then only its priority is known.
                let (view, lease, round, answered) = (NodeSet::EMPTY, Duration::ZERO, Round(0), true);
                let peer = |slot| PeerRequest { number, view, lock, lease, slot, round, answered };
                slot.is_some_and(|slot| self.peer_requests.push(peer(slot)).is_ok())
            }
        }
    }

    pub(super) fn remove_peer_requests(&mut self, lock: LockId, set: NodeSet) {
        self.peer_requests.retain(|peer| peer.lock != lock || !peer.requester().meets(set));
    }

    /// Returns whether a request for `lock` of these members is not answered yet.
    pub(super) fn owes_reply(&self, lock: LockId, set: NodeSet) -> bool {
        self.peer_requests.iter().any(|peer| peer.lock == lock && peer.requester().meets(set) && !peer.answered)
    }

    pub(super) fn remove_answered(&mut self) {
        self.peer_requests.retain(|peer| !peer.answered);
    }

    /// Gives permission to the queued requests for one lock that are grantable and `ready`.
    fn grant_one_lock(
        &mut self,
        cx: &Context<'_>,
        ready: &impl Fn(&LockClient, &PeerRequest) -> bool,
    ) -> Option<(NodeSet, LockId, RepliedRounds)> {
        let Self { client, granted, peer_requests, .. } = self;
        let mut reply: Option<(NodeSet, LockId, RepliedRounds)> = None;
        for peer in peer_requests.iter_mut().filter(|peer| !peer.answered && ready(client, peer)) {
            let from = cx.roster.id_of(usize::from(peer.slot));
            let grantable = from.is_some_and(|from| granted.judge(cx, from, &peer.received()) == Verdict::Grantable);
            if !grantable || reply.as_ref().is_some_and(|&(_, lock, _)| lock != peer.lock) {
                continue;
            }
            let (to, _, rounds) = reply.get_or_insert((NodeSet::EMPTY, peer.lock, RepliedRounds::new()));
            if add_reply(rounds, peer.slot, peer.round) {
                *to = to.with(peer.requester());
                peer.answered = true;
                granted.grant(cx, peer.slot, peer.lease);
            }
        }
        reply
    }

    /// Gives permission to all queued requests that are grantable and `ready`, with the message that `reply` makes.
    pub(super) fn grant_all<M>(
        &mut self,
        cx: &Context<'_>,
        out: &mut Out<M>,
        ready: impl Fn(&LockClient, &PeerRequest) -> bool,
        reply: impl Fn(&LockClient, LockId, RepliedRounds) -> M,
    ) {
        while !is_step_full(out) {
            let Some((to, lock, rounds)) = self.grant_one_lock(cx, &ready) else { return };
            out.send(to, reply(&self.client, lock, rounds));
        }
    }

    /// Counts a message of `from` as its permission for every open round that was requested before it was sent.
    pub(super) fn count_later_message(&mut self, cx: &Context<'_>, (from, sent_at): (NodeId, LamportTime)) {
        let sender = cx.roster.set_of(from);
        for round in self.rounds.iter_mut().filter(|round| (sent_at, from) > (round.request, cx.me)) {
            round.grant(sender);
        }
    }

    /// Counts a permission of `from`, if one of `rounds` is this node's open one.
    pub(super) fn count_reply(&mut self, cx: &Context<'_>, from: NodeId, lock: LockId, rounds: &RepliedRounds) {
        let own = |&&(slot, _): &&(u8, Round)| NodeSet::slot(usize::from(slot)) == cx.roster.set_of(cx.me);
        let Some(&(_, number)) = rounds.iter().find(own) else { return };
        if let Some(round) = self.rounds.numbered(lock, number) {
            round.grant(cx.roster.set_of(from));
        }
    }

    /// Returns the waiting request of this open round.
    pub(super) fn waiting_request(&mut self, lock: LockId, round: Round) -> Option<LockRequest> {
        let number = self.rounds.numbered(lock, round)?.request;
        self.client.waiting(lock, number).copied()
    }

    /// Takes the reply that a request is outdated: makes it again.
    pub(super) fn on_outdated(&mut self, cx: &Context<'_>, lock: LockId, round: Round) {
        if self.waiting_request(lock, round).is_some()
            && let Some(request) = self.client.restart(cx, lock)
        {
            self.begin_round(cx, &request, None);
        }
    }

    /// Takes the restart of members: they have forgotten their requests and the permissions they gave.
    fn on_peer_reset(&mut self, cx: &Context<'_>, set: NodeSet) {
        self.granted.on_return(cx, set);
        self.peer_requests.retain(|peer| !peer.requester().meets(set));
        for round in self.rounds.iter_mut() {
            round.revoke(set);
            round.send_afresh(cx);
        }
    }

    /// Schedules the next step; called at the end of every step.
    pub(super) fn reschedule<M>(&mut self, cx: &Context<'_>, out: &Out<M>) {
        let waits = self.rounds.iter().next().is_some() || self.peer_requests.iter().any(|peer| !peer.answered);
        let safe_at = Some(self.granted.safe_at(cx)).filter(|&at| waits && at > cx.now);
        self.wake_at = if is_step_full(out) { Some(cx.now) } else { safe_at };
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let send = self.rounds.iter().map(|round| round.send_at.max(self.send_after)).min();
        earliest(earliest(self.client.deadline(), send), self.wake_at)
    }
}

/// Returns whether a step has used up its budget.
fn is_step_full<M>(out: &Out<M>) -> bool {
    out.outputs().len() >= STEP_BUDGET
}
