//! The election of Le Lann: on a ring, everybody's number goes all the way round, and everybody reads off who leads.
//!
//! A member that misses a leader sends its number to its successor; whoever hears of an election sends its own first.
//! Every number is passed on until it is back at the member it belongs to. By then that member has seen all others, and
//! knows the highest without being told.
//!
//! # Paper
//! G. Le Lann: Distributed Systems - Towards a Formal Approach, IFIP Congress 1977.
//!
//! # Assumes
//! Reliable channels (the link's) and a group that is the same at all members. That members fail is no part of the
//! paper; here it costs time, and the whole round: a ring that breaks is walked anew.
//!
//! # Messages
//! [`Message::Number`]. Beats as in [`super::reign`].
//!
//! # Cost
//! n^2 for n members that are up, whoever starts, and however many do. It is here to be compared with.
//!
//! # Departures
//! - Members are ordered by what they would be worth as leaders, then by name. One that cannot lead sends a number that
//!   cannot win: it is counted all the same.
//! - The paper's member stops when its number is back. This one also counts: it must have seen as many numbers as its own
//!   took hops, in whatever order they came.
//! - A round has a number, as in [`super::chang_roberts`]. The winner's term is the round under the winner's name.
//! - A member whose successor fails, or that would have to pass a number beyond the member it belongs to, starts a higher
//!   round: it does not know what was lost. So does one that waits for too long.

use super::candidacy::{Call, Candidacy, Contest};
use super::circle::{Circle, Direction, patience};
use super::podium::Podium;
use super::reign::{Office, Reign};
use super::{Command, Notice};
use crate::algorithm::{Algorithm, Context, Input, Outbox, Scope};
use crate::capacity::Standing;
use crate::clock::Term;
use crate::group::{NodeId, NodeSet};
use crate::time::{Instant, sooner};

mod message;

pub use message::{Message, Number};

/// Where this member is in an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// In none; to start one at this time, if nothing changes.
    Resting { start: Option<Instant> },
    /// Has sent its number to `to`, and has seen those of `seen`.
    Collecting { seen: NodeSet, podium: Podium, size: Size, to: NodeSet, until: Instant },
}

/// How many members there are on the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Size {
    /// This member's number is not back yet.
    Unknown,
    /// As many as its number took hops.
    Counted(u8),
}

/// The election of Le Lann of one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lelann {
    pub(super) own: Candidacy,
    phase: Phase,
}

type Out = Outbox<Message, Notice>;

impl Lelann {
    /// A member that has taken part in nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self { own: Candidacy::new(Reign::after_telling()), phase: Phase::Resting { start: None } }
    }

    /// Takes part in a round: sends this member's number.
    fn join(&mut self, cx: &Context<'_>, term: Term, started: bool, out: &mut Out) {
        let entry = self.own.join(cx, term);
        let mut podium = Podium::default();
        podium.admit(entry);
        let to = Circle::of(cx, Direction::Onward).next(cx.up);
        if to.is_empty() {
            self.conclude(cx, podium, out);
            return;
        }
        let capacity = entry.map(|entry| entry.capacity);
        out.send(to, Message::Number(Number { round: term.number, owner: cx.me, capacity, hops: 1 }));
        let (seen, until) = (cx.roster.set_of(cx.me), cx.now.after(patience(cx, started)));
        self.phase = Phase::Collecting { seen, podium, size: Size::Unknown, to, until };
    }

    fn hear_number(&mut self, cx: &Context<'_>, from: NodeId, number: Number, out: &mut Out) {
        match self.phase {
            Phase::Collecting { .. } if self.own.joined().number == number.round => self.collect(cx, number, out),
            Phase::Resting { .. } | Phase::Collecting { .. } => {
                match self.own.weigh(Term { number: number.round, by: NodeId(0) }) {
                    Call::Open => {
                        self.join(cx, Term { number: number.round, by: cx.me }, false, out);
                        if number.owner != cx.me {
                            self.collect(cx, number, out);
                        } // otherwise it sent this one before it was restarted
                    }
                    Call::Behind => self.start(cx, out),
                    Call::Over => self.own.reign.tell(cx, cx.roster.set_of(from)), // it may have missed how it ended
                }
            }
        }
    }

    /// Takes a number of this round in, passes it on, and sees whether it was the last.
    fn collect(&mut self, cx: &Context<'_>, number: Number, out: &mut Out) {
        let Phase::Collecting { seen, podium, size, to, .. } = &mut self.phase else { return };
        let owner = cx.roster.set_of(number.owner);
        if number.owner == cx.me {
            *size = Size::Counted(number.hops);
        } else if seen.meets(owner) {
            return; // it came twice
        } else if Circle::of(cx, Direction::Onward).oversteps(cx, *to, number.owner) {
            self.start(cx, out); // it cannot come back to whom it belongs to
            return;
        } else {
            *seen = seen.with(owner);
            podium.admit(number.capacity.map(|capacity| Standing { capacity, id: number.owner }));
            out.send(*to, Message::Number(Number { hops: number.hops.saturating_add(1), ..number }));
        }
        let podium = *podium;
        match *size {
            Size::Counted(hops) if seen.len() >= u32::from(hops) => self.conclude(cx, podium, out),
            Size::Unknown | Size::Counted(_) => {} // there are more to come
        }
    }

    /// All numbers were seen.
    fn conclude(&mut self, cx: &Context<'_>, podium: Podium, out: &mut Out) {
        self.phase = Phase::Resting { start: None };
        let Some(leader) = podium.best else { return }; // nobody can lead
        let term = Term { number: self.own.joined().number, by: leader.id };
        self.own.hear_result(cx, NodeSet::EMPTY, Office { term, leader, second: podium.second, beat: 0 }, out);
    }

    fn timeout(&mut self, cx: &Context<'_>, out: &mut Out) {
        let lost = self.own.timeout(cx, out);
        match self.phase {
            Phase::Resting { .. } if lost => self.phase = Phase::Resting { start: None },
            Phase::Resting { start: Some(at) } if at <= cx.now => self.start(cx, out),
            Phase::Collecting { until, .. } if until <= cx.now => self.start(cx, out),
            Phase::Resting { .. } | Phase::Collecting { .. } => {} // not yet
        }
    }

    /// Decides, after every step, whether a round is over, and whether there is reason to start one.
    fn review(&mut self, cx: &Context<'_>, out: &mut Out) {
        self.own.review(cx, out);
        let round = self.own.joined().number;
        let over = self.own.reign.office().is_some_and(|office| office.term.number >= round);
        match &mut self.phase {
            Phase::Collecting { .. } if over => self.phase = Phase::Resting { start: self.own.plan(cx, None) },
            Phase::Collecting { .. } => {}
            Phase::Resting { start } => *start = self.own.plan(cx, *start),
        }
    }
}

impl Contest for Lelann {
    type Message = Message;

    fn own(&mut self) -> &mut Candidacy {
        &mut self.own
    }

    fn resting(&mut self) -> Option<&mut Option<Instant>> {
        if let Phase::Resting { start } = &mut self.phase { Some(start) } else { None }
    }

    fn start(&mut self, cx: &Context<'_>, out: &mut Out) {
        let term = self.own.reign.new_term(cx.me);
        self.join(cx, term, true, out);
    }

    fn peers_lost(&mut self, cx: &Context<'_>, set: NodeSet, out: &mut Out) {
        match self.phase {
            Phase::Collecting { to, .. } if to.meets(set) => self.start(cx, out),
            Phase::Resting { .. } | Phase::Collecting { .. } => {} // given nothing that still matters
        }
    }
}

impl Algorithm for Lelann {
    type Message = Message;
    type Command = Command;
    type Notice = Notice;

    fn scope(&self) -> Scope {
        Scope::Group
    }

    fn handle(&mut self, cx: &Context<'_>, input: Input<Message, Command>, out: &mut Out) {
        match input {
            Input::Message { from, message, .. } => match message {
                Message::Number(number) => self.hear_number(cx, from, number, out),
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
            Phase::Collecting { until, .. } => Some(until),
        };
        sooner(phase, self.own.deadline())
    }
}

impl Default for Lelann {
    fn default() -> Self {
        Self::new()
    }
}
