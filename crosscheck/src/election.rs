//! An election in a group of three of whom all may start, up to two terms, on a network that is a set: any message ever
//! sent may arrive now, later, again or never.

use crate::{NODES, context, id, roster};
use protocol::algorithm::{Context, Input, Outbox, Output};
use protocol::base::capacity::{Candidate, Capacity};
use protocol::base::lamport::LamportTime;
use protocol::election::leadership::LeaderMessage;
use protocol::election::{ChangRoberts, Command, Election, Notice, chang_roberts};
use protocol::wire::{FRAME_MAX, Kind, Kinded, Payload as _};
use protocol::{NodeId, NodeSet, Timing};
use stateright::{Model, Property};
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::hash::Hash;
use std::marker::PhantomData;

const TERMS: u32 = 2;

/// An election that is counted.
pub trait Counted: Election<Command = Command, Notice = Notice> + Clone + Default + Eq + Hash + Debug {
    /// The kind of its messages.
    const KIND: Kind;

    /// Returns whether a message is a heartbeat after the first, beyond the bounds.
    fn is_heartbeat(message: &Self::Message) -> bool;
}

impl Counted for ChangRoberts {
    const KIND: Kind = <chang_roberts::Message as Kinded>::KIND;

    fn is_heartbeat(message: &chang_roberts::Message) -> bool {
        matches!(message, chang_roberts::Message::Leadership(LeaderMessage::Heartbeat { count: 1.., .. }))
    }
}

/// A message that was sent: by whom, to whom, its body.
type Sent = (usize, usize, Vec<u8>);

/// A moment of all nodes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State<E> {
    nodes: Vec<E>,
    sent: BTreeSet<Sent>,
}

/// One way on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Time passes for a node.
    Timeout(usize),
    /// A message arrives.
    Deliver(Sent),
}

/// The election `E` among three nodes, of which the last is the best.
pub struct Elections<E> {
    timing: Timing,
    election: PhantomData<fn() -> E>,
}

impl<E> Default for Elections<E> {
    fn default() -> Self {
        let timing = Timing { reflood_count: 0, probes: 1, pulse: None, ..Timing::ZERO };
        Self { timing, election: PhantomData }
    }
}

fn candidate(id: NodeId) -> Candidate {
    Candidate { capacity: Capacity::new(u16::try_from(id.0).expect("a small number")), id }
}

impl<E: Counted> Elections<E> {
    /// Takes a step; `None` beyond the bounds.
    fn step(&self, state: &mut State<E>, node: usize, input: Input<E::Message, Command>) -> Option<()> {
        let roster = roster();
        let cx = context(roster.view(), node, &self.timing);
        let better = (node + 1..NODES).fold(NodeSet::EMPTY, |set, peer| set.with(NodeSet::slot(peer)));
        let best_peer = (0..NODES).rev().find(|&peer| peer != node).map(|peer| candidate(id(peer)));
        let cx = Context { candidate: Some(candidate(id(node))), better, best_peer, ..cx };
        let election = &mut state.nodes[node];
        let mut out = Outbox::new();
        election.handle(&cx, input, &mut out);
        election.take_deposed();
        assert!(!out.overflowed(), "a step asks for no more than it may");
        if election.term_number() > TERMS {
            return None;
        }
        for output in out {
            let Output::Send { to, message } = output else { continue };
            if E::is_heartbeat(&message) {
                return None;
            }
            let mut body = [0; FRAME_MAX];
            let len = message.encode(&mut body).expect("a message has room in a frame");
            for to in to.slots() {
                state.sent.insert((node, to, body[..len].to_vec()));
            }
        }
        Some(())
    }
}

impl<E: Counted + 'static> Model for Elections<E> {
    type State = State<E>;
    type Action = Action;

    fn init_states(&self) -> Vec<State<E>> {
        vec![State { nodes: vec![E::default(); NODES], sent: BTreeSet::new() }]
    }

    fn actions(&self, state: &State<E>, actions: &mut Vec<Action>) {
        actions.extend((0..NODES).map(Action::Timeout));
        actions.extend(state.sent.iter().cloned().map(Action::Deliver));
    }

    fn next_state(&self, state: &State<E>, action: Action) -> Option<State<E>> {
        let mut next = state.clone();
        match action {
            Action::Timeout(node) => self.step(&mut next, node, Input::Timeout)?,
            Action::Deliver((from, to, body)) => {
                let message = E::Message::decode(E::KIND, &body)?;
                self.step(&mut next, to, Input::Message { from: id(from), sent_at: LamportTime(0), message })?;
            }
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("no term has two leaders", |_, state: &State<E>| {
                let believed: Vec<_> = state.nodes.iter().filter_map(|node| node.leader()).collect();
                believed.iter().all(|(leader, term)| believed.iter().all(|(other, of)| of != term || other == leader))
            }),
            Property::sometimes("everybody follows the best node", |_, state: &State<E>| {
                let best = id(NODES - 1);
                state.nodes.iter().all(|node| node.leader().is_some_and(|(leader, _)| leader == best))
            }),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stateright_counts_the_states_of_chang_roberts_that_the_explorer_counts() {
        crate::assert_counted("chang-roberts, two terms", Elections::<ChangRoberts>::default());
    }
}
