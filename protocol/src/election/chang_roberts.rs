//! The election of Chang and Roberts: candidates travel round a ring, and only the highest survives.
//!
//! A member that misses a leader sends itself as a candidate to its successor. Each member passes on the higher of the
//! candidate it receives and itself, and drops candidates lower than one it has passed on before. Only the highest
//! candidate returns to its own member, which then leads and announces it once round the ring: the others do not know
//! that they lost.
//!
//! # Paper
//! E. Chang, R. Roberts: An Improved Algorithm for Decentralized Extrema-Finding in Circular Configurations of
//! Processes, Communications of the ACM 22(5), 1979.
//!
//! # Assumes
//! Reliable channels (the link's) and a group that is the same at all members; or, with [`Successor::Found`], no group at
//! all but nodes that are all in range of each other, at most 64. The paper knows no failures; here they
//! cost time: a member that crashes while it has the candidate until it is suspected, a winner that crashes until its
//! predecessor suspects it.
//!
//! # Messages
//! [`Message::Election`], [`Message::Elected`]. Heartbeats as in [`super::leadership`].
//!
//! # Cost
//! n members that are up. Started by one: 3n - 1 at worst, when it is the successor of the highest; 2n at best, when it
//! is the highest. Started by all at once: n (1/1 + 1/2 + ... + 1/n) candidates passed on average, n (n + 1) / 2 at
//! worst, and n for the announcement.
//!
//! # Departures
//! - Members are ordered by capacity, then by id. A member that cannot lead passes candidates on and is none itself.
//! - Rounds are numbered: a member takes part in one until it is over, or times out into a higher round. Members that
//!   start at once start the same round. The winner's term is the round with the winner's id.
//! - A candidate is not passed beyond its own member. If that member is gone, its predecessor starts a higher round;
//!   otherwise the candidate would circulate for ever.
//! - Where the ring is known by successors alone ([`Successor::Found`], the paper's own assumption: neither the members
//!   nor their number is known), a candidate whose member is not heard ends the round, and another begins after a
//!   moment.
//! - The lowest candidate may win instead of the highest, and messages may travel either way round ([`Options`]).
//! - A member whose successor crashes passes the highest candidate it has seen on again; duplicates are dropped.

use super::candidacy::{Candidacy, RoundStatus};
use super::leadership::{Leader, LeaderMessage, Leadership};
use super::ring_order::{Direction, RingOrder, Successor, round_timeout};
use super::rounds::{Rounds, accessors};
use super::{Notice, Winner};
use crate::algorithm::{Context, Outbox, Scope};
use crate::base::capacity::Candidate;
use crate::base::ids::{NodeId, NodeSet};
use crate::base::options::{Configurable, OptionKeys, set_all};
use crate::base::rng::jitter;
use crate::base::term::Term;
use crate::base::time::Instant;
use crate::wire::impl_message;
use serde::{Deserialize, Serialize};

/// Messages between the members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the sentence of each message names its fields")]
pub enum Message {
    /// The best candidate of the open `round` so far; `None` while only members have seen it that cannot lead.
    Election { round: u32, candidate: Option<Candidate> },
    /// The round is over: `leader` is the winner, `term` the round and the id of the winner.
    Elected { term: Term, leader: Candidate },
    /// A message about the leader.
    Leadership(LeaderMessage),
}

impl_message! {
    Reliable: Election = "election"; // every candidate is passed on, as the paper counts
    ReliableLatest: Elected = "elected";
    _: Leadership(LeaderMessage);
}

/// Options of the election of Chang and Roberts; the same at all members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Options {
    /// Which candidate wins.
    pub winner: Winner,
    /// The direction in which messages travel round the ring.
    pub direction: Direction,
    /// How a member knows its successor.
    pub successor: Successor,
}

/// This member's phase in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// In none; starts one at `start`, if nothing changes.
    Idle { start: Option<Instant> },
    /// Has passed `best` on to `to`, and waits for a higher candidate, its own, or the result.
    Participant { best: Option<Candidate>, to: NodeSet, until: Instant },
}

/// The election of Chang and Roberts of one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ChangRoberts {
    candidacy: Candidacy,
    phase: Phase,
    options: Options,
}

type Out = Outbox<Message, Notice>;

impl ChangRoberts {
    /// Creates the election of a member that has taken part in none.
    #[must_use]
    pub const fn new(options: Options) -> Self {
        let candidacy = Candidacy::new(Leadership::announced_by_election());
        Self { candidacy, phase: Phase::Idle { start: None }, options }
    }

    fn ring<'a>(&self, cx: &Context<'a>) -> RingOrder<'a> {
        RingOrder::known_by(cx, self.options.direction, self.options.successor)
    }

    /// Passes on the highest candidate seen in this round.
    fn pass(&mut self, cx: &Context<'_>, best: Option<Candidate>, out: &mut Out) {
        let round = self.candidacy.joined().number;
        let ring = self.ring(cx);
        let to = ring.next(cx.up);
        if best.is_some_and(|best| ring.skips(to, best.id)) {
            self.on_owner_gone(cx, out);
        } else if to.is_empty() {
            self.win(cx, out);
        } else {
            out.send(to, Message::Election { round, candidate: best });
            let until = cx.now.after(round_timeout(cx, best == self.candidacy.entry()));
            self.phase = Phase::Participant { best, to, until };
        }
    }

    /// Handles a candidate that cannot return to its member.
    fn on_owner_gone(&mut self, cx: &Context<'_>, out: &mut Out) {
        match self.options.successor {
            Successor::Listed => self.start(cx, out),
            // Perhaps it is only not heard yet: another round may find it.
            Successor::Found => {
                let start = cx.now.after(jitter(cx.timing.stagger, cx.random));
                self.phase = Phase::Idle { start: Some(start) };
            }
        }
    }

    /// Wins the round, as this member's candidate returned.
    fn win(&mut self, cx: &Context<'_>, out: &mut Out) {
        self.leave_round();
        let Some(leader) = self.candidacy.entry() else { return };
        let term = self.candidacy.joined();
        self.candidacy.leadership.announce(cx, Leader::elected(term, leader, cx.best_peer), out);
        out.send(self.ring(cx).next(cx.up), Message::Elected { term, leader });
    }

    fn on_election(&mut self, cx: &Context<'_>, from: NodeId, round: u32, candidate: Option<Candidate>, out: &mut Out) {
        let mine = candidate.is_some_and(|candidate| candidate.id == cx.me);
        match self.phase {
            Phase::Participant { best, .. } if self.candidacy.joined().number == round => {
                if mine && candidate == best {
                    self.win(cx, out);
                } else if !mine && self.options.winner.prefers(candidate, best) {
                    self.pass(cx, candidate, out);
                } // lower than a candidate passed on before, or a duplicate
            }
            Phase::Idle { .. } | Phase::Participant { .. } => {
                self.on_other_round(cx, from, round, candidate.filter(|_| !mine), out);
            }
        }
    }

    /// Handles a candidate of a round this member does not take part in.
    fn on_other_round(
        &mut self,
        cx: &Context<'_>,
        from: NodeId,
        round: u32,
        candidate: Option<Candidate>,
        out: &mut Out,
    ) {
        match self.candidacy.classify(Term { number: round, by: NodeId(0) }) {
            RoundStatus::Open => {
                let winner = self.options.winner;
                let entry = self.candidacy.join_for(cx, Term { number: round, by: cx.me }, winner);
                self.pass(cx, winner.of(candidate, entry), out);
            }
            RoundStatus::Behind => self.start(cx, out),
            // The sender may have missed the result.
            RoundStatus::Over => self.candidacy.leadership.inform(cx, cx.roster.set_of(from)),
        }
    }

    fn on_elected(&mut self, cx: &Context<'_>, from: NodeId, term: Term, leader: Candidate, out: &mut Out) {
        self.candidacy.leadership.observe_term(term.number);
        if leader.id == cx.me {
            return; // the announcement has gone round
        }
        let winner = (Leader::elected(term, leader, None), self.options.winner);
        if self.candidacy.on_result_for(cx, cx.roster.set_of(from), winner, out) {
            let ring = self.ring(cx);
            let to = ring.next(cx.up);
            if !ring.skips(to, leader.id) {
                out.send(to, Message::Elected { term, leader });
            }
        }
    }
}

impl Rounds for ChangRoberts {
    type Message = Message;

    accessors!();

    fn phase_deadline(&self) -> Option<Instant> {
        match self.phase {
            Phase::Idle { start } => start,
            Phase::Participant { until, .. } => Some(until),
        }
    }

    fn start(&mut self, cx: &Context<'_>, out: &mut Out) {
        let term = self.candidacy.leadership.new_term(cx.me);
        let entry = self.candidacy.join(cx, term);
        self.pass(cx, entry, out);
    }

    fn on_message(&mut self, cx: &Context<'_>, from: NodeId, message: Message, out: &mut Out) {
        match message {
            Message::Election { round, candidate } => self.on_election(cx, from, round, candidate, out),
            Message::Elected { term, leader } => self.on_elected(cx, from, term, leader, out),
            Message::Leadership(message) => {
                self.candidacy.on_leader_message(cx, from, message, out);
            }
        }
    }

    fn on_peers_lost(&mut self, cx: &Context<'_>, set: NodeSet, out: &mut Out) {
        match self.phase {
            Phase::Participant { best, to, .. } if to.meets(set) => self.pass(cx, best, out),
            Phase::Idle { .. } | Phase::Participant { .. } => {} // they have nothing of this round
        }
    }

    fn is_over(&self) -> bool {
        self.candidacy.has_leader_since_round(self.candidacy.joined().number)
    }

    fn scope(&self) -> Scope {
        match self.options.successor {
            Successor::Listed => Scope::Group,
            Successor::Found => Scope::Neighbours,
        }
    }

    fn winner(&self) -> Winner {
        self.options.winner
    }
}

impl Default for ChangRoberts {
    fn default() -> Self {
        Self::new(Options::default())
    }
}

impl Configurable for ChangRoberts {
    const OPTIONS: OptionKeys =
        &[("winner", Winner::NAMES), ("direction", Direction::NAMES), ("successor", Successor::NAMES)];

    fn from_options(words: &str) -> Option<Self> {
        let mut options = Options::default();
        set_all(words, |key, value| {
            match key {
                "winner" => options.winner = Winner::by_name(value)?,
                "direction" => options.direction = Direction::by_name(value)?,
                "successor" => options.successor = Successor::by_name(value)?,
                _ => return None,
            }
            Some(())
        })?;
        Some(Self::new(options))
    }
}
