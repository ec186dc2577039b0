//! The wireless election: the node with the highest capacity leads a network in which not everybody hears everybody.
//!
//! A node that misses a leader starts a computation and floods it. Whoever hears it for the first time takes the
//! sender as its parent and passes it on, which tells the parent and everybody else at once. When all neighbours of a
//! node have either chosen another parent or reported, the node reports the best candidate of its part of the tree to
//! its parent; when all have reported to the root, the root floods who won. Many nodes may start at once: a
//! computation with a higher index absorbs the others.
//!
//! # Paper
//! S. Vasudevan, J. Kurose, D. Towsley: Design and Analysis of a Leader Election Algorithm for Mobile Ad Hoc Networks,
//! ICNP 2004. A simplification of it stands in many lecture notes; [`super::wireless_flat`] is that one.
//!
//! # Assumes
//! Links that work both ways (the neighbours stage admits no others). Nothing else: frames may be lost, repeated and
//! reordered, nodes may crash, come back and move at any moment.
//!
//! # Messages
//! [`Message::Election`] the flood, also the answer to a probe; [`Message::Probe`] to neighbours that stay silent;
//! [`Message::Ack`] the report to the parent; Leader, Beat, Raise as in [`super::reign`].
//!
//! # Cost
//! Without loss, one starter, n nodes: n Election and n Leader broadcasts, n - 1 Acks. Time: the flood down, the
//! reports up, the flood down: three traversals of the network's depth.
//!
//! # Departures
//! - A node cut off from its parent starts a computation of its own instead of finishing the one it is in: the same
//!   index must not announce two leaders. It has the same effect, and one rule does for both.
//! - Probe and reply are per silent neighbour, and the reply is the message that got lost (the Election, the Ack or
//!   the Leader), not a message of its own.
//! - Merging networks compare leaders by their beats and raise terms (see [`super::reign`]); the paper has no terms.
//! - A node that would lead better than the leader says so, and leads: its report was lost, or it grew better since. It
//!   need not ask anybody: whoever is better still will say so in turn.

use super::candidacy::Candidacy;
use super::podium::Podium;
use super::reign::{Office, Reign, Word};
use super::{Command, Notice};
use crate::algorithm::{Algorithm, Context, Fact, Input, Outbox, Scope};
use crate::clock::Term;
use crate::dice::within;
use crate::group::{NodeId, NodeSet};
use crate::time::{Instant, sooner};

mod message;
mod patience;

pub use message::Message;
use patience::{Patience, Verdict};

/// Where this node is in a computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// In none; to start one at this time, if nothing changes.
    Resting { start: Option<Instant> },
    /// Waiting for `strangers` to say whose child they are, and for `children` to report; `heard` have reported. The
    /// root has no parent.
    Gathering {
        index: Term,
        parent: Option<NodeId>,
        strangers: NodeSet,
        children: NodeSet,
        heard: NodeSet,
        podium: Podium,
        patience: Patience,
    },
    /// Waiting for the root to announce.
    Reported { index: Term, parent: NodeId, podium: Podium, patience: Patience },
}

/// The wireless election of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Wireless {
    pub(super) own: Candidacy,
    phase: Phase,
}

type Out = Outbox<Message, Notice>;

impl Wireless {
    /// A node that has taken part in nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self { own: Candidacy::new(Reign::new()), phase: Phase::Resting { start: None } }
    }

    fn start(&mut self, cx: &Context<'_>, out: &mut Out) {
        let index = self.own.reign.new_term(cx.me);
        self.join(cx, index, None, out);
    }

    /// Nobody leads, or somebody worse: starts a computation, or takes over.
    fn rise(&mut self, cx: &Context<'_>, out: &mut Out) {
        match (self.own.challenger(cx), self.own.reign.office()) {
            (Some(leader), Some(office)) => {
                let second = Some(office.leader);
                self.phase = Phase::Resting { start: None };
                let term = self.own.reign.new_term(cx.me);
                self.own.reign.announce(cx, Office { term, leader, second, beat: 0 }, out);
            }
            (None, _) | (_, None) => self.start(cx, out),
        }
    }

    /// Takes part in a computation, as a child of `parent` or as its root.
    fn join(&mut self, cx: &Context<'_>, index: Term, parent: Option<NodeId>, out: &mut Out) {
        let above = parent.map_or(NodeSet::EMPTY, |parent| cx.roster.set_of(parent));
        // A leader that has just been lost is not waited for. If it is there after all, it will say so.
        let lost = self.own.reign.lost().map_or(NodeSet::EMPTY, |lost| cx.roster.set_of(lost));
        let strangers = cx.peers.without(above).without(lost);
        let podium = Podium { best: self.own.join(cx, index), second: None };
        let patience = Patience::new(cx, 1, strangers);
        let (children, heard) = (NodeSet::EMPTY, NodeSet::EMPTY);
        self.phase = Phase::Gathering { index, parent, strangers, children, heard, podium, patience };
        out.send(cx.peers, Message::Election { index, parent: parent.unwrap_or(cx.me) });
        self.conclude(cx, out);
    }

    /// Reports to the parent, or announces, once nobody is waited for.
    fn conclude(&mut self, cx: &Context<'_>, out: &mut Out) {
        let Phase::Gathering { index, parent, strangers, children, podium, .. } = self.phase else { return };
        if !strangers.with(children).is_empty() {
            return;
        }
        let Podium { best, second } = podium;
        let Some(parent) = parent else {
            self.phase = Phase::Resting { start: None };
            if let Some(leader) = best {
                self.own.reign.announce(cx, Office { term: index, leader, second, beat: 0 }, out);
            }
            return;
        };
        let above = cx.roster.set_of(parent);
        // The others of the network are still being asked: the parent has reason to wait, so has its child.
        let patience = Patience::new(cx, 4, above);
        self.phase = Phase::Reported { index, parent, podium, patience };
        out.send(above, Message::Ack { index, best, second });
    }

    /// Says again which computation this node is in and under whom. To everybody: where one neighbour missed it,
    /// others did too, and those who did not have one question less.
    fn tell_place(&self, cx: &Context<'_>, out: &mut Out) {
        match self.phase {
            Phase::Resting { .. } => {} // in none: the reign tells who won the last one
            Phase::Gathering { index, parent, .. } => {
                out.send(cx.peers, Message::Election { index, parent: parent.unwrap_or(cx.me) });
            }
            Phase::Reported { index, parent, .. } => out.send(cx.peers, Message::Election { index, parent }),
        }
    }

    /// Answers a neighbour that waits for this node in the same computation.
    fn answer(&self, cx: &Context<'_>, asker: NodeId, out: &mut Out) {
        match self.phase {
            Phase::Reported { index, parent, podium: Podium { best, second }, .. } if parent == asker => {
                out.send(cx.roster.set_of(asker), Message::Ack { index, best, second });
            }
            Phase::Resting { .. } | Phase::Gathering { .. } | Phase::Reported { .. } => self.tell_place(cx, out),
        }
    }

    fn index(&self) -> Option<Term> {
        match self.phase {
            Phase::Resting { .. } => None,
            Phase::Gathering { index, .. } | Phase::Reported { index, .. } => Some(index),
        }
    }

    /// A neighbour takes part in `index`, or asks (`asked`) whether this node does.
    fn hear_election(
        &mut self,
        cx: &Context<'_>,
        from: NodeId,
        index: Term,
        parent: NodeId,
        asked: bool,
        out: &mut Out,
    ) {
        self.own.reign.note(index.number);
        let set = cx.roster.set_of(from);
        let over = self.own.reign.office().is_some_and(|office| office.term >= index);
        if over {
            self.own.reign.tell(cx, set);
            return;
        }
        match self.index() {
            Some(mine) if index < mine => self.tell_place(cx, out),
            Some(mine) if index == mine => {
                if asked {
                    self.answer(cx, from, out);
                }
                self.hear_same(cx, set, parent, out);
            }
            Some(_) | None if index > self.own.joined() => self.join(cx, index, Some(from), out),
            // A computation this node has left behind: nobody's child, whom nobody need wait for.
            Some(_) | None if asked => out.send(set, Message::Election { index, parent: cx.me }),
            Some(_) | None => {}
        }
    }

    /// A neighbour takes part in the same computation: as this node's child, or as another's.
    fn hear_same(&mut self, cx: &Context<'_>, from: NodeSet, parent: NodeId, out: &mut Out) {
        match &mut self.phase {
            Phase::Resting { .. } => {}
            Phase::Gathering { strangers, children, heard, patience, .. } => {
                patience.hear(from);
                *strangers = strangers.without(from);
                let mine = parent == cx.me;
                *children = if mine { children.with(from.without(*heard)) } else { children.without(from) };
                self.conclude(cx, out);
            }
            Phase::Reported { patience, .. } => patience.hear(from),
        }
    }

    fn hear_ack(&mut self, cx: &Context<'_>, from: NodeId, ack: (Term, Podium), out: &mut Out) {
        let (theirs, report) = ack;
        match &mut self.phase {
            Phase::Gathering { index, strangers, children, heard, podium, .. } if *index == theirs => {
                let from = cx.roster.set_of(from);
                *strangers = strangers.without(from);
                *children = children.without(from);
                *heard = heard.with(from);
                podium.admit(report.best);
                podium.admit(report.second);
                self.conclude(cx, out);
            }
            // Of another computation, or too late for this one: whoever was left out challenges the winner.
            Phase::Resting { .. } | Phase::Gathering { .. } | Phase::Reported { .. } => {}
        }
    }

    fn hear_word(&mut self, cx: &Context<'_>, from: NodeId, word: Word, out: &mut Out) {
        if !self.own.reign.hear(cx, cx.roster.set_of(from), word, self.own.joined(), out) {
            return;
        }
        let over = self.own.reign.office().is_some_and(|office| self.index().is_none_or(|index| office.term >= index));
        if over {
            self.phase = Phase::Resting { start: None };
        }
    }

    fn peers_down(&mut self, cx: &Context<'_>, set: NodeSet, out: &mut Out) {
        self.own.reign.forget(set);
        // The roster may know the lost no more: a parent is lost when it is no peer any more.
        let lost = |parent: NodeId| !cx.peers.meets(cx.roster.set_of(parent));
        match &mut self.phase {
            Phase::Gathering { parent: Some(parent), .. } | Phase::Reported { parent, .. } if lost(*parent) => {
                self.leave(cx);
            }
            Phase::Gathering { strangers, children, .. } => {
                *strangers = strangers.without(set);
                *children = children.without(set);
                self.conclude(cx, out);
            }
            Phase::Resting { .. } | Phase::Reported { .. } => {} // waits for none of them
        }
    }

    /// Cut off from the root: leaves the computation. If nobody comes to lead, this part of the network elects anew;
    /// not at once, as the computation may well end without this node.
    fn leave(&mut self, cx: &Context<'_>) {
        let wait = cx.timing.heartbeat.plus(within(cx.timing.stagger, cx.random));
        self.phase = Phase::Resting { start: Some(cx.now.after(wait)) };
    }

    fn timeout(&mut self, cx: &Context<'_>, out: &mut Out) {
        let lost = self.own.timeout(cx, out);
        match &mut self.phase {
            Phase::Resting { start } if lost => *start = None, // whatever it was for, there is better reason now
            Phase::Resting { start: Some(at) } if *at <= cx.now => self.rise(cx, out),
            Phase::Gathering { index, parent, strangers, children, patience, .. } if patience.at <= cx.now => {
                let Verdict { ask, give_up } = patience.expire(cx, strangers.with(*children), *strangers);
                *strangers = strangers.without(give_up);
                *children = children.without(give_up);
                out.send(ask, Message::Probe { index: *index, parent: parent.unwrap_or(cx.me) });
                self.conclude(cx, out);
            }
            Phase::Reported { index, parent, patience, .. } if patience.at <= cx.now => {
                let above = cx.roster.set_of(*parent);
                let Verdict { ask, give_up } = patience.expire(cx, above, NodeSet::EMPTY);
                out.send(ask, Message::Probe { index: *index, parent: *parent });
                if !give_up.is_empty() {
                    self.leave(cx);
                }
            }
            Phase::Resting { .. } | Phase::Gathering { .. } | Phase::Reported { .. } => {} // not yet
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

impl Default for Wireless {
    fn default() -> Self {
        Self::new()
    }
}

impl Algorithm for Wireless {
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
                Message::Election { index, parent } => self.hear_election(cx, from, index, parent, false, out),
                Message::Probe { index, parent } => self.hear_election(cx, from, index, parent, true, out),
                Message::Ack { index, best, second } => self.hear_ack(cx, from, (index, Podium { best, second }), out),
                Message::Leader { term, leader, second, age } => {
                    self.hear_word(cx, from, Word::Leader { term, leader, second, age }, out);
                }
                Message::Beat { term, leader, beat, age } => {
                    self.hear_word(cx, from, Word::Beat { term, leader, beat, age }, out);
                }
                Message::Raise { term } => self.hear_word(cx, from, Word::Raise { term }, out),
            },
            Input::Command(Command::Call) => self.start(cx, out),
            Input::Command(Command::Yield) => self.own.abstain(cx),
            Input::Fact(Fact::PeerUp(set)) => self.own.reign.tell(cx, set),
            Input::Fact(Fact::PeerDown(set)) => self.peers_down(cx, set, out),
            // Nothing to it, or its own conclusions.
            Input::Fact(Fact::PeerReset(_) | Fact::View | Fact::Leader { .. } | Fact::NoLeader | Fact::Parent(_)) => {}
            Input::Timeout => self.timeout(cx, out),
        }
        self.review(cx, out);
    }

    fn deadline(&self) -> Option<Instant> {
        let phase = match self.phase {
            Phase::Resting { start } => start,
            Phase::Gathering { patience, .. } | Phase::Reported { patience, .. } => Some(patience.at),
        };
        sooner(phase, self.own.deadline())
    }
}
