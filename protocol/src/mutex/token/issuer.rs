//! The issuer: the leader issues tokens, leases their use, and issues them again when they are lost.

use super::super::{LOCKS_MAX, LockId};
use super::message::{Epoch, Need};
use crate::algorithm::Context;
use crate::base::config::lease_at_grantor;
use crate::base::ids::NodeSet;
use crate::base::term::Term;
use crate::base::time::{Duration, Instant, earliest};
use heapless::Vec;

/// The state of a lock's token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum IssueState {
    Issued,
    /// To be issued when all members have acknowledged the recall, when the token of epoch `previous` is given back, or
    /// at `wait_until`: then every earlier lease has ended. The recall is to be sent at `send_at`.
    Recalling {
        previous: Option<Epoch>,
        acked: NodeSet,
        wait_until: Instant,
        send_at: Option<Instant>,
    },
}

/// The token of one lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct IssuedToken {
    pub(super) lock: LockId,
    pub(super) epoch: Epoch,
    /// The start of the last lease to any member.
    leased_at: Instant,
    /// The last sign that it is not lost.
    pub(super) seen_at: Instant,
    pub(super) state: IssueState,
    pub(super) requesters: NodeSet,
    /// Whether only the issuer may be asked for it: the usual route failed.
    pub(super) direct: bool,
}

impl IssuedToken {
    /// Begins a lease, to any member.
    pub(super) fn lease(&mut self, cx: &Context<'_>) {
        (self.leased_at, self.seen_at) = (cx.now, cx.now);
    }
}

/// The issuer's reply to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IssuerReply {
    /// The member may use the token of this epoch.
    Lease(Epoch),
    /// The member's token is void: the token of this epoch is, or will be, issued.
    Superseded(Epoch),
    NoReply,
    /// The token seems to be lost.
    Lost,
}

/// All tokens of the issuer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct TokenIssuer {
    since: Instant,
    /// The last epoch, of any lock.
    last: Epoch,
    tokens: Vec<IssuedToken, LOCKS_MAX>,
}

impl TokenIssuer {
    /// Starts after epoch `last`, which this node issued earlier under the same term, if any.
    pub(super) const fn new(since: Instant, last: Epoch) -> Self {
        Self { since, last, tokens: Vec::new() }
    }

    pub(super) const fn last(&self) -> Epoch {
        self.last
    }

    pub(super) fn get(&self, lock: LockId) -> Option<&IssuedToken> {
        self.tokens.iter().find(|token| token.lock == lock)
    }

    pub(super) fn get_mut(&mut self, lock: LockId) -> Option<&mut IssuedToken> {
        self.tokens.iter_mut().find(|token| token.lock == lock)
    }

    /// Removes a lock that [`TokenIssuer::is_unused`].
    pub(super) fn remove(&mut self, lock: LockId) {
        self.tokens.retain(|token| token.lock != lock);
    }

    /// Returns whether no member wants the lock and every lease of it has ended.
    pub(super) fn is_unused(&self, cx: &Context<'_>, lock: LockId) -> bool {
        self.get(lock).is_none_or(|token| {
            token.state == IssueState::Issued
                && token.requesters.is_empty()
                && token.leased_at.after(lease_at_grantor(cx.timing.lock_lease)) <= cx.now
        })
    }

    /// Continues under another term: all tokens are issued again under it.
    pub(super) fn set_term(&mut self, cx: &Context<'_>, term: Term) {
        self.last.term = term; // the serial numbers go on
        self.recall_all(cx, |_| true);
    }

    /// Begins to issue a token for `lock`, if there is none. Returns whether there is room.
    pub(super) fn ensure(&mut self, cx: &Context<'_>, lock: LockId) -> bool {
        if self.get(lock).is_some() {
            return true;
        }
        let epoch = self.next_epoch();
        let wait_until = self.since.after(lease_at_grantor(cx.timing.lock_lease));
        let state = IssueState::Recalling { previous: None, acked: NodeSet::EMPTY, wait_until, send_at: Some(cx.now) };
        let (leased_at, seen_at, requesters) = (self.since, cx.now, NodeSet::EMPTY);
        self.tokens.push(IssuedToken { lock, epoch, leased_at, seen_at, state, requesters, direct: false }).is_ok()
    }

    /// Recalls the tokens that are `lost`, one after the other: messages need room in the link.
    pub(super) fn recall_all(&mut self, cx: &Context<'_>, lost: impl Fn(LockId) -> bool) {
        let tokens = self.tokens.clone();
        let mut send_at = cx.now;
        for token in tokens.iter().filter(|token| lost(token.lock)) {
            self.recall(cx, token.lock, send_at);
            send_at = send_at.after(cx.timing.retry);
        }
    }

    /// Recalls a token, with a message to all members at `send_at`.
    pub(super) fn recall(&mut self, cx: &Context<'_>, lock: LockId, send_at: Instant) {
        let (term, next) = (self.last.term, self.next_epoch());
        let since = self.since;
        let Some(token) = self.get_mut(lock) else { return };
        let leases_end = token.leased_at.max(since).after(lease_at_grantor(cx.timing.lock_lease));
        let (acked, send_at) = (NodeSet::EMPTY, Some(send_at));
        token.state = match token.state {
            IssueState::Issued => {
                IssueState::Recalling { previous: Some(token.epoch), acked, wait_until: leases_end, send_at }
            }
            IssueState::Recalling { previous, wait_until, .. } if token.epoch.term != term => {
                IssueState::Recalling { previous, acked, wait_until, send_at }
            }
            IssueState::Recalling { previous, acked, wait_until, .. } => {
                token.state = IssueState::Recalling { previous, acked, wait_until, send_at };
                return; // it is recalled already
            }
        };
        token.epoch = next;
    }

    /// Sends all open recalls again: a member has returned.
    pub(super) fn send_again(&mut self, cx: &Context<'_>) {
        for token in &mut self.tokens {
            if let IssueState::Recalling { send_at, .. } = &mut token.state {
                *send_at = Some(cx.now);
            }
        }
    }

    /// Decides the reply to a request of `from`, which knows of the token of epoch `known`.
    pub(super) fn reply(
        &mut self,
        cx: &Context<'_>,
        from: NodeSet,
        lock: LockId,
        (need, known): (Need, Epoch),
    ) -> IssuerReply {
        let lost_after = lost_after(cx);
        let Some(token) = self.get_mut(lock) else { return IssuerReply::NoReply };
        let current = token.epoch == known;
        match (need, &mut token.state) {
            (Need::Acquire, state) => {
                let lost = *state == IssueState::Issued && token.seen_at.after(lost_after) <= cx.now;
                token.requesters = token.requesters.with(from);
                if lost {
                    token.direct = true;
                    return IssuerReply::Lost;
                }
                token.leased_at = cx.now;
                IssuerReply::Lease(token.epoch)
            }
            (Need::Enter | Need::Renew, IssueState::Issued) if current => {
                token.lease(cx);
                IssuerReply::Lease(token.epoch)
            }
            // It holds the lock by the recalled token, so no other member does; the next token must wait for it.
            (Need::Renew, IssueState::Recalling { wait_until, .. }) => {
                *wait_until = cx.now.after(lease_at_grantor(cx.timing.lock_lease)).max(*wait_until);
                IssuerReply::Lease(known)
            }
            (Need::Enter | Need::Renew, IssueState::Issued | IssueState::Recalling { .. }) => {
                IssuerReply::Superseded(token.epoch)
            }
            (Need::InUse, IssueState::Issued | IssueState::Recalling { .. }) => {
                token.seen_at = cx.now;
                IssuerReply::NoReply
            }
            (Need::SuccessorLost | Need::RouteLost, IssueState::Issued) if current => IssuerReply::Lost,
            (Need::SuccessorLost | Need::RouteLost, IssueState::Issued | IssueState::Recalling { .. }) => {
                IssuerReply::NoReply // recalled already, or found since
            }
        }
    }

    /// Takes the acknowledgement of a recall, with the epoch of the token the member had. Returns whether the new token
    /// can be issued.
    pub(super) fn on_recall_ack(
        &mut self,
        cx: &Context<'_>,
        from: NodeSet,
        lock: LockId,
        (epoch, had): (Epoch, Option<Epoch>),
    ) -> bool {
        let Some(token) = self.get_mut(lock).filter(|token| token.epoch == epoch) else { return false };
        let IssueState::Recalling { previous, acked, .. } = &mut token.state else { return false };
        *acked = acked.with(from);
        let given_back = previous.is_some() && had == *previous; // there was but one
        given_back || cx.roster.all().without(*acked).is_empty()
    }

    /// Marks the token of `lock` as issued; returns its epoch.
    pub(super) fn issue(&mut self, cx: &Context<'_>, lock: LockId) -> Option<Epoch> {
        let token = self.get_mut(lock)?;
        (token.state, token.leased_at, token.seen_at, token.direct) = (IssueState::Issued, cx.now, cx.now, false);
        Some(token.epoch)
    }

    /// Returns a lock whose token can be issued now, because every earlier lease has ended and the recall was sent.
    pub(super) fn ready(&self, cx: &Context<'_>) -> Option<LockId> {
        let ready = |token: &&IssuedToken| match token.state {
            IssueState::Issued => false,
            IssueState::Recalling { previous, wait_until, send_at, .. } => {
                wait_until <= cx.now && (previous.is_none() || send_at.is_none())
            }
        };
        self.tokens.iter().find(ready).map(|token| token.lock)
    }

    /// Returns a recall to be sent now, and the members that have acknowledged it. A first token needs none when every
    /// earlier lease has ended.
    pub(super) fn next_recall(&mut self, cx: &Context<'_>) -> Option<(IssuedToken, NodeSet)> {
        for token in &mut self.tokens {
            if let IssueState::Recalling { previous, acked, wait_until, send_at } = &mut token.state
                && send_at.is_some_and(|at| at <= cx.now)
                && (previous.is_some() || *wait_until > cx.now)
            {
                *send_at = None;
                let acked = *acked;
                return Some((*token, acked));
            }
        }
        None
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.tokens.iter().fold(None, |soonest, token| match token.state {
            IssueState::Issued => soonest,
            // The token is not issued before the recall of the one before was sent.
            IssueState::Recalling { previous: Some(_), send_at: Some(send_at), .. } => earliest(soonest, Some(send_at)),
            IssueState::Recalling { wait_until, send_at, .. } => earliest(soonest, earliest(Some(wait_until), send_at)),
        })
    }

    fn next_epoch(&mut self) -> Epoch {
        self.last.serial = self.last.serial.saturating_add(1);
        self.last
    }
}

/// Returns the time without a sign after which a token is taken to be lost: every member may use it, each a little
/// shorter than it would have to report.
fn lost_after(cx: &Context<'_>) -> Duration {
    let lease = lease_at_grantor(cx.timing.lock_lease);
    lease.plus(lease.mul_ratio(1, 3).times(cx.roster.all().len()))
}
