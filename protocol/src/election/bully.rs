//! The bully election: the best member of a group that is up leads it.
//!
//! A member that misses a leader asks all better members whether they are up. If one answers, it holds an election of
//! its own, and the first member is out. If none answers in time, the member leads and announces it. A better member
//! that comes back takes over.
//!
//! # Paper
//! H. Garcia-Molina: Elections in a Distributed Computing System, IEEE Transactions on Computers C-31(1), 1982.
//!
//! # Assumes
//! Reliable channels (the link's) and a bound on the time an answer takes (`answer_timeout`). Where the bound does
//! not hold a worse member announces itself, until a better one receives the announcement. Two leaders at a time are
//! possible, as in the paper where its assumptions fail; [`crate::lease`] is the remedy.
//!
//! # Messages
//! [`Message::Election`] to all better members; [`Message::Ok`] the answer, for that election only;
//! [`Message::Coordinator`] to all others; [`Message::Alert`] to worse members, which need not call an election
//! themselves (optional); [`Message::Ask`] after a boot. Where all members are in range of each other,
//! [`Message::Broadcast`] is Election and Ok in one (see [`Transport`]). Heartbeats as in [`super::leadership`].
//!
//! # Cost
//! n members, the best of them crashed. Called by the worst: n(n-1)/2 Election, (n-1)(n-2)/2 Ok, n-2 Coordinator: n^2 -
//! n - 1. Called by the second best: 1 Election to the crashed one, unless it is skipped, and n-2 Coordinator.
//!
//! # Departures
//! - Members are ordered by capacity, then by id; the failure detector knows which ones are better, as far as they
//!   advertised. Where that was wrong, the better one challenges the winner.
//! - A leadership has a term. An announcement under a term that is not higher than the last one is stale.
//! - The wait for the better member's victory is bounded too: it may have crashed since it answered. A member that still
//!   has a leader then holds an election only for a reason of its own: an alert is none.
//! - A leader that is asked announces itself to the sender: it need not win again.
//! - An election is not held at once when the leader is missed, but after a delay that is shorter for better members.

use super::Notice;
use super::candidacy::Candidacy;
use super::leadership::{Leader, LeaderMessage, Leadership};
use super::rounds::{Rounds, accessors};
use crate::algorithm::{Context, Outbox};
use crate::base::capacity::Candidate;
use crate::base::ids::{NodeId, NodeSet};
use crate::base::named;
use crate::base::options::{Configurable, OptionKeys, SWITCH, set_all, switch};
use crate::base::term::Term;
use crate::base::time::{Duration, Instant};
use crate::wire::impl_message;
use serde::{Deserialize, Serialize};

/// Messages between the members. `term` is that of the election, `caller` its sender as a candidate, if it is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the sentence of each message names its fields")]
pub enum Message {
    /// Asks whether a better member is up.
    Election { term: Term, caller: Option<Candidate> },
    /// Answers that the sender is up and better.
    Ok { term: Term },
    /// Announces the sender as the leader, under `term`.
    Coordinator { term: Term, leader: Candidate, runner_up: Option<Candidate> },
    /// Announces that an election is open.
    Alert { term: Term },
    /// Asks for the leader, after a boot.
    Ask,
    /// Asks whether a better member is up, and answers worse members that asked before.
    Broadcast { term: Term, caller: Option<Candidate> },
    /// A message about the leader.
    Leadership(LeaderMessage),
}

impl_message! {
    ReliableLatest: Election = "election", Ok = "ok", Coordinator = "coordinator", Alert = "alert";
    Unreliable: Ask = "ask", Broadcast = "broadcast";
    _: Leadership(LeaderMessage);
}

/// What a member does after a boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Recovery {
    /// Asks for the leader. Follows it, or holds an election if there is none or it would lead much better.
    #[default]
    Ask,
    /// Holds an election.
    Elect,
    /// Leads under a new term, if it knows no better member. Otherwise it holds an election.
    Announce,
}

named! { Recovery: Ask = "ask", Elect = "elect", Announce = "announce" }

/// How members send election messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Transport {
    /// Reliable messages to the members concerned, as in the paper. Works over several hops.
    #[default]
    Unicast,
    /// Broadcasts, for a radio where all members are in range of each other. Better members answer first, and an answer
    /// suppresses those of all worse members: two or three frames instead of n^2.
    Broadcast,
}

named! { Transport: Unicast = "unicast", Broadcast = "broadcast" }

/// Options of a bully election; the same at all members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Options {
    /// What a member does after a boot.
    pub recovery: Recovery,
    /// How members send election messages.
    pub transport: Transport,
    /// Whether suspected members are not even asked.
    pub skip_suspected: bool,
    /// Whether worse members are alerted that an election is open.
    pub alert: bool,
}

/// This member's phase in an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// In none; calls one at `start`, if nothing changes.
    Idle { start: Option<Instant> },
    /// Waiting for one of `asked` to answer.
    Calling { term: Term, asked: NodeSet, until: Instant },
    /// Waiting for a better member to win.
    Waiting { until: Instant },
    /// About to answer a broadcast, if no better member does.
    Answering { at: Instant },
}

/// The bully election of one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bully {
    candidacy: Candidacy,
    phase: Phase,
    options: Options,
    /// Whether it has done what [`Recovery`] asks for.
    recovered: bool,
    /// Whether it has asked for the leader.
    asked: bool,
}

type Out = Outbox<Message, Notice>;

/// Returns how long an answer may take.
fn answer_timeout(cx: &Context<'_>) -> Duration {
    let out_of_range = !cx.up.without(cx.near).is_empty();
    if out_of_range { cx.timing.lease() } else { cx.timing.probe.times(u32::from(cx.timing.probes)) }
}

impl Bully {
    /// Creates the election of a member that has taken part in none.
    #[must_use]
    pub const fn new(options: Options) -> Self {
        let leadership = match options.transport {
            Transport::Unicast => Leadership::announced_by_election(),
            Transport::Broadcast => Leadership::new(),
        };
        let (candidacy, phase) = (Candidacy::new(leadership), Phase::Idle { start: None });
        Self { candidacy, phase, options, recovered: false, asked: false }
    }

    /// Wins the election, as no better member is up.
    fn win(&mut self, cx: &Context<'_>, term: Term, out: &mut Out) {
        self.leave_round();
        let Some(leader) = self.candidacy.candidate(cx) else { return };
        // Other members may have held elections since this one was called.
        let term = self.candidacy.leadership.term_or_new(term, cx.me);
        let runner_up = cx.best_peer;
        self.candidacy.leadership.announce(cx, Leader::elected(term, leader, runner_up), out);
        if self.options.transport == Transport::Unicast {
            out.send(cx.peers.without(cx.better), Message::Coordinator { term, leader, runner_up });
        }
    }

    /// Returns whether this member is better than a caller, and has to answer it.
    fn bullies(&self, cx: &Context<'_>, caller: Option<Candidate>) -> bool {
        self.candidacy.candidate(cx).is_some_and(|candidate| caller.is_none_or(|caller| caller < candidate))
    }

    fn on_election(&mut self, cx: &Context<'_>, from: NodeId, term: Term, caller: Option<Candidate>, out: &mut Out) {
        self.candidacy.leadership.observe_term(term.number);
        if !self.bullies(cx, caller) {
            return; // this member was better a moment ago; the caller gets no answer
        }
        let from = cx.roster.set_of(from);
        out.send(from, Message::Ok { term });
        match (self.phase, self.candidacy.leadership.leader()) {
            (Phase::Idle { .. }, Some(&Leader { term, candidate: leader, runner_up, .. })) if leader.id == cx.me => {
                out.send(from, Message::Coordinator { term, leader, runner_up });
            }
            (Phase::Idle { .. }, _) => self.start(cx, out),
            // One election of its own at a time.
            (Phase::Calling { .. } | Phase::Waiting { .. } | Phase::Answering { .. }, _) => {}
        }
    }

    fn on_ok(&mut self, cx: &Context<'_>, term: Term) {
        match self.phase {
            Phase::Calling { term: mine, .. } if mine == term => self.wait(cx),
            // The answer to an election that is over.
            Phase::Idle { .. } | Phase::Calling { .. } | Phase::Waiting { .. } | Phase::Answering { .. } => {}
        }
    }

    /// Waits for a better member to win: as long as it may take to find that no better member answers it.
    fn wait(&mut self, cx: &Context<'_>) {
        let wait = answer_timeout(cx).times(2).plus(cx.timing.contention_window(cx.peers.len()));
        self.phase = Phase::Waiting { until: cx.now.after(wait) };
    }

    fn on_broadcast(&mut self, cx: &Context<'_>, term: Term, caller: Option<Candidate>, out: &mut Out) {
        self.candidacy.leadership.observe_term(term.number);
        match (self.phase, self.bullies(cx, caller)) {
            (_, false) if caller.is_some() => self.wait(cx), // a better member continues
            (Phase::Idle { .. }, true) if self.candidacy.leadership.is_leader() => {
                self.candidacy.leadership.inform(cx, cx.peers);
            }
            (Phase::Idle { .. }, true) => {
                let at = cx.now.after(cx.timing.contention_window(cx.better.len()));
                self.phase = Phase::Answering { at };
            }
            (Phase::Calling { term: mine, .. }, true) if mine < term => {
                // The caller has missed this member's own broadcast, which would have suppressed it.
                let caller = self.candidacy.candidate(cx);
                out.send(cx.peers, Message::Broadcast { term: mine, caller });
            }
            // The caller cannot lead, or this member's election is open already.
            (Phase::Idle { .. } | Phase::Calling { .. } | Phase::Waiting { .. } | Phase::Answering { .. }, _) => {}
        }
    }

    fn on_coordinator(&mut self, cx: &Context<'_>, from: NodeId, winner: Leader, out: &mut Out) {
        let worse = self.candidacy.outranks(cx, winner.candidate);
        let adopted = self.candidacy.on_result(cx, cx.roster.set_of(from), winner, out);
        if adopted && !worse {
            self.leave_round();
        } else if worse
            && !self.candidacy.leadership.is_leader()
            && matches!(self.phase, Phase::Idle { .. } | Phase::Waiting { .. })
        {
            self.start(cx, out);
        }
    }

    fn on_leader_message(&mut self, cx: &Context<'_>, from: NodeId, message: LeaderMessage, out: &mut Out) {
        let authority = match message {
            // A winner that is announced once more.
            LeaderMessage::Elected { term, leader, .. } if !self.candidacy.outranks(cx, leader) => term,
            LeaderMessage::Elected { .. }
            | LeaderMessage::Heartbeat { .. }
            | LeaderMessage::RaiseTerm { .. }
            | LeaderMessage::Pulse { .. }
            | LeaderMessage::Doubt { .. }
            | LeaderMessage::Veto { .. }
            | LeaderMessage::Bid { .. } => self.candidacy.joined(),
        };
        let adopted = self.candidacy.leadership.on_message(cx, cx.roster.set_of(from), message, authority, out);
        let leader = self.candidacy.leadership.leader().map(|leader| leader.candidate);
        if adopted && leader.is_some_and(|leader| !self.candidacy.outranks(cx, leader)) {
            self.leave_round();
        }
    }

    /// Starts an election for a reason: as a member does that has just booted, or as any other.
    fn campaign(&mut self, cx: &Context<'_>, out: &mut Out) {
        let announces = !self.recovered && self.options.recovery == Recovery::Announce && cx.better.is_empty();
        if announces {
            self.recovered = true;
            let term = self.candidacy.leadership.new_term(cx.me);
            self.candidacy.join(cx, term);
            self.win(cx, term, out);
        } else {
            self.start(cx, out);
        }
    }
}

impl Rounds for Bully {
    type Message = Message;

    accessors!();

    fn phase_deadline(&self) -> Option<Instant> {
        match self.phase {
            Phase::Idle { start } => start,
            Phase::Calling { until, .. } | Phase::Waiting { until } => Some(until),
            Phase::Answering { at } => Some(at),
        }
    }

    fn start(&mut self, cx: &Context<'_>, out: &mut Out) {
        self.recovered = true;
        let term = self.candidacy.leadership.new_term(cx.me);
        let caller = self.candidacy.join(cx, term);
        // The leader that was just lost is suspected, if not yet by the failure detector.
        let lost = self.candidacy.leadership.lost().map_or(NodeSet::EMPTY, |lost| cx.roster.set_of(lost));
        let asked = if self.options.skip_suspected { cx.better.and(cx.up).without(lost) } else { cx.better };
        let until = cx.now.after(answer_timeout(cx));
        match self.options.transport {
            Transport::Unicast if asked.is_empty() => {
                self.win(cx, term, out);
                return;
            }
            Transport::Unicast => {
                out.send(asked, Message::Election { term, caller });
                if self.options.alert {
                    out.send(cx.up.without(asked), Message::Alert { term });
                }
            }
            Transport::Broadcast => out.send(cx.peers, Message::Broadcast { term, caller }),
        }
        self.phase = Phase::Calling { term, asked, until };
    }

    fn on_message(&mut self, cx: &Context<'_>, from: NodeId, message: Message, out: &mut Out) {
        match message {
            Message::Election { term, caller } => self.on_election(cx, from, term, caller, out),
            Message::Ok { term } => self.on_ok(cx, term),
            Message::Coordinator { term, leader, runner_up } => {
                self.on_coordinator(cx, from, Leader::elected(term, leader, runner_up), out);
            }
            Message::Alert { term } => {
                self.candidacy.leadership.observe_term(term.number);
                if let Phase::Idle { .. } = self.phase {
                    self.wait(cx);
                }
            }
            Message::Ask => self.candidacy.leadership.inform(cx, cx.roster.set_of(from)),
            Message::Broadcast { term, caller } => self.on_broadcast(cx, term, caller, out),
            Message::Leadership(message) => self.on_leader_message(cx, from, message, out),
        }
    }

    fn on_deadline(&mut self, cx: &Context<'_>, out: &mut Out) {
        match self.phase {
            Phase::Idle { .. } => self.campaign(cx, out),
            Phase::Calling { term, .. } => self.win(cx, term, out),
            // The election ended without a winner that is new here: the leader ended it. Whether there is a reason for
            // another is asked as always. If an alert were one, the next alerts would follow from it.
            Phase::Waiting { .. } if self.candidacy.leadership.leader().is_some() => self.leave_round(),
            Phase::Waiting { .. } | Phase::Answering { .. } => self.start(cx, out),
        }
    }

    fn on_peers_lost(&mut self, cx: &Context<'_>, set: NodeSet, out: &mut Out) {
        match self.phase {
            Phase::Calling { term, asked, until } => {
                let asked = asked.without(set);
                self.phase = Phase::Calling { term, asked, until };
                if asked.is_empty() && self.options.transport == Transport::Unicast {
                    self.win(cx, term, out);
                }
            }
            Phase::Idle { .. } | Phase::Waiting { .. } | Phase::Answering { .. } => {} // waits for none of them
        }
    }

    fn after_input(&mut self, cx: &Context<'_>, out: &mut Out) {
        if !self.asked {
            self.asked = true;
            if self.options.recovery == Recovery::Ask {
                out.send(cx.peers, Message::Ask);
            }
        }
    }

    fn start_delay(&self, cx: &Context<'_>) -> Option<Duration> {
        let follows = self.candidacy.leadership.leader().is_some_and(|leader| leader.candidate.id != cx.me);
        match self.options.recovery {
            Recovery::Elect | Recovery::Announce
                if !self.recovered && follows && self.candidacy.candidate(cx).is_some() =>
            {
                Some(Duration::ZERO)
            }
            Recovery::Ask | Recovery::Elect | Recovery::Announce => self.candidacy.start_delay(cx),
        }
    }
}

impl Default for Bully {
    fn default() -> Self {
        Self::new(Options::default())
    }
}

impl Configurable for Bully {
    const OPTIONS: OptionKeys = &[
        ("recovery", Recovery::NAMES),
        ("transport", Transport::NAMES),
        ("skip-suspected", SWITCH),
        ("alert", SWITCH),
    ];

    fn from_options(words: &str) -> Option<Self> {
        let mut options = Options::default();
        set_all(words, |key, value| {
            match key {
                "recovery" => options.recovery = Recovery::by_name(value)?,
                "transport" => options.transport = Transport::by_name(value)?,
                "skip-suspected" => options.skip_suspected = switch(value)?,
                "alert" => options.alert = switch(value)?,
                _ => return None,
            }
            Some(())
        })?;
        Some(Self::new(options))
    }
}
