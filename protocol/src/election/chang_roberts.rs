//! The election of Chang and Roberts: on a ring, one number goes round and only the highest survives.
//!
//! A member that misses a leader sends its own number to its successor. Whoever gets a number passes on the higher of
//! that and its own, and drops what is lower than a number it has passed on before. Only the highest comes back to the
//! member it belongs to, which then leads and sends the news round once: the others do not know that they lost.
//!
//! # Paper
//! E. Chang, R. Roberts: An Improved Algorithm for Decentralized Extrema-Finding in Circular Configurations of
//! Processes, Communications of the ACM 22(5), 1979.
//!
//! # Assumes
//! Reliable channels (the link's) and a group that is the same at all members. That members fail is no part of the
//! paper; here it costs time: a member that fails with the number in its hands until it is suspected, a winner that
//! fails until it is suspected by the member before it.
//!
//! # Messages
//! [`Message::Election`], [`Message::Elected`]. Beats as in [`super::reign`].
//!
//! # Cost
//! n members that are up. Started by one: 3n - 1 at worst, when it comes right after the highest; 2n at best, when it is
//! the highest. Started by all at once: n (1/1 + 1/2 + ... + 1/n) numbers passed on average, n (n + 1) / 2 at worst, and n
//! to tell the result.
//!
//! # Departures
//! - Members are ordered by what they would be worth as leaders, then by name. One that cannot lead passes numbers on and
//!   has none.
//! - A round has a number: taking part in it ends with it, or, when patience ends, in a higher round.
//!   Members that start at once start the same round. The winner's term is the round under the winner's name.
//! - A number is not passed beyond the member it belongs to. If that one is gone, whoever comes before it starts a higher
//!   round; otherwise the number would go round for ever.
//! - A member whose successor fails passes the highest number it has seen on again; one that comes twice is dropped.

use super::candidacy::{Call, Candidacy, Contest};
use super::circle::{Circle, Direction, patience};
use super::reign::{Office, Reign};
use super::{Command, Notice};
use crate::algorithm::{Algorithm, Context, Input, Outbox, Scope};
use crate::capacity::Standing;
use crate::clock::Term;
use crate::group::{NodeId, NodeSet};
use crate::time::{Instant, sooner};

mod message;

pub use message::Message;

/// Where this member is in an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// In none; to start one at this time, if nothing changes.
    Resting { start: Option<Instant> },
    /// Has passed `best` on to `to`, and waits for a higher number, its own, or the result.
    Participant { best: Option<Standing>, to: NodeSet, until: Instant },
}

/// The election of Chang and Roberts of one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ChangRoberts {
    pub(super) own: Candidacy,
    phase: Phase,
}

type Out = Outbox<Message, Notice>;

impl ChangRoberts {
    /// A member that has taken part in nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self { own: Candidacy::new(Reign::after_telling()), phase: Phase::Resting { start: None } }
    }

    /// Passes a number on, the highest seen in this round.
    fn pass(&mut self, cx: &Context<'_>, best: Option<Standing>, out: &mut Out) {
        let round = self.own.joined().number;
        let circle = Circle::of(cx, Direction::Onward);
        let to = circle.next(cx.up);
        if best.is_some_and(|best| circle.oversteps(cx, to, best.id)) {
            self.start(cx, out); // it cannot come back to whom it belongs to
        } else if to.is_empty() {
            self.win(cx, out);
        } else {
            out.send(to, Message::Election { round, candidate: best });
            let until = cx.now.after(patience(cx, best == self.own.entry()));
            self.phase = Phase::Participant { best, to, until };
        }
    }

    /// This member's number came back.
    fn win(&mut self, cx: &Context<'_>, out: &mut Out) {
        self.phase = Phase::Resting { start: None };
        let Some(leader) = self.own.entry() else { return };
        let term = self.own.joined();
        self.own.reign.announce(cx, Office { term, leader, second: cx.rival, beat: 0 }, out);
        out.send(Circle::of(cx, Direction::Onward).next(cx.up), Message::Elected { term, leader });
    }

    fn hear_election(
        &mut self,
        cx: &Context<'_>,
        from: NodeId,
        round: u32,
        candidate: Option<Standing>,
        out: &mut Out,
    ) {
        let mine = candidate.is_some_and(|candidate| candidate.id == cx.me);
        match self.phase {
            Phase::Participant { best, .. } if self.own.joined().number == round => {
                if mine && candidate == best {
                    self.win(cx, out);
                } else if !mine && candidate > best {
                    self.pass(cx, candidate, out);
                } // lower than what was passed on before, or the same again
            }
            Phase::Resting { .. } | Phase::Participant { .. } => {
                self.hear_round(cx, from, round, candidate.filter(|_| !mine), out);
            }
        }
    }

    /// Hears of a round it does not take part in.
    fn hear_round(&mut self, cx: &Context<'_>, from: NodeId, round: u32, candidate: Option<Standing>, out: &mut Out) {
        match self.own.weigh(Term { number: round, by: NodeId(0) }) {
            Call::Open => {
                let entry = self.own.join(cx, Term { number: round, by: cx.me });
                self.pass(cx, candidate.max(entry), out);
            }
            Call::Behind => self.start(cx, out),
            Call::Over => self.own.reign.tell(cx, cx.roster.set_of(from)), // it may have missed how it ended
        }
    }

    fn hear_elected(&mut self, cx: &Context<'_>, from: NodeId, term: Term, leader: Standing, out: &mut Out) {
        self.own.reign.note(term.number);
        if leader.id == cx.me {
            return; // the news have come round
        }
        let office = Office { term, leader, second: None, beat: 0 };
        if self.own.hear_result(cx, cx.roster.set_of(from), office, out) {
            let circle = Circle::of(cx, Direction::Onward);
            let to = circle.next(cx.up);
            if !circle.oversteps(cx, to, leader.id) {
                out.send(to, Message::Elected { term, leader });
            }
        }
    }

    fn timeout(&mut self, cx: &Context<'_>, out: &mut Out) {
        let lost = self.own.timeout(cx, out);
        match self.phase {
            Phase::Resting { .. } if lost => self.phase = Phase::Resting { start: None },
            Phase::Resting { start: Some(at) } if at <= cx.now => self.start(cx, out),
            Phase::Participant { until, .. } if until <= cx.now => self.start(cx, out),
            Phase::Resting { .. } | Phase::Participant { .. } => {} // not yet
        }
    }

    /// Decides, after every step, whether a round is over, and whether there is reason to start one.
    fn review(&mut self, cx: &Context<'_>, out: &mut Out) {
        self.own.review(cx, out);
        let round = self.own.joined().number;
        let over = self.own.reign.office().is_some_and(|office| office.term.number >= round);
        match &mut self.phase {
            Phase::Participant { .. } if over => self.phase = Phase::Resting { start: self.own.plan(cx, None) },
            Phase::Participant { .. } => {}
            Phase::Resting { start } => *start = self.own.plan(cx, *start),
        }
    }
}

impl Contest for ChangRoberts {
    type Message = Message;

    fn own(&mut self) -> &mut Candidacy {
        &mut self.own
    }

    fn resting(&mut self) -> Option<&mut Option<Instant>> {
        if let Phase::Resting { start } = &mut self.phase { Some(start) } else { None }
    }

    fn start(&mut self, cx: &Context<'_>, out: &mut Out) {
        let term = self.own.reign.new_term(cx.me);
        let entry = self.own.join(cx, term);
        self.pass(cx, entry, out);
    }

    fn peers_lost(&mut self, cx: &Context<'_>, set: NodeSet, out: &mut Out) {
        match self.phase {
            Phase::Participant { best, to, .. } if to.meets(set) => self.pass(cx, best, out),
            Phase::Resting { .. } | Phase::Participant { .. } => {} // given nothing that still matters
        }
    }
}

impl Algorithm for ChangRoberts {
    type Message = Message;
    type Command = Command;
    type Notice = Notice;

    fn scope(&self) -> Scope {
        Scope::Group
    }

    fn handle(&mut self, cx: &Context<'_>, input: Input<Message, Command>, out: &mut Out) {
        match input {
            Input::Message { from, message, .. } => match message {
                Message::Election { round, candidate } => self.hear_election(cx, from, round, candidate, out),
                Message::Elected { term, leader } => self.hear_elected(cx, from, term, leader, out),
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
            Phase::Participant { until, .. } => Some(until),
        };
        sooner(phase, self.own.deadline())
    }
}

impl Default for ChangRoberts {
    fn default() -> Self {
        Self::new()
    }
}
