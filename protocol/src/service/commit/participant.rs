//! A participant: it votes, waits for the decision, and asks for it.

use super::coordinator::others;
use super::log::{Transaction, TransactionId};
use super::message::Message;
use super::{AbortReason, Commit, Notice, Out};
use crate::algorithm::Context;
use crate::base::ids::NodeSet;
use crate::base::time::Instant;

/// A transaction that the application is to vote on.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    coordinator: NodeSet,
    pub(super) transaction: Transaction,
}

/// How a member in doubt finds out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Doubt {
    /// Who asked for the vote; nobody, after a reboot.
    coordinator: NodeSet,
    /// When to ask others, again and again.
    pub(super) at: Instant,
    /// Whom to ask now.
    pub(super) ask: NodeSet,
    /// Whether the application knows.
    notified: bool,
}

impl Doubt {
    pub(super) const fn after_reboot() -> Self {
        Self { coordinator: NodeSet::EMPTY, at: Instant::ZERO, ask: NodeSet::EMPTY, notified: false }
    }
}

impl Commit {
    pub(super) fn on_prepare(&mut self, sender: NodeSet, transaction: Transaction, out: &mut Out) {
        let id = transaction.id;
        if self.log.has_prepared(id) {
            return;
        }
        let superseded = self.asked.take_if(|asked| asked.transaction.id < id);
        if let Some(Asked { transaction: Transaction { id, .. }, .. }) = superseded {
            out.notify(Notice::Aborted { id, reason: AbortReason::NewCoordinator });
        }
        let free = self.log.prepared.is_none() && self.round.is_none() && self.asked.is_none();
        if free && id > self.log.promised {
            self.asked = Some(Asked { coordinator: sender, transaction: transaction.clone() });
            out.notify(Notice::Prepare { transaction });
        } else {
            self.vote = Some((sender, id, false));
        }
    }

    /// Votes as the application says.
    pub(super) fn vote_on(&mut self, cx: &Context<'_>, id: TransactionId, yes: bool) {
        let Some(Asked { coordinator, transaction }) = self.asked.take_if(|asked| asked.transaction.id == id) else {
            return;
        };
        self.vote = Some((coordinator, id, yes));
        if yes {
            self.write(|log| (log.promised, log.prepared) = (id, Some(transaction)));
            let at = cx.now.after(cx.timing.lease());
            self.doubt = Some(Doubt { coordinator, at, ask: NodeSet::EMPTY, notified: false });
        } else {
            self.log.promised = id; // need not be written: see the coordinator
        }
    }

    pub(super) fn on_commit(&mut self, sender: NodeSet, transaction: Transaction, out: &mut Out) {
        let id = transaction.id;
        if self.log.has_prepared(id) {
            self.resolve(|log| (log.lost, log.committed) = (false, log.prepared.take()));
        } else if self.log.lost && id > self.log.last() {
            let committed = transaction.clone();
            self.write(|log| (log.promised, log.committed) = (log.promised.max(id), Some(committed)));
        } else {
            self.ack = Some((sender, id)).filter(|_| id <= self.log.last()).or(self.ack);
            return;
        }
        self.ack = Some((sender, id));
        out.notify(Notice::Committed { transaction });
    }

    pub(super) fn on_abort(&mut self, id: TransactionId, out: &mut Out) {
        if self.log.has_prepared(id) {
            self.resolve(|log| log.prepared = None);
        } else if self.asked.take_if(|asked| asked.transaction.id == id).is_some() {
            self.log.promised = id;
        } else {
            return;
        }
        out.notify(Notice::Aborted { id, reason: AbortReason::Decided });
    }

    /// Leaves the state of doubt.
    fn resolve(&mut self, change: impl FnOnce(&mut super::Log)) {
        self.write(change);
        (self.doubt, self.vote) = (None, None);
    }

    pub(super) fn on_down(&mut self, cx: &Context<'_>, set: NodeSet, out: &mut Out) {
        if let Some(doubt) = self.doubt.as_mut().filter(|doubt| doubt.coordinator.meets(set)) {
            doubt.at = doubt.at.min(cx.now);
        }
        // Nobody knows of a vote that was not given.
        if let Some(asked) = self.asked.take_if(|asked| asked.coordinator.meets(set)) {
            let id = asked.transaction.id;
            self.log.promised = id;
            out.notify(Notice::Aborted { id, reason: AbortReason::Unreachable });
        }
    }

    /// Asks everybody for the decision, if it is time, and says so the first time.
    pub(super) fn inquire_if_due(&mut self, cx: &Context<'_>, out: &mut Out) {
        let Some(doubt) = self.doubt.as_mut().filter(|doubt| doubt.at <= cx.now) else { return };
        doubt.at = cx.now.after(cx.timing.heartbeat);
        doubt.ask = others(cx);
        if !core::mem::replace(&mut doubt.notified, true)
            && let Some(transaction) = self.log.prepared.clone()
        {
            out.notify(Notice::Blocked { transaction });
        }
    }

    /// Returns the decision on a transaction that another member is in doubt about, if this member knows it, or may make it.
    fn answer(&mut self, id: TransactionId, out: &mut Out) -> Option<Message> {
        if let Some(committed) = self.log.committed.as_ref().filter(|committed| committed.id == id) {
            return Some(Message::Commit { transaction: committed.clone() });
        }
        let undecided = self.log.has_prepared(id) || self.round.as_ref().is_some_and(|round| round.is_voting_on(id));
        // Of what is older than the last commit nobody is in doubt: this question was long under way.
        if undecided || self.log.lost || id < self.log.last() {
            return None;
        }
        if self.asked.take_if(|asked| asked.transaction.id == id).is_some() {
            out.notify(Notice::Aborted { id, reason: AbortReason::Decided });
        }
        if id > self.log.promised {
            self.write(|log| log.promised = id);
        }
        Some(Message::Abort { id })
    }

    /// Returns the next message of a participant, and to whom.
    pub(super) fn poll_participant(&mut self, cx: &Context<'_>, out: &mut Out) -> Option<(NodeSet, Message)> {
        if let Some((to, id, yes)) = self.vote.take_if(|(to, ..)| to.meets(cx.up)) {
            return Some((to, Message::Vote { id, yes }));
        }
        if let Some((to, id)) = self.ack.take().filter(|(to, _)| to.meets(cx.up)) {
            return Some((to, Message::Ack { id }));
        }
        if let Some((id, by)) = self.inquiry.take()
            && let Some(answer) = self.answer(id, out).filter(|_| by.meets(cx.up))
        {
            return Some((by.and(cx.up), answer));
        }
        let (doubt, prepared) = self.doubt.as_mut().zip(self.log.prepared.as_ref())?;
        let to = doubt.ask.and(cx.up);
        doubt.ask = doubt.ask.without(to);
        (!to.is_empty()).then_some((to, Message::Inquire { id: prepared.id }))
    }
}
