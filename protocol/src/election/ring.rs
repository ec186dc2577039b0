//! The ring election: a list goes round, and whoever started it reads from it who leads.
//!
//! A member that misses a leader sends a list with itself on it to its successor, or to the next one that is up. Everybody
//! adds itself and passes the list on. When it is back, the member that started it knows who is up, names the best of
//! them and sends the result round once: who leads, and who is in the ring.
//!
//! # Paper
//! The election of A. S. Tanenbaum's textbooks on distributed systems, after E. Chang and R. Roberts, 1979, and
//! G. Le Lann, 1977.
//!
//! # Assumes
//! Reliable channels (the link's) and a group that is the same at all members. A member that fails with the list in its
//! hands costs time: until it is suspected. One that is passed over by mistake is told of the leader like all others, and
//! challenges it if it is better.
//!
//! # Messages
//! [`Message::Election`], [`Message::Coordinator`]. [`Message::Seek`] and [`Message::Here`] where more than
//! [`Rules::successors`] successors in a row are gone. Beats as in [`super::reign`].
//!
//! # Cost
//! 2n for n members that are up: n to fill the list, n to tell the result. (Where the crashed leader counts as a member,
//! that is 2(n - 1).) Every further member that starts an election adds at most as many again.
//!
//! # Departures
//! - The list is a set, a bit for each place in the ring, and the best two candidates on it: it fits one frame.
//! - Members are ordered by what they would be worth as leaders, then by name. One that cannot lead is in the ring all the
//!   same.
//! - Elections have terms; a higher one takes over members that take part in a lower one.
//! - Waiting for a list or a result is bounded, at the member that started the election and at all others.
//! - Nothing is passed beyond the member that started it. If that one is gone, whoever comes before it starts anew; a
//!   result has been everywhere by then.

use super::candidacy::{Call, Candidacy, Contest};
use super::circle::{Circle, patience};
use super::reign::{Office, Reign, Word};
use super::{Command, Direction, Notice};
use crate::algorithm::{Algorithm, Context, Input, Outbox, Scope};
use crate::capacity::Standing;
use crate::clock::Term;
use crate::dice::within;
use crate::group::{NodeId, NodeSet};
use crate::time::{Instant, Span, sooner};

mod message;

pub use message::{List, Message, Outcome};

/// Who wins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Winner {
    /// The member that would lead best.
    #[default]
    Highest,
    /// The one at the other end of the order.
    Lowest,
}

/// What may be chosen about a ring election; the same at all members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rules {
    /// Which way round.
    pub direction: Direction,
    /// Who wins.
    pub winner: Winner,
    /// How many successors, or predecessors, a member knows of. Where all of them are gone, it asks who is there.
    pub successors: u8,
}

impl Default for Rules {
    fn default() -> Self {
        Self { direction: Direction::default(), winner: Winner::default(), successors: u8::MAX }
    }
}

/// Where this member is in an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// In none; to start one at this time, if nothing changes.
    Resting { start: Option<Instant> },
    /// Has passed a list on to `to`, and waits for it or for the result.
    Waiting { list: List, to: NodeSet, until: Instant },
    /// Has a list to pass on and looks for somebody who is there. `here` are.
    Seeking { list: List, here: NodeSet, until: Instant },
}

/// The ring election of one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ring {
    pub(super) own: Candidacy,
    phase: Phase,
    rules: Rules,
    /// Who was in the ring when the last election ended.
    members: NodeSet,
    /// A successor that was found by asking.
    found: NodeSet,
}

type Out = Outbox<Message, Notice>;

impl Ring {
    /// A member that has taken part in nothing.
    #[must_use]
    pub const fn new(rules: Rules) -> Self {
        let (own, phase) = (Candidacy::new(Reign::after_telling()), Phase::Resting { start: None });
        Self { own, phase, rules, members: NodeSet::EMPTY, found: NodeSet::EMPTY }
    }

    /// Who was in the ring when the last election ended, as far as this member was told.
    #[must_use]
    pub const fn members(&self) -> NodeSet {
        self.members
    }

    /// Whether `a` wins against `b`.
    fn prefers(&self, a: Option<Standing>, b: Option<Standing>) -> bool {
        match (self.rules.winner, a, b) {
            (_, None, _) => false,
            (_, Some(_), None) => true,
            (Winner::Highest, Some(a), Some(b)) => a > b,
            (Winner::Lowest, Some(a), Some(b)) => a < b,
        }
    }

    /// Takes part in an election: the list with this member on it.
    fn join(&mut self, cx: &Context<'_>, list: List) -> List {
        let entry = self.own.join(cx, list.term);
        let entry = match self.rules.winner {
            Winner::Highest => entry,
            Winner::Lowest => entry.and(cx.standing), // being in office must not count against it
        };
        let members = list.members.with(cx.roster.set_of(cx.me));
        let (first, second) = if self.prefers(entry, list.first) {
            (entry, list.first)
        } else if self.prefers(entry, list.second) {
            (list.first, entry)
        } else {
            (list.first, list.second)
        };
        List { term: list.term, members, first, second }
    }

    /// The next member that is up; `None` where this one does not know that far.
    fn successor(&self, cx: &Context<'_>) -> Option<NodeSet> {
        let circle = Circle::of(cx, self.rules.direction);
        let next = circle.next(cx.up);
        let gone = circle.short_of(cx.peers.without(cx.up), next);
        if gone.len() <= u32::from(self.rules.successors) {
            return Some(next);
        }
        let found = self.found.and(cx.up);
        (!found.is_empty()).then_some(found)
    }

    /// Passes a list on to the next member that is up, or looks for one.
    fn pass(&mut self, cx: &Context<'_>, list: List, out: &mut Out) {
        if let Some(to) = self.successor(cx) {
            self.pass_to(cx, to, list, out);
        } else {
            out.send(cx.peers, Message::Seek { term: list.term });
            let until = cx.now.after(cx.timing.lease());
            self.phase = Phase::Seeking { list, here: NodeSet::EMPTY, until };
        }
    }

    /// Passes a list on to `to`; where that is nobody, the list is back already.
    fn pass_to(&mut self, cx: &Context<'_>, to: NodeSet, list: List, out: &mut Out) {
        let starter = list.term.by;
        if Circle::of(cx, self.rules.direction).oversteps(cx, to, starter) {
            self.phase = Phase::Resting { start: Some(Self::soon(cx)) }; // nobody is left to read it
        } else if to.is_empty() {
            self.conclude(cx, list, out);
        } else {
            out.send(to, Message::Election(list));
            let until = cx.now.after(patience(cx, starter == cx.me));
            self.phase = Phase::Waiting { list, to, until };
        }
    }

    /// A moment from now that others are unlikely to choose too.
    fn soon(cx: &Context<'_>) -> Instant {
        cx.now.after(within(cx.timing.stagger.share(1, 4), cx.random))
    }

    /// The list this member started is back.
    fn conclude(&mut self, cx: &Context<'_>, list: List, out: &mut Out) {
        self.phase = Phase::Resting { start: None };
        let List { term, members: ring, first, second } = list;
        let Some(leader) = first else { return }; // nobody can lead
        let outcome = Outcome { term, leader, second, ring };
        if self.take(cx, NodeSet::EMPTY, outcome, out) {
            self.tell(cx, outcome, out);
        }
    }

    /// Takes a result in: whether it was news.
    fn take(&mut self, cx: &Context<'_>, from: NodeSet, outcome: Outcome, out: &mut Out) -> bool {
        let Outcome { term, leader, second, ring } = outcome;
        let taken = match self.rules.winner {
            Winner::Highest => self.own.hear_result(cx, from, Office { term, leader, second, beat: 0 }, out),
            // The higher ones have no claim against it.
            Winner::Lowest => self.own.reign.hear(cx, from, Word::Leader { term, leader, second, age: 0 }, term, out),
        };
        if taken {
            self.members = ring;
        }
        taken
    }

    /// Sends a result on, unless it has been everywhere. If it gets lost, the leader's beats will tell.
    fn tell(&mut self, cx: &Context<'_>, outcome: Outcome, out: &mut Out) {
        let to = self.successor(cx).unwrap_or(NodeSet::EMPTY);
        if !Circle::of(cx, self.rules.direction).oversteps(cx, to, outcome.term.by) {
            out.send(to, Message::Coordinator(outcome));
        }
    }

    fn hear_election(&mut self, cx: &Context<'_>, from: NodeId, list: List, out: &mut Out) {
        if list.term == self.own.joined() {
            match self.phase {
                Phase::Waiting { list: mine, .. } if mine.term == list.term && list.term.by == cx.me => {
                    self.conclude(cx, list, out);
                }
                Phase::Resting { .. } | Phase::Waiting { .. } | Phase::Seeking { .. } => {} // passed on before
            }
            return;
        }
        match self.own.weigh(list.term) {
            Call::Open if list.members.meets(cx.roster.set_of(cx.me)) => {
                // This member put itself on it before it was restarted, and must not do so twice.
                self.own.reign.note(list.term.number);
                if let Phase::Resting { start } = &mut self.phase {
                    *start = Some(Self::soon(cx));
                }
            }
            Call::Open => {
                let list = self.join(cx, list);
                self.pass(cx, list, out);
            }
            Call::Behind => self.start(cx, out),
            Call::Over => self.own.reign.tell(cx, cx.roster.set_of(from)), // it may have missed how it ended
        }
    }

    fn hear_coordinator(&mut self, cx: &Context<'_>, from: NodeId, outcome: Outcome, out: &mut Out) {
        self.own.reign.note(outcome.term.number);
        // Where it is no news it has come round, or has come twice.
        if self.take(cx, cx.roster.set_of(from), outcome, out) {
            self.tell(cx, outcome, out);
        }
    }

    fn hear_here(&mut self, cx: &Context<'_>, from: NodeId, term: Term, out: &mut Out) {
        let Phase::Seeking { list, here, until } = self.phase else { return };
        if list.term != term {
            return;
        }
        let here = here.with(cx.roster.set_of(from));
        self.phase = Phase::Seeking { list, here, until };
        if cx.up.without(here).is_empty() {
            self.settle(cx, list, here, out);
        }
    }

    /// Ends the search for a successor: the nearest of those who answered it is.
    fn settle(&mut self, cx: &Context<'_>, list: List, here: NodeSet, out: &mut Out) {
        self.found = Circle::of(cx, self.rules.direction).next(here);
        self.pass_to(cx, self.found, list, out);
    }

    fn timeout(&mut self, cx: &Context<'_>, out: &mut Out) {
        let lost = self.own.timeout(cx, out);
        match self.phase {
            Phase::Resting { .. } if lost => self.phase = Phase::Resting { start: None },
            Phase::Resting { start: Some(at) } if at <= cx.now => self.start(cx, out),
            Phase::Waiting { until, .. } if until <= cx.now => self.start(cx, out),
            Phase::Seeking { list, here, until } if until <= cx.now => self.settle(cx, list, here, out),
            Phase::Resting { .. } | Phase::Waiting { .. } | Phase::Seeking { .. } => {} // not yet
        }
    }

    /// How long to wait before starting an election; `None` where there is no reason to.
    fn reason(&self, cx: &Context<'_>) -> Option<Span> {
        match (self.rules.winner, self.own.reign.office()) {
            (Winner::Highest, _) | (Winner::Lowest, None) => self.own.reason(cx),
            (Winner::Lowest, Some(office)) => {
                let lower = self.own.candidate(cx).is_some_and(|candidate| candidate < office.leader);
                let timing = cx.timing;
                let patience = if self.own.reign.has_settled() { timing.hold } else { timing.grace };
                (lower && !self.own.reign.leads()).then(|| patience.plus(within(timing.stagger, cx.random)))
            }
        }
    }

    /// Decides, after every step, whether an election is over, and whether there is reason to start one.
    fn review(&mut self, cx: &Context<'_>, out: &mut Out) {
        self.own.review(cx, out);
        let over = self.own.reign.office().is_some_and(|office| office.term >= self.own.joined());
        if over && !matches!(self.phase, Phase::Resting { .. }) {
            self.phase = Phase::Resting { start: None };
        }
        if let Phase::Resting { start } = self.phase {
            let start = self.reason(cx).map(|wait| start.unwrap_or_else(|| cx.now.after(wait)));
            self.phase = Phase::Resting { start };
        }
    }
}

impl Contest for Ring {
    type Message = Message;

    fn own(&mut self) -> &mut Candidacy {
        &mut self.own
    }

    fn resting(&mut self) -> Option<&mut Option<Instant>> {
        if let Phase::Resting { start } = &mut self.phase { Some(start) } else { None }
    }

    fn start(&mut self, cx: &Context<'_>, out: &mut Out) {
        let term = self.own.reign.new_term(cx.me);
        let list = self.join(cx, List { term, members: NodeSet::EMPTY, first: None, second: None });
        self.pass(cx, list, out);
    }

    fn peers_lost(&mut self, cx: &Context<'_>, set: NodeSet, out: &mut Out) {
        self.found = self.found.without(set);
        match self.phase {
            Phase::Waiting { list, to, .. } if to.meets(set) => self.pass(cx, list, out),
            // Given nothing, or nothing that still matters.
            Phase::Resting { .. } | Phase::Waiting { .. } | Phase::Seeking { .. } => {}
        }
    }
}

impl Algorithm for Ring {
    type Message = Message;
    type Command = Command;
    type Notice = Notice;

    fn scope(&self) -> Scope {
        Scope::Group
    }

    fn handle(&mut self, cx: &Context<'_>, input: Input<Message, Command>, out: &mut Out) {
        let rival = cx.rival.filter(|_| self.rules.winner == Winner::Highest);
        let cx = &Context { rival, ..*cx }; // the best of the others is no successor of the lowest
        match input {
            Input::Message { from, message, .. } => match message {
                Message::Election(list) => self.hear_election(cx, from, list, out),
                Message::Coordinator(outcome) => self.hear_coordinator(cx, from, outcome, out),
                Message::Seek { term } => out.send(cx.roster.set_of(from), Message::Here { term }),
                Message::Here { term } => self.hear_here(cx, from, term, out),
                Message::Reign(word) => {
                    self.own.reign.hear(cx, cx.roster.set_of(from), word, self.own.joined(), out);
                }
            },
            Input::Command(command) => self.obey(cx, command, out),
            Input::Fact(fact) => self.learn(cx, fact, out),
            Input::Timeout => self.timeout(cx, out),
        }
        self.review(cx, out);
    }

    fn deadline(&self) -> Option<Instant> {
        let phase = match self.phase {
            Phase::Resting { start } => start,
            Phase::Waiting { until, .. } | Phase::Seeking { until, .. } => Some(until),
        };
        sooner(phase, self.own.deadline())
    }
}

impl Default for Ring {
    fn default() -> Self {
        Self::new(Rules::default())
    }
}
