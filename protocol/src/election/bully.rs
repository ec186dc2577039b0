//! The bully election: the best member of a group that is up leads it.
//!
//! Whoever misses a leader asks all better members whether they are there. If one answers, it is out: the better one
//! holds an election of its own. If none does in time, it leads and says so. A member that comes back and is better than
//! the leader takes over.
//!
//! # Paper
//! H. Garcia-Molina: Elections in a Distributed Computing System, IEEE Transactions on Computers C-31(1), 1982.
//!
//! # Assumes
//! Reliable channels (the link's) and a bound on how long an answer takes ([`Bully::patience`]). Where the bound does not
//! hold a worse member claims to lead, until a better one hears of it. Two leaders at a time are possible, as in the
//! paper's own words where its assumptions fail; [`crate::mandate`] is the remedy.
//!
//! # Messages
//! [`Message::Election`] to all better members; [`Message::Ok`] the answer, for that election only;
//! [`Message::Coordinator`] to all others; [`Message::Alert`] to worse members, who need not call themselves
//! (optional); [`Message::Ask`] by one that has just started. Where every frame is heard by all, [`Message::Shout`] is
//! Election and Ok in one (see [`Manner`]). Beats as in [`super::reign`].
//!
//! # Cost
//! n members, the best of them dead. Called by the worst: n(n-1)/2 Election, (n-1)(n-2)/2 Ok, n-2 Coordinator: n^2 - n - 1.
//! Called by the second best: 1 Election to the dead one, unless it is skipped, and n-2 Coordinator.
//!
//! # Departures
//! - Members are ordered by what they would be worth as leaders, then by name; who is better is what the detector was
//!   told. Where that was wrong, the better one challenges the winner.
//! - A leadership has a term. A claim under a term that is not newer than the last one is old news.
//! - The wait for the better one's victory is bounded too: it may have failed since it answered.
//! - A leader that is asked says that it leads, to whoever asked: it need not win again.
//! - An election is not held at once when the leader is missed, but after a pause that is shorter for better members.

use super::candidacy::{Candidacy, Contest};
use super::reign::{Office, Reign, Word};
use super::{Command, Notice};
use crate::algorithm::{Algorithm, Context, Input, Outbox, Scope};
use crate::capacity::Standing;
use crate::clock::Term;
use crate::group::{NodeId, NodeSet};
use crate::time::{Instant, Span, sooner};

mod message;

pub use message::Message;

/// What a member does when it has just started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Recovery {
    /// Asks who leads. Accepts that, or holds an election if nobody does or it would lead much better.
    #[default]
    Ask,
    /// Holds an election.
    Elect,
    /// Leads, if it knows of nobody better: under a new term. Otherwise it holds an election.
    Announce,
}

/// How members speak to each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Manner {
    /// By letters to those concerned, as in the paper. Works over several hops.
    #[default]
    Letters,
    /// By shouts that everybody hears, for a radio where everybody is in range. Better members answer first, and an
    /// answer silences everybody worse: two or three frames instead of n^2.
    Shouts,
}

/// What may be chosen about a bully election; the same at all members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rules {
    /// What a member does when it has just started.
    pub recovery: Recovery,
    /// How members speak to each other.
    pub manner: Manner,
    /// Whether members that are suspected to be down are not even asked.
    pub skip_suspected: bool,
    /// Whether worse members are told that an election is on.
    pub alert: bool,
}

/// Where this member is in an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// In none; to call one at this time, if nothing changes.
    Resting { start: Option<Instant> },
    /// Waiting for one of `asked` to answer.
    Calling { term: Term, asked: NodeSet, until: Instant },
    /// Waiting for a better member to win.
    Waiting { until: Instant },
    /// About to answer a shout, if nobody better does.
    Answering { at: Instant },
}

/// The bully election of one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bully {
    pub(super) own: Candidacy,
    phase: Phase,
    rules: Rules,
    /// Whether it has done what a member does that has just started.
    recovered: bool,
    /// Whether it has asked who leads.
    asked: bool,
}

type Out = Outbox<Message, Notice>;

impl Bully {
    /// A member that has taken part in nothing.
    #[must_use]
    pub const fn new(rules: Rules) -> Self {
        let reign = match rules.manner {
            Manner::Letters => Reign::after_telling(),
            Manner::Shouts => Reign::new(),
        };
        let (own, phase) = (Candidacy::new(reign), Phase::Resting { start: None });
        Self { own, phase, rules, recovered: false, asked: false }
    }

    /// How long an answer may take.
    #[must_use]
    pub fn patience(cx: &Context<'_>) -> Span {
        let afar = !cx.up.without(cx.near).is_empty();
        if afar { cx.timing.lease() } else { cx.timing.probe.times(u32::from(cx.timing.probes)) }
    }

    /// Calls an election, whatever is known.
    fn call(&mut self, cx: &Context<'_>, out: &mut Out) {
        self.recovered = true;
        let term = self.own.reign.new_term(cx.me);
        let caller = self.own.join(cx, term);
        let asked = if self.rules.skip_suspected { cx.better.and(cx.up) } else { cx.better };
        let until = cx.now.after(Self::patience(cx));
        match self.rules.manner {
            Manner::Letters if asked.is_empty() => {
                self.win(cx, term, out);
                return;
            }
            Manner::Letters => {
                out.send(asked, Message::Election { term, caller });
                if self.rules.alert {
                    out.send(cx.up.without(asked), Message::Alert { term });
                }
            }
            Manner::Shouts => out.send(cx.peers, Message::Shout { term, caller }),
        }
        self.phase = Phase::Calling { term, asked, until };
    }

    /// Nobody better is there.
    fn win(&mut self, cx: &Context<'_>, term: Term, out: &mut Out) {
        self.phase = Phase::Resting { start: None };
        let Some(leader) = self.own.candidate(cx) else { return };
        // Others may have held elections since this one was called.
        let term = self.own.reign.still_new(term, cx.me);
        let second = cx.rival;
        self.own.reign.announce(cx, Office { term, leader, second, beat: 0 }, out);
        if self.rules.manner == Manner::Letters {
            out.send(cx.peers.without(cx.better), Message::Coordinator { term, leader, second });
        }
    }

    /// Whether a caller has to be answered: it is worse than this member.
    fn bullies(&self, cx: &Context<'_>, caller: Option<Standing>) -> bool {
        self.own.candidate(cx).is_some_and(|candidate| caller.is_none_or(|caller| caller < candidate))
    }

    fn hear_election(&mut self, cx: &Context<'_>, from: NodeId, term: Term, caller: Option<Standing>, out: &mut Out) {
        self.own.reign.note(term.number);
        if !self.bullies(cx, caller) {
            return; // it knew better a moment ago, and hears no answer
        }
        let back = cx.roster.set_of(from);
        out.send(back, Message::Ok { term });
        match (self.phase, self.own.reign.office()) {
            (Phase::Resting { .. }, Some(&Office { term, leader, second, .. })) if leader.id == cx.me => {
                out.send(back, Message::Coordinator { term, leader, second });
            }
            (Phase::Resting { .. }, _) => self.call(cx, out),
            // One election of its own at a time.
            (Phase::Calling { .. } | Phase::Waiting { .. } | Phase::Answering { .. }, _) => {}
        }
    }

    fn hear_ok(&mut self, cx: &Context<'_>, term: Term) {
        match self.phase {
            Phase::Calling { term: mine, .. } if mine == term => self.wait(cx),
            // An answer to an election that is over.
            Phase::Resting { .. } | Phase::Calling { .. } | Phase::Waiting { .. } | Phase::Answering { .. } => {}
        }
    }

    /// A better member is there: it has as long to win as it may take to find that nobody better answers it.
    fn wait(&mut self, cx: &Context<'_>) {
        let until = cx.now.after(Self::patience(cx).times(2).plus(cx.timing.crowd(cx.peers.len())));
        self.phase = Phase::Waiting { until };
    }

    fn hear_shout(&mut self, cx: &Context<'_>, term: Term, caller: Option<Standing>, out: &mut Out) {
        self.own.reign.note(term.number);
        let bullies = self.bullies(cx, caller);
        match (self.phase, bullies) {
            (_, false) if caller.is_some() => self.wait(cx), // a better one takes it from here
            (Phase::Resting { .. }, true) if self.own.reign.leads() => {
                let all = cx.peers;
                self.own.reign.tell(cx, all);
            }
            (Phase::Resting { .. }, true) => {
                let at = cx.now.after(cx.timing.crowd(cx.better.len()));
                self.phase = Phase::Answering { at };
            }
            (Phase::Calling { term: mine, .. }, true) if mine < term => {
                // It has not heard this member's own shout, which would have silenced it.
                let caller = self.own.candidate(cx);
                out.send(cx.peers, Message::Shout { term: mine, caller });
            }
            // Somebody who cannot lead; on its way already.
            (Phase::Resting { .. } | Phase::Calling { .. } | Phase::Waiting { .. } | Phase::Answering { .. }, _) => {}
        }
    }

    fn hear_coordinator(&mut self, cx: &Context<'_>, from: NodeId, office: Office, out: &mut Out) {
        let worse = self.own.betters(cx, office.leader);
        let taken = self.own.hear_result(cx, cx.roster.set_of(from), office, out);
        if taken && !worse {
            self.phase = Phase::Resting { start: None };
        } else if worse
            && !self.own.reign.leads()
            && matches!(self.phase, Phase::Resting { .. } | Phase::Waiting { .. })
        {
            self.call(cx, out);
        }
    }

    fn hear_word(&mut self, cx: &Context<'_>, from: NodeId, word: Word, out: &mut Out) {
        let authority = match word {
            Word::Leader { term, leader, .. } if !self.own.betters(cx, leader) => term, // who won, told once more
            Word::Leader { .. } | Word::Beat { .. } | Word::Raise { .. } => self.own.joined(),
        };
        let taken = self.own.reign.hear(cx, cx.roster.set_of(from), word, authority, out);
        let leader = self.own.reign.office().map(|office| office.leader);
        if taken && leader.is_some_and(|leader| !self.own.betters(cx, leader)) {
            self.phase = Phase::Resting { start: None };
        }
    }

    fn timeout(&mut self, cx: &Context<'_>, out: &mut Out) {
        let lost = self.own.timeout(cx, out);
        match self.phase {
            Phase::Resting { .. } if lost => self.phase = Phase::Resting { start: None },
            Phase::Resting { start: Some(at) } if at <= cx.now => self.rise(cx, out),
            Phase::Calling { term, until, .. } if until <= cx.now => self.win(cx, term, out),
            Phase::Waiting { until } if until <= cx.now => self.call(cx, out),
            Phase::Answering { at } if at <= cx.now => self.call(cx, out),
            Phase::Resting { .. } | Phase::Calling { .. } | Phase::Waiting { .. } | Phase::Answering { .. } => {} // not yet
        }
    }

    /// There is reason to: as one that has just started does, or as any other.
    fn rise(&mut self, cx: &Context<'_>, out: &mut Out) {
        let announces = !self.recovered && self.rules.recovery == Recovery::Announce && cx.better.is_empty();
        if announces {
            self.recovered = true;
            let term = self.own.reign.new_term(cx.me);
            self.own.join(cx, term);
            self.win(cx, term, out);
        } else {
            self.call(cx, out);
        }
    }

    /// Decides, after every step, whether there is reason to call an election, and when.
    fn review(&mut self, cx: &Context<'_>, out: &mut Out) {
        if !self.asked {
            self.asked = true;
            if self.rules.recovery == Recovery::Ask {
                out.send(cx.peers, Message::Ask);
            }
        }
        self.own.review(cx, out);
        let follows = self.own.reign.office().is_some_and(|office| office.leader.id != cx.me);
        let Phase::Resting { start } = &mut self.phase else { return };
        let planned = self.own.plan(cx, *start);
        *start = match self.rules.recovery {
            Recovery::Elect | Recovery::Announce if !self.recovered && follows && self.own.candidate(cx).is_some() => {
                Some(start.unwrap_or(cx.now))
            }
            Recovery::Ask | Recovery::Elect | Recovery::Announce => planned,
        };
    }
}

impl Contest for Bully {
    type Message = Message;

    fn own(&mut self) -> &mut Candidacy {
        &mut self.own
    }

    fn resting(&mut self) -> Option<&mut Option<Instant>> {
        if let Phase::Resting { start } = &mut self.phase { Some(start) } else { None }
    }

    fn start(&mut self, cx: &Context<'_>, out: &mut Out) {
        self.call(cx, out);
    }

    fn peers_lost(&mut self, cx: &Context<'_>, set: NodeSet, out: &mut Out) {
        match self.phase {
            Phase::Calling { term, asked, until } => {
                let asked = asked.without(set);
                self.phase = Phase::Calling { term, asked, until };
                if asked.is_empty() && self.rules.manner == Manner::Letters {
                    self.win(cx, term, out);
                }
            }
            Phase::Resting { .. } | Phase::Waiting { .. } | Phase::Answering { .. } => {} // waits for no one of them
        }
    }
}

impl Algorithm for Bully {
    type Message = Message;
    type Command = Command;
    type Notice = Notice;

    fn scope(&self) -> Scope {
        Scope::Group
    }

    fn handle(&mut self, cx: &Context<'_>, input: Input<Message, Command>, out: &mut Out) {
        match input {
            Input::Message { from, message, .. } => match message {
                Message::Election { term, caller } => self.hear_election(cx, from, term, caller, out),
                Message::Ok { term } => self.hear_ok(cx, term),
                Message::Coordinator { term, leader, second } => {
                    self.hear_coordinator(cx, from, Office { term, leader, second, beat: 0 }, out);
                }
                Message::Alert { term } => {
                    self.own.reign.note(term.number);
                    if let Phase::Resting { .. } = self.phase {
                        self.wait(cx);
                    }
                }
                Message::Ask => self.own.reign.tell(cx, cx.roster.set_of(from)),
                Message::Shout { term, caller } => self.hear_shout(cx, term, caller, out),
                Message::Reign(word) => self.hear_word(cx, from, word, out),
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
            Phase::Calling { until, .. } | Phase::Waiting { until } => Some(until),
            Phase::Answering { at } => Some(at),
        };
        sooner(phase, self.own.deadline())
    }
}

impl Default for Bully {
    fn default() -> Self {
        Self::new(Rules::default())
    }
}
