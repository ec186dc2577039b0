//! The ring election: a list travels round the ring, and its initiator determines the winner from it.
//!
//! A member that misses a leader sends a list with itself on it to its successor, the next member that is up. Each
//! member adds itself and passes the list on. When the list is back, its initiator knows which members are up, selects
//! the best of them and sends the result round once: the leader, and the members of the ring.
//!
//! # Paper
//! The election of A. S. Tanenbaum's textbooks on distributed systems, after E. Chang and R. Roberts, 1979, and
//! G. Le Lann, 1977.
//!
//! # Assumes
//! Reliable channels (the link's) and a group that is the same at all members. A member that crashes while it has the
//! list costs time, until it is suspected. A member that was skipped by mistake receives the leader's heartbeats like
//! all others, and challenges it if it is better.
//!
//! # Messages
//! [`Message::Election`], [`Message::Coordinator`]. [`Message::Seek`] and [`Message::Here`] where more than
//! [`Options::successors`] successors in a row are gone. Heartbeats as in [`super::leadership`].
//!
//! # Cost
//! 2n for n members that are up: n for the list, n for the result. (Where the crashed leader counts as a member, that
//! is 2(n - 1).) Every further member that starts an election adds at most as many again.
//!
//! # Departures
//! - The list is a set with one bit per slot, and its best two candidates: it fits one frame.
//! - Members are ordered by capacity, then by id. A member that cannot lead is in the ring all the same.
//! - Elections have terms; a higher one takes over members of a lower one.
//! - The wait for a list or a result is bounded, at the initiator and at all others.
//! - Nothing is passed beyond the initiator. If that member is gone, its predecessor starts a new election; a result
//!   has passed all members by then.

use super::candidacy::{Candidacy, RoundStatus};
use super::leadership::{Leader, LeaderMessage, Leadership};
use super::ring_order::{RingOrder, round_timeout};
use super::rounds::{Rounds, accessors};
use super::top_two::TopTwo;
use super::{Direction, Notice, Winner};
use crate::algorithm::{Context, Outbox};
use crate::base::capacity::Candidate;
use crate::base::ids::{NodeId, NodeSet};
use crate::base::options::{Configurable, OptionKeys, set_all};
use crate::base::rng::jitter;
use crate::base::term::Term;
use crate::base::time::Instant;
use crate::wire::impl_message;
use serde::{Deserialize, Serialize};

/// The members a list has passed so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct List {
    /// The election, and its initiator.
    pub term: Term,
    /// The members that passed it on.
    pub members: NodeSet,
    /// The best candidate among them, if one can lead.
    pub best: Option<Candidate>,
    /// The runner-up.
    pub runner_up: Option<Candidate>,
}

/// The result of an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Outcome {
    /// The election, and its initiator.
    pub term: Term,
    /// The winner.
    pub leader: Candidate,
    /// The runner-up.
    pub runner_up: Option<Candidate>,
    /// The members of the ring.
    pub members: NodeSet,
}

/// Messages between the members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the field is the election it is for")]
pub enum Message {
    /// The list of an open election.
    Election(List),
    /// The election is over.
    Coordinator(Outcome),
    /// Asks who is up, as all known successors are gone.
    Seek { term: Term },
    /// Answers that the sender is up.
    Here { term: Term },
    /// A message about the leader.
    Leadership(LeaderMessage),
}

impl_message! {
    // A later message of the same member is of a higher term, or asks again for the same.
    ReliableLatest: Election = "election", Coordinator = "coordinator", Seek = "seek", Here = "here";
    _: Leadership(LeaderMessage);
}

/// Options of a ring election; the same at all members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    /// The direction in which messages travel round the ring.
    pub direction: Direction,
    /// Which candidate wins.
    pub winner: Winner,
    /// How many successors a member knows. Where all of them are gone, it asks who is up.
    pub successors: u8,
}

impl Default for Options {
    fn default() -> Self {
        Self { direction: Direction::default(), winner: Winner::default(), successors: u8::MAX }
    }
}

/// This member's phase in an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// In none; starts one at `start`, if nothing changes.
    Idle { start: Option<Instant> },
    /// Has passed a list on to `to`, and waits for it or for the result.
    Waiting { list: List, to: NodeSet, until: Instant },
    /// Has a list to pass on and looks for a successor; `here` have answered.
    Seeking { list: List, here: NodeSet, until: Instant },
}

/// The ring election of one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ring {
    candidacy: Candidacy,
    phase: Phase,
    options: Options,
    /// The members of the ring when the last election ended.
    members: NodeSet,
    /// A successor that was found by asking.
    found: NodeSet,
}

type Out = Outbox<Message, Notice>;

impl Ring {
    /// Creates the election of a member that has taken part in none.
    #[must_use]
    pub const fn new(options: Options) -> Self {
        let candidacy = Candidacy::new(Leadership::announced_by_election());
        let (members, found) = (NodeSet::EMPTY, NodeSet::EMPTY);
        Self { candidacy, phase: Phase::Idle { start: None }, options, members, found }
    }

    /// Returns the members of the ring when the last election ended, as far as this member knows.
    #[must_use]
    pub const fn members(&self) -> NodeSet {
        self.members
    }

    fn order<'a>(&self, cx: &Context<'a>) -> RingOrder<'a> {
        RingOrder::of(cx, self.options.direction)
    }

    /// Joins an election; returns the list with this member on it.
    fn join(&mut self, cx: &Context<'_>, list: List) -> List {
        let winner = self.options.winner;
        let mut top = TopTwo { best: list.best, runner_up: list.runner_up };
        top.insert_for(self.candidacy.join_for(cx, list.term, winner), winner);
        let members = list.members.with(cx.roster.set_of(cx.me));
        let TopTwo { best, runner_up } = top;
        List { term: list.term, members, best, runner_up }
    }

    /// Returns the next member that is up; `None` where it is beyond the successors this member knows.
    fn successor(&self, cx: &Context<'_>) -> Option<NodeSet> {
        let order = self.order(cx);
        let next = order.next(cx.up);
        let gone = order.nearer_than(cx.peers.without(cx.up), next);
        if gone.len() <= u32::from(self.options.successors) {
            return Some(next);
        }
        let found = self.found.and(cx.up);
        (!found.is_empty()).then_some(found)
    }

    /// Passes a list on to the successor, or looks for one.
    fn pass(&mut self, cx: &Context<'_>, list: List, out: &mut Out) {
        if let Some(to) = self.successor(cx) {
            self.pass_to(cx, to, list, out);
        } else {
            out.send(cx.peers, Message::Seek { term: list.term });
            let until = cx.now.after(cx.timing.lease());
            self.phase = Phase::Seeking { list, here: NodeSet::EMPTY, until };
        }
    }

    /// Passes a list on to `to`; where that is empty, the list is back already.
    fn pass_to(&mut self, cx: &Context<'_>, to: NodeSet, list: List, out: &mut Out) {
        let initiator = list.term.by;
        if self.order(cx).skips(to, initiator) {
            self.phase = Phase::Idle { start: Some(Self::soon(cx)) }; // the initiator is gone
        } else if to.is_empty() {
            self.conclude(cx, list, out);
        } else {
            out.send(to, Message::Election(list));
            let until = cx.now.after(round_timeout(cx, initiator == cx.me));
            self.phase = Phase::Waiting { list, to, until };
        }
    }

    /// Returns an instant soon that other members are unlikely to choose too.
    fn soon(cx: &Context<'_>) -> Instant {
        cx.now.after(jitter(cx.timing.stagger.mul_ratio(1, 4), cx.random))
    }

    /// Concludes the election, as the list this member started is back.
    fn conclude(&mut self, cx: &Context<'_>, list: List, out: &mut Out) {
        self.leave_round();
        let List { term, members, best, runner_up } = list;
        let Some(leader) = best else { return }; // no member can lead
        self.on_outcome(cx, NodeSet::EMPTY, Outcome { term, leader, runner_up, members }, out);
    }

    /// Handles a result, and passes it on if it is new. If it gets lost, the leader's heartbeats replace it.
    fn on_outcome(&mut self, cx: &Context<'_>, from: NodeSet, outcome: Outcome, out: &mut Out) {
        let Outcome { term, leader, runner_up, members } = outcome;
        let winner = (Leader::elected(term, leader, runner_up), self.options.winner);
        let adopted = self.candidacy.on_result_for(cx, from, winner, out);
        if !adopted {
            return; // it has gone round, or is a duplicate
        }
        self.members = members;
        let to = self.successor(cx).unwrap_or(NodeSet::EMPTY);
        if !self.order(cx).skips(to, term.by) {
            out.send(to, Message::Coordinator(outcome));
        }
    }

    fn on_election(&mut self, cx: &Context<'_>, from: NodeId, list: List, out: &mut Out) {
        if list.term == self.candidacy.joined() {
            match self.phase {
                Phase::Waiting { list: mine, .. } if mine.term == list.term && list.term.by == cx.me => {
                    self.conclude(cx, list, out);
                }
                Phase::Idle { .. } | Phase::Waiting { .. } | Phase::Seeking { .. } => {} // a duplicate
            }
            return;
        }
        match self.candidacy.classify(list.term) {
            RoundStatus::Open if list.members.meets(cx.roster.set_of(cx.me)) => {
                // This member joined the list before it rebooted, and must not join it twice.
                self.candidacy.leadership.observe_term(list.term.number);
                if let Phase::Idle { start } = &mut self.phase {
                    *start = Some(Self::soon(cx));
                }
            }
            RoundStatus::Open => {
                let list = self.join(cx, list);
                self.pass(cx, list, out);
            }
            RoundStatus::Behind => self.start(cx, out),
            // The sender may have missed the result.
            RoundStatus::Over => self.candidacy.leadership.inform(cx, cx.roster.set_of(from)),
        }
    }

    fn on_here(&mut self, cx: &Context<'_>, from: NodeId, term: Term, out: &mut Out) {
        let Phase::Seeking { list, here, until } = self.phase else { return };
        if list.term != term {
            return;
        }
        let here = here.with(cx.roster.set_of(from));
        self.phase = Phase::Seeking { list, here, until };
        if cx.up.without(here).is_empty() {
            self.choose_successor(cx, list, here, out);
        }
    }

    /// Ends the search: the nearest member that answered is the successor.
    fn choose_successor(&mut self, cx: &Context<'_>, list: List, here: NodeSet, out: &mut Out) {
        self.found = self.order(cx).next(here);
        self.pass_to(cx, self.found, list, out);
    }
}

impl Rounds for Ring {
    type Message = Message;

    accessors!();

    fn phase_deadline(&self) -> Option<Instant> {
        match self.phase {
            Phase::Idle { start } => start,
            Phase::Waiting { until, .. } | Phase::Seeking { until, .. } => Some(until),
        }
    }

    fn start(&mut self, cx: &Context<'_>, out: &mut Out) {
        let term = self.candidacy.leadership.new_term(cx.me);
        let list = self.join(cx, List { term, members: NodeSet::EMPTY, best: None, runner_up: None });
        self.pass(cx, list, out);
    }

    fn on_message(&mut self, cx: &Context<'_>, from: NodeId, message: Message, out: &mut Out) {
        match message {
            Message::Election(list) => self.on_election(cx, from, list, out),
            Message::Coordinator(outcome) => {
                self.candidacy.leadership.observe_term(outcome.term.number);
                self.on_outcome(cx, cx.roster.set_of(from), outcome, out);
            }
            Message::Seek { term } => out.send(cx.roster.set_of(from), Message::Here { term }),
            Message::Here { term } => self.on_here(cx, from, term, out),
            Message::Leadership(message) => {
                self.candidacy.on_leader_message(cx, from, message, out);
            }
        }
    }

    fn on_deadline(&mut self, cx: &Context<'_>, out: &mut Out) {
        match self.phase {
            Phase::Idle { .. } | Phase::Waiting { .. } => self.start(cx, out),
            Phase::Seeking { list, here, .. } => self.choose_successor(cx, list, here, out),
        }
    }

    fn on_peers_lost(&mut self, cx: &Context<'_>, set: NodeSet, out: &mut Out) {
        self.found = self.found.without(set);
        match self.phase {
            Phase::Waiting { list, to, .. } if to.meets(set) => self.pass(cx, list, out),
            Phase::Idle { .. } | Phase::Waiting { .. } | Phase::Seeking { .. } => {} // they have no list
        }
    }

    fn is_over(&self) -> bool {
        self.candidacy.has_leader_since(self.candidacy.joined())
    }

    fn winner(&self) -> Winner {
        self.options.winner
    }
}

impl Default for Ring {
    fn default() -> Self {
        Self::new(Options::default())
    }
}

impl Configurable for Ring {
    const OPTIONS: OptionKeys =
        &[("direction", Direction::NAMES), ("winner", Winner::NAMES), ("successors", &["1", "2", "3", "..."])];

    fn from_options(words: &str) -> Option<Self> {
        let mut options = Options::default();
        set_all(words, |key, value| {
            match key {
                "direction" => options.direction = Direction::by_name(value)?,
                "winner" => options.winner = Winner::by_name(value)?,
                "successors" => options.successors = value.parse().ok().filter(|&successors| successors > 0)?,
                _ => return None,
            }
            Some(())
        })?;
        Some(Self::new(options))
    }
}
