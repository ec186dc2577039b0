//! A member accepts an invitation, and follows the coordinator of its group and nobody else.

use super::{Invitation, Message, Out, Phase, answer_timeout};
use crate::algorithm::Context;
use crate::base::capacity::Candidate;
use crate::base::ids::{NodeId, NodeSet};
use crate::base::term::Term;
use crate::election::Notice;
use crate::election::leadership::LeaderMessage;
use crate::election::rounds::Rounds as _;

impl Invitation {
    pub(super) fn on_invitation(
        &mut self,
        cx: &Context<'_>,
        from: NodeId,
        group: Term,
        coordinator: Candidate,
        out: &mut Out,
    ) {
        self.candidacy.leadership.observe_term(group.number);
        let joined = self.candidacy.joined();
        let stale = group.by == cx.me || (group.by == joined.by && group.number <= joined.number);
        if stale || !self.accepts(cx, from, group, coordinator, out) {
            return;
        }
        let leader = self.leader_id();
        let me = cx.roster.set_of(cx.me);
        let inviter = cx.roster.set_of(group.by);
        let own = if leader == Some(cx.me) { self.members.and(cx.up) } else { NodeSet::EMPTY };
        let forwarded = own.without(me).without(inviter);
        if leader != Some(group.by) {
            if leader.is_some() && !self.candidacy.leadership.may_change(cx) {
                return;
            }
            self.recover(out); // its work stops
        }
        self.candidacy.join(cx, group);
        let term = self.candidacy.leadership.floor();
        out.send(inviter, Message::Accept { group, term, forwarded });
        out.send(forwarded, Message::Invitation { group, coordinator });
        // The other members have to accept, and to acknowledge, before the group begins.
        self.phase = Phase::Accepted { group, until: cx.now.after(answer_timeout(cx).times(4)) };
    }

    /// Returns whether this member accepts the invitation. A coordinator that is better does not: it invites.
    fn accepts(&mut self, cx: &Context<'_>, from: NodeId, group: Term, coordinator: Candidate, out: &mut Out) -> bool {
        match self.phase {
            Phase::Idle { .. } | Phase::Asking { .. } | Phase::Deferring { .. } => {}
            // It changes its mind for nobody but the coordinator that it has accepted.
            Phase::Accepted { group: Term { by, .. }, .. } | Phase::Reorganising { term: Term { by, .. }, .. } => {
                return by == group.by && from == by;
            }
            Phase::Inviting { .. } | Phase::Preparing { .. } => return false,
        }
        match self.leader_id() {
            None => true,
            Some(leader) if leader == cx.me => {
                let better = self.candidacy.candidate(cx).is_some_and(|own| own > coordinator);
                if better && matches!(self.phase, Phase::Idle { .. }) && !cx.quarantined {
                    self.ask(cx, self.outsiders(cx).with(cx.roster.set_of(group.by)), out);
                }
                !better
            }
            Some(leader) => leader == from,
        }
    }

    pub(super) fn on_ready(
        &mut self,
        cx: &Context<'_>,
        from: NodeId,
        (group, term): (Term, Term),
        members: NodeSet,
        out: &mut Out,
    ) {
        self.candidacy.leadership.observe_term(term.number);
        match self.phase {
            Phase::Accepted { group: accepted, .. } if accepted == group && from == group.by && term.by == from => {
                out.notify(Notice::Reorganising { members });
                out.send(cx.roster.set_of(from), Message::Acknowledge { term });
                let until = cx.now.after(answer_timeout(cx).plus(cx.timing.lease()));
                self.phase = Phase::Reorganising { term, members, until };
            }
            // Of a group that this member has given up.
            Phase::Idle { .. }
            | Phase::Asking { .. }
            | Phase::Deferring { .. }
            | Phase::Inviting { .. }
            | Phase::Preparing { .. }
            | Phase::Accepted { .. }
            | Phase::Reorganising { .. } => {}
        }
    }

    /// Handles a message about a leader: of its group, of the group that it reorganises, or of another, which it does not
    /// follow.
    pub(super) fn on_leader_message(&mut self, cx: &Context<'_>, from: NodeId, message: LeaderMessage, out: &mut Out) {
        let (LeaderMessage::Elected { term, leader, .. } | LeaderMessage::Heartbeat { term, leader, .. }) = message
        else {
            self.candidacy.on_leader_message(cx, from, message, out);
            return;
        };
        let current = self.leader_id();
        // A leader hands over under a term of its own.
        let own_group = current == Some(leader.id) || current == Some(term.by);
        let begins = match self.phase {
            Phase::Reorganising { term: ready, members, .. } if ready.by == leader.id && ready <= term => Some(members),
            Phase::Idle { .. }
            | Phase::Asking { .. }
            | Phase::Deferring { .. }
            | Phase::Inviting { .. }
            | Phase::Preparing { .. }
            | Phase::Accepted { .. }
            | Phase::Reorganising { .. } => None,
        };
        if !own_group && begins.is_none() {
            self.candidacy.leadership.observe_term(term.number);
            return;
        }
        let adopted = self.candidacy.on_leader_message(cx, from, message, out);
        if let Some(members) = begins.filter(|_| adopted) {
            self.leave_round();
            (self.members, self.looked) = (members, false);
        }
    }
}
