//! The locks of a search: everything in it that depends on which lock it is.

use super::context::{context, id, roster};
use super::interned::Interned;
use super::lock_model::Bounds;
use super::lock_node::{Event, Host, Known, Ledger, Machine, Memory, Role, Seen, Sent, Step, now};
use protocol::algorithm::{Context, Fact, Input, Outbox, Output};
use protocol::base::ids::Roster;
use protocol::base::lamport::LamportTime;
use protocol::base::term::Term;
use protocol::mutex::{Command, Fence, LockId, Mutex};
use protocol::wire::{Delivery, FRAME_MAX, Payload};
use protocol::{Duration, Instant, NodeSet, Timing};
use std::fmt::Debug;
use std::hash::Hash;

const DOOR: LockId = LockId::from_name("door");

/// Only the end of a lease and replies are waited for; where retries are slow, for them too.
const TIMING: Timing = Timing {
    lock_lease: Duration::from_secs(5),
    heartbeat: Duration::from_millis(800),
    heartbeats_missed_max: 3,
    ..Timing::ZERO
};
const SLOW: Timing = Timing { retry: Duration::from_millis(25), ..TIMING };

/// The most nodes of a search.
const NODES_MAX: usize = 4;

/// A lock that can be explored.
pub trait Explored: Mutex<Message: Debug + Send + Sync> + Clone + Eq + Hash + Send + Sync + 'static {}

impl<L: Mutex<Message: Debug + Send + Sync> + Clone + Eq + Hash + Send + Sync + 'static> Explored for L {}

/// A node at some moment.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Local<L> {
    host: Host,
    lock: L,
}

impl<L: Mutex> Local<L> {
    fn holds(&self, hour: u8) -> Option<Fence> {
        self.lock.holds(DOOR, now(hour))
    }
}

/// What a message says, with its sender and its Lamport time.
struct Said<M> {
    from: usize,
    time: LamportTime,
    message: M,
}

/// What happens to a lock at an event.
enum Happens {
    Timeout,
    Command(Command),
    Fact(Fact),
    Receive(u32),
}

/// The setting of a search.
struct Setting {
    roster: Roster<NODES_MAX>,
    leaders: [usize; 2],
    timing: Timing,
    hours: u8,
    time_max: u64,
}

impl Setting {
    /// What an event is to the lock, and what else it means for the node.
    fn happens(&self, host: &mut Host, event: Event) -> Happens {
        let (lock, lease) = (DOOR, TIMING.lock_lease);
        let set = NodeSet::slot;
        match event {
            Event::Timeout | Event::Restart(_) => Happens::Timeout,
            Event::Acquire | Event::Try => {
                host.asked += 1;
                let trying = event == Event::Try;
                host.role = Role::Waiting { trying };
                Happens::Command(if trying { Command::Try { lock, lease } } else { Command::Acquire { lock, lease } })
            }
            Event::Renew => {
                host.renewed += 1;
                Happens::Command(Command::Renew { lock, lease })
            }
            Event::Release => Happens::Command(Command::Release { lock }),
            Event::Cancel => {
                host.cancelled += 1;
                Happens::Command(Command::Cancel { lock })
            }
            Event::Down(peer) => {
                host.suspects = host.suspects.with(set(peer));
                Happens::Fact(Fact::PeerDown(set(peer)))
            }
            Event::Up(peer) => {
                host.suspects = host.suspects.without(set(peer));
                Happens::Fact(Fact::PeerUp(set(peer)))
            }
            Event::Reset(peer) => Happens::Fact(Fact::PeerReset(set(peer))),
            Event::Root => {
                host.rooted = true;
                let leader = self.leaders[usize::from(host.known == Known::Second)];
                Happens::Fact(Fact::Parent(id(if leader > host.node { host.node + 1 } else { host.node - 1 })))
            }
            Event::Lead(known) => {
                host.known = known;
                host.rooted = false;
                let leads = |which: usize, number| {
                    let leader = id(self.leaders[which]);
                    Fact::Leader { leader, term: Term { number, by: leader } }
                };
                Happens::Fact(match known {
                    Known::First => leads(0, 1),
                    Known::None => Fact::NoLeader,
                    Known::Second => leads(1, 2),
                })
            }
            Event::Receive(number) => Happens::Receive(number),
        }
    }

    /// The context of a step; its Lamport time is used up only if the step sends or asks.
    fn context(&self, host: &Host, hour: u8) -> Context<'_> {
        let cx = context(self.roster.view(), id(host.node));
        let up = cx.peers.without(host.suspects);
        let uptime = now(hour).since(host.born.map_or(Instant::ZERO, now));
        Context { now: now(hour), uptime, up, lamport: { host.clock }.tick(), timing: &self.timing, ..cx }
    }
}

/// The locks of one kind.
pub(super) struct Locks<L: Explored> {
    setting: Setting,
    /// The lock each node starts with.
    fresh: Vec<L>,
    locals: Interned<Local<L>>,
    messages: Interned<Said<L::Message>>,
}

impl<L: Explored> Locks<L> {
    /// Nodes of which each starts with the lock that `lock` makes for it.
    pub(super) fn new(bounds: &Bounds, lock: impl Fn(usize) -> L) -> Self {
        let setting = Setting {
            roster: roster(bounds.members),
            leaders: [bounds.leader, bounds.successor.unwrap_or(bounds.leader)],
            timing: if bounds.slow { SLOW } else { TIMING },
            hours: bounds.hours,
            time_max: bounds.time_max,
        };
        let fresh = (0..NODES_MAX).map(lock).collect();
        Self { setting, fresh, locals: Interned::new(), messages: Interned::new() }
    }

    fn number(&mut self, local: Local<L>, ledger: &mut Ledger) -> u32 {
        let number = self.locals.find(&local);
        number.unwrap_or_else(|| {
            let holding = (0..=self.setting.hours).filter(|&hour| local.holds(hour).is_some());
            let holding = holding.fold(0, |hours, hour| hours | 1 << hour);
            ledger.nodes.push(Seen { host: local.host, deadline: local.lock.deadline(), holding });
            self.locals.number(&local.clone(), || local)
        })
    }

    /// Takes one step of one node, as a whole node takes it.
    fn step(&mut self, Local { mut host, mut lock }: Local<L>, event: Event, hour: u8, ledger: &mut Ledger) -> Step {
        let held = lock.holds(DOOR, now(hour));
        let happens = self.setting.happens(&mut host, event);
        let asked = matches!(happens, Happens::Command(_));
        let input = match happens {
            Happens::Timeout => Input::Timeout,
            Happens::Command(command) => Input::Command(command),
            Happens::Fact(fact) => Input::Fact(fact),
            Happens::Receive(number) => {
                let Said { from, time, message } = self.messages.get(number);
                host.clock.observe(*time);
                Input::Message { from: id(*from), sent_at: *time, message: message.clone() }
            }
        };
        let cx = self.setting.context(&host, hour);
        let (peers, time) = (cx.peers, cx.lamport);
        let mut out = Outbox::new();
        lock.handle(&cx, input, &mut out);
        let mut step = Step::default();
        if out.overflowed() {
            step.wrong = Some("a step asks for more than it may");
        }
        if asked || out.outputs().iter().any(|output| matches!(output, Output::Send { .. })) {
            host.clock.observe(time);
        }
        host.clock.observe(lock.floor());
        for output in out {
            match output {
                Output::Send { to, message } => {
                    let to = to.and(peers).slots();
                    step.sent.extend(to.map(|to| self.send(host.node, to, time, &message, ledger)));
                }
                Output::Notify(notice) => step.wrong = host.notify(notice, event, hour).or(step.wrong),
            }
        }
        let holds = lock.holds(DOOR, now(hour));
        if (host.role == Role::Holding) != holds.is_some() {
            step.wrong = step.wrong.or(Some("the application's notices and the lock differ"));
        }
        if held != holds {
            step.granted = holds;
        }
        if host.clock.now().0 <= self.setting.time_max {
            step.local = Some(self.number(Local { host, lock }, ledger));
        }
        step
    }

    fn send(&mut self, from: usize, to: usize, time: LamportTime, message: &L::Message, ledger: &mut Ledger) -> u32 {
        let delivery = message.delivery();
        let reliable = matches!(delivery, Delivery::Reliable | Delivery::ReliableLatest);
        assert!(reliable, "{message:?} is reliable");
        let mut bytes = [0; FRAME_MAX];
        let len = message.encode(&mut bytes).expect("a message has room in a frame");
        let key = (from, to, time, &bytes[..len]);
        self.messages.number(&key, || {
            let latest = delivery == Delivery::ReliableLatest;
            ledger.messages.push(Sent { from, to, name: message.name(), topic: message.topic(), latest });
            Said { from, time, message: message.clone() }
        })
    }
}

impl<L: Explored> Machine for Locks<L> {
    fn first(&mut self, nodes: usize, ledger: &mut Ledger) -> Vec<u32> {
        let local = |node: usize, locks: &Self| Local { host: Host::new(node), lock: locks.fresh[node].clone() };
        (0..nodes).map(|node| self.number(local(node, self), ledger)).collect()
    }

    fn take(&mut self, local: u32, event: Event, hour: u8, ledger: &mut Ledger) -> Step {
        let before = self.locals.get(local);
        let Event::Restart(memory) = event else { return self.step(before.clone(), event, hour, ledger) };
        let (host, floor) = before.host.restarted(hour, memory);
        let mut lock = self.fresh[host.node].clone();
        lock.resume(floor);
        let local = Local { host, lock };
        match memory {
            Memory::Kept | Memory::Lost => Step { local: Some(self.number(local, ledger)), ..Step::default() },
            // Whoever hears heartbeats takes steps meanwhile.
            Memory::Relearned => self.step(local, Event::Timeout, hour, ledger),
        }
    }

    fn detail(&self, message: u32) -> (String, LamportTime) {
        let Said { time, message, .. } = self.messages.get(message);
        (format!("{message:?}"), *time)
    }
}
