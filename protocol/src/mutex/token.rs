//! Tokens: the common part of the locks that pass a token from member to member.
//!
//! A token says who may enter; it cannot say that there is no other. The leader vouches for that. It issues a lock's
//! token at the first request, under an [`Epoch`] above all earlier ones, and it *leases* its use: a member with the
//! token enters only while it has a lease for that very token. A lease lasts as long as the longest hold, counted by
//! the member from its request and by the leader from its reply. So when a token is lost, the leader can issue another:
//! it recalls the old one, and a member that acknowledges the recall will never enter with it. The new token is issued
//! when the old one was given back, when all members have acknowledged, or when every lease of those that have not has
//! ended.
//!
//! # Paper
//! C. Gray, D. Cheriton: Leases, SOSP 1989. On lost tokens, G. Le Lann: Distributed Systems, Towards a Formal Approach,
//! IFIP 1977: there any member makes a new one, and two do on either side of a partition.
//!
//! # Assumes
//! [`Mode::Quorum`](crate::base::quorum::Mode::Quorum): one leader at a time. In
//! [`Mode::Available`](crate::base::quorum::Mode::Available) a partitioned network, or one too congested for its
//! election to settle, has two leaders and two tokens, ordered only by the terms in their fences. Within one term
//! fences grow in any mode: a leader issues no token under another's term.
//!
//! A token that is delivered once: to one boot of its reader, and to none that follows. The link's sessions see to it.
//!
//! # Messages
//! [`TokenMessage::Request`] to the leader, [`TokenMessage::Lease`] or [`TokenMessage::Refuse`] back;
//! [`TokenMessage::Recall`] to all members, [`TokenMessage::RecallAck`] back.
//!
//! # Cost
//! A request and a lease where a member has no lease for at least half the hold it wants. A lost token: two messages a
//! member.

use super::client::{ClientAction, LockRequest, Phase, Renewal};
use super::{Command, LOCKS_MAX, LockClient, LockId, Notice, Refusal};
use crate::algorithm::{Context, Fact, Outbox};
use crate::base::config::{lease_at_grantor, lease_at_holder};
use crate::base::ids::{NodeId, NodeSet};
use crate::base::term::Term;
use crate::base::time::{Instant, earliest};
use heapless::Vec;

mod issuer;
mod message;
mod receive;
mod state;
mod step;

use issuer::{IssuedToken, IssuerReply, TokenIssuer};
pub use message::{Epoch, Need, Token, TokenMessage};
use state::{LocalToken, Pending, TokenState};
pub(super) use step::{TokenLock, impl_mutex, step};

/// All tokens, at one node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct TokenManager {
    pub(super) client: LockClient,
    leader: Option<(NodeId, Term)>,
    tokens: Vec<LocalToken, LOCKS_MAX>,
    issuer: Option<TokenIssuer>,
    /// The last epoch this node began to issue. A leader may lose the lead and regain it under the same term: it must
    /// not issue the same epoch twice.
    last_issued: Option<Epoch>,
}

type Out<M> = Outbox<M, Notice>;

impl TokenManager {
    pub(super) fn leader(&self, cx: &Context<'_>) -> NodeSet {
        self.leader.map_or(NodeSet::EMPTY, |(leader, _)| cx.roster.set_of(leader))
    }

    /// Returns the members that want the token of `lock`, if this node is the issuer.
    pub(super) fn requesters(&mut self, lock: LockId) -> Option<&mut NodeSet> {
        self.issuer.as_mut()?.get_mut(lock).map(|token| &mut token.requesters)
    }

    /// Returns whether this node leads and issues tokens.
    pub(super) const fn is_issuer(&self) -> bool {
        self.issuer.is_some()
    }

    /// Leases the token of `lock` to every member it will come to, if this node is the issuer.
    pub(super) fn lease_to_all(&mut self, cx: &Context<'_>, lock: LockId) {
        if let Some(issued) = self.issuer.as_mut().and_then(|issuer| issuer.get_mut(lock)) {
            issued.lease(cx);
        }
    }

    /// Replaces the token of `lock` by another, if this node is the issuer.
    pub(super) fn reissue(&mut self, cx: &Context<'_>, lock: LockId) {
        if let Some(issuer) = &mut self.issuer {
            issuer.recall(cx, lock, cx.now);
        }
    }

    pub(super) fn locks(&self) -> Vec<LockId, LOCKS_MAX> {
        let mut locks = Vec::new();
        for local in &self.tokens {
            let _ = locks.push(local.lock); // there is room: the tables have one size
        }
        locks
    }

    pub(super) fn get(&mut self, lock: LockId) -> Option<&mut LocalToken> {
        self.tokens.iter_mut().find(|local| local.lock == lock)
    }

    pub(super) fn is_here(&self, lock: LockId) -> bool {
        self.tokens.iter().any(|local| local.lock == lock && local.is_here())
    }

    /// Returns the token of `lock`, inserted if there is room or an idle lock to evict.
    pub(super) fn get_or_insert(&mut self, cx: &Context<'_>, lock: LockId) -> Option<&mut LocalToken> {
        if self.get(lock).is_none() {
            if self.tokens.is_full() {
                let idle = self.tokens.iter().map(|local| local.lock).find(|&lock| self.is_idle(cx, lock))?;
                self.tokens.retain(|local| local.lock != idle);
                if let Some(issuer) = &mut self.issuer {
                    issuer.remove(idle);
                }
            }
            let term = self.leader.map_or(Term::ZERO, |(_, term)| term);
            let local = LocalToken::new(lock, Epoch::before(term), self.leader(cx), cx.now);
            self.tokens.push(local).ok()?;
        }
        self.get(lock)
    }

    /// Returns whether a lock can be forgotten: no member wants it, and no old token of it can be used any more.
    fn is_idle(&self, cx: &Context<'_>, lock: LockId) -> bool {
        let unused = self.issuer.as_ref().is_none_or(|issuer| issuer.is_unused(cx, lock));
        let idle = |local: &LocalToken| {
            local.lock == lock
                && (!local.is_here() || self.is_issuer())
                && !local.has_waiters
                && local.ack_to.is_empty()
                && local.touched_at.after(lease_at_grantor(cx.timing.lock_lease)) <= cx.now
        };
        unused && self.client.get(lock).is_none() && self.tokens.iter().any(idle)
    }

    pub(super) fn on_fact(&mut self, cx: &Context<'_>, fact: Fact) {
        match fact {
            Fact::Leader { leader, term } => {
                self.leader = Some((leader, term));
                self.on_leader(cx, leader, term);
                let issuer = cx.roster.set_of(leader);
                for local in &mut self.tokens {
                    local.raise_epoch(Epoch::before(term), cx.now);
                    local.issuer = issuer;
                }
                self.repeat_requests(cx);
            }
            Fact::NoLeader => {
                self.stop_issuing();
                self.leader = None;
            }
            Fact::PeerUp(set) => {
                if self.leader(cx).meets(set) {
                    self.repeat_requests(cx);
                }
                if let Some(issuer) = &mut self.issuer {
                    issuer.send_again(cx);
                }
            }
            Fact::PeerDown(set) | Fact::PeerReset(set) => self.on_peers_lost(cx, set),
            Fact::View | Fact::Parent(_) => {} // a token needs neither
        }
    }

    /// Schedules a request for every lock, one after the other: messages need room in the link.
    fn repeat_requests(&mut self, cx: &Context<'_>) {
        let mut due_at = cx.now;
        for local in &mut self.tokens {
            (local.announced, local.pending, local.due_at) = (None, None, Some(due_at));
            due_at = due_at.after(cx.timing.retry);
        }
    }

    fn on_leader(&mut self, cx: &Context<'_>, leader: NodeId, term: Term) {
        match &mut self.issuer {
            Some(issuer) if leader == cx.me && issuer.last().term != term => issuer.set_term(cx, term),
            Some(_) if leader == cx.me => {}
            Some(_) | None => {
                self.stop_issuing();
                let last = self.last_issued.filter(|last| last.term == term).unwrap_or(Epoch::before(term));
                self.issuer = (leader == cx.me).then(|| TokenIssuer::new(cx.now, last));
            }
        }
    }

    fn stop_issuing(&mut self) {
        if let Some(issuer) = self.issuer.take() {
            self.last_issued = Some(issuer.last());
        }
    }

    /// Takes the loss of members, and with them perhaps of tokens: reports those that were passed to them, and recalls
    /// all that are not here if this node is the issuer.
    fn on_peers_lost(&mut self, cx: &Context<'_>, set: NodeSet) {
        let mut due_at = cx.now;
        let to_lost = |slot: u8| NodeSet::slot(usize::from(slot)).meets(set);
        let passed = |local: &&mut LocalToken| matches!(local.state, TokenState::Passed(slot) if to_lost(slot));
        for local in self.tokens.iter_mut().filter(passed) {
            (local.report, local.state, local.due_at) = (Some(Need::SuccessorLost), TokenState::Absent, Some(due_at));
            due_at = due_at.after(cx.timing.retry);
        }
        let Self { tokens, issuer: Some(issuer), .. } = self else { return };
        issuer.recall_all(cx, |lock| !tokens.iter().any(|local| local.lock == lock && local.is_here()));
    }

    /// Takes a command; returns a new request, which is left to the algorithm. A cancelled one needs no message: the
    /// token will find that this node does not want it.
    pub(super) fn command<M: From<TokenMessage>>(
        &mut self,
        cx: &Context<'_>,
        command: Command,
        out: &mut Out<M>,
    ) -> Option<LockRequest> {
        match self.client.command(cx, command, out)? {
            ClientAction::Acquire(request) => return Some(request),
            ClientAction::Renew(LockRequest { lock, .. }, renewal) => {
                self.request(cx, lock, Need::Renew, out);
                self.renew_as_issuer(cx, lock, renewal, out);
            }
            ClientAction::Release(LockRequest { lock, .. }) => self.ack_recall(cx, lock, false, out),
            ClientAction::Cancel(_) => {}
        }
        None
    }

    /// Sends a request to the issuer, or decides it here. Returns whether there was room.
    pub(super) fn request<M: From<TokenMessage>>(
        &mut self,
        cx: &Context<'_>,
        lock: LockId,
        need: Need,
        out: &mut Out<M>,
    ) -> bool {
        let leader = self.leader(cx);
        let me = cx.roster.set_of(cx.me);
        let Some(local) = self.get_or_insert(cx, lock) else { return false };
        let epoch = local.token.epoch;
        if leader.is_empty() {
            return true; // the next leader gets it
        }
        let number = cx.lamport;
        if leader != me {
            if matches!(need, Need::Acquire | Need::Enter | Need::Renew) {
                local.pending = Some(Pending { number, sent_at: cx.now });
                local.due_at = local.due_at.or(Some(cx.now.after(cx.timing.lock_lease))); // it may get no reply
            }
            out.send(leader, TokenMessage::Request { lock, number, need, epoch }.into());
            return true;
        }
        match self.reply(cx, me, lock, (need, epoch)) {
            Some(IssuerReply::Lease(epoch)) => {
                let until = cx.now.after(lease_at_holder(cx.timing.lock_lease));
                if let Some(local) = self.get(lock) {
                    local.lease = Some((epoch, until));
                }
                true
            }
            Some(IssuerReply::Superseded(_) | IssuerReply::NoReply | IssuerReply::Lost) => true,
            None => false,
        }
    }

    /// Enters with the token that is here, or requests a lease. Returns whether the lock was granted; `None` where the
    /// lease is too short.
    pub(super) fn enter<M: From<TokenMessage>>(
        &mut self,
        cx: &Context<'_>,
        request: &LockRequest,
        out: &mut Out<M>,
    ) -> Option<bool> {
        let lock = request.lock;
        if self.get(lock).is_some_and(|local| !local.may_enter(cx, request) && !local.is_pending()) {
            self.request(cx, lock, Need::Enter, out);
        }
        let granted = self.get(lock).filter(|local| local.may_enter(cx, request))?.enter(cx, request);
        Some(self.client.grant(cx, granted, out))
    }

    /// Extends a hold, if this node is the issuer and so leased the token to itself.
    fn renew_as_issuer<M>(&mut self, cx: &Context<'_>, lock: LockId, renewal: Renewal, out: &mut Out<M>) {
        let is_issuer = self.is_issuer();
        let Some(local) = self.get(lock).filter(|local| is_issuer && local.pending.is_none()) else { return };
        if let Some((_, until)) = local.lease.filter(|&(_, until)| until > cx.now) {
            self.client.extend(lock, renewal.number, until.min(renewal.requested_at.after(renewal.lease)), out);
        }
    }

    /// Decides the reply to a request as issuer; `None` if there is no room for the lock.
    fn reply(&mut self, cx: &Context<'_>, from: NodeSet, lock: LockId, request: (Need, Epoch)) -> Option<IssuerReply> {
        let here = self.get(lock)?.is_here();
        let issuer = self.issuer.as_mut()?;
        if !issuer.ensure(cx, lock) {
            return None;
        }
        let reply = issuer.reply(cx, from, lock, request);
        if reply == IssuerReply::Lost && !(here && request.0 == Need::SuccessorLost) {
            issuer.recall(cx, lock, cx.now);
        }
        Some(reply)
    }

    /// Does due work, one message a step. Returns a lock whose waiting request is to be sent again.
    pub(super) fn run_due<M: From<TokenMessage>>(&mut self, cx: &Context<'_>, out: &mut Out<M>) -> Option<LockId> {
        self.run_issuer(cx, out);
        let local = self.tokens.iter_mut().find(|local| local.due_at.is_some_and(|at| at <= cx.now))?;
        let lock = local.lock;
        let phase = self.client.get(lock).map(|request| request.phase);
        let lease = cx.timing.lock_lease;
        let report = local.report.take();
        let (need, wait) = match phase {
            _ if report.is_some() => (report, phase.map(|_| lease)),
            Some(Phase::Held { .. }) => (Some(Need::InUse), Some(lease.mul_ratio(1, 3))),
            Some(Phase::Waiting { .. }) => (None, Some(lease)),
            None => (None, None),
        };
        local.due_at = wait.map(|wait| cx.now.after(wait));
        let waiting = matches!(phase, Some(Phase::Waiting { .. }));
        if waiting || phase.is_none() {
            (local.announced, local.pending) = (None, None); // the next request must not wait for a reply to the last
        }
        if let Some(need) = need {
            self.request(cx, lock, need, out);
        }
        waiting.then_some(lock)
    }

    /// Does the due work of the issuer: sends a recall, and issues a token.
    fn run_issuer<M: From<TokenMessage>>(&mut self, cx: &Context<'_>, out: &mut Out<M>) {
        let Some(issuer) = &mut self.issuer else { return };
        if let Some((IssuedToken { lock, epoch, direct, .. }, acked)) = issuer.next_recall(cx) {
            let via = if direct { NodeSet::EMPTY } else { cx.up };
            out.send(cx.up.without(acked), TokenMessage::Recall { lock, epoch, via }.into());
            let (me, holds) = (cx.roster.set_of(cx.me), self.client.holds(lock, cx.now).is_some());
            if let Some(local) = self.get(lock) {
                local.raise_epoch(epoch, cx.now);
                (local.issuer, local.ack_to) = (me, me);
            }
            self.ack_recall(cx, lock, holds, out);
        }
        if let Some(lock) = self.issuer.as_ref().and_then(|issuer| issuer.ready(cx)) {
            self.issue(cx, lock);
        }
    }

    /// Refuses a request that only tries and was not granted within a heartbeat. Returns whether it did.
    pub(super) fn expire_try<M>(&mut self, cx: &Context<'_>, lock: LockId, out: &mut Out<M>) -> bool {
        let leaderless = self.leader.is_none();
        let trying = self.client.get(lock).copied().filter(LockRequest::is_trying);
        let Some(local) = self.get(lock) else { return false };
        let Some(request) = trying else {
            local.try_until = None;
            return false;
        };
        let until = *local.try_until.get_or_insert(request.requested_at.after(cx.timing.heartbeat));
        let over = leaderless || until <= cx.now;
        if over {
            local.try_until = None;
            self.client.refuse(lock, request.number, Refusal::Busy, out);
        }
        over
    }

    /// Begins to issue a token for `lock`, if this node is the issuer.
    pub(super) fn ensure_issued(&mut self, cx: &Context<'_>, lock: LockId) {
        if let Some(issuer) = &mut self.issuer {
            issuer.ensure(cx, lock);
        }
    }

    /// Returns when [`TokenManager::run_due`] has work, or a hold ends.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let issuer = self.issuer.as_ref().and_then(TokenIssuer::deadline);
        let soonest = earliest(self.client.deadline(), issuer);
        self.tokens.iter().fold(soonest, |soonest, local| earliest(soonest, earliest(local.due_at, local.try_until)))
    }
}
