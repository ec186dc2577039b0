//! The token of one lock, as one node knows it.

use super::super::LockId;
use super::super::client::{Granted, LockRequest};
use super::message::{Epoch, Need, Token};
use crate::algorithm::Context;
use crate::base::ids::{NodeSet, SLOTS_MAX};
use crate::base::lamport::LamportTime;
use crate::base::time::{Duration, Instant, earliest};

/// A request to the issuer without a reply yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pending {
    pub(super) number: LamportTime,
    pub(super) sent_at: Instant,
}

/// Where the token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in super::super) enum TokenState {
    /// Elsewhere, or not issued yet.
    Absent,
    /// At this node.
    Here,
    /// Last passed on to the member in this slot: the token may be lost if that is gone.
    Passed(u8),
}

/// One lock's token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in super::super) struct LocalToken {
    pub(in super::super) lock: LockId,
    /// The token as this node last had it, or the one that will be issued.
    pub(in super::super) token: Token,
    pub(super) state: TokenState,
    /// The members that may be asked for it, besides the issuer.
    pub(in super::super) via: NodeSet,
    /// The issuer that last sent a message about it.
    pub(in super::super) issuer: NodeSet,
    /// Whether other members wait for it here.
    pub(in super::super) has_waiters: bool,
    /// The end of the lease, and the token it is for.
    pub(super) lease: Option<(Epoch, Instant)>,
    pub(super) pending: Option<Pending>,
    /// The number of the client's request that was sent to the issuer.
    pub(super) announced: Option<LamportTime>,
    /// When to send a request or a report to the issuer.
    pub(super) due_at: Option<Instant>,
    /// The report to send then.
    pub(super) report: Option<Need>,
    /// The epoch of a void token this node had, not reported to the issuer yet.
    pub(super) had: Option<Epoch>,
    /// The issuer whose recall is to be acknowledged.
    pub(super) ack_to: NodeSet,
    /// The end of the wait of a request that only tries.
    pub(super) try_until: Option<Instant>,
    /// The time of the last message about it.
    pub(super) touched_at: Instant,
}

impl LocalToken {
    pub(super) fn new(lock: LockId, epoch: Epoch, issuer: NodeSet, now: Instant) -> Self {
        Self {
            lock,
            token: Token::new(epoch),
            state: TokenState::Absent,
            via: NodeSet::first(SLOTS_MAX),
            issuer,
            has_waiters: false,
            lease: None,
            pending: None,
            announced: None,
            due_at: None,
            report: None,
            had: None,
            ack_to: NodeSet::EMPTY,
            try_until: None,
            touched_at: now,
        }
    }

    pub(in super::super) fn is_here(&self) -> bool {
        self.state == TokenState::Here
    }

    /// Voids all tokens before `epoch`.
    pub(in super::super) fn raise_epoch(&mut self, epoch: Epoch, now: Instant) {
        self.touched_at = now;
        if epoch <= self.token.epoch {
            return;
        }
        if core::mem::replace(&mut self.state, TokenState::Absent) == TokenState::Here {
            self.had = self.had.max(Some(self.token.epoch));
        }
        (self.token, self.report, self.via) = (Token::new(epoch), None, NodeSet::first(SLOTS_MAX));
    }

    /// Returns whether the issuer recalled the token before, and named the members to ask for this one.
    pub(in super::super) fn follows_recall(&self) -> bool {
        self.via != NodeSet::first(SLOTS_MAX)
    }

    /// Returns whether this token has never been here.
    pub(in super::super) fn is_unseen(&self) -> bool {
        !self.is_here() && self.token.sequence == 0
    }

    /// Returns the rest of the lease of the token that is here.
    pub(in super::super) fn lease_left(&self, now: Instant) -> Duration {
        match self.lease {
            Some((epoch, until)) if self.is_here() && epoch == self.token.epoch => until.since(now),
            Some(_) | None => Duration::ZERO,
        }
    }

    /// Takes over the lease that came with the token, unless the own one lasts longer.
    pub(in super::super) fn inherit_lease(&mut self, until: Instant) {
        let own = self.lease.filter(|&(epoch, _)| epoch == self.token.epoch);
        self.lease = Some((self.token.epoch, own.map_or(until, |(_, own)| own.max(until))));
    }

    /// Returns whether the token is here with a lease long enough for `request`.
    pub(super) fn may_enter(&self, cx: &Context<'_>, request: &LockRequest) -> bool {
        self.is_here() && self.lease_left(cx.now) >= request.lease.mul_ratio(1, 2)
    }

    pub(super) fn enter(&mut self, cx: &Context<'_>, request: &LockRequest) -> Granted {
        self.token = self.token.next();
        self.due_at = Some(cx.now.after(cx.timing.lock_lease.mul_ratio(1, 3)));
        let until = cx.now.after(request.lease.min(self.lease_left(cx.now)));
        Granted { lock: request.lock, request: request.number, fence: self.token.fence(), until }
    }

    /// Returns whether this request has yet to be sent to the issuer, and records it as sent.
    pub(in super::super) fn announce(&mut self, cx: &Context<'_>, number: LamportTime) -> bool {
        let unsent = self.announced != Some(number) && self.pending.is_none();
        if unsent {
            self.announced = Some(number);
            self.due_at = Some(cx.now.after(cx.timing.lock_lease));
        }
        unsent
    }

    /// Returns whether a request to the issuer is without a reply.
    pub(super) const fn is_pending(&self) -> bool {
        self.pending.is_some()
    }

    /// Waits for the token, and asks the issuer if it does not come: silence means failure.
    pub(in super::super) fn wait(&mut self, cx: &Context<'_>) {
        self.due_at = self.due_at.or(Some(cx.now.after(cx.timing.heartbeat.mul_ratio(1, 2))));
    }

    /// Waits for the token, and asks the issuer if it does not come within a lease.
    pub(in super::super) fn wait_a_lease(&mut self, cx: &Context<'_>) {
        self.due_at = self.due_at.or(Some(cx.now.after(cx.timing.lock_lease)));
    }

    /// Repeats the request at `at`, or earlier if that is due.
    pub(in super::super) fn repeat_at(&mut self, at: Instant) {
        self.due_at = earliest(self.due_at, Some(at));
    }

    /// Reports that the member that was asked for the token is gone.
    pub(in super::super) fn report_route_lost(&mut self, cx: &Context<'_>) {
        (self.report, self.due_at) = (Some(Need::RouteLost), Some(cx.now));
    }

    pub(in super::super) fn pass(&mut self, to: NodeSet) -> Token {
        self.token = self.token.next();
        let slot = to.slots().next().and_then(|slot| u8::try_from(slot).ok());
        self.state = slot.map_or(TokenState::Absent, TokenState::Passed);
        self.token
    }
}
