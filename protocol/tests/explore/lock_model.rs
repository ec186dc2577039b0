//! Up to three nodes with a lock, on a network that keeps the link's promise, or none.
//!
//! A state is the number of each node, the number of each queue between two of them, and what the checker remembers.

use crate::explorer::{Channels, Interned, Model, NODES, Queues};
use crate::lock_node::{Event, Explored, Known, Local, Nodes, Role, Sent};
use protocol::NodeSet;
use protocol::mutex::Fence;
use protocol::wire::{Delivery, Payload};

/// How far the search follows, and what may go wrong.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// How many nodes there are, three at most.
    pub(crate) members: usize,
    /// Nodes that ask for the lock, and how often each.
    pub(crate) askers: &'static [usize],
    pub(crate) rounds: u8,
    /// Those of them that only try.
    pub(crate) triers: &'static [usize],
    /// How often each cancels, and renews.
    pub(crate) cancels: u8,
    pub(crate) renewals: u8,
    pub(crate) network: Network,
    /// How often a node is suspected without reason. A suspicion ends eventually.
    pub(crate) suspicions: u8,
    /// How often one of these restarts without memory.
    pub(crate) crashes: u8,
    pub(crate) victims: &'static [usize],
    /// How often time advances, which ends every lease; and whether it does only while nothing is in flight or due.
    pub(crate) hours: u8,
    pub(crate) calm: bool,
    /// Whether no node retries before time advances.
    pub(crate) slow: bool,
    /// The leader, and its successor if leadership changes.
    pub(crate) leader: usize,
    pub(crate) successor: Option<usize>,
    /// The highest Lamport time that is followed.
    pub(crate) time_max: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Network {
    /// As the link promises: in order and exactly once, eventually. To a suspected node, maybe never.
    Reliable,
    /// In any order, or never; and so many messages arrive twice.
    Unordered { duplicates: u8 },
}

/// Three nodes of which the first two ask twice each, on a network that keeps its promise.
pub(crate) const TWO: Bounds = Bounds {
    members: NODES,
    askers: &[0, 1],
    rounds: 2,
    triers: &[],
    cancels: 0,
    renewals: 0,
    network: Network::Reliable,
    suspicions: 0,
    crashes: 0,
    victims: &[],
    hours: 0,
    calm: false,
    slow: false,
    leader: 2,
    successor: None,
    time_max: 1_000,
};

/// What the checker remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Past {
    highest: Fence,
    duplicates: u8,
    suspicions: u8,
    crashes: u8,
    hour: u8,
}

/// Stands in the queues from a node that has restarted: the receiver learns of it there.
const RESTARTED: u32 = u32::MAX;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct State {
    nodes: [u32; NODES],
    channels: Channels,
    past: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Move {
    /// An event at a node.
    At(usize, Event),
    /// A message arrives, and will once more.
    Duplicate(u32),
    /// The first message of a channel is lost.
    Lose(usize),
    Restart(usize),
    /// Time advances for all.
    Hour,
}

/// Nodes that contend for a lock.
pub(crate) struct LockModel<L: Explored> {
    bounds: Bounds,
    /// The lock each node starts with.
    fresh: [L; NODES],
    pub(crate) nodes: Nodes<L>,
    queues: Queues,
    pasts: Interned<Past>,
    /// In how many states a node held the lock.
    pub(crate) held: usize,
}

impl<L: Explored> LockModel<L> {
    pub(crate) fn new(bounds: Bounds, lock: impl Fn(usize) -> L) -> Self {
        Self {
            bounds,
            fresh: std::array::from_fn(lock),
            nodes: Nodes::new(&bounds),
            queues: Queues::new(),
            pasts: Interned::new(),
            held: 0,
        }
    }

    /// The state in which every node knows the leader and its parent.
    pub(crate) fn first(&mut self) -> State {
        let nodes = std::array::from_fn(|node| self.nodes.number(Local::new(node, self.fresh[node].clone())));
        let past = Past { highest: Fence::ZERO, duplicates: 0, suspicions: 0, crashes: 0, hour: 0 };
        let mut state = State { nodes, channels: self.queues.empty(), past: self.pasts.number(&past, || past) };
        for node in 0..self.bounds.members {
            for event in [Event::Lead(Known::First), Event::Root] {
                if event != Event::Root || node != self.bounds.leader {
                    state = self.follow(&state, Move::At(node, event)).ok().flatten().expect("a beginning");
                }
            }
        }
        state
    }

    fn holders(&self, state: &State) -> usize {
        let hour = self.pasts.get(state.past).hour;
        state.nodes.iter().filter(|&&number| self.nodes.get(number).holds(hour).is_some()).count()
    }

    /// The moves of one node.
    fn moves_of(&self, state: &State, node: usize, moves: &mut Vec<(Move, bool)>) {
        let (bounds, past) = (&self.bounds, *self.pasts.get(state.past));
        let local = self.nodes.get(state.nodes[node]);
        if past.crashes < bounds.crashes && bounds.victims.contains(&node) {
            moves.push((Move::Restart(node), false));
        }
        let mut may = |condition: bool, event: Event, fair: bool| {
            if condition {
                moves.push((Move::At(node, event), fair));
            }
        };
        let asks = local.role == Role::Idle && local.asked < bounds.rounds && bounds.askers.contains(&node);
        let tries = bounds.triers.contains(&node);
        may(local.is_due(past.hour), Event::Timeout, true);
        may(asks && !tries, Event::Acquire, false);
        may(asks && tries, Event::Try, false);
        let holds = local.holds(past.hour).is_some();
        may(holds, Event::Release, true);
        may(holds && local.renewed < bounds.renewals, Event::Renew, false);
        let waits = matches!(local.role, Role::Waiting { .. });
        may(waits && local.cancelled < bounds.cancels, Event::Cancel, false);
        for peer in (0..bounds.members).filter(|&peer| peer != node) {
            let suspected = local.suspects.meets(NodeSet::slot(peer));
            may(!suspected && past.suspicions < bounds.suspicions, Event::Down(peer), false);
            may(suspected, Event::Up(peer), true);
        }
        may(local.known == Known::None && node != bounds.leader, Event::Lead(Known::First), true);
        let leader = match local.known {
            Known::First => Some(bounds.leader),
            Known::None => None,
            Known::Second => bounds.successor,
        };
        may(!local.rooted && leader.is_some_and(|leader| leader != node), Event::Root, true);
        if let Some(successor) = bounds.successor {
            // No node leads before its predecessor has ceased to; a follower may learn of it at any time.
            let knows = |&number: &u32| self.nodes.get(number).known;
            let changing = state.nodes.iter().take(bounds.members).any(|number| knows(number) != Known::First);
            let ceased = knows(&state.nodes[bounds.leader]) != Known::First;
            may(local.known == Known::First && node == bounds.leader, Event::Lead(Known::None), changing);
            let learns = local.known != Known::Second && (node != successor || ceased);
            may(learns, Event::Lead(Known::Second), changing);
        }
    }

    /// The moves of the messages in flight on one channel.
    fn moves_on(&self, state: &State, channel: usize, moves: &mut Vec<(Move, bool)>) {
        let (from, to) = (channel / NODES, channel % NODES);
        let messages = self.queues.get(state.channels[channel]);
        match self.bounds.network {
            Network::Reliable => {
                let Some(&first) = messages.first() else { return };
                let event = if first == RESTARTED { Event::Reset(from) } else { Event::Receive(first) };
                moves.push((Move::At(to, event), true));
                let abandoned = self.nodes.get(state.nodes[from]).suspects.meets(NodeSet::slot(to));
                if first != RESTARTED && (abandoned || messages.get(1) == Some(&RESTARTED)) {
                    moves.push((Move::Lose(channel), false));
                }
            }
            Network::Unordered { duplicates } => {
                let mut distinct = messages.to_vec();
                distinct.dedup();
                for message in distinct {
                    moves.push((Move::At(to, Event::Receive(message)), true));
                    if self.pasts.get(state.past).duplicates < duplicates {
                        moves.push((Move::Duplicate(message), false));
                    }
                }
            }
        }
    }

    /// Takes one step of one node and puts its messages in flight; `None` beyond the bounds.
    fn step(
        &mut self,
        mut next: State,
        mut past: Past,
        node: usize,
        event: Event,
    ) -> Result<Option<State>, &'static str> {
        if let Event::Down(peer) = event {
            past.suspicions += 1;
            // Of the messages to a suspected node only the first can have left.
            self.queues.edit(&mut next.channels[node * NODES + peer], |messages| messages.truncate(1));
        }
        let step = self.nodes.step(next.nodes[node], event, past.hour);
        if let Some(why) = step.wrong {
            return Err(why);
        }
        let Some(local) = step.local else { return Ok(None) };
        next.nodes[node] = local;
        for message in step.sent {
            self.send(&mut next, message);
        }
        if let Some(fence) = step.granted {
            if fence <= past.highest && self.holders(&next) <= 1 {
                return Err("a fence does not grow");
            }
            past.highest = fence;
        }
        next.past = self.pasts.number(&past, || past);
        Ok(Some(next))
    }

    fn send(&mut self, state: &mut State, number: u32) {
        let sent = &self.nodes.messages;
        let Sent { from, to, message, .. } = sent.get(number);
        let queue = &mut state.channels[from * NODES + to];
        match self.bounds.network {
            Network::Reliable => self.queues.edit(queue, |messages| {
                if message.delivery() == Delivery::ReliableLatest {
                    let same = |old: &L::Message| (old.name(), old.topic()) == (message.name(), message.topic());
                    messages.retain(|&old| old == RESTARTED || !same(&sent.get(old).message));
                }
                messages.push(number);
            }),
            Network::Unordered { .. } => self.queues.edit(queue, |messages| {
                messages.push(number);
                messages.sort_unstable();
            }),
        }
    }
}

impl<L: Explored> Model for LockModel<L> {
    type State = State;
    type Move = Move;

    fn moves(&self, state: &State, moves: &mut Vec<(Move, bool)>) {
        let hour = self.pasts.get(state.past).hour;
        let idle = state.channels.iter().all(|&queue| self.queues.get(queue).is_empty());
        let calm = idle && !state.nodes.iter().any(|&number| self.nodes.get(number).is_due(hour));
        if hour < self.bounds.hours && (calm || !self.bounds.calm) {
            moves.push((Move::Hour, true));
        }
        (0..self.bounds.members).for_each(|node| self.moves_of(state, node, moves));
        (0..NODES * NODES).for_each(|channel| self.moves_on(state, channel, moves));
    }

    fn follow(&mut self, state: &State, step: Move) -> Result<Option<State>, &'static str> {
        let mut next = *state;
        let mut past = *self.pasts.get(state.past);
        match step {
            Move::At(node, event) => {
                let received = match event {
                    Event::Receive(number) => Some((self.nodes.messages.get(number).from, number)),
                    Event::Reset(from) => Some((from, RESTARTED)),
                    _ => None,
                };
                if let Some((from, number)) = received {
                    self.queues.remove(&mut next.channels[from * NODES + node], number);
                }
                return self.step(next, past, node, event);
            }
            Move::Duplicate(number) => {
                past.duplicates += 1;
                return self.step(next, past, self.nodes.messages.get(number).to, Event::Receive(number));
            }
            Move::Lose(channel) => self.queues.edit(&mut next.channels[channel], |messages| _ = messages.remove(0)),
            Move::Restart(node) => {
                past.crashes += 1;
                let local = self.nodes.get(next.nodes[node]).restarted(self.fresh[node].clone(), past.hour);
                next.nodes[node] = self.nodes.number(local);
                for to in (0..self.bounds.members).filter(|&to| to != node) {
                    self.queues.edit(&mut next.channels[node * NODES + to], |messages| {
                        messages.truncate(1); // no other can have left
                        messages.push(RESTARTED);
                    });
                }
            }
            Move::Hour => past.hour += 1,
        }
        next.past = self.pasts.number(&past, || past);
        Ok(Some(next))
    }

    fn check(&mut self, state: &State) -> Result<(), &'static str> {
        let holders = self.holders(state);
        self.held += usize::from(holders > 0);
        if holders > 1 { Err("two hold the lock") } else { Ok(()) }
    }

    /// Wherever a node waits, unless time would have to advance and does not any more.
    fn waiting(&self, state: &State) -> u8 {
        let hour = self.pasts.get(state.past).hour;
        let late = |&number: &u32| self.nodes.get(number).awaits_time(hour);
        let reliable = self.bounds.network == Network::Reliable;
        if !reliable || self.bounds.hours > 0 && hour == self.bounds.hours && state.nodes.iter().any(late) {
            return 0;
        }
        let waits = |node: usize| matches!(self.nodes.get(state.nodes[node]).role, Role::Waiting { .. });
        self.bounds.askers.iter().filter(|&&node| waits(node)).fold(0, |nodes, node| nodes | 1 << node)
    }

    fn describe(&self, step: Move) -> String {
        let message = |number: u32| {
            let Sent { from, to, time, message } = self.nodes.messages.get(number);
            format!("{to} receives {message:?} of time {} from {from}", time.0)
        };
        match step {
            Move::At(_, Event::Receive(number)) => message(number),
            Move::At(node, event) => format!("{node}: {event:?}"),
            Move::Duplicate(number) => format!("{}, and will again", message(number)),
            Move::Restart(node) => format!("{node} restarts"),
            Move::Hour => "time advances".into(),
            Move::Lose(channel) => format!("the first message from {} to {} is lost", channel / NODES, channel % NODES),
        }
    }
}
