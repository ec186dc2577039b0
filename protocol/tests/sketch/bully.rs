//! The bully election: the highest member of a group that is up leads it.
//!
//! Whoever misses a leader asks all higher members whether they are there. If one answers, it is out: the higher one
//! holds an election of its own. If none does, it leads and says so.
//!
//! # Paper
//! H. Garcia-Molina: Elections in a Distributed Computing System, IEEE Transactions on Computers C-31(1), 1982.
//!
//! # Assumes
//! Reliable channels (the link's) and a bound on how long an answer takes ([`patience`]). Where the bound does not
//! hold, a lower member claims to lead until a higher one hears of it.
//!
//! # Messages
//! [`Message::Election`] to all higher members; [`Message::Ok`] the answer, for that election only;
//! [`Message::Coordinator`] to all.
//!
//! # Cost
//! n members up, called by the lowest: n(n-1)/2 Election, as many answers, n-1 Coordinator: n^2 - 1 in all. Called by
//! the highest: n-1.
//!
//! # Departures
//! - A leadership has a term. A claim under a term that is not newer than the last one is old news.
//! - The wait for the higher one's victory is bounded too: it may have failed since it answered.
//! - A leader that is asked answers with its claim alone: nobody has to hear twice that it won.
//! - Members are ordered by id: the order by capacity needs everybody's capacity, which a later stage will tell.

use protocol::algorithm::{Algorithm, Context, Fact, Input, Outbox, Scope};
use protocol::clock::Term;
use protocol::election::{Command, Election, Notice};
use protocol::wire::{self, Delivery, Kind};
use protocol::{Instant, NodeId, NodeSet, Span};
use serde::{Deserialize, Serialize};

/// What members say to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// Is anybody there who is higher?
    Election { term: Term },
    /// I am: the answer to the election of this term.
    Ok { term: Term },
    /// I lead.
    Coordinator { term: Term },
}

impl wire::Message for Message {
    fn kind(&self) -> Kind {
        Kind::Bully
    }

    fn delivery(&self) -> Delivery {
        Delivery::Reliable
    }

    fn word(&self) -> &'static str {
        match self {
            Self::Election { .. } => "election",
            Self::Ok { .. } => "ok",
            Self::Coordinator { .. } => "coordinator",
        }
    }

    fn encode(&self, buffer: &mut [u8]) -> Option<usize> {
        postcard::to_slice(self, buffer).ok().map(|written| written.len())
    }

    fn decode(kind: Kind, body: &[u8]) -> Option<Self> {
        let (message, rest) = postcard::take_from_bytes(body).ok()?;
        (kind == Kind::Bully && rest.is_empty()).then_some(message)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Resting,
    /// Waiting for a higher member to answer.
    Calling {
        term: Term,
        until: Instant,
    },
    /// Waiting for a higher member to win.
    Waiting {
        until: Instant,
    },
}

/// The bully election of one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bully {
    phase: Phase,
    leader: Option<(NodeId, Term)>,
    number: u32,
}

/// How long an answer may take.
fn patience(cx: &Context<'_>) -> Span {
    cx.timing.lease()
}

impl Bully {
    pub const fn new() -> Self {
        Self { phase: Phase::Resting, leader: None, number: 0 }
    }

    fn new_term(&mut self, cx: &Context<'_>) -> Term {
        self.number = self.number.saturating_add(1);
        Term { number: self.number, by: cx.me }
    }

    fn call(&mut self, cx: &Context<'_>, out: &mut Outbox<Message, Notice>) {
        let better = cx.peers.slots().filter(|&slot| cx.roster.id_of(slot) > Some(cx.me));
        let better = better.fold(NodeSet::EMPTY, |set, slot| set.with(NodeSet::slot(slot)));
        if better.is_empty() {
            self.win(cx, out);
        } else {
            let term = self.new_term(cx);
            self.phase = Phase::Calling { term, until: cx.now.after(patience(cx)) };
            out.send(better, Message::Election { term });
        }
    }

    fn win(&mut self, cx: &Context<'_>, out: &mut Outbox<Message, Notice>) {
        self.phase = Phase::Resting;
        if cx.standing.is_some() {
            let term = self.new_term(cx);
            self.leader = Some((cx.me, term));
            out.send(cx.peers, Message::Coordinator { term });
            out.notify(Notice::Gained { term });
        }
    }

    fn hear(&mut self, cx: &Context<'_>, from: NodeId, message: Message, out: &mut Outbox<Message, Notice>) {
        let (Message::Election { term } | Message::Ok { term } | Message::Coordinator { term }) = message;
        self.number = self.number.max(term.number);
        let bullied = from < cx.me && cx.standing.is_some();
        let back = cx.roster.set_of(from);
        match (message, self.phase, self.leader) {
            (Message::Election { .. }, Phase::Resting, Some((leader, term))) if bullied && leader == cx.me => {
                out.send(back, Message::Coordinator { term });
            }
            (Message::Election { .. }, phase, _) if bullied => {
                out.send(back, Message::Ok { term });
                if phase == Phase::Resting {
                    self.call(cx, out);
                }
            }
            (Message::Ok { term }, Phase::Calling { term: mine, .. }, _) if term == mine => {
                self.phase = Phase::Waiting { until: cx.now.after(patience(cx).times(2)) };
            }
            (Message::Coordinator { .. }, _, _) if bullied => self.call(cx, out),
            (Message::Coordinator { .. }, _, known) if known.is_none_or(|(_, known)| known < term) => {
                self.phase = Phase::Resting;
                self.leader = Some((from, term));
                out.notify(Notice::Following { leader: from, term });
            }
            // This member may not lead; an election that is over; a claim already known.
            (Message::Election { .. } | Message::Ok { .. } | Message::Coordinator { .. }, _, _) => {}
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

    fn handle(&mut self, cx: &Context<'_>, input: Input<Message, Command>, out: &mut Outbox<Message, Notice>) {
        match (input, self.phase) {
            (Input::Message { from, message, .. }, _) => self.hear(cx, from, message, out),
            (Input::Command(Command::Call), Phase::Resting) => self.call(cx, out),
            (Input::Timeout, Phase::Calling { until, .. }) if until <= cx.now => self.win(cx, out),
            (Input::Timeout, Phase::Waiting { until }) if until <= cx.now => self.call(cx, out),
            (Input::Fact(Fact::PeerDown(set)), _) => {
                if self.leader.is_some_and(|(leader, _)| cx.roster.set_of(leader).meets(set)) {
                    self.leader = None;
                    out.notify(Notice::Leaderless);
                    self.call(cx, out);
                }
            }
            // An election is on already, and the highest leads or none does; not yet; nothing to do about it.
            (Input::Command(Command::Call | Command::Yield) | Input::Timeout | Input::Fact(_), _) => {}
        }
    }

    fn deadline(&self) -> Option<Instant> {
        match self.phase {
            Phase::Resting => None,
            Phase::Calling { until, .. } | Phase::Waiting { until } => Some(until),
        }
    }
}

impl Election for Bully {
    fn resume(&mut self, number: u32) {
        self.number = number;
    }

    fn number(&self) -> u32 {
        self.number
    }

    fn leader(&self) -> Option<(NodeId, Term)> {
        self.leader
    }
}
