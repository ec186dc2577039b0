//! The flat wireless election: every node sends its capacity to the one that started.
//!
//! The starter floods the election; every node passes it on once and sends its capacity back the way the flood came.
//! The starter picks the highest and floods the result. This is the form most lecture notes give; it is kept to be
//! compared with [`super::wireless`], which grew from it.
//!
//! # Assumes
//! Links that work both ways. The starter cannot know how many answers to expect: it waits until none has come for a
//! while, so on a slow or lossy network it may miss the best node, which then has to challenge the winner.
//!
//! # Messages
//! [`Message::Election`] the flood, [`Message::Answer`] one node's capacity, passed on by every node between it and
//! the starter; Leader, Beat, Raise as in [`super::reign`].
//!
//! # Cost
//! Without loss, one starter, n nodes: n Election and n Leader broadcasts, and an Answer per node *and hop*: in a line
//! of n nodes n(n - 1)/2 where the diffusing election has n - 1.
//!
//! # Departures
//! Several starters: the higher index absorbs the lower, as in the diffusing election. Beats and merging are shared
//! with it; without them a crashed leader would be led on by for ever.

use super::candidacy::Candidacy;
use super::podium::Podium;
use super::reign::{Office, Reign, Word};
use super::{Command, Notice};
use crate::algorithm::{Algorithm, Context, Fact, Input, Outbox, Scope};
use crate::capacity::Standing;
use crate::clock::Term;
use crate::group::NodeId;
use crate::time::{Instant, Span, sooner};
use crate::wire::{self, Delivery, Kind};
use serde::{Deserialize, Serialize};

/// What nodes say to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// I take part in this computation; whoever has not, answer by me.
    Election {
        /// Which computation.
        index: Term,
    },
    /// One node's capacity, on its way to the starter.
    Answer {
        /// Which computation.
        index: Term,
        /// The node it is of.
        candidate: Standing,
    },
    /// What nodes say about the leader.
    Reign(Word),
}

impl From<Word> for Message {
    fn from(word: Word) -> Self {
        Self::Reign(word)
    }
}

impl wire::Message for Message {
    fn kind(&self) -> Kind {
        Kind::WirelessFlat
    }

    fn delivery(&self) -> Delivery {
        match self {
            Self::Election { .. } => Delivery::Spread,
            Self::Answer { .. } => Delivery::Near,
            Self::Reign(word) => word.delivery(),
        }
    }

    fn word(&self) -> &'static str {
        match self {
            Self::Election { .. } => "election",
            Self::Answer { .. } => "answer",
            Self::Reign(word) => word.word(),
        }
    }

    fn encode(&self, buffer: &mut [u8]) -> Option<usize> {
        wire::encode(self, buffer)
    }

    fn decode(kind: Kind, body: &[u8]) -> Option<Self> {
        if kind == Kind::WirelessFlat { wire::decode(body) } else { None }
    }
}

/// Where this node is in a computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// In none; to start one at this time, if nothing changes.
    Resting { start: Option<Instant> },
    /// Answered, and passing answers on to this neighbour until this time.
    Answered { index: Term, parent: NodeId, until: Instant },
    /// Started it, and collecting answers until none comes any more.
    Collecting { index: Term, podium: Podium, until: Instant },
}

/// The flat wireless election of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WirelessFlat {
    pub(super) own: Candidacy,
    phase: Phase,
}

type Out = Outbox<Message, Notice>;

impl WirelessFlat {
    /// A node that has taken part in nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self { own: Candidacy::new(Reign::new()), phase: Phase::Resting { start: None } }
    }

    /// How long without an answer means that there are no more.
    fn quiet(cx: &Context<'_>) -> Span {
        cx.timing.probe.times(4)
    }

    fn start(&mut self, cx: &Context<'_>, out: &mut Out) {
        let index = self.own.reign.new_term(cx.me);
        let podium = Podium { best: self.own.join(cx, index), second: None };
        let until = cx.now.after(Self::quiet(cx));
        self.phase = Phase::Collecting { index, podium, until };
        out.send(cx.peers, Message::Election { index });
    }

    fn hear_election(&mut self, cx: &Context<'_>, from: NodeId, index: Term, out: &mut Out) {
        self.own.reign.note(index.number);
        let parent = cx.roster.set_of(from);
        if self.own.reign.office().is_some_and(|office| office.term >= index) {
            self.own.reign.tell(cx, parent);
        } else if index > self.own.joined() {
            let entry = self.own.join(cx, index);
            self.phase = Phase::Answered { index, parent: from, until: cx.now.after(cx.timing.lease()) };
            out.send(cx.peers, Message::Election { index });
            if let Some(candidate) = entry {
                out.send(parent, Message::Answer { index, candidate });
            }
        }
    }

    fn hear_answer(&mut self, cx: &Context<'_>, theirs: Term, candidate: Standing, out: &mut Out) {
        match &mut self.phase {
            Phase::Answered { index, parent, .. } if *index == theirs => {
                out.send(cx.roster.set_of(*parent), Message::Answer { index: theirs, candidate });
            }
            Phase::Collecting { index, podium, until } if *index == theirs => {
                *until = cx.now.after(Self::quiet(cx));
                podium.admit(Some(candidate));
            }
            // Of another computation: its starter has been absorbed.
            Phase::Resting { .. } | Phase::Answered { .. } | Phase::Collecting { .. } => {}
        }
    }

    fn hear_word(&mut self, cx: &Context<'_>, from: NodeId, word: Word, out: &mut Out) {
        if self.own.reign.hear(cx, cx.roster.set_of(from), word, self.own.joined(), out)
            && self.own.reign.office().is_some_and(|office| office.term >= self.own.joined())
        {
            self.phase = Phase::Resting { start: None };
        }
    }

    fn timeout(&mut self, cx: &Context<'_>, out: &mut Out) {
        let lost = self.own.timeout(cx, out);
        match self.phase {
            Phase::Resting { .. } if lost => self.phase = Phase::Resting { start: None },
            Phase::Resting { start: Some(at) } if at <= cx.now => self.start(cx, out),
            Phase::Answered { until, .. } if until <= cx.now => self.phase = Phase::Resting { start: None },
            Phase::Collecting { index, podium: Podium { best, second }, until } if until <= cx.now => {
                self.phase = Phase::Resting { start: None };
                if let Some(leader) = best {
                    self.own.reign.announce(cx, Office { term: index, leader, second, beat: 0 }, out);
                }
            }
            Phase::Resting { .. } | Phase::Answered { .. } | Phase::Collecting { .. } => {}
        }
    }

    /// Decides, after every step, whether there is reason to start a computation, and when.
    fn review(&mut self, cx: &Context<'_>, out: &mut Out) {
        self.own.review(cx, out);
        if let Phase::Resting { start } = &mut self.phase {
            *start = self.own.plan(cx, *start);
        }
    }
}

impl Default for WirelessFlat {
    fn default() -> Self {
        Self::new()
    }
}

impl Algorithm for WirelessFlat {
    type Message = Message;
    type Command = Command;
    type Notice = Notice;

    const GROUP: bool = false;

    fn scope(&self) -> Scope {
        Scope::Neighbours
    }

    fn handle(&mut self, cx: &Context<'_>, input: Input<Message, Command>, out: &mut Out) {
        match input {
            Input::Message { from, message, .. } => match message {
                Message::Election { index } => self.hear_election(cx, from, index, out),
                Message::Answer { index, candidate } => self.hear_answer(cx, index, candidate, out),
                Message::Reign(word) => self.hear_word(cx, from, word, out),
            },
            Input::Command(Command::Call) => self.start(cx, out),
            Input::Command(Command::Yield) => self.own.abstain(cx),
            Input::Fact(Fact::PeerUp(set)) => self.own.reign.tell(cx, set),
            Input::Fact(Fact::PeerDown(set)) => self.own.reign.forget(set),
            // Nothing to it, or its own conclusions.
            Input::Fact(Fact::PeerReset(_) | Fact::View | Fact::Leader { .. } | Fact::NoLeader | Fact::Parent(_)) => {}
            Input::Timeout => self.timeout(cx, out),
        }
        self.review(cx, out);
    }

    fn deadline(&self) -> Option<Instant> {
        let phase = match self.phase {
            Phase::Resting { start } => start,
            Phase::Answered { until, .. } | Phase::Collecting { until, .. } => Some(until),
        };
        sooner(phase, self.own.deadline())
    }
}
