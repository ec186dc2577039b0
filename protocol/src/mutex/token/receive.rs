//! Messages about tokens, received as issuer and as member.

use super::super::client::Phase;
use super::super::{LockId, Refusal};
use super::issuer::{IssueState, IssuerReply};
use super::state::TokenState;
use super::{Epoch, LocalToken, Need, Out, Token, TokenManager, TokenMessage};
use crate::algorithm::Context;
use crate::base::config::{lease_at_grantor, lease_at_holder};
use crate::base::ids::{NodeId, NodeSet};
use crate::base::lamport::LamportTime;

impl TokenManager {
    pub(in super::super) fn on_message<M: From<TokenMessage>>(
        &mut self,
        cx: &Context<'_>,
        from: NodeId,
        message: TokenMessage,
        out: &mut Out<M>,
    ) {
        let sender = cx.roster.set_of(from);
        match message {
            TokenMessage::Request { lock, number, need, epoch } => {
                if self.is_issuer() {
                    self.on_request(cx, sender, (lock, number), (need, epoch), out);
                } // otherwise the sender does not know the leader yet, and will repeat its request
            }
            TokenMessage::Lease { lock, number, epoch, ahead } => {
                self.on_lease(cx, (lock, number), epoch, ahead, out);
            }
            TokenMessage::Refuse { lock, number } => {
                let pending = self.get(lock).and_then(|local| local.pending);
                let request = self.client.get(lock).map(|request| request.number);
                if let (Some(pending), Some(request)) = (pending, request)
                    && pending.number == number
                {
                    self.client.refuse(lock, request, Refusal::Full, out);
                }
            }
            TokenMessage::Recall { lock, epoch, via } => {
                let holds = self.client.holds(lock, cx.now).is_some();
                let Some(local) = self.get_or_insert(cx, lock) else { return }; // the leases have to end
                if epoch < local.token.epoch {
                    return; // of an earlier leader
                }
                local.raise_epoch(epoch, cx.now);
                (local.issuer, local.via, local.ack_to) = (sender, via, sender);
                self.ack_recall(cx, lock, holds, out);
            }
            TokenMessage::RecallAck { lock, epoch, had } => self.on_recall_ack(cx, sender, lock, (epoch, had)),
        }
    }

    fn on_request<M: From<TokenMessage>>(
        &mut self,
        cx: &Context<'_>,
        sender: NodeSet,
        (lock, number): (LockId, LamportTime),
        request: (Need, Epoch),
        out: &mut Out<M>,
    ) {
        let room = self.get_or_insert(cx, lock).is_some();
        match room.then(|| self.reply(cx, sender, lock, request)).flatten() {
            None => out.send(sender, TokenMessage::Refuse { lock, number }.into()),
            Some(IssuerReply::Lease(epoch)) => {
                let ahead = self.ahead(lock, sender);
                out.send(sender, TokenMessage::Lease { lock, number, epoch, ahead }.into());
            }
            Some(IssuerReply::Superseded(epoch)) => {
                out.send(sender, TokenMessage::Recall { lock, epoch, via: cx.up }.into());
            }
            Some(IssuerReply::NoReply | IssuerReply::Lost) => {} // a lost token is recalled from all members
        }
    }

    /// Returns the number of members ahead of a requester: all others that want the token, unless it is here and free.
    fn ahead(&self, lock: LockId, requester: NodeSet) -> u8 {
        let others = self.issuer.as_ref().and_then(|issuer| issuer.get(lock)).map_or(0, |token| {
            let free = token.state != IssueState::Issued || self.is_here(lock);
            token.requesters.without(requester).len().max(u32::from(!free))
        });
        u8::try_from(others).unwrap_or(u8::MAX)
    }

    fn on_lease<M: From<TokenMessage>>(
        &mut self,
        cx: &Context<'_>,
        (lock, number): (LockId, LamportTime),
        epoch: Epoch,
        ahead: u8,
        out: &mut Out<M>,
    ) {
        let Some(local) = self.get(lock) else { return };
        let Some(pending) = local.pending.filter(|pending| pending.number == number) else { return };
        local.pending = None;
        local.raise_epoch(epoch, cx.now);
        let until = pending.sent_at.after(lease_at_holder(cx.timing.lock_lease));
        local.lease = Some((epoch, until));
        let here = local.is_here();
        let client = &mut self.client;
        let Some(&request) = client.get(lock) else { return };
        match request.phase {
            Phase::Waiting { trying: true, .. } if ahead > 0 && !here => {
                client.refuse(lock, request.number, Refusal::Busy, out);
            }
            Phase::Waiting { .. } if ahead > 0 => client.notify_waiting(lock, request.number, ahead, out),
            Phase::Held { renewal: Some(renewal), .. } => {
                client.extend(lock, renewal.number, until.min(renewal.requested_at.after(renewal.lease)), out);
            }
            Phase::Waiting { .. } | Phase::Held { renewal: None, .. } => {} // it comes at once, or is here
        }
    }

    /// Acknowledges a recall, if one is open and this node does not hold the lock; a node that has just started may
    /// have forgotten that it does.
    pub(in super::super) fn ack_recall<M: From<TokenMessage>>(
        &mut self,
        cx: &Context<'_>,
        lock: LockId,
        holds: bool,
        out: &mut Out<M>,
    ) {
        let me = cx.roster.set_of(cx.me);
        let Some(local) = self.get(lock).filter(|local| !holds && !local.ack_to.is_empty()) else { return };
        let knows = cx.uptime >= lease_at_grantor(cx.timing.lock_lease);
        if local.had.is_none() && !knows {
            return;
        }
        let (to, epoch, had) = (local.ack_to, local.token.epoch, local.had.take());
        local.ack_to = NodeSet::EMPTY;
        if to == me {
            self.on_recall_ack(cx, me, lock, (epoch, had));
        } else {
            out.send(to, TokenMessage::RecallAck { lock, epoch, had }.into());
        }
    }

    fn on_recall_ack(&mut self, cx: &Context<'_>, sender: NodeSet, lock: LockId, ack: (Epoch, Option<Epoch>)) {
        let Some(issuer) = &mut self.issuer else { return };
        if issuer.on_recall_ack(cx, sender, lock, ack) {
            self.issue(cx, lock);
        }
    }

    /// Issues a token, unless this leader knows of a token of a later one: members learn of a leader at different
    /// moments, so a request of another may show the last one that it leads no more.
    pub(super) fn issue(&mut self, cx: &Context<'_>, lock: LockId) {
        let Some(epoch) = self.issuer.as_mut().and_then(|issuer| issuer.issue(cx, lock)) else { return };
        if let Some(local) = self.get(lock) {
            local.raise_epoch(epoch, cx.now);
            if local.token.epoch == epoch {
                local.state = TokenState::Here;
            }
        }
    }

    /// Takes a token passed to this node; returns whether it is valid: the latest there is, and no duplicate.
    pub(in super::super) fn accept<M: From<TokenMessage>>(
        &mut self,
        cx: &Context<'_>,
        lock: LockId,
        token: Token,
        out: &mut Out<M>,
    ) -> bool {
        let holds = self.client.holds(lock, cx.now).is_some();
        let leader = self.leader(cx);
        let Some(local) = self.get(lock) else { return false };
        if token.epoch < local.token.epoch {
            // It was on its way when it was recalled: it is found.
            local.had = local.had.max(Some(token.epoch));
            if local.ack_to.is_empty() {
                local.ack_to = leader;
            }
            self.ack_recall(cx, lock, holds, out);
            return false;
        }
        if token <= local.token {
            return false; // duplicate
        }
        if let Some(issuer) = &mut self.issuer {
            let Some(issued) = issuer.get_mut(lock).filter(|issued| issued.epoch == token.epoch) else {
                return false;
            };
            issued.seen_at = cx.now;
        }
        if let Some(local) = self.get(lock) {
            *local = LocalToken { token, state: TokenState::Here, touched_at: cx.now, ..*local };
        }
        true
    }
}
