//! The Invitation election: groups of members that can reach each other, each with a coordinator, are merged by
//! invitation.
//!
//! A group is what a coordinator formed: one member after a boot or after its coordinator was lost, more after a merge. A
//! coordinator asks the members outside its group, again and again, whether they coordinate groups. The best of those
//! that find each other invites the others first; an invited coordinator forwards the invitation to its members. Whoever
//! accepts stops its work, and hears who is in the new group before that begins. No member follows a coordinator that it
//! did not follow there, so networks that split, and links that come and go, make groups, never confusion in a group.
//!
//! A group is here what the paper calls so: a part of the list of members that is called a group elsewhere.
//! The coordinator of a group is its leader; a group's number is the leader's term, or was before that was raised.
//!
//! # Paper
//! H. Garcia-Molina: Elections in a Distributed Computing System, IEEE Transactions on Computers C-31(1), 1982: the
//! second of its two algorithms, for a network that loses messages and splits. The first is [`super::bully`].
//!
//! # Assumes
//! Nothing about time for safety: members of one group have one coordinator, whatever the network does (the paper's
//! Assertions 3 and 4). Members that reach each other for a while end up in one group (Assertion 5). Two groups at a time
//! are what it is for; [`crate::lease`] says which one may act, where only one may.
//!
//! # Messages
//! [`Message::Ask`] and [`Message::Answer`], the paper's `AreYouCoordinator`; [`Message::Invitation`];
//! [`Message::Accept`] to the coordinator that invites; [`Message::Ready`] names the members of the new group, and each
//! returns [`Message::Acknowledge`]. Heartbeats as in [`super::leadership`], but only within a group.
//!
//! # Cost
//! 2(m - 1) Ask and Answer for m members that are each alone, and 4(m - 1) for the merge. Started by the best: 6(m - 1).
//! By any other: 2(m - 1) more, as the best asks too once it was asked. A member that joins a group of m: 2 + 4m.
//!
//! # Departures
//! - Members are ordered by capacity, then by id. An incumbent invites at once; a newcomer that finds one waits for it.
//!   A member that outranks its coordinator invites it, after the delays that all elections have.
//! - Heartbeats take the place of `AreYouThere`. A member whose coordinator asks it knows that it is left out.
//! - A member that is alone looks for others before it leads nobody: its application hears of no leader meanwhile.
//!   Suspected members are not asked before they are heard again.
//! - An acceptance names the members to which the invitation was forwarded, and all numbers are exchanged: the
//!   coordinator need not wait until a timeout, and the new number is above those of all.
//! - Where an acknowledgement is missing, the coordinator invites again those that acknowledged, instead of recovering
//!   alone. Work begins with its first heartbeat under the new number, which is sent at once.
//! - A leader that abstains hands its group over as it is, to a member of it.

use super::Notice;
use super::candidacy::Candidacy;
use super::leadership::{LeaderMessage, Leadership};
use super::rounds::{Rounds, accessors};
use crate::algorithm::{Context, Outbox};
use crate::base::capacity::Candidate;
use crate::base::ids::{NodeId, NodeSet};
use crate::base::options::{Configurable, OptionKeys};
use crate::base::term::Term;
use crate::base::time::{Duration, Instant};
use crate::wire::impl_message;
use serde::{Deserialize, Serialize};

mod member;
mod merge;

/// Messages between the members. `group` is the number of a new group, and names the coordinator that forms it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the sentence of each message names its fields")]
pub enum Message {
    /// Asks whether the receiver coordinates a group; the sender does, under `term` or an earlier one.
    Ask { term: Term, coordinator: Option<Candidate> },
    /// Answers that the sender coordinates a group, and whether it has led that for a while.
    Answer { term: Term, coordinator: Option<Candidate>, incumbent: bool },
    /// Invites a coordinator, or its members, into a new group.
    Invitation { group: Term, coordinator: Candidate },
    /// Accepts; the sender has followed leaders up to `term`, and invites `forwarded` too.
    Accept { group: Term, term: Term, forwarded: NodeSet },
    /// The new group has these members, and its coordinator leads it under `term`.
    Ready { group: Term, term: Term, members: NodeSet },
    /// The sender knows the members of the group that is led under `term`.
    Acknowledge { term: Term },
    /// A message about the leader.
    Leadership(LeaderMessage),
}

impl_message! {
    ReliableLatest: Ask = "ask", Answer = "answer", Invitation = "invitation", Accept = "accept", Ready = "ready",
        Acknowledge = "acknowledge";
    _: Leadership(LeaderMessage);
}

/// This member's phase in a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// In a group, or alone; looks for others at `start`, if nothing changes.
    Idle { start: Option<Instant> },
    /// Waiting for `asked` to answer; `found` are coordinators, `first` of them may invite before this one.
    Asking { asked: NodeSet, found: NodeSet, first: NodeSet, until: Instant },
    /// Waiting for a better coordinator to invite; invites `found` itself at `until`.
    Deferring { found: NodeSet, until: Instant },
    /// Waiting for `invited` to accept.
    Inviting { group: Term, invited: NodeSet, accepted: NodeSet, until: Instant },
    /// Reorganising the group of `members`: waiting for `unready` to acknowledge.
    Preparing { term: Term, members: NodeSet, unready: NodeSet, until: Instant },
    /// Has accepted, and waits for the members of the new group.
    Accepted { group: Term, until: Instant },
    /// Knows the members of the new group, and waits for its coordinator to lead it.
    Reorganising { term: Term, members: NodeSet, until: Instant },
}

/// How many better coordinators a coordinator waits for.
const DEFERS_MAX: u32 = 4;

/// The Invitation election of one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Invitation {
    candidacy: Candidacy,
    phase: Phase,
    /// The members of its group, while it has a leader.
    members: NodeSet,
    /// Whether it looked for others since it is alone, and found none. Those that are up may still follow a leader that is
    /// lost, so it looks again before it leads nobody.
    looked: bool,
}

type Out = Outbox<Message, Notice>;

/// Returns how long an answer may take.
fn answer_timeout(cx: &Context<'_>) -> Duration {
    let out_of_range = !cx.up.without(cx.near).is_empty();
    if out_of_range { cx.timing.lease() } else { cx.timing.probe.times(u32::from(cx.timing.probes)) }
}

impl Invitation {
    /// Creates the election of a member that is alone.
    #[must_use]
    pub const fn new() -> Self {
        let candidacy = Candidacy::new(Leadership::announced_by_election());
        Self { candidacy, phase: Phase::Idle { start: None }, members: NodeSet::EMPTY, looked: false }
    }

    fn leader_id(&self) -> Option<NodeId> {
        self.candidacy.leadership.leader().map(|leader| leader.candidate.id)
    }

    /// Returns whether this member coordinates a group, be it of itself, and takes part in no merge.
    fn coordinates(&self, cx: &Context<'_>) -> bool {
        let leads = self.leader_id().is_none_or(|leader| leader == cx.me);
        let free = matches!(self.phase, Phase::Idle { .. } | Phase::Asking { .. } | Phase::Deferring { .. });
        leads && free
    }

    /// Returns the members that are up and not in this one's group.
    fn outsiders(&self, cx: &Context<'_>) -> NodeSet {
        if self.leader_id().is_none() { cx.up } else { cx.up.without(self.members) }
    }

    /// Leaves the group: this member is alone.
    fn recover(&mut self, out: &mut Out) {
        if self.leader_id().is_some() {
            self.candidacy.leadership.vacate(out);
        }
        self.leave_round();
        (self.members, self.looked) = (NodeSet::EMPTY, false);
    }
}

impl Rounds for Invitation {
    type Message = Message;

    accessors!();

    fn phase_deadline(&self) -> Option<Instant> {
        match self.phase {
            Phase::Idle { start } => start,
            Phase::Asking { until, .. }
            | Phase::Deferring { until, .. }
            | Phase::Inviting { until, .. }
            | Phase::Preparing { until, .. }
            | Phase::Accepted { until, .. }
            | Phase::Reorganising { until, .. } => Some(until),
        }
    }

    fn start(&mut self, cx: &Context<'_>, out: &mut Out) {
        match self.leader_id() {
            Some(leader) if leader != cx.me => {
                let challenger = self.candidacy.challenger(cx);
                if challenger.is_some_and(|challenger| self.candidacy.leadership.is_outranked_by(challenger)) {
                    self.invite(cx, cx.roster.set_of(leader), out);
                } else {
                    self.recover(out);
                    self.ask(cx, self.outsiders(cx), out);
                }
            }
            Some(_) if self.outsiders(cx).is_empty() => self.invite(cx, NodeSet::EMPTY, out),
            Some(_) | None => self.ask(cx, self.outsiders(cx), out),
        }
    }

    fn on_message(&mut self, cx: &Context<'_>, from: NodeId, message: Message, out: &mut Out) {
        match message {
            Message::Ask { term, coordinator } => self.on_ask(cx, from, term, coordinator, out),
            Message::Answer { term, coordinator, incumbent } => {
                self.candidacy.leadership.observe_term(term.number);
                self.on_answer(cx, from, coordinator, incumbent, out);
            }
            Message::Invitation { group, coordinator } => self.on_invitation(cx, from, group, coordinator, out),
            Message::Accept { group, term, forwarded } => {
                self.candidacy.leadership.observe_term(term.number);
                self.on_accept(cx, from, group, forwarded, out);
            }
            Message::Ready { group, term, members } => self.on_ready(cx, from, (group, term), members, out),
            Message::Acknowledge { term } => self.on_acknowledge(cx, from, term, out),
            Message::Leadership(message) => self.on_leader_message(cx, from, message, out),
        }
    }

    fn on_deadline(&mut self, cx: &Context<'_>, out: &mut Out) {
        match self.phase {
            Phase::Idle { .. } => self.start(cx, out),
            Phase::Asking { found, first, .. } => self.on_asked(cx, found, first, out),
            Phase::Deferring { found, .. } => self.invite(cx, found, out),
            Phase::Inviting { group, accepted, .. } => self.prepare(cx, group, accepted, out),
            Phase::Preparing { members, unready, .. } => {
                self.members = self.members.without(unready); // those are asked again
                self.invite(cx, members.without(unready), out);
            }
            Phase::Accepted { .. } | Phase::Reorganising { .. } => self.leave_round(),
        }
    }

    fn on_peers_lost(&mut self, cx: &Context<'_>, set: NodeSet, out: &mut Out) {
        match self.phase {
            Phase::Idle { .. } => {}
            Phase::Asking { asked, found, first, until } => {
                let (asked, found, first) = (asked.without(set), found.without(set), first.without(set));
                self.phase = Phase::Asking { asked, found, first, until };
                if asked.is_empty() {
                    self.on_asked(cx, found, first, out);
                }
            }
            Phase::Deferring { found, until } => self.phase = Phase::Deferring { found: found.without(set), until },
            Phase::Inviting { group, invited, accepted, until } => {
                let (invited, accepted) = (invited.without(set), accepted.without(set));
                self.phase = Phase::Inviting { group, invited, accepted, until };
                self.prepare_if_complete(cx, out);
            }
            Phase::Preparing { term, members, unready, until } => {
                let lost = unready.and(set);
                let (members, unready) = (members.without(lost), unready.without(lost));
                self.phase = Phase::Preparing { term, members, unready, until };
                self.lead_if_ready(cx, out);
            }
            Phase::Accepted { group: Term { by, .. }, .. } | Phase::Reorganising { term: Term { by, .. }, .. } => {
                if set.meets(cx.roster.set_of(by)) {
                    self.leave_round();
                }
            }
        }
    }

    fn on_peers_reset(&mut self, cx: &Context<'_>, set: NodeSet, out: &mut Out) {
        if self.leader_id() == Some(cx.me) {
            self.members = self.members.without(set); // each is alone now
        }
        self.on_peers_lost(cx, set, out);
    }

    fn start_delay(&self, cx: &Context<'_>) -> Option<Duration> {
        let looks = self.leader_id() == Some(cx.me) && !self.outsiders(cx).is_empty();
        self.candidacy.start_delay(cx).or_else(|| looks.then(|| self.candidacy.check_delay(cx)))
    }

    fn context<'a>(&self, cx: &Context<'a>) -> Context<'a> {
        // A leader hands over within its group.
        let is_member = |peer: &Candidate| self.members.meets(cx.roster.set_of(peer.id));
        Context { best_peer: cx.best_peer.filter(is_member), ..*cx }
    }

    fn members(&self) -> NodeSet {
        if self.leader_id().is_some() { self.members } else { NodeSet::EMPTY }
    }
}

impl Default for Invitation {
    fn default() -> Self {
        Self::new()
    }
}

impl Configurable for Invitation {
    const OPTIONS: OptionKeys = &[];

    fn from_options(words: &str) -> Option<Self> {
        words.is_empty().then(Self::new)
    }
}
