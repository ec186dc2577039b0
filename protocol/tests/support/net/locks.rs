//! A group of nodes with a lock, checked at every millisecond: no two hold it, and its fences grow.

use super::{Net, complete, config};
use protocol::base::quorum::Mode;
use protocol::election::Bully;
use protocol::mutex::{Command, Fence, LockId, Mutex, Notice, Refusal};
use protocol::node::{self, Input};
use protocol::wire::Kind;
use protocol::{Config, Duration, NodeId};
use std::collections::BTreeSet;

/// The lease of every request.
pub const LEASE: Duration = Duration::from_secs(3);

/// The lock most tests are about.
const DOOR: &str = "door";

/// A lock that every test of whole nodes can use.
pub trait TestMutex: Mutex + Clone + 'static {}

impl<M: Mutex + Clone + 'static> TestMutex for M {}

/// A group led by its last node.
pub struct LockNet<M: Mutex> {
    pub net: Net<Bully, M>,
    kind: Kind,
    /// How many notices and messages there were at the last [`LockNet::mark`].
    marked: (usize, usize),
    /// The highest fence granted so far, by lock, and its holder.
    fences: Vec<(LockId, Fence, usize)>,
    /// How many notices have been checked.
    checked: usize,
}

impl<M: TestMutex> LockNet<M> {
    /// `count` nodes in range of each other with `lock`, whose frames are of `kind`, all beyond their quarantine.
    pub fn new(count: usize, kind: Kind, lock: M) -> Self {
        Self::linked(count, kind, lock, complete)
    }

    /// The same with these links.
    pub fn linked(count: usize, kind: Kind, lock: M, linked: fn(usize, usize) -> bool) -> Self {
        let make = move |index| (Config { mode: Mode::Quorum, ..config(index) }, Bully::default(), lock.clone());
        let net = Net::new(count, linked, make).in_group();
        let mut locks = Self { net, kind, marked: (0, 0), fences: Vec::new(), checked: 0 };
        locks.run(Duration::from_secs(15));
        assert_eq!(locks.net.leader(), Some(NodeId(u32::try_from(count).unwrap())));
        locks.mark();
        locks
    }

    /// Gives a node a command of its application.
    pub fn put(&mut self, index: usize, command: Command) -> &mut Self {
        self.net.put(index, Input::Mutex(command));
        self.check();
        self
    }

    pub fn acquire(&mut self, index: usize) -> &mut Self {
        self.acquire_lock(index, DOOR)
    }

    pub fn acquire_lock(&mut self, index: usize, name: &str) -> &mut Self {
        self.put(index, Command::Acquire { lock: LockId::from_name(name), lease: LEASE })
    }

    pub fn acquire_all(&mut self, nodes: impl IntoIterator<Item = usize>) -> &mut Self {
        for index in nodes {
            self.acquire(index);
        }
        self
    }

    pub fn try_acquire(&mut self, index: usize) -> &mut Self {
        self.try_lock(index, DOOR)
    }

    pub fn try_lock(&mut self, index: usize, name: &str) -> &mut Self {
        self.put(index, Command::Try { lock: LockId::from_name(name), lease: LEASE })
    }

    pub fn renew(&mut self, index: usize) -> &mut Self {
        self.renew_lock(index, DOOR)
    }

    pub fn renew_lock(&mut self, index: usize, name: &str) -> &mut Self {
        self.put(index, Command::Renew { lock: LockId::from_name(name), lease: LEASE })
    }

    pub fn release(&mut self, index: usize) -> &mut Self {
        self.release_lock(index, DOOR)
    }

    pub fn release_lock(&mut self, index: usize, name: &str) -> &mut Self {
        self.put(index, Command::Release { lock: LockId::from_name(name) })
    }

    pub fn cancel(&mut self, index: usize) -> &mut Self {
        self.cancel_lock(index, DOOR)
    }

    pub fn cancel_lock(&mut self, index: usize, name: &str) -> &mut Self {
        self.put(index, Command::Cancel { lock: LockId::from_name(name) })
    }

    pub fn crash(&mut self, index: usize) -> &mut Self {
        self.net.crash(index);
        self
    }

    pub fn boot(&mut self, index: usize) -> &mut Self {
        self.net.boot(index);
        self
    }

    /// Lets `span` pass.
    pub fn run(&mut self, span: Duration) -> &mut Self {
        let end = self.net.now.after(span);
        while self.net.now < end {
            self.net.run(Duration::from_millis(1));
            self.check();
        }
        self
    }

    pub fn run_ms(&mut self, millis: u32) -> &mut Self {
        self.run(Duration::from_millis(millis))
    }

    pub fn run_secs(&mut self, secs: u32) -> &mut Self {
        self.run(Duration::from_secs(secs))
    }

    /// Lets time pass until this node holds the lock, a minute at most; returns how long that took.
    pub fn await_holder(&mut self, index: usize) -> Duration {
        self.await_holder_of(index, DOOR)
    }

    pub fn await_holder_of(&mut self, index: usize, name: &str) -> Duration {
        let start = self.net.now;
        while self.holder_of(name) != Some(index) {
            assert!(self.net.now.since(start) < Duration::from_secs(60), "node {index} waits for {name} for ever");
            self.run_ms(1);
        }
        self.net.now.since(start)
    }

    /// A node asks for the lock and gets it.
    pub fn enter(&mut self, index: usize) -> &mut Self {
        self.acquire(index).await_holder(index);
        self
    }

    /// Lets each of `nodes` hold the lock once: see [`LockNet::serve_locks`].
    pub fn serve(&mut self, nodes: impl IntoIterator<Item = usize>, step: u32, most: Duration) {
        self.serve_locks(nodes.into_iter().map(|index| (index, DOOR)).collect(), step, most);
    }

    /// Lets every one of `waiting` that holds a lock release it, looking at every `step` milliseconds, until each has held
    /// it once, within `most`.
    pub fn serve_locks(&mut self, mut waiting: Vec<(usize, &str)>, step: u32, most: Duration) {
        let start = self.net.now;
        while !waiting.is_empty() {
            self.run_ms(step);
            let names: BTreeSet<&str> = waiting.iter().map(|&(_, name)| name).collect();
            for name in names {
                if let Some(holder) = self.holder_of(name) {
                    waiting.retain(|&waiting| waiting != (holder, name));
                    self.release_lock(holder, name);
                }
            }
            assert!(self.net.now.since(start) < most, "{waiting:?} wait for ever");
        }
    }

    /// The holder of the lock.
    pub fn holder(&self) -> Option<usize> {
        self.holder_of(DOOR)
    }

    /// The holder of a lock, of which there are never two.
    pub fn holder_of(&self, name: &str) -> Option<usize> {
        let holders = self.holders(LockId::from_name(name));
        assert!(holders.len() <= 1, "{holders:?} hold {name} at {:?}", self.net.now);
        holders.first().map(|&(index, _)| index)
    }

    /// The fence under which the lock is held.
    pub fn fence(&self) -> Option<Fence> {
        self.holders(LockId::from_name(DOOR)).first().map(|&(_, fence)| fence)
    }

    /// From now on only new notices and messages are returned and counted.
    pub fn mark(&mut self) -> &mut Self {
        self.marked = (self.net.notices.len(), self.net.copies_of(self.kind));
        self
    }

    /// The notices of a node since the mark.
    pub fn notices(&self, index: usize) -> Vec<Notice> {
        let new = self.net.notices[self.marked.0..].iter().filter(|(_, node, _)| *node == index);
        new.filter_map(|(_, _, notice)| if let node::Notice::Mutex(notice) = notice { Some(*notice) } else { None })
            .collect()
    }

    /// Why requests of a node were refused since the mark.
    pub fn refusals(&self, index: usize) -> Vec<Refusal> {
        let why = |notice| if let Notice::Refused { reason, .. } = notice { Some(reason) } else { None };
        self.notices(index).into_iter().filter_map(why).collect()
    }

    /// How many messages of the lock were sent since the mark, each counted once for every recipient.
    pub fn messages(&self) -> usize {
        self.net.copies_of(self.kind) - self.marked.1
    }

    fn holders(&self, lock: LockId) -> Vec<(usize, Fence)> {
        let nodes = self.net.nodes.iter().enumerate();
        nodes.filter_map(|(index, node)| Some((index, node.as_ref()?.holds(lock, self.net.now)?))).collect()
    }

    /// No two hold one lock, no fence is granted to two, and none is below an earlier one.
    fn check(&mut self) {
        for (at, index, notice) in &self.net.notices[self.checked..] {
            let node::Notice::Mutex(Notice::Acquired { lock, fence, .. }) = notice else { continue };
            let Some((_, highest, holder)) = self.fences.iter_mut().find(|(known, ..)| known == lock) else {
                self.fences.push((*lock, *fence, *index));
                continue;
            };
            let renewed = fence == highest && index == holder;
            assert!(fence > highest || renewed, "node {index} at {at:?}: {fence:?} after {highest:?}");
            (*highest, *holder) = (*fence, *index);
        }
        self.checked = self.net.notices.len();
        for &(lock, ..) in &self.fences {
            let holders = self.holders(lock);
            assert!(holders.len() <= 1, "{holders:?} hold {lock:?} at {:?}", self.net.now);
        }
    }
}
