//! A coordinator looks for others, and merges their groups with its own.

use super::{DEFERS_MAX, Invitation, Message, Out, Phase, answer_timeout};
use crate::algorithm::Context;
use crate::base::capacity::Candidate;
use crate::base::ids::{NodeId, NodeSet};
use crate::base::term::Term;
use crate::election::Notice;
use crate::election::leadership::Leader;
use crate::election::rounds::Rounds as _;

impl Invitation {
    /// Asks `others` whether they coordinate groups.
    pub(super) fn ask(&mut self, cx: &Context<'_>, others: NodeSet, out: &mut Out) {
        let (term, coordinator) = (self.candidacy.leadership.floor(), self.candidacy.candidate(cx));
        out.send(others, Message::Ask { term, coordinator });
        let (asked, until) = (others, cx.now.after(answer_timeout(cx)));
        self.phase = Phase::Asking { asked, found: NodeSet::EMPTY, first: NodeSet::EMPTY, until };
        if others.is_empty() {
            self.on_asked(cx, NodeSet::EMPTY, NodeSet::EMPTY, out);
        }
    }

    /// Handles the question of another coordinator. It may have been found by this member in the same way, so it
    /// counts as one that was found.
    pub(super) fn on_ask(
        &mut self,
        cx: &Context<'_>,
        from: NodeId,
        term: Term,
        asker: Option<Candidate>,
        out: &mut Out,
    ) {
        self.candidacy.leadership.observe_term(term.number);
        let sender = cx.roster.set_of(from);
        let led_by_sender =
            self.candidacy.leadership.leader().is_some_and(|leader| leader.candidate.id == from && leader.term <= term);
        if led_by_sender && matches!(self.phase, Phase::Idle { .. }) {
            self.recover(out); // a coordinator asks nobody in its group
        }
        if !self.coordinates(cx) {
            return; // it has a coordinator, or will have one soon
        }
        if self.leader_id().is_some() {
            self.members = self.members.without(sender); // it is alone
        }
        let (coordinator, incumbent) = (self.candidacy.candidate(cx), self.is_incumbent());
        let term = self.candidacy.leadership.floor();
        out.send(sender, Message::Answer { term, coordinator, incumbent });
        if let (Phase::Idle { .. }, true) = (self.phase, coordinator.is_some() && !cx.quarantined) {
            let rank = if asker < coordinator { self.rank(cx) } else { self.rank(cx).max(1) };
            if rank == 0 {
                self.ask(cx, self.outsiders(cx).with(sender), out);
            } else {
                self.phase = Phase::Idle { start: Some(cx.now.after(answer_timeout(cx).times(rank))) };
            }
        }
    }

    fn is_incumbent(&self) -> bool {
        self.candidacy.leadership.is_leader() && self.candidacy.leadership.has_incumbent()
    }

    /// Returns how many members invite before this one, as far as it knows.
    fn rank(&self, cx: &Context<'_>) -> u32 {
        if self.is_incumbent() { 0 } else { cx.better.and(cx.up).len().min(DEFERS_MAX) }
    }

    /// Handles the answer of a coordinator.
    pub(super) fn on_answer(
        &mut self,
        cx: &Context<'_>,
        from: NodeId,
        coordinator: Option<Candidate>,
        incumbent: bool,
        out: &mut Out,
    ) {
        let own = (self.is_incumbent(), self.candidacy.candidate(cx));
        let Phase::Asking { asked, found, first, until } = self.phase else { return };
        let sender = cx.roster.set_of(from);
        if !asked.meets(sender) {
            return; // the answer to a question of an earlier time
        }
        let first = if (incumbent, coordinator) > own { first.with(sender) } else { first };
        let (asked, found) = (asked.without(sender), found.with(sender));
        self.phase = Phase::Asking { asked, found, first, until };
        if asked.is_empty() {
            self.on_asked(cx, found, first, out);
        }
    }

    /// Decides what follows when all have answered that are going to.
    pub(super) fn on_asked(&mut self, cx: &Context<'_>, found: NodeSet, first: NodeSet, out: &mut Out) {
        self.leave_round();
        if self.candidacy.candidate(cx).is_none() {
            return; // others know of it now
        }
        let alone = self.leader_id().is_none();
        if !found.is_empty() && !first.is_empty() {
            let until = cx.now.after(answer_timeout(cx).times(first.len().min(DEFERS_MAX)));
            self.phase = Phase::Deferring { found, until };
        } else if !found.is_empty() {
            self.invite(cx, found, out);
        } else if alone && !cx.up.is_empty() && !self.looked {
            self.looked = true;
        } else if alone {
            self.invite(cx, NodeSet::EMPTY, out);
        }
    }

    /// Invites `found` coordinators, and the members of the own group.
    pub(super) fn invite(&mut self, cx: &Context<'_>, found: NodeSet, out: &mut Out) {
        self.leave_round();
        if self.candidacy.candidate(cx).is_none() {
            return;
        }
        let group = self.candidacy.leadership.new_term(cx.me);
        let Some(coordinator) = self.candidacy.join(cx, group) else { return };
        let own = if self.candidacy.leadership.is_leader() { self.members.and(cx.up) } else { NodeSet::EMPTY };
        let invited = found.with(own).without(cx.roster.set_of(cx.me));
        out.send(invited, Message::Invitation { group, coordinator });
        let until = cx.now.after(answer_timeout(cx).times(2));
        self.phase = Phase::Inviting { group, invited, accepted: NodeSet::EMPTY, until };
        self.prepare_if_complete(cx, out);
    }

    pub(super) fn on_accept(&mut self, cx: &Context<'_>, from: NodeId, group: Term, forwarded: NodeSet, out: &mut Out) {
        let Phase::Inviting { group: mine, invited, accepted, until } = self.phase else { return };
        if mine != group {
            return; // of a group that was never formed
        }
        let sender = cx.roster.set_of(from);
        let invited = invited.with(forwarded.and(cx.up)).with(sender);
        self.phase = Phase::Inviting { group, invited, accepted: accepted.with(sender), until };
        self.prepare_if_complete(cx, out);
    }

    pub(super) fn prepare_if_complete(&mut self, cx: &Context<'_>, out: &mut Out) {
        if let Phase::Inviting { group, invited, accepted, .. } = self.phase
            && invited.without(accepted).is_empty()
        {
            self.prepare(cx, group, accepted, out);
        }
    }

    /// Reorganises the group of those that `accepted`.
    pub(super) fn prepare(&mut self, cx: &Context<'_>, group: Term, accepted: NodeSet, out: &mut Out) {
        self.leave_round();
        if accepted.is_empty() && self.leader_id().is_some_and(|leader| leader != cx.me) {
            return; // its coordinator does not give way
        }
        let leadership = &mut self.candidacy.leadership;
        // Above all that those who accepted have followed.
        let term = if leadership.term_number() == group.number { group } else { leadership.new_term(cx.me) };
        let members = accepted.with(cx.roster.set_of(cx.me));
        out.notify(Notice::Reorganising { members });
        out.send(accepted, Message::Ready { group, term, members });
        let until = cx.now.after(answer_timeout(cx));
        self.phase = Phase::Preparing { term, members, unready: accepted, until };
        self.lead_if_ready(cx, out);
    }

    pub(super) fn on_acknowledge(&mut self, cx: &Context<'_>, from: NodeId, of: Term, out: &mut Out) {
        match self.phase {
            Phase::Preparing { term, members, unready, until } if term == of => {
                let unready = unready.without(cx.roster.set_of(from));
                self.phase = Phase::Preparing { term, members, unready, until };
                self.lead_if_ready(cx, out);
            }
            // Of a group that another one has replaced since.
            Phase::Idle { .. }
            | Phase::Asking { .. }
            | Phase::Deferring { .. }
            | Phase::Inviting { .. }
            | Phase::Preparing { .. }
            | Phase::Accepted { .. }
            | Phase::Reorganising { .. } => {}
        }
    }

    /// Leads the new group, when all members know of each other.
    pub(super) fn lead_if_ready(&mut self, cx: &Context<'_>, out: &mut Out) {
        let Phase::Preparing { term, members, unready, .. } = self.phase else { return };
        if !unready.is_empty() {
            return;
        }
        self.leave_round();
        let Some(candidate) = self.candidacy.candidate(cx) else { return };
        (self.members, self.looked) = (members, false);
        self.candidacy.leadership.lead(cx, Leader::elected(term, candidate, None), out);
    }
}
