//! The flat wireless election: every node sends its capacity to the initiator.
//!
//! The initiator floods the election; every node relays it once and sends its capacity back along the path of the
//! flood. The initiator selects the highest and floods the result. This is the form most lecture notes give; it is kept
//! to be compared with [`super::wireless`], which grew from it.
//!
//! # Assumes
//! Bidirectional links. The initiator cannot know how many answers to expect: it waits until none has arrived for a
//! while, so on a slow or lossy network it may miss the best node, which then has to challenge the winner.
//!
//! # Messages
//! [`Message::Election`] the flood, [`Message::Answer`] one node's capacity, relayed by every node between it and the
//! initiator; Elected, Heartbeat and `RaiseTerm` as in [`super::leadership`].
//!
//! # Cost
//! Without loss, one initiator, n nodes: n Election and n Elected broadcasts, and an Answer per node *and hop*: in a
//! line of n nodes n(n - 1)/2 where the diffusing election has n - 1.
//!
//! # Departures
//! Several initiators: the higher index absorbs the lower, as in the diffusing election. Heartbeats and merging are
//! shared with it; without them nodes would follow a crashed leader for ever.

use super::Notice;
use super::candidacy::Candidacy;
use super::leadership::{Leader, LeaderMessage, Leadership};
use super::rounds::{Rounds, accessors};
use super::top_two::TopTwo;
use crate::algorithm::{Context, Outbox, Scope};
use crate::base::capacity::Candidate;
use crate::base::ids::{NodeId, NodeSet};
use crate::base::options::Configurable;
use crate::base::term::Term;
use crate::base::time::{Duration, Instant};
use crate::wire::impl_message;
use serde::{Deserialize, Serialize};

/// Messages between neighbours, in the computation `index`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are the computation and a node as a candidate")]
pub enum Message {
    /// The sender takes part in a computation.
    Election { index: Term },
    /// One node's capacity, on its way to the initiator.
    Answer { index: Term, candidate: Candidate },
    /// A message about the leader.
    Leadership(LeaderMessage),
}

impl_message! {
    Jittered: Election = "election";
    Unreliable: Answer = "answer";
    _: Leadership(LeaderMessage);
}

/// This node's phase in a computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// In none; starts one at `start`, if nothing changes.
    Idle { start: Option<Instant> },
    /// Has answered, and relays answers to `parent` until `until`.
    Answered { index: Term, parent: NodeId, until: Instant },
    /// Has started it, and collects answers until none arrives any more.
    Collecting { index: Term, top: TopTwo, until: Instant },
}

/// The flat wireless election of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WirelessFlat {
    candidacy: Candidacy,
    phase: Phase,
}

type Out = Outbox<Message, Notice>;

impl WirelessFlat {
    /// Returns the time without an answer after which no more is expected.
    fn answer_timeout(cx: &Context<'_>) -> Duration {
        cx.timing.probe.times(4)
    }

    fn on_election(&mut self, cx: &Context<'_>, from: NodeId, index: Term, out: &mut Out) {
        self.candidacy.leadership.observe_term(index.number);
        let parent = cx.roster.set_of(from);
        if self.candidacy.has_leader_since(index) {
            self.candidacy.leadership.inform(cx, parent);
        } else if index > self.candidacy.joined() {
            let entry = self.candidacy.join(cx, index);
            self.phase = Phase::Answered { index, parent: from, until: cx.now.after(cx.timing.lease()) };
            out.send(cx.peers, Message::Election { index });
            if let Some(candidate) = entry {
                out.send(parent, Message::Answer { index, candidate });
            }
        }
    }

    fn on_answer(&mut self, cx: &Context<'_>, theirs: Term, candidate: Candidate, out: &mut Out) {
        match &mut self.phase {
            Phase::Answered { index, parent, .. } if *index == theirs => {
                out.send(cx.roster.set_of(*parent), Message::Answer { index: theirs, candidate });
            }
            Phase::Collecting { index, top, until } if *index == theirs => {
                *until = cx.now.after(Self::answer_timeout(cx));
                top.insert(Some(candidate));
            }
            // Of another computation, which was absorbed.
            Phase::Idle { .. } | Phase::Answered { .. } | Phase::Collecting { .. } => {}
        }
    }

    fn on_leader_message(&mut self, cx: &Context<'_>, from: NodeId, message: LeaderMessage, out: &mut Out) {
        if self.candidacy.on_leader_message(cx, from, message, out)
            && self.candidacy.has_leader_since(self.candidacy.joined())
        {
            self.leave_round();
        }
    }
}

impl Rounds for WirelessFlat {
    type Message = Message;

    accessors!();

    fn scope(&self) -> Scope {
        Scope::Neighbours
    }

    fn phase_deadline(&self) -> Option<Instant> {
        match self.phase {
            Phase::Idle { start } => start,
            Phase::Answered { until, .. } | Phase::Collecting { until, .. } => Some(until),
        }
    }

    fn start(&mut self, cx: &Context<'_>, out: &mut Out) {
        let index = self.candidacy.leadership.new_term(cx.me);
        let top = TopTwo { best: self.candidacy.join(cx, index), runner_up: None };
        let until = cx.now.after(Self::answer_timeout(cx));
        self.phase = Phase::Collecting { index, top, until };
        out.send(cx.peers, Message::Election { index });
    }

    fn on_message(&mut self, cx: &Context<'_>, from: NodeId, message: Message, out: &mut Out) {
        match message {
            Message::Election { .. } | Message::Answer { .. } if !cx.is_peer(from) => {}
            Message::Election { index } => self.on_election(cx, from, index, out),
            Message::Answer { index, candidate } => self.on_answer(cx, index, candidate, out),
            Message::Leadership(message) => self.on_leader_message(cx, from, message, out),
        }
    }

    fn on_deadline(&mut self, cx: &Context<'_>, out: &mut Out) {
        match self.phase {
            Phase::Idle { .. } => self.start(cx, out),
            Phase::Answered { .. } => self.leave_round(),
            Phase::Collecting { index, top: TopTwo { best, runner_up }, .. } => {
                self.leave_round();
                if let Some(leader) = best {
                    self.candidacy.leadership.announce(cx, Leader::elected(index, leader, runner_up), out);
                }
            }
        }
    }

    fn on_peers_lost(&mut self, _: &Context<'_>, _: NodeSet, _: &mut Out) {} // waits for no particular node
}

impl Default for WirelessFlat {
    fn default() -> Self {
        Self { candidacy: Candidacy::new(Leadership::new()), phase: Phase::Idle { start: None } }
    }
}

impl Configurable for WirelessFlat {}
