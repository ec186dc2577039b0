//! The election of Le Lann: every member's number travels all the way round a ring, and every member determines the
//! winner.
//!
//! A member that misses a leader sends its number to its successor; a member that receives a number of a new round
//! sends its own first. Every number is passed on until it is back at its owner. By then the owner has seen all others,
//! and knows the highest without an announcement.
//!
//! # Paper
//! G. Le Lann: Distributed Systems - Towards a Formal Approach, IFIP Congress 1977.
//!
//! # Assumes
//! Reliable channels (the link's) and a group that is the same at all members. The paper knows no failures; here they
//! cost time, and the whole round: a ring that breaks starts a new round.
//!
//! # Messages
//! [`Message::Number`]. Heartbeats as in [`super::leadership`].
//!
//! # Cost
//! n^2 for n members that are up, however many start the round. It is a baseline for comparison.
//!
//! # Departures
//! - Members are ordered by capacity, then by id. A member that cannot lead sends a number that cannot win: it counts
//!   all the same.
//! - The paper's member stops when its number is back. This one also counts: it must have seen as many numbers as its
//!   own took hops, in whatever order they came.
//! - A ring of which only the successor is known, as in [`super::chang_roberts`], is not possible: a member may have as
//!   many numbers to pass on as there are members, and only the queue of a group has room for them.
//! - The lowest candidate may win instead of the highest, and messages may travel either way round ([`Options`]).
//! - Rounds are numbered, as in [`super::chang_roberts`]. The winner's term is the round with the winner's id.
//! - A member whose successor crashes, or that would have to pass a number beyond its owner, starts a higher round: it
//!   does not know which numbers were lost. So does a member that times out.

use super::candidacy::{Candidacy, RoundStatus};
use super::leadership::{Leader, LeaderMessage, Leadership};
use super::ring_order::{Direction, RingOrder, round_timeout};
use super::rounds::{Rounds, accessors};
use super::top_two::TopTwo;
use super::{Notice, Winner};
use crate::algorithm::{Context, Outbox};
use crate::base::capacity::{Candidate, Capacity};
use crate::base::ids::{NodeId, NodeSet};
use crate::base::options::{Configurable, OptionKeys, set_all};
use crate::base::term::Term;
use crate::base::time::Instant;
use crate::wire::impl_message;
use serde::{Deserialize, Serialize};

/// A member's number on its way round the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Number {
    /// The round.
    pub round: u32,
    /// The member.
    pub owner: NodeId,
    /// The member's capacity, if it can lead.
    pub capacity: Option<Capacity>,
    /// Hops from the member to the receiver.
    pub hops: u8,
}

/// Messages between the members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// A number of an open round.
    Number(Number),
    /// A message about the leader.
    Leadership(LeaderMessage),
}

impl_message! {
    Reliable: Number = "number";
    _: Leadership(LeaderMessage);
}

/// This member's phase in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// In none; starts one at `start`, if nothing changes.
    Idle { start: Option<Instant> },
    /// Has sent its number to `to`, and has seen the numbers of `seen`.
    Collecting { seen: NodeSet, top: TopTwo, size: Size, to: NodeSet, until: Instant },
}

/// Options of the election of Le Lann; the same at all members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Options {
    /// Which candidate wins.
    pub winner: Winner,
    /// The direction in which messages travel round the ring.
    pub direction: Direction,
}

/// The number of members on the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Size {
    /// This member's number is not back yet.
    Unknown,
    /// The hops its number took.
    Counted(u8),
}

/// The election of Le Lann of one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lelann {
    candidacy: Candidacy,
    phase: Phase,
    options: Options,
}

type Out = Outbox<Message, Notice>;

impl Lelann {
    /// Creates the election of a member that has taken part in none.
    #[must_use]
    pub const fn new(options: Options) -> Self {
        let candidacy = Candidacy::new(Leadership::announced_by_election());
        Self { candidacy, phase: Phase::Idle { start: None }, options }
    }

    /// Joins a round: sends this member's number.
    fn join(&mut self, cx: &Context<'_>, term: Term, started: bool, out: &mut Out) {
        let winner = self.options.winner;
        let entry = self.candidacy.join_for(cx, term, winner);
        let mut top = TopTwo::default();
        top.insert_for(entry, winner);
        let to = RingOrder::of(cx, self.options.direction).next(cx.up);
        if to.is_empty() {
            self.conclude(cx, top, out);
            return;
        }
        let capacity = entry.map(|entry| entry.capacity);
        out.send(to, Message::Number(Number { round: term.number, owner: cx.me, capacity, hops: 1 }));
        let (seen, until) = (cx.roster.set_of(cx.me), cx.now.after(round_timeout(cx, started)));
        self.phase = Phase::Collecting { seen, top, size: Size::Unknown, to, until };
    }

    fn on_number(&mut self, cx: &Context<'_>, from: NodeId, number: Number, out: &mut Out) {
        let current = matches!(self.phase, Phase::Collecting { .. }) && self.candidacy.joined().number == number.round;
        if current {
            self.collect(cx, number, out);
            return;
        }
        match self.candidacy.classify(Term { number: number.round, by: NodeId(0) }) {
            RoundStatus::Open => {
                self.join(cx, Term { number: number.round, by: cx.me }, false, out);
                if number.owner != cx.me {
                    self.collect(cx, number, out);
                } // otherwise it sent this number before it rebooted
            }
            RoundStatus::Behind => self.start(cx, out),
            // The sender may have missed the result.
            RoundStatus::Over => self.candidacy.leadership.inform(cx, cx.roster.set_of(from)),
        }
    }

    /// Collects a number of this round, passes it on, and concludes if it was the last.
    fn collect(&mut self, cx: &Context<'_>, number: Number, out: &mut Out) {
        let (ring, winner) = (RingOrder::of(cx, self.options.direction), self.options.winner);
        let Phase::Collecting { seen, top, size, to, .. } = &mut self.phase else { return };
        let owner = cx.roster.set_of(number.owner);
        if number.owner == cx.me {
            *size = Size::Counted(number.hops);
        } else if seen.meets(owner) {
            return; // a duplicate
        } else if ring.skips(*to, number.owner) {
            self.start(cx, out); // the number cannot return to its owner
            return;
        } else {
            *seen = seen.with(owner);
            top.insert_for(number.capacity.map(|capacity| Candidate { capacity, id: number.owner }), winner);
            out.send(*to, Message::Number(Number { hops: number.hops.saturating_add(1), ..number }));
        }
        let top = *top;
        match *size {
            Size::Counted(hops) if seen.len() >= u32::from(hops) => self.conclude(cx, top, out),
            Size::Unknown | Size::Counted(_) => {} // more numbers are to come
        }
    }

    /// Concludes the round, as all numbers were seen.
    fn conclude(&mut self, cx: &Context<'_>, top: TopTwo, out: &mut Out) {
        self.leave_round();
        let Some(leader) = top.best else { return }; // no member can lead
        let term = Term { number: self.candidacy.joined().number, by: leader.id };
        let winner = (Leader::elected(term, leader, top.runner_up), self.options.winner);
        self.candidacy.on_result_for(cx, NodeSet::EMPTY, winner, out);
    }
}

impl Rounds for Lelann {
    type Message = Message;

    accessors!();

    fn phase_deadline(&self) -> Option<Instant> {
        match self.phase {
            Phase::Idle { start } => start,
            Phase::Collecting { until, .. } => Some(until),
        }
    }

    fn start(&mut self, cx: &Context<'_>, out: &mut Out) {
        let term = self.candidacy.leadership.new_term(cx.me);
        self.join(cx, term, true, out);
    }

    fn on_message(&mut self, cx: &Context<'_>, from: NodeId, message: Message, out: &mut Out) {
        match message {
            Message::Number(number) => self.on_number(cx, from, number, out),
            Message::Leadership(message) => {
                self.candidacy.on_leader_message(cx, from, message, out);
            }
        }
    }

    fn on_peers_lost(&mut self, cx: &Context<'_>, set: NodeSet, out: &mut Out) {
        match self.phase {
            Phase::Collecting { to, .. } if to.meets(set) => self.start(cx, out),
            Phase::Idle { .. } | Phase::Collecting { .. } => {} // they have nothing of this round
        }
    }

    fn is_over(&self) -> bool {
        self.candidacy.has_leader_since_round(self.candidacy.joined().number)
    }

    fn winner(&self) -> Winner {
        self.options.winner
    }
}

impl Default for Lelann {
    fn default() -> Self {
        Self::new(Options::default())
    }
}

impl Configurable for Lelann {
    const OPTIONS: OptionKeys = &[("winner", Winner::NAMES), ("direction", Direction::NAMES)];

    fn from_options(words: &str) -> Option<Self> {
        let mut options = Options::default();
        set_all(words, |key, value| {
            match key {
                "winner" => options.winner = Winner::by_name(value)?,
                "direction" => options.direction = Direction::by_name(value)?,
                _ => return None,
            }
            Some(())
        })?;
        Some(Self::new(options))
    }
}
