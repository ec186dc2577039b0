//! The wireless election: the node with the highest capacity leads a multi-hop network.
//!
//! A node that misses a leader starts a computation and floods it. A node that receives it for the first time takes the
//! sender as its parent and relays the flood, which informs the parent and all other neighbours at once. When all
//! neighbours of a node have either chosen another parent or reported, the node reports the best candidate of its
//! subtree to its parent; when all have reported to the root, the root floods the winner. Many nodes may start at once:
//! a computation with a higher index absorbs the others.
//!
//! # Paper
//! S. Vasudevan, J. Kurose, D. Towsley: Design and Analysis of a Leader Election Algorithm for Mobile Ad Hoc Networks,
//! ICNP 2004. A simplification of it stands in many lecture notes; [`super::wireless_flat`] is that one.
//!
//! # Assumes
//! Bidirectional links (the peer table admits no others). Nothing else: frames may be lost, duplicated and reordered,
//! nodes may crash, come back and move at any time.
//!
//! # Messages
//! [`Message::Election`] the flood, also the answer to a probe; [`Message::Probe`] to silent neighbours, and to a child
//! whose report was lost;
//! [`Message::Report`] the report to the parent; those about the leader as in [`super::leadership`].
//!
//! # Cost
//! Without loss, one starter, n nodes: n Election and n Elected broadcasts, n - 1 Reports. Time: the flood down, the
//! reports up, the flood down: three traversals of the network's depth.
//!
//! # Departures
//! - A node cut off from its parent starts a computation of its own instead of finishing the one it is in: the same
//!   index must not announce two leaders. It has the same effect, and one rule does for both.
//! - Probe and reply are per silent neighbour, and the reply is the message that was lost (the Election, the Report or the
//!   Elected), not a message of its own.
//! - Merging networks compare leaders by their heartbeats and raise terms (see [`super::leadership`]); the paper has no
//!   terms.
//! - In a crowd, where a node knows a part of its neighbours only, it asks nobody: the best announce themselves first, and whoever
//!   is better announces itself after them. To the computations of others such a node reports itself alone.
//! - A node that outranks the leader announces itself and leads: its report was lost, or its capacity has grown. It
//!   need not ask first: a node that is better still will do the same.

use super::Notice;
use super::candidacy::Candidacy;
use super::leadership::{Leader, LeaderMessage, Leadership};
use super::rounds::{Rounds, accessors};
use super::top_two::TopTwo;
use crate::algorithm::{Context, Outbox, Scope};
use crate::base::capacity::Candidate;
use crate::base::ids::{NodeId, NodeSet};
use crate::base::options::Configurable;
use crate::base::rng::jitter;
use crate::base::term::Term;
use crate::base::time::{CoarseInstant, Duration, Instant};
use crate::wire::{Reach, impl_message};
use serde::{Deserialize, Serialize};

mod probe_timer;

use probe_timer::{Expired, ProbeTimer};

/// Messages between neighbours. `index` is that of a computation, `parent` the sender's parent in it; the root is its
/// own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the sentence of each message names its fields")]
pub enum Message {
    /// About the leader.
    Leadership(LeaderMessage),
    /// The sender takes part in a computation.
    Election { index: Term, parent: NodeId },
    /// Asks a neighbour that was silent in a computation.
    Probe { index: Term, parent: NodeId },
    /// Reports the best candidates of the sender's subtree, if there are any, to its parent.
    Report { index: Term, best: Option<Candidate>, runner_up: Option<Candidate> },
}

impl_message! {
    Jittered: Election = "election", Probe = "probe";
    ReliableLatest: Report = "report";
    _: Leadership(LeaderMessage);
    {
        // The same as by default, in a tenth of the flash: small boards have this election.
        fn reach(&self) -> Option<Reach> {
            let number = match self {
                Self::Leadership(message) => message.term_number(),
                Self::Election { index, .. } | Self::Probe { index, .. } | Self::Report { index, .. } => index.number,
            };
            Some(Reach::of_term(number))
        }
    }
}

/// This node's phase in a computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// In none; starts one at `start`, if nothing changes.
    Idle { start: Option<Instant> },
    /// Waiting for the `undecided` to choose a parent, and for `children` to report; `reported` have. The root has no
    /// parent.
    Gathering {
        index: Term,
        parent: Option<NodeId>,
        undecided: NodeSet,
        children: NodeSet,
        reported: NodeSet,
        top: TopTwo,
        timer: ProbeTimer,
    },
    /// Waiting for the root to announce the winner.
    Reported { index: Term, parent: NodeId, top: TopTwo, timer: ProbeTimer },
}

/// The wireless election of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Wireless {
    candidacy: Candidacy,
    phase: Phase,
    /// Since when this node has been without a leader, and nobody answers.
    alone: Option<CoarseInstant>,
}

type Out = Outbox<Message, Notice>;

impl Wireless {
    /// Creates the election of a node that has taken part in no computation.
    #[must_use]
    pub const fn new() -> Self {
        Self { candidacy: Candidacy::new(Leadership::new()), phase: Phase::Idle { start: None }, alone: None }
    }

    /// Takes over from a worse leader, or starts a computation where there is none.
    fn campaign(&mut self, cx: &Context<'_>, out: &mut Out) {
        match (self.candidacy.challenger(cx), self.candidacy.leadership.leader()) {
            (Some(challenger), Some(leader)) => {
                let runner_up = Some(leader.candidate);
                self.leave_round();
                let term = self.candidacy.leadership.new_term(cx.me);
                self.candidacy.leadership.announce(cx, Leader::elected(term, challenger, runner_up), out);
            }
            (None, _) | (_, None) => self.start(cx, out),
        }
    }

    /// Joins a computation, as a child of `parent` or as its root.
    fn join(&mut self, cx: &Context<'_>, index: Term, parent: Option<NodeId>, out: &mut Out) {
        let above = parent.map_or(NodeSet::EMPTY, |parent| cx.roster.set_of(parent));
        // A leader that has just been lost is not waited for. If it is up after all, it will answer.
        let lost = self.candidacy.leadership.lost().map_or(NodeSet::EMPTY, |lost| cx.roster.set_of(lost));
        let asked = if cx.crowded { NodeSet::EMPTY } else { cx.peers };
        let undecided = asked.without(above).without(lost);
        let top = TopTwo { best: self.candidacy.join(cx, index), runner_up: None };
        let timer = ProbeTimer::new(cx, 1, undecided);
        let (children, reported) = (NodeSet::EMPTY, NodeSet::EMPTY);
        self.phase = Phase::Gathering { index, parent, undecided, children, reported, top, timer };
        out.send(asked, Message::Election { index, parent: parent.unwrap_or(cx.me) });
        self.conclude(cx, out);
    }

    /// Reports to the parent, or announces the winner, once no neighbour is waited for.
    fn conclude(&mut self, cx: &Context<'_>, out: &mut Out) {
        let Phase::Gathering { index, parent, undecided, children, top, .. } = self.phase else { return };
        if !undecided.with(children).is_empty() {
            return;
        }
        let TopTwo { best, runner_up } = top;
        let Some(parent) = parent else {
            self.leave_round();
            match best {
                Some(leader) => {
                    self.candidacy.leadership.announce(cx, Leader::elected(index, leader, runner_up), out);
                }
                // Whoever led before may be all there is: the next computation waits for it too.
                None => self.candidacy.leadership.forget_lost(),
            }
            return;
        };
        let above = cx.roster.set_of(parent);
        // The rest of the network is still asked: the parent has reason to wait, and so has its child.
        let timer = ProbeTimer::new(cx, 4, above);
        self.phase = Phase::Reported { index, parent, top, timer };
        out.send(above, Message::Report { index, best, runner_up });
    }

    /// Returns whether this node, which has flapped and knows no leader, asks for company instead of starting a computation:
    /// a leader of nobody would only disturb the others when they are back. Whoever has a leader tells it, and whoever has
    /// none answers.
    fn holds_back(&mut self, cx: &Context<'_>, out: &mut Out) -> bool {
        if cx.hold == Duration::ZERO || cx.crowded || self.candidacy.leadership.leader().is_some() {
            return false;
        }
        let since = *self.alone.get_or_insert_with(|| CoarseInstant::of(cx.now));
        if since.elapsed(cx.now) >= cx.hold {
            return false;
        }
        out.send(cx.peers, Message::Probe { index: Term::ZERO, parent: cx.me });
        let pause = cx.timing.heartbeat.times(2).plus(jitter(cx.timing.stagger, cx.random));
        self.phase = Phase::Idle { start: Some(cx.now.after(pause)) };
        true
    }

    /// Sends this node's computation and parent again. To all neighbours: where one missed the message, others did too,
    /// and those that did not need not probe.
    fn send_election(&self, cx: &Context<'_>, out: &mut Out) {
        match self.phase {
            Phase::Idle { .. } => {} // in none: `leadership` announces the winner of the last one
            Phase::Gathering { index, parent, .. } => {
                out.send(cx.peers, Message::Election { index, parent: parent.unwrap_or(cx.me) });
            }
            Phase::Reported { index, parent, .. } => out.send(cx.peers, Message::Election { index, parent }),
        }
    }

    /// Answers a neighbour, a child of `its_parent`, that waits for this node in the same computation.
    fn answer(&self, cx: &Context<'_>, from: NodeId, its_parent: NodeId, out: &mut Out) {
        match self.phase {
            // A child probes its parent only after its report: that was lost, and the child would wait for the root while
            // the root waits for it. Each answers the other's probes, so neither would ever count as silent.
            Phase::Gathering { index, parent, reported, .. }
                if its_parent == cx.me && !reported.meets(cx.roster.set_of(from)) =>
            {
                out.send(cx.roster.set_of(from), Message::Probe { index, parent: parent.unwrap_or(cx.me) });
            }
            Phase::Reported { index, parent, top: TopTwo { best, runner_up }, .. } if parent == from => {
                out.send(cx.roster.set_of(from), Message::Report { index, best, runner_up });
            }
            Phase::Idle { .. } | Phase::Gathering { .. } | Phase::Reported { .. } => self.send_election(cx, out),
        }
    }

    fn index(&self) -> Option<Term> {
        match self.phase {
            Phase::Idle { .. } => None,
            Phase::Gathering { index, .. } | Phase::Reported { index, .. } => Some(index),
        }
    }

    /// Handles a neighbour's part in `index`, or its probe (`probed`) for this node's.
    fn on_election(
        &mut self,
        cx: &Context<'_>,
        from: NodeId,
        index: Term,
        parent: NodeId,
        probed: bool,
        out: &mut Out,
    ) {
        self.candidacy.leadership.observe_term(index.number);
        let set = cx.roster.set_of(from);
        if self.candidacy.has_leader_since(index) {
            self.candidacy.leadership.inform(cx, set);
            return;
        }
        match self.index() {
            Some(mine) if index < mine => self.send_election(cx, out),
            Some(mine) if index == mine => {
                if probed {
                    self.answer(cx, from, parent, out);
                }
                self.on_same_computation(cx, set, parent, out);
            }
            Some(_) | None if index > self.candidacy.joined() => self.join(cx, index, Some(from), out),
            // A computation this node has left: it is no node's child, and need not be waited for.
            Some(_) | None if probed => out.send(set, Message::Election { index, parent: cx.me }),
            // An answer to the question for company: there is somebody to elect.
            None if index == Term::ZERO && self.alone.take().is_some() => self.start(cx, out),
            Some(_) | None => {}
        }
    }

    /// Handles a neighbour's part in the same computation: as this node's child, or as another's.
    fn on_same_computation(&mut self, cx: &Context<'_>, from: NodeSet, parent: NodeId, out: &mut Out) {
        match &mut self.phase {
            Phase::Idle { .. } => {}
            Phase::Gathering { undecided, children, reported, timer, .. } => {
                timer.on_answer(from);
                *undecided = undecided.without(from);
                let mine = parent == cx.me;
                *children = if mine { children.with(from.without(*reported)) } else { children.without(from) };
                self.conclude(cx, out);
            }
            Phase::Reported { timer, .. } => timer.on_answer(from),
        }
    }

    fn on_ack(&mut self, cx: &Context<'_>, from: NodeId, ack: (Term, TopTwo), out: &mut Out) {
        let (theirs, report) = ack;
        match &mut self.phase {
            Phase::Gathering { index, undecided, children, reported, top, .. } if *index == theirs => {
                let from = cx.roster.set_of(from);
                *undecided = undecided.without(from);
                *children = children.without(from);
                *reported = reported.with(from);
                top.insert(report.best);
                top.insert(report.runner_up);
                self.conclude(cx, out);
            }
            // Of another computation, or too late for this one: a candidate that was left out challenges the winner.
            Phase::Idle { .. } | Phase::Gathering { .. } | Phase::Reported { .. } => {}
        }
    }

    fn on_leader_message(&mut self, cx: &Context<'_>, from: NodeId, message: LeaderMessage, out: &mut Out) {
        if self.candidacy.on_leader_message(cx, from, message, out)
            && self.index().is_none_or(|index| self.candidacy.has_leader_since(index))
        {
            self.alone = None;
            self.leave_round();
        }
    }

    /// Leaves the computation, as this node is cut off from the root. If there is still no leader later, this part of
    /// the network starts a new one; not at once, as the computation may well end without this node.
    fn abandon(&mut self, cx: &Context<'_>) {
        let wait = cx.timing.heartbeat.plus(jitter(cx.timing.stagger, cx.random));
        self.phase = Phase::Idle { start: Some(cx.now.after(wait)) };
    }
}

impl Rounds for Wireless {
    type Message = Message;

    accessors!();

    fn scope(&self) -> Scope {
        Scope::Neighbours
    }

    fn phase_deadline(&self) -> Option<Instant> {
        match self.phase {
            Phase::Idle { start } => start,
            Phase::Gathering { timer, .. } | Phase::Reported { timer, .. } => Some(timer.at),
        }
    }

    fn start(&mut self, cx: &Context<'_>, out: &mut Out) {
        let index = self.candidacy.leadership.new_term(cx.me);
        self.join(cx, index, None, out);
    }

    fn on_message(&mut self, cx: &Context<'_>, from: NodeId, message: Message, out: &mut Out) {
        match message {
            Message::Leadership(message) => self.on_leader_message(cx, from, message, out),
            Message::Election { .. } | Message::Probe { .. } | Message::Report { .. } if !cx.is_peer(from) => {}
            Message::Election { index, parent } => self.on_election(cx, from, index, parent, false, out),
            Message::Probe { index, parent } => self.on_election(cx, from, index, parent, true, out),
            Message::Report { index, best, runner_up } => {
                self.on_ack(cx, from, (index, TopTwo { best, runner_up }), out);
            }
        }
    }

    fn on_deadline(&mut self, cx: &Context<'_>, out: &mut Out) {
        if matches!(self.phase, Phase::Idle { .. }) && self.holds_back(cx, out) {
            return;
        }
        match &mut self.phase {
            Phase::Idle { .. } => self.campaign(cx, out),
            Phase::Gathering { index, parent, undecided, children, timer, .. } => {
                let Expired { probe, abandon } = timer.expire(cx, undecided.with(*children), *undecided);
                *undecided = undecided.without(abandon);
                *children = children.without(abandon);
                out.send(probe, Message::Probe { index: *index, parent: parent.unwrap_or(cx.me) });
                self.conclude(cx, out);
            }
            Phase::Reported { index, parent, timer, .. } => {
                let Expired { probe, abandon } = timer.expire(cx, cx.roster.set_of(*parent), NodeSet::EMPTY);
                out.send(probe, Message::Probe { index: *index, parent: *parent });
                if !abandon.is_empty() {
                    self.abandon(cx);
                }
            }
        }
    }

    fn on_peers_lost(&mut self, cx: &Context<'_>, set: NodeSet, out: &mut Out) {
        // The roster may have removed the lost nodes: a parent is lost when it is not among the peers.
        let lost = |parent: NodeId| !cx.peers.meets(cx.roster.set_of(parent));
        match &mut self.phase {
            Phase::Gathering { parent: Some(parent), .. } | Phase::Reported { parent, .. } if lost(*parent) => {
                self.abandon(cx);
            }
            Phase::Gathering { undecided, children, .. } => {
                *undecided = undecided.without(set);
                *children = children.without(set);
                self.conclude(cx, out);
            }
            Phase::Idle { .. } | Phase::Reported { .. } => {} // waits for none of them
        }
    }
}

impl Default for Wireless {
    fn default() -> Self {
        Self::new()
    }
}

impl Configurable for Wireless {}
