//! The coordinator: it asks for votes, decides, and tells the decision.

use super::log::{Change, Transaction, TransactionId};
use super::message::Message;
use super::{AbortReason, Commit, Notice, Out, Refusal};
use crate::algorithm::Context;
use crate::base::ids::{NodeId, NodeSet};
use crate::base::term::Term;
use crate::base::time::Instant;

/// How far a transaction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Votes of these members are missing.
    Voting {
        missing: NodeSet,
        until: Instant,
    },
    /// It is committed; these members have not acknowledged it.
    Committed {
        unacknowledged: NodeSet,
    },
    Aborted,
}

/// A transaction at its coordinator.
#[derive(Clone, Debug)]
pub(super) struct Round {
    transaction: Transaction,
    phase: Phase,
    /// The members to whom the message of this phase was not sent yet.
    unsent: NodeSet,
}

impl Round {
    /// Returns whether votes on this transaction are still missing.
    pub(super) fn is_voting_on(&self, id: TransactionId) -> bool {
        self.transaction.id == id && matches!(self.phase, Phase::Voting { .. })
    }

    /// Returns whether it is not decided, and needs one of these members.
    pub(super) fn waits_for(&self, set: NodeSet) -> bool {
        matches!(self.phase, Phase::Voting { .. }) && !set.is_empty()
    }

    /// Tells the decision again to members that came back: the link may have abandoned it.
    pub(super) const fn on_up(&mut self, set: NodeSet) {
        if let Phase::Committed { unacknowledged } = self.phase {
            self.unsent = self.unsent.with(unacknowledged.and(set));
        }
    }

    /// When votes that are still missing are waited for no longer.
    pub(super) const fn deadline(&self) -> Option<Instant> {
        match self.phase {
            Phase::Voting { until, .. } => Some(until),
            Phase::Committed { .. } | Phase::Aborted => None,
        }
    }
}

/// All members but this one.
pub(super) fn others(cx: &Context<'_>) -> NodeSet {
    cx.roster.all().without(cx.roster.set_of(cx.me))
}

impl Commit {
    pub(super) fn propose(&mut self, cx: &Context<'_>, change: Change, out: &mut Out) {
        let refused = match self.leader.filter(|&(leader, _)| leader == cx.me) {
            None => Refusal::NotCoordinator,
            Some(_) if self.log.prepared.is_some() => Refusal::InDoubt,
            Some(_) if self.round.is_some() || self.asked.is_some() => Refusal::Busy,
            Some(_) if !others(cx).without(cx.up).is_empty() => Refusal::Unreachable,
            Some((_, term)) => {
                let number = if self.proposed.0 == term { self.proposed.1.saturating_add(1) } else { 1 };
                let id = TransactionId { term, number };
                if id > self.log.promised {
                    self.proposed = (term, number);
                    return self.begin(cx, Transaction { id, change }, out);
                }
                Refusal::NotCoordinator // this member has taken part in a transaction of a later leader
            }
        };
        out.notify(Notice::Refused { reason: refused });
    }

    fn begin(&mut self, cx: &Context<'_>, transaction: Transaction, out: &mut Out) {
        let (missing, id) = (others(cx), transaction.id);
        self.log.promised = id; // need not be written: a transaction without a record is aborted
        let phase = Phase::Voting { missing, until: cx.now.after(cx.timing.lease()) };
        self.round = Some(Round { transaction, phase, unsent: missing });
        out.notify(Notice::Proposed { id });
        self.decide_if_all_voted(cx, out);
    }

    pub(super) fn on_vote(&mut self, cx: &Context<'_>, sender: NodeSet, id: TransactionId, yes: bool, out: &mut Out) {
        let Some(round) = self.round.as_mut().filter(|round| round.is_voting_on(id)) else { return };
        let Phase::Voting { missing, .. } = &mut round.phase else { return };
        *missing = missing.without(sender);
        if yes {
            self.decide_if_all_voted(cx, out);
        } else {
            self.abort(cx, sender, AbortReason::VotedNo, out);
        }
    }

    fn decide_if_all_voted(&mut self, cx: &Context<'_>, out: &mut Out) {
        let Some(round) = &mut self.round else { return };
        if !matches!(round.phase, Phase::Voting { missing, .. } if missing.is_empty()) {
            return;
        }
        let (unacknowledged, transaction) = (others(cx), round.transaction.clone());
        (round.phase, round.unsent) = (Phase::Committed { unacknowledged }, unacknowledged);
        let committed = transaction.clone();
        self.write(|log| (log.lost, log.committed) = (false, Some(committed)));
        out.notify(Notice::Committed { transaction });
        self.complete(out);
    }

    /// Aborts the transaction, if it is not decided and `due` for this reason.
    pub(super) fn abort_where(
        &mut self,
        cx: &Context<'_>,
        reason: AbortReason,
        due: impl FnOnce(&Round) -> bool,
        out: &mut Out,
    ) {
        if self.round.as_ref().is_some_and(due) {
            self.abort(cx, NodeSet::EMPTY, reason, out);
        }
    }

    /// Aborts the transaction and tells everybody who was asked but those who `know`.
    fn abort(&mut self, cx: &Context<'_>, know: NodeSet, reason: AbortReason, out: &mut Out) {
        let Some(round) = self.round.as_mut().filter(|round| matches!(round.phase, Phase::Voting { .. })) else {
            return;
        };
        round.unsent = others(cx).without(round.unsent).without(know);
        round.phase = Phase::Aborted;
        out.notify(Notice::Aborted { id: round.transaction.id, reason });
    }

    pub(super) fn on_ack(&mut self, sender: NodeSet, id: TransactionId, out: &mut Out) {
        if let Some(Round { transaction, phase: Phase::Committed { unacknowledged }, .. }) = &mut self.round
            && transaction.id == id
        {
            *unacknowledged = unacknowledged.without(sender);
            self.complete(out);
        }
    }

    /// Ends the transaction, if all have acknowledged it.
    fn complete(&mut self, out: &mut Out) {
        if let Some(Round { transaction, phase: Phase::Committed { unacknowledged }, .. }) = &self.round
            && unacknowledged.is_empty()
        {
            out.notify(Notice::Completed { id: transaction.id });
            self.round = None;
        }
    }

    pub(super) fn follow(&mut self, cx: &Context<'_>, leader: Option<(NodeId, Term)>, out: &mut Out) {
        if leader != self.leader {
            self.leader = leader;
            self.abort_where(cx, AbortReason::NewCoordinator, |_| true, out);
        }
    }

    /// Returns the next message of the coordinator, and to whom.
    pub(super) fn poll_round(&mut self, cx: &Context<'_>) -> Option<(NodeSet, Message)> {
        let round = self.round.as_mut()?;
        let to = round.unsent.and(cx.up);
        round.unsent = round.unsent.without(to);
        let transaction = round.transaction.clone();
        let message = match round.phase {
            Phase::Voting { .. } => Message::Prepare { transaction },
            Phase::Committed { .. } => Message::Commit { transaction },
            Phase::Aborted => {
                self.round = None; // who is not told, asks
                Message::Abort { id: transaction.id }
            }
        };
        (!to.is_empty()).then_some((to, message))
    }
}
