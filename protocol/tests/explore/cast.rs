//! The nodes of a lock's search, one at a time: what each makes of an event.
//!
//! A step depends on nothing but the node and what it is told, so each is taken once and looked up from then on.

use crate::fingerprint::Fingerprints;
use protocol::algorithm::{Context, Fact, Input, Outbox, Output};
use protocol::clock::{Clock, Stamp, Term};
use protocol::group::Roster;
use protocol::mutex::{Command, Fence, LockId, Mutex, Notice, Refusal};
use protocol::wire::{Delivery, FRAME_MAX, Message};
use protocol::{Instant, NodeId, NodeSet, Span, Timing};
use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::{BuildHasher, Hash};

pub(crate) const NODES: usize = 3;

/// The lock all of them want.
const DOOR: LockId = LockId::from_name("door");

/// When the search begins: long after every node has started.
const FIRST: Instant = Instant::from_micros(600_000_000);

/// How time goes on, if it does: every lease has ended meanwhile, and whoever is patient is so no more.
const HOUR: Span = Span::from_secs(6);

/// Nothing is waited for but the end of a lease, and word of others; where retries are slow, for them too.
const SLOW: Timing = Timing { retry: Span::from_millis(25), ..TIMING };
const TIMING: Timing =
    Timing { lock_lease: Span::from_secs(5), heartbeat: Span::from_millis(800), beats_missed: 3, ..Timing::ZERO };

/// A lock that can be explored.
pub(crate) trait Explored: Mutex<Message: Debug> + Clone + Eq + Hash {}

impl<L: Mutex<Message: Debug> + Clone + Eq + Hash> Explored for L {}

/// How far a node's application has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Role {
    Idle,
    /// It has asked, and said whether it would rather be refused than wait.
    Waiting {
        trying: bool,
    },
    Holding,
}

/// Which leadership a node knows of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Known {
    First,
    None,
    Second,
}

/// A node at some moment.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Local<L> {
    pub(crate) node: usize,
    pub(crate) lock: L,
    clock: Clock,
    pub(crate) suspects: NodeSet,
    pub(crate) role: Role,
    pub(crate) known: Known,
    /// Whether it knows the way to whoever leads.
    pub(crate) rooted: bool,
    /// In which hour it started; `None` for long ago.
    born: Option<u8>,
    /// How often its application has asked, and taken back or prolonged what it asked for.
    pub(crate) asked: u8,
    pub(crate) cancelled: u8,
    pub(crate) renewed: u8,
}

fn now(hour: u8) -> Instant {
    FIRST.after(HOUR.times(hour.into()))
}

impl<L: Mutex> Local<L> {
    pub(crate) fn is_due(&self, hour: u8) -> bool {
        self.lock.deadline().is_some_and(|at| at <= now(hour))
    }

    pub(crate) fn awaits_time(&self, hour: u8) -> bool {
        self.lock.deadline().is_some_and(|at| at > now(hour))
    }

    pub(crate) fn holds(&self, hour: u8) -> Option<Fence> {
        self.lock.holds(DOOR, now(hour))
    }

    /// Whether it holds the lock, as its application was told, or did until time went on.
    pub(crate) fn is_holding(&self) -> bool {
        self.role == Role::Holding
    }
}

/// What can happen to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Event {
    Timeout,
    Acquire,
    Try,
    Renew,
    Release,
    Cancel,
    Down(usize),
    Up(usize),
    /// Another has started anew.
    Reset(usize),
    /// It is told who leads.
    Lead(Known),
    /// It is told who is on the way to the leader: the nodes are a line.
    Root,
    /// It hears one of [`Cast::letters`].
    Hear(u32),
}

/// What one node says to another.
pub(crate) struct Letter<M> {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) stamp: Stamp,
    pub(crate) message: M,
}

/// What a node makes of an event.
#[derive(Clone, Default)]
pub(crate) struct Step {
    /// The node it becomes; `None` where that lies beyond the bounds.
    pub(crate) local: Option<u32>,
    /// What it says, by number.
    pub(crate) says: Vec<u32>,
    pub(crate) granted: Option<Fence>,
    /// What it must not do.
    pub(crate) wrong: Option<&'static str>,
}

/// Every node that was ever reached, and everything it ever said.
pub(crate) struct Cast<L: Explored> {
    roster: Roster<NODES>,
    leaders: [usize; 2],
    timing: Timing,
    stamp_max: u64,
    pub(crate) locals: Vec<Local<L>>,
    numbers: HashMap<u64, u32, Fingerprints>,
    pub(crate) letters: Vec<Letter<L::Message>>,
    said: HashMap<(usize, usize, Stamp, Vec<u8>), u32, Fingerprints>,
    steps: HashMap<(u32, Event, u8), Step, Fingerprints>,
}

pub(crate) fn id(index: usize) -> NodeId {
    NodeId(u32::try_from(index).unwrap() + 1)
}

impl<L: Explored> Cast<L> {
    /// A group of so many members whose first leader and, maybe, second are these. Stamps above `stamp_max` are not
    /// followed.
    pub(crate) fn new(members: usize, leaders: [usize; 2], slow: bool, stamp_max: u64) -> Self {
        let mut roster = Roster::new();
        (0..members).for_each(|node| assert!(roster.insert(id(node)).is_some()));
        Self {
            roster,
            leaders,
            timing: if slow { SLOW } else { TIMING },
            stamp_max,
            locals: Vec::new(),
            numbers: HashMap::default(),
            letters: Vec::new(),
            said: HashMap::default(),
            steps: HashMap::default(),
        }
    }

    pub(crate) fn get(&self, number: u32) -> &Local<L> {
        &self.locals[number as usize]
    }

    /// A node that has been up for long and knows nothing yet.
    pub(crate) fn enter(&mut self, node: usize, lock: L) -> u32 {
        self.number(Local {
            node,
            lock,
            clock: Clock::default(),
            suspects: NodeSet::EMPTY,
            role: Role::Idle,
            known: Known::None,
            rooted: false,
            born: None,
            asked: 0,
            cancelled: 0,
            renewed: 0,
        })
    }

    /// The same node after it has started anew: of all it knew it has kept its clock.
    pub(crate) fn reboot(&mut self, local: u32, mut lock: L, hour: u8) -> u32 {
        let Local { node, clock, asked, cancelled, renewed, .. } = *self.get(local);
        lock.resume(clock.reading());
        let (suspects, role, known, born) = (NodeSet::EMPTY, Role::Idle, Known::None, Some(hour));
        self.number(Local { node, lock, clock, suspects, role, known, rooted: false, born, asked, cancelled, renewed })
    }

    fn number(&mut self, local: Local<L>) -> u32 {
        let next = u32::try_from(self.locals.len()).unwrap();
        let number = *self.numbers.entry(Fingerprints::default().hash_one(&local)).or_insert(next);
        if number == next {
            self.locals.push(local);
        }
        number
    }

    /// What a node makes of an event, and remembers making of it.
    pub(crate) fn step(&mut self, local: u32, event: Event, hour: u8) -> Step {
        if let Some(step) = self.steps.get(&(local, event, hour)) {
            return step.clone();
        }
        let step = self.take(self.get(local).clone(), event, hour);
        self.steps.insert((local, event, hour), step.clone());
        step
    }

    /// The input of an event, and what else it means for the node.
    fn input(&self, local: &mut Local<L>, event: Event) -> Input<L::Message, Command> {
        let (lock, lease) = (DOOR, TIMING.lock_lease);
        let set = NodeSet::slot;
        match event {
            Event::Timeout => Input::Timeout,
            Event::Acquire | Event::Try => {
                local.asked += 1;
                local.role = Role::Waiting { trying: event == Event::Try };
                Input::Command(if event == Event::Try {
                    Command::Try { lock, lease }
                } else {
                    Command::Acquire { lock, lease }
                })
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
                Input::Fact(Fact::Parent(id(if leader.abs_diff(local.node) == 2 { 1 } else { leader })))
            }
            Event::Lead(known) => {
                local.known = known;
                local.rooted = false;
                let reign = |place: usize, number| {
                    let leader = id(self.leaders[place]);
                    Fact::Leader { leader, term: Term { number, by: leader } }
                };
                Input::Fact(match known {
                    Known::First => reign(0, 1),
                    Known::None => Fact::NoLeader,
                    Known::Second => reign(1, 2),
                })
            }
            Event::Hear(letter) => {
                let Letter { from, stamp, message, .. } = &self.letters[letter as usize];
                local.clock.hear(*stamp);
                Input::Message { from: id(*from), stamp: *stamp, message: message.clone() }
            }
        }
    }

    /// Takes one step of one node, as a node takes it.
    fn take(&mut self, mut local: Local<L>, event: Event, hour: u8) -> Step {
        let held = local.holds(hour);
        let input = self.input(&mut local, event);
        let roster = self.roster.view();
        let peers = roster.all().without(NodeSet::slot(local.node));
        let mut clock = local.clock;
        let stamp = clock.tick(); // used up only if the step speaks
        let cx = Context {
            now: now(hour),
            uptime: now(hour).since(local.born.map_or(Instant::ZERO, now)),
            me: id(local.node),
            standing: None,
            roster,
            peers,
            up: peers.without(local.suspects),
            near: peers,
            better: NodeSet::EMPTY,
            rival: None,
            view: roster.all(),
            stamp,
            random: 0,
            timing: &self.timing,
        };
        let asked = matches!(input, Input::Command(_));
        let mut out = Outbox::new();
        local.lock.handle(&cx, input, &mut out);
        let mut step = Step::default();
        if out.overflowed() {
            step.wrong = Some("a step says more than it may");
        }
        if asked || out.outputs().iter().any(|output| matches!(output, Output::Send { .. })) {
            local.clock.hear(stamp);
        }
        local.clock.hear(local.lock.floor());
        for output in out {
            match output {
                Output::Send { to, message } => {
                    for to in to.and(peers).slots() {
                        step.says.push(self.letter(local.node, to, stamp, &message));
                    }
                }
                Output::Notify(notice) => step.wrong = local.told(notice, event, hour).or(step.wrong),
            }
        }
        if local.is_holding() != local.holds(hour).is_some() {
            step.wrong = step.wrong.or(Some("what the application was told is not what is"));
        }
        if held != local.holds(hour) {
            step.granted = local.holds(hour);
        }
        if local.clock.reading().0 <= self.stamp_max {
            step.local = Some(self.number(local));
        }
        step
    }

    /// The number of what is said.
    fn letter(&mut self, from: usize, to: usize, stamp: Stamp, message: &L::Message) -> u32 {
        assert!(matches!(message.delivery(), Delivery::Reliable | Delivery::Latest), "{message:?} is no letter");
        let mut bytes = [0; FRAME_MAX];
        let len = message.encode(&mut bytes).expect("a message has room in a frame");
        let next = u32::try_from(self.letters.len()).unwrap();
        let number = *self.said.entry((from, to, stamp, bytes[..len].to_vec())).or_insert(next);
        if number == next {
            self.letters.push(Letter { from, to, stamp, message: message.clone() });
        }
        number
    }
}

impl<L> Local<L> {
    /// Its application is told something; what is wrong with that.
    fn told(&mut self, notice: Notice, event: Event, hour: u8) -> Option<&'static str> {
        let (role, wrong) = match (notice, self.role) {
            (Notice::Acquired { .. }, Role::Waiting { .. }) => (Role::Holding, None),
            (Notice::Acquired { .. }, Role::Holding) if self.renewed > 0 => (Role::Holding, None),
            (Notice::Acquired { .. }, role) => (role, Some("granted unasked")),
            (Notice::Waiting { .. }, role @ Role::Waiting { .. }) => (role, None),
            (Notice::Waiting { .. }, role) => (role, Some("waits unasked")),
            (Notice::Refused { why: Refusal::Cancelled, .. }, _) if event == Event::Cancel => (Role::Idle, None),
            (Notice::Refused { why: Refusal::Busy, .. }, Role::Waiting { trying: true }) => (Role::Idle, None),
            (Notice::Refused { .. }, Role::Holding) if event == Event::Renew => (Role::Holding, None),
            // One that has just started may say that it does not count yet.
            (Notice::Refused { why: Refusal::Outside, .. }, _) if self.born.is_some() => (Role::Idle, None),
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
