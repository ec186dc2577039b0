//! A few nodes with a lock, on a network that keeps the link's promise, or none.
//!
//! A state is the number of each node, the number of each queue between two of them, and what the checker remembers.

use super::interned::{Channels, Interned, Queues};
use super::lock_node::{Event, Known, Machine, Memory, Nodes, Role, Sent, Step};
use super::search::{Described, Model, Stop, computed};
use protocol::NodeSet;
use protocol::mutex::Fence;

/// How far the search follows, and what may go wrong.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// How many nodes there are, four at most.
    pub members: usize,
    /// Nodes that ask for the lock.
    pub askers: &'static [usize],
    /// How often each asks.
    pub rounds: u8,
    /// Those of them that only try.
    pub triers: &'static [usize],
    /// How often each cancels.
    pub cancels: u8,
    /// How often each renews.
    pub renewals: u8,
    /// What the network promises.
    pub network: Network,
    /// How often a node is suspected without reason. A suspicion ends eventually.
    pub suspicions: u8,
    /// How often one of the victims restarts.
    pub crashes: u8,
    /// Nodes that may restart.
    pub victims: &'static [usize],
    /// What a node that restarts still has.
    pub memory: Memory,
    /// How often time advances, which ends every lease.
    pub hours: u8,
    /// Whether time advances only while nothing is in flight or due.
    pub calm: bool,
    /// Whether no node retries before time advances.
    pub slow: bool,
    /// The leader.
    pub leader: usize,
    /// Its successor, if leadership changes.
    pub successor: Option<usize>,
    /// The highest Lamport time that is followed.
    pub time_max: u64,
}

/// What the network promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// As the link promises: in order and exactly once, eventually. To a suspected node, maybe never.
    Reliable,
    /// In any order, or never.
    Unordered {
        /// How many messages arrive twice.
        duplicates: u8,
    },
}

/// Three nodes of which the first two ask twice each, on a network that keeps its promise.
pub const TWO: Bounds = Bounds {
    members: 3,
    askers: &[0, 1],
    rounds: 2,
    triers: &[],
    cancels: 0,
    renewals: 0,
    network: Network::Reliable,
    suspicions: 0,
    crashes: 0,
    victims: &[],
    memory: Memory::Kept,
    hours: 0,
    calm: false,
    slow: false,
    leader: 2,
    successor: None,
    time_max: 1_000,
};

/// What the checker remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Past {
    highest: Fence,
    duplicates: u8,
    suspicions: u8,
    crashes: u8,
    hour: u8,
}

/// Stands in the queues from a node that has restarted: the receiver learns of it there.
const RESTARTED: u32 = u32::MAX;

/// A moment of all nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State<const N: usize> {
    nodes: [u32; N],
    channels: Channels<N>,
    past: u32,
}

/// One way on from a state.
#[derive(Clone, Copy, Debug)]
pub enum Move {
    /// An event at a node.
    At(usize, Event),
    /// A message arrives, and will once more.
    Duplicate(u32),
    /// The first message from a node to another is lost.
    Lose(usize, usize),
    /// Time advances for all.
    Hour,
}

/// What was not computed yet.
#[derive(Clone, Debug)]
pub enum Missing {
    /// The result of an event at a node in some hour.
    Step(u32, Event, u8),
    /// A queue of messages.
    Queue(Vec<u32>),
    /// What the checker remembers.
    Past(Past),
}

type Stopped = Stop<Missing>;

/// Nodes that contend for a lock.
pub struct LockModel<const N: usize> {
    bounds: Bounds,
    nodes: Nodes,
    queues: Queues,
    pasts: Interned<Past>,
    /// In how many states a node held the lock.
    held: usize,
}

impl<const N: usize> LockModel<N> {
    /// Nodes with the locks of a machine.
    ///
    /// # Panics
    ///
    /// If there are more nodes than `N`.
    pub(super) fn new(bounds: Bounds, machine: Box<dyn Machine>) -> Self {
        assert!(bounds.members <= N, "{bounds:?} has no more than {N} nodes");
        Self { bounds, nodes: Nodes::new(machine), queues: Queues::new(), pasts: Interned::new(), held: 0 }
    }

    /// Returns in how many states a node held the lock.
    #[must_use]
    pub fn held(&self) -> usize {
        self.held
    }

    /// Returns how many messages there were.
    #[must_use]
    pub fn messages(&self) -> usize {
        self.nodes.messages()
    }

    /// Returns the state in which every node knows the leader and its parent.
    ///
    /// # Panics
    ///
    /// If a lock is wrong before anything has happened.
    pub fn first(&mut self) -> State<N> {
        let past = Past { highest: Fence::ZERO, duplicates: 0, suspicions: 0, crashes: 0, hour: 0 };
        let past = self.pasts.number(&past, || past);
        let mut state = State { nodes: self.nodes.first(), channels: Queues::empty(), past };
        for node in 0..self.bounds.members {
            for event in [Event::Lead(Known::First), Event::Root] {
                if event != Event::Root || node != self.bounds.leader {
                    state = computed(self, &state, Move::At(node, event)).expect("a beginning");
                }
            }
        }
        state
    }

    fn holders(&self, state: &State<N>) -> usize {
        let hour = self.pasts.get(state.past).hour;
        state.nodes.iter().filter(|&&number| self.nodes.get(number).holds(hour)).count()
    }

    /// The moves of one node.
    fn moves_of(&self, state: &State<N>, node: usize, moves: &mut Vec<(Move, bool)>) {
        let (bounds, past) = (&self.bounds, *self.pasts.get(state.past));
        let seen = self.nodes.get(state.nodes[node]);
        let local = &seen.host;
        if past.crashes < bounds.crashes && bounds.victims.contains(&node) {
            moves.push((Move::At(node, Event::Restart(bounds.memory)), false));
        }
        let mut may = |condition: bool, event: Event, fair: bool| {
            if condition {
                moves.push((Move::At(node, event), fair));
            }
        };
        let asks = local.role == Role::Idle && local.asked < bounds.rounds && bounds.askers.contains(&node);
        let tries = bounds.triers.contains(&node);
        may(seen.is_due(past.hour), Event::Timeout, true);
        may(asks && !tries, Event::Acquire, false);
        may(asks && tries, Event::Try, false);
        let holds = seen.holds(past.hour);
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
            let knows = |&number: &u32| self.nodes.get(number).host.known;
            let changing = state.nodes.iter().take(bounds.members).any(|number| knows(number) != Known::First);
            let ceased = knows(&state.nodes[bounds.leader]) != Known::First;
            may(local.known == Known::First && node == bounds.leader, Event::Lead(Known::None), changing);
            let learns = local.known != Known::Second && (node != successor || ceased);
            may(learns, Event::Lead(Known::Second), changing);
        }
    }

    /// The moves of the messages in flight on one channel.
    fn moves_on(&self, state: &State<N>, from: usize, to: usize, moves: &mut Vec<(Move, bool)>) {
        let messages = self.queues.get(state.channels[from][to]);
        match self.bounds.network {
            Network::Reliable => {
                let Some(&first) = messages.first() else { return };
                let event = if first == RESTARTED { Event::Reset(from) } else { Event::Receive(first) };
                moves.push((Move::At(to, event), true));
                let abandoned = self.nodes.get(state.nodes[from]).host.suspects.meets(NodeSet::slot(to));
                if first != RESTARTED && (abandoned || messages.get(1) == Some(&RESTARTED)) {
                    moves.push((Move::Lose(from, to), false));
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

    /// The result of an event at a node.
    fn result(&self, local: u32, event: Event, hour: u8) -> Result<&Step, Stopped> {
        self.nodes.step(local, event, hour).ok_or(Stop::Missing(Missing::Step(local, event, hour)))
    }

    /// Takes one step of one node and puts its messages in flight.
    fn step(&self, mut next: State<N>, mut past: Past, node: usize, event: Event) -> Result<State<N>, Stopped> {
        match event {
            Event::Receive(number) => self.take_off(&mut next, self.nodes.message(number).from, node, number)?,
            Event::Reset(from) => self.take_off(&mut next, from, node, RESTARTED)?,
            Event::Down(peer) => {
                past.suspicions += 1;
                // Of the messages to a suspected node only the first can have left.
                self.edit(&mut next.channels[node][peer], |messages| messages.truncate(1))?;
            }
            Event::Restart(_) => {
                past.crashes += 1;
                for to in (0..self.bounds.members).filter(|&to| to != node) {
                    self.edit(&mut next.channels[node][to], |messages| {
                        messages.truncate(1); // no other can have left
                        messages.push(RESTARTED);
                    })?;
                }
            }
            _ => {}
        }
        self.take(next, past, node, event)
    }

    /// The state after an event at a node, with its messages in flight.
    fn take(&self, mut next: State<N>, mut past: Past, node: usize, event: Event) -> Result<State<N>, Stopped> {
        let step = self.result(next.nodes[node], event, past.hour)?;
        if let Some(why) = step.wrong {
            return Err(Stop::Wrong(why));
        }
        next.nodes[node] = step.local.ok_or(Stop::Beyond)?;
        for &message in &step.sent {
            self.send(&mut next, message)?;
        }
        if let Some(fence) = step.granted {
            if fence <= past.highest && self.holders(&next) <= 1 {
                return Err(Stop::Wrong("a fence does not grow"));
            }
            past.highest = fence;
        }
        self.with_past(next, past)
    }

    fn with_past(&self, state: State<N>, past: Past) -> Result<State<N>, Stopped> {
        let past = self.pasts.find(&past).ok_or(Stop::Missing(Missing::Past(past)))?;
        Ok(State { past, ..state })
    }

    fn edit(&self, queue: &mut u32, edit: impl FnOnce(&mut Vec<u32>)) -> Result<(), Stopped> {
        self.queues.edit(queue, edit).map_err(|queue| Stop::Missing(Missing::Queue(queue)))
    }

    fn take_off(&self, state: &mut State<N>, from: usize, to: usize, message: u32) -> Result<(), Stopped> {
        let taken = self.queues.remove(&mut state.channels[from][to], message);
        taken.map_err(|queue| Stop::Missing(Missing::Queue(queue)))
    }

    fn send(&self, state: &mut State<N>, number: u32) -> Result<(), Stopped> {
        let message = self.nodes.message(number);
        let queue = &mut state.channels[message.from][message.to];
        match self.bounds.network {
            Network::Reliable => self.edit(queue, |messages| {
                if message.latest {
                    let same = |old: &Sent| (old.name, old.topic) == (message.name, message.topic);
                    messages.retain(|&old| old == RESTARTED || !same(self.nodes.message(old)));
                }
                messages.push(number);
            }),
            Network::Unordered { .. } => self.edit(queue, |messages| {
                messages.push(number);
                messages.sort_unstable();
            }),
        }
    }
}

impl<const N: usize> Model for LockModel<N> {
    type State = State<N>;
    type Move = Move;
    type Missing = Missing;

    fn moves(&self, state: &State<N>, moves: &mut Vec<(Move, bool)>) {
        let hour = self.pasts.get(state.past).hour;
        let idle = state.channels.iter().flatten().all(|&queue| self.queues.get(queue).is_empty());
        let calm = idle && !state.nodes.iter().any(|&number| self.nodes.get(number).is_due(hour));
        if hour < self.bounds.hours && (calm || !self.bounds.calm) {
            moves.push((Move::Hour, true));
        }
        let members = 0..self.bounds.members;
        members.clone().for_each(|node| self.moves_of(state, node, moves));
        for from in members.clone() {
            members.clone().for_each(|to| self.moves_on(state, from, to, moves));
        }
    }

    fn follow(&self, state: &State<N>, step: Move) -> Result<State<N>, Stopped> {
        let mut next = *state;
        let mut past = *self.pasts.get(state.past);
        match step {
            Move::At(node, event) => return self.step(next, past, node, event),
            Move::Duplicate(number) => {
                past.duplicates += 1;
                return self.take(next, past, self.nodes.message(number).to, Event::Receive(number));
            }
            Move::Lose(from, to) => self.edit(&mut next.channels[from][to], |messages| _ = messages.remove(0))?,
            Move::Hour => past.hour += 1,
        }
        self.with_past(next, past)
    }

    fn compute(&mut self, missing: Missing) {
        match missing {
            Missing::Step(local, event, hour) => self.nodes.compute(local, event, hour),
            Missing::Queue(queue) => self.queues.add(queue),
            Missing::Past(past) => _ = self.pasts.number(&past, || past),
        }
    }

    fn check(&self, state: &State<N>) -> Result<(), &'static str> {
        if self.holders(state) > 1 { Err("two hold the lock") } else { Ok(()) }
    }

    fn note(&mut self, state: &State<N>) {
        self.held += usize::from(self.holders(state) > 0);
    }

    /// Wherever a node waits, unless time would have to advance and does not any more.
    fn waiting(&self, state: &State<N>) -> u8 {
        let hour = self.pasts.get(state.past).hour;
        let late = |&number: &u32| self.nodes.get(number).awaits_time(hour);
        let reliable = self.bounds.network == Network::Reliable;
        if !reliable || self.bounds.hours > 0 && hour == self.bounds.hours && state.nodes.iter().any(late) {
            return 0;
        }
        let waits = |node: usize| matches!(self.nodes.get(state.nodes[node]).host.role, Role::Waiting { .. });
        self.bounds.askers.iter().filter(|&&node| waits(node)).fold(0, |nodes, node| nodes | 1 << node)
    }

    fn describe(&self, state: &State<N>, step: Move) -> Described {
        let hour = self.pasts.get(state.past).hour;
        let (node, event, again) = match step {
            Move::At(node, event) => (node, event, ""),
            Move::Duplicate(number) => (self.nodes.message(number).to, Event::Receive(number), ", and will again"),
            Move::Lose(from, to) => {
                let text = format!("the first message from {from} to {to} is lost");
                return Described { node: Some(from), detail: text.clone(), text, ..Described::default() };
            }
            Move::Hour => {
                let text = "time advances: every lease ends".to_owned();
                return Described { detail: text.clone(), text, ..Described::default() };
            }
        };
        let known = self.nodes.step(state.nodes[node], event, hour);
        let to = |&number: &u32| (self.nodes.message(number).to, number);
        let sent: Vec<_> = known.map(|step| step.sent.iter().map(to).collect()).unwrap_or_default();
        let (text, detail) = match event {
            Event::Receive(number) => {
                let &Sent { from, name, .. } = self.nodes.message(number);
                let (message, time) = self.nodes.detail(number);
                let detail = format!("{node} receives {message} of time {} from {from}{again}", time.0);
                (format!("{name} from {from}{again}"), detail)
            }
            event => (event.text(), format!("{node}: {event:?}")),
        };
        let granted = known.is_some_and(|step| step.granted.is_some());
        let text = if granted { text + ": holds the lock" } else { text };
        let received = match event {
            Event::Receive(number) => Some((self.nodes.message(number).from, number)),
            _ => None,
        };
        Described { node: Some(node), received, sent, text, detail }
    }
}
