//! One node of a lock's search, whatever its lock is: its host, and the result of every event.
//!
//! A step depends on nothing but the node and the input, so each is taken once and looked up from then on. What a search asks
//! of a lock is written down when the node is reached first; the lock itself stays in its [`Machine`]. So the search is
//! compiled once, and not for every lock.

use super::interned::Fingerprints;
use protocol::base::lamport::{LamportClock, LamportTime};
use protocol::mutex::{Fence, Notice, Refusal};
use protocol::{Duration, Instant, NodeSet};
use std::collections::HashMap;

/// When the search begins: long after every node has started.
const FIRST: Instant = Instant::from_micros(600_000_000);

/// How far time advances when it does: every lease and every timeout has ended meanwhile.
const HOUR: Duration = Duration::from_secs(6);

/// The time in an hour.
pub(super) fn now(hour: u8) -> Instant {
    FIRST.after(HOUR.times(hour.into()))
}

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

/// What surrounds the lock of a node: its clock, its suspicions and its application.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Host {
    pub(super) node: usize,
    pub(super) clock: LamportClock,
    pub(super) suspects: NodeSet,
    pub(super) role: Role,
    pub(super) known: Known,
    /// Whether it knows its parent in the tree of the leader.
    pub(super) rooted: bool,
    /// In which hour it started; `None` for long ago.
    pub(super) born: Option<u8>,
    /// How often its application has asked, cancelled and renewed.
    pub(super) asked: u8,
    pub(super) cancelled: u8,
    pub(super) renewed: u8,
}

impl Host {
    /// A node that has been up for long and knows nothing yet.
    pub(super) fn new(node: usize) -> Self {
        Self {
            node,
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

    /// The same node after a restart, and the lowest Lamport time that is new: of all it knew it has kept its clock, or nothing.
    pub(super) fn restarted(&self, hour: u8, memory: Memory) -> (Self, LamportTime) {
        let Self { node, clock, asked, cancelled, renewed, .. } = *self;
        let (clock, floor) = match memory {
            Memory::Kept => (clock, clock.now()),
            Memory::Lost => (LamportClock::default(), LamportTime(0)),
            Memory::Relearned => (clock, LamportTime(0)),
        };
        (Self { clock, asked, cancelled, renewed, born: Some(hour), ..Self::new(node) }, floor)
    }

    /// Applies a notice to the application; returns what is wrong with it.
    pub(super) fn notify(&mut self, notice: Notice, event: Event, hour: u8) -> Option<&'static str> {
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

/// A node at some moment, as far as a search asks.
#[derive(Clone, Copy)]
pub(super) struct Seen {
    pub(super) host: Host,
    /// When its lock has to be called again.
    pub(super) deadline: Option<Instant>,
    /// The hours in which it holds the lock, as bits.
    pub(super) holding: u8,
}

impl Seen {
    pub(super) fn is_due(&self, hour: u8) -> bool {
        self.deadline.is_some_and(|at| at <= now(hour))
    }

    pub(super) fn awaits_time(&self, hour: u8) -> bool {
        self.deadline.is_some_and(|at| at > now(hour))
    }

    pub(super) fn holds(&self, hour: u8) -> bool {
        self.holding >> hour & 1 == 1
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

/// A message between two nodes, but for its fields.
pub(super) struct Sent {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) name: &'static str,
    pub(super) topic: u32,
    /// Whether it replaces an earlier one of its name and topic.
    pub(super) latest: bool,
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

/// Every node that was ever reached, and every message that was ever sent, by number.
#[derive(Default)]
pub(super) struct Ledger {
    pub(super) nodes: Vec<Seen>,
    pub(super) messages: Vec<Sent>,
}

/// The locks of all nodes: what takes their steps.
pub(super) trait Machine: Send + Sync {
    /// Numbers so many nodes before anything has happened.
    fn first(&mut self, nodes: usize, ledger: &mut Ledger) -> Vec<u32>;

    /// Takes the step of a node at an event.
    fn take(&mut self, local: u32, event: Event, hour: u8, ledger: &mut Ledger) -> Step;

    /// Returns a message with all its fields, and its Lamport time.
    fn detail(&self, message: u32) -> (String, LamportTime);
}

/// Every node and every message, with the steps that were taken.
pub(super) struct Nodes {
    machine: Box<dyn Machine>,
    ledger: Ledger,
    steps: HashMap<(u32, Event, u8), Step, Fingerprints>,
}

impl Nodes {
    pub(super) fn new(machine: Box<dyn Machine>) -> Self {
        Self { machine, ledger: Ledger::default(), steps: HashMap::default() }
    }

    pub(super) fn get(&self, number: u32) -> &Seen {
        &self.ledger.nodes[number as usize]
    }

    pub(super) fn message(&self, number: u32) -> &Sent {
        &self.ledger.messages[number as usize]
    }

    pub(super) fn messages(&self) -> usize {
        self.ledger.messages.len()
    }

    pub(super) fn detail(&self, message: u32) -> (String, LamportTime) {
        self.machine.detail(message)
    }

    /// The nodes before anything has happened.
    pub(super) fn first<const N: usize>(&mut self) -> [u32; N] {
        let nodes = self.machine.first(N, &mut self.ledger);
        std::array::from_fn(|node| nodes[node])
    }

    /// The result of an event at a node, if it was computed.
    pub(super) fn step(&self, local: u32, event: Event, hour: u8) -> Option<&Step> {
        self.steps.get(&(local, event, hour))
    }

    /// Computes the result of an event at a node.
    pub(super) fn compute(&mut self, local: u32, event: Event, hour: u8) {
        let step = self.machine.take(local, event, hour, &mut self.ledger);
        self.steps.insert((local, event, hour), step);
    }
}
