//! One node of a lock's search: its application, and the result of every event.
//!
//! A step depends on nothing but the node and the input, so each is taken once and looked up from then on.

use super::context::{context, id, roster};
use super::interned::{Fingerprints, Interned};
use super::lock_model::Bounds;
use protocol::algorithm::{Context, Fact, Input, Outbox, Output};
use protocol::base::ids::Roster;
use protocol::base::lamport::{LamportClock, LamportTime};
use protocol::base::term::Term;
use protocol::mutex::{Command, Fence, LockId, Mutex, Notice, Refusal};
use protocol::wire::{Delivery, FRAME_MAX, Payload};
use protocol::{Duration, Instant, NodeSet, Timing};
use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;

const DOOR: LockId = LockId::from_name("door");

/// When the search begins: long after every node has started.
const FIRST: Instant = Instant::from_micros(600_000_000);

/// How far time advances when it does: every lease and every timeout has ended meanwhile.
const HOUR: Duration = Duration::from_secs(6);

/// Only the end of a lease and replies are waited for; where retries are slow, for them too.
const TIMING: Timing = Timing {
    lock_lease: Duration::from_secs(5),
    heartbeat: Duration::from_millis(800),
    heartbeats_missed_max: 3,
    ..Timing::ZERO
};
const SLOW: Timing = Timing { retry: Duration::from_millis(25), ..TIMING };

/// A lock that can be explored.
pub trait Explored: Mutex<Message: Debug + Send + Sync> + Clone + Eq + Hash + Send + Sync {}

impl<L: Mutex<Message: Debug + Send + Sync> + Clone + Eq + Hash + Send + Sync> Explored for L {}

/// How far a node's application has come, by its notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Role {
    Idle,
    /// It asked; where it only tried, it prefers a refusal to waiting.
    Waiting {
        trying: bool,
    },
    Holding,
}

/// Which leadership a node knows of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Known {
    /// The leader at the start.
    First,
    /// None.
    None,
    /// Its successor.
    Second,
}

/// A node at some moment.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Local<L> {
    pub(super) node: usize,
    pub(super) lock: L,
    clock: LamportClock,
    pub(super) suspects: NodeSet,
    pub(super) role: Role,
    pub(super) known: Known,
    /// Whether it knows its parent in the tree of the leader.
    pub(super) rooted: bool,
    /// In which hour it started; `None` for long ago.
    born: Option<u8>,
    /// How often its application has asked, cancelled and renewed.
    pub(super) asked: u8,
    pub(super) cancelled: u8,
    pub(super) renewed: u8,
}

fn now(hour: u8) -> Instant {
    FIRST.after(HOUR.times(hour.into()))
}

impl<L: Mutex> Local<L> {
    /// A node that has been up for long and knows nothing yet.
    pub(super) fn new(node: usize, lock: L) -> Self {
        Self {
            node,
            lock,
            clock: LamportClock::default(),
            suspects: NodeSet::EMPTY,
            role: Role::Idle,
            known: Known::None,
            rooted: false,
            born: None,
            asked: 0,
            cancelled: 0,
            renewed: 0,
        }
    }

    /// The same node after a restart: of all it knew it has kept its Lamport clock, or nothing.
    fn restarted(&self, mut lock: L, hour: u8, memory: Memory) -> Self {
        let Self { node, clock, asked, cancelled, renewed, .. } = *self;
        let (clock, floor) = match memory {
            Memory::Kept => (clock, clock.now()),
            Memory::Lost => (LamportClock::default(), LamportTime(0)),
            Memory::Relearned => (clock, LamportTime(0)),
        };
        lock.resume(floor);
        Self { clock, asked, cancelled, renewed, born: Some(hour), ..Self::new(node, lock) }
    }

    pub(super) fn is_due(&self, hour: u8) -> bool {
        self.lock.deadline().is_some_and(|at| at <= now(hour))
    }

    pub(super) fn awaits_time(&self, hour: u8) -> bool {
        self.lock.deadline().is_some_and(|at| at > now(hour))
    }

    pub(super) fn holds(&self, hour: u8) -> Option<Fence> {
        self.lock.holds(DOOR, now(hour))
    }

    /// Applies a notice to the application; returns what is wrong with it.
    fn notify(&mut self, notice: Notice, event: Event, hour: u8) -> Option<&'static str> {
        let (role, wrong) = match (notice, self.role) {
            (Notice::Acquired { .. }, Role::Waiting { .. }) => (Role::Holding, None),
            (Notice::Acquired { .. }, Role::Holding) if self.renewed > 0 => (Role::Holding, None),
            (Notice::Acquired { .. }, role) => (role, Some("granted unasked")),
            (Notice::Waiting { .. }, role @ Role::Waiting { .. }) => (role, None),
            (Notice::Waiting { .. }, role) => (role, Some("waits unasked")),
            (Notice::Refused { reason: Refusal::Cancelled, .. }, _) if event == Event::Cancel => (Role::Idle, None),
            (Notice::Refused { reason: Refusal::Busy, .. }, Role::Waiting { trying: true }) => (Role::Idle, None),
            (Notice::Refused { .. }, Role::Holding) if event == Event::Renew => (Role::Holding, None),
            // A node that has just started may be outside the view still.
            (Notice::Refused { reason: Refusal::Outside, .. }, _) if self.born.is_some() => (Role::Idle, None),
            (Notice::Refused { .. }, role) => (role, Some("refused without a reason")),
            (Notice::Released { .. }, _) if event == Event::Release => (Role::Idle, None),
            (Notice::Released { .. }, role) => (role, Some("released unasked")),
            (Notice::Expiring { .. }, Role::Holding) if hour > 0 => (Role::Holding, None),
            (Notice::Lost { .. }, Role::Holding) if hour > 0 => (Role::Idle, None),
            (Notice::Expiring { .. } | Notice::Lost { .. }, role) => (role, Some("lost although no time passes")),
        };
        self.role = role;
        wrong
    }
}

/// Whether a node still has its records after a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Memory {
    /// Of all it knew it has kept its Lamport clock.
    Kept,
    /// It has kept nothing.
    Lost,
    /// It has kept nothing, and it has learned the Lamport time from heartbeats before it takes part.
    Relearned,
}

/// What can happen to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// It restarts.
    Restart(Memory),
    /// Its deadline has passed.
    Timeout,
    /// Its application asks for the lock.
    Acquire,
    /// Its application tries to get the lock.
    Try,
    /// Its application renews its lease.
    Renew,
    /// Its application releases the lock.
    Release,
    /// Its application cancels its request.
    Cancel,
    /// It suspects a peer.
    Down(usize),
    /// It suspects a peer no more.
    Up(usize),
    /// A peer restarted.
    Reset(usize),
    /// The leader changed.
    Lead(Known),
    /// The parent on the way to the leader is known: the nodes are a line.
    Root,
    /// A message arrives.
    Receive(u32),
}

impl Event {
    /// What happens, in a few words.
    pub(super) fn text(self) -> String {
        match self {
            Self::Restart(Memory::Kept) => "restarts".to_owned(),
            Self::Restart(Memory::Lost | Memory::Relearned) => "restarts without records".to_owned(),
            Self::Timeout => "times out".to_owned(),
            Self::Acquire => "asks".to_owned(),
            Self::Try => "tries".to_owned(),
            Self::Renew => "renews".to_owned(),
            Self::Release => "releases".to_owned(),
            Self::Cancel => "cancels".to_owned(),
            Self::Down(peer) => format!("suspects {peer}"),
            Self::Up(peer) => format!("trusts {peer}"),
            Self::Reset(peer) => format!("learns that {peer} restarted"),
            Self::Lead(Known::First) => "knows the leader".to_owned(),
            Self::Lead(Known::None) => "knows no leader".to_owned(),
            Self::Lead(Known::Second) => "knows the next leader".to_owned(),
            Self::Root => "knows its parent".to_owned(),
            Self::Receive(number) => format!("receives message {number}"),
        }
    }
}

/// A message between two nodes.
pub(super) struct Sent<M> {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) time: LamportTime,
    pub(super) message: M,
}

/// The result of an event at a node.
#[derive(Clone, Default)]
pub(super) struct Step {
    /// The node it becomes; `None` beyond the bounds.
    pub(super) local: Option<u32>,
    pub(super) sent: Vec<u32>,
    pub(super) granted: Option<Fence>,
    pub(super) wrong: Option<&'static str>,
}

/// Every node that was ever reached, and every message that was ever sent.
pub(super) struct Nodes<L: Explored, const N: usize> {
    roster: Roster<N>,
    /// The lock each node starts with.
    fresh: [L; N],
    leaders: [usize; 2],
    timing: Timing,
    time_max: u64,
    locals: Interned<Local<L>>,
    pub(super) messages: Interned<Sent<L::Message>>,
    steps: HashMap<(u32, Event, u8), Step, Fingerprints>,
}

impl<L: Explored, const N: usize> Nodes<L, N> {
    pub(super) fn new(bounds: &Bounds, lock: impl Fn(usize) -> L) -> Self {
        Self {
            roster: roster(bounds.members),
            fresh: std::array::from_fn(lock),
            leaders: [bounds.leader, bounds.successor.unwrap_or(bounds.leader)],
            timing: if bounds.slow { SLOW } else { TIMING },
            time_max: bounds.time_max,
            locals: Interned::new(),
            messages: Interned::new(),
            steps: HashMap::default(),
        }
    }

    pub(super) fn get(&self, number: u32) -> &Local<L> {
        self.locals.get(number)
    }

    fn number(&mut self, local: Local<L>) -> u32 {
        self.locals.number(&local.clone(), || local)
    }

    /// The nodes before anything has happened.
    pub(super) fn first(&mut self) -> [u32; N] {
        std::array::from_fn(|node| self.number(Local::new(node, self.fresh[node].clone())))
    }

    /// The result of an event at a node, if it was computed.
    pub(super) fn step(&self, local: u32, event: Event, hour: u8) -> Option<&Step> {
        self.steps.get(&(local, event, hour))
    }

    /// Computes the result of an event at a node.
    pub(super) fn compute(&mut self, local: u32, event: Event, hour: u8) {
        let before = self.get(local).clone();
        let step = if let Event::Restart(memory) = event {
            let local = before.restarted(self.fresh[before.node].clone(), hour, memory);
            match memory {
                Memory::Kept | Memory::Lost => Step { local: Some(self.number(local)), ..Step::default() },
                // Whoever hears heartbeats takes steps meanwhile.
                Memory::Relearned => self.take(local, Event::Timeout, hour),
            }
        } else {
            self.take(before, event, hour)
        };
        self.steps.insert((local, event, hour), step);
    }

    /// The input of an event, and what else it means for the node.
    fn input(&self, local: &mut Local<L>, event: Event) -> Input<L::Message, Command> {
        let (lock, lease) = (DOOR, TIMING.lock_lease);
        let set = NodeSet::slot;
        match event {
            Event::Timeout | Event::Restart(_) => Input::Timeout,
            Event::Acquire | Event::Try => {
                local.asked += 1;
                let trying = event == Event::Try;
                local.role = Role::Waiting { trying };
                Input::Command(if trying { Command::Try { lock, lease } } else { Command::Acquire { lock, lease } })
            }
            Event::Renew => {
                local.renewed += 1;
                Input::Command(Command::Renew { lock, lease })
            }
            Event::Release => Input::Command(Command::Release { lock }),
            Event::Cancel => {
                local.cancelled += 1;
                Input::Command(Command::Cancel { lock })
            }
            Event::Down(peer) => {
                local.suspects = local.suspects.with(set(peer));
                Input::Fact(Fact::PeerDown(set(peer)))
            }
            Event::Up(peer) => {
                local.suspects = local.suspects.without(set(peer));
                Input::Fact(Fact::PeerUp(set(peer)))
            }
            Event::Reset(peer) => Input::Fact(Fact::PeerReset(set(peer))),
            Event::Root => {
                local.rooted = true;
                let leader = self.leaders[usize::from(local.known == Known::Second)];
                Input::Fact(Fact::Parent(id(if leader > local.node { local.node + 1 } else { local.node - 1 })))
            }
            Event::Lead(known) => {
                local.known = known;
                local.rooted = false;
                let leads = |which: usize, number| {
                    let leader = id(self.leaders[which]);
                    Fact::Leader { leader, term: Term { number, by: leader } }
                };
                Input::Fact(match known {
                    Known::First => leads(0, 1),
                    Known::None => Fact::NoLeader,
                    Known::Second => leads(1, 2),
                })
            }
            Event::Receive(number) => {
                let Sent { from, time, message, .. } = self.messages.get(number);
                local.clock.observe(*time);
                Input::Message { from: id(*from), sent_at: *time, message: message.clone() }
            }
        }
    }

    /// Takes one step of one node, as a whole node takes it.
    fn take(&mut self, mut local: Local<L>, event: Event, hour: u8) -> Step {
        let held = local.holds(hour);
        let input = self.input(&mut local, event);
        let cx = context(self.roster.view(), id(local.node));
        let (peers, time) = (cx.peers, { local.clock }.tick()); // used up only if the step sends or asks
        let cx = Context {
            now: now(hour),
            uptime: now(hour).since(local.born.map_or(Instant::ZERO, now)),
            up: peers.without(local.suspects),
            lamport: time,
            timing: &self.timing,
            ..cx
        };
        let asked = matches!(input, Input::Command(_));
        let mut out = Outbox::new();
        local.lock.handle(&cx, input, &mut out);
        let mut step = Step::default();
        if out.overflowed() {
            step.wrong = Some("a step asks for more than it may");
        }
        if asked || out.outputs().iter().any(|output| matches!(output, Output::Send { .. })) {
            local.clock.observe(time);
        }
        local.clock.observe(local.lock.floor());
        for output in out {
            match output {
                Output::Send { to, message } => {
                    step.sent.extend(to.and(peers).slots().map(|to| self.send(local.node, to, time, &message)));
                }
                Output::Notify(notice) => step.wrong = local.notify(notice, event, hour).or(step.wrong),
            }
        }
        if (local.role == Role::Holding) != local.holds(hour).is_some() {
            step.wrong = step.wrong.or(Some("the application's notices and the lock differ"));
        }
        if held != local.holds(hour) {
            step.granted = local.holds(hour);
        }
        if local.clock.now().0 <= self.time_max {
            step.local = Some(self.number(local));
        }
        step
    }

    fn send(&mut self, from: usize, to: usize, time: LamportTime, message: &L::Message) -> u32 {
        let reliable = matches!(message.delivery(), Delivery::Reliable | Delivery::ReliableLatest);
        assert!(reliable, "{message:?} is reliable");
        let mut bytes = [0; FRAME_MAX];
        let len = message.encode(&mut bytes).expect("a message has room in a frame");
        self.messages.number(&(from, to, time, &bytes[..len]), || Sent { from, to, time, message: message.clone() })
    }
}
