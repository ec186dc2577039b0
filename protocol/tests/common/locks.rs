//! A group with a lock: its nodes ask for, hold and give back locks, and never two hold one.

use super::{Net, complete, config, letters};
use protocol::election::Bully;
use protocol::mandate::Mode;
use protocol::mutex::{Command, Fence, LockId, Mutex, Notice};
use protocol::node::{self, Input};
use protocol::wire::Kind;
use protocol::{Config, NodeId, Span};

/// For how long a lock is asked for in these tests.
pub const LEASE: Span = Span::from_secs(3);

/// The lock most tests are about.
pub const DOOR: &str = "door";

/// A group that has a leader: the last node. It hears everything in one hop, and loses nothing unless told to.
pub struct Locks<M: Mutex> {
    pub net: Net<Bully, M>,
    kind: Kind,
    /// The notices and letters there were when [`Locks::mark`] was last called.
    seen: (usize, usize),
    /// The highest fence granted so far, by lock, and to whom.
    fences: Vec<(LockId, Fence, usize)>,
    /// How many notices have been looked at for their fences.
    judged: usize,
}

impl<M: Mutex + Clone + 'static> Locks<M> {
    /// `count` nodes with `lock`, whose frames are of `kind`, led by the last of them, all beyond their quarantine.
    pub fn new(count: usize, kind: Kind, lock: M) -> Self {
        Self::linked(count, kind, lock, complete)
    }

    /// The same, each hearing those it is linked to.
    pub fn linked(count: usize, kind: Kind, lock: M, linked: fn(usize, usize) -> bool) -> Self {
        let make = move |index| (Config { mode: Mode::Quorum, ..config(index) }, Bully::default(), lock.clone());
        let net = Net::new(count, linked, make).in_group();
        let mut locks = Self { net, kind, seen: (0, 0), fences: Vec::new(), judged: 0 };
        locks.run(Span::from_secs(15));
        assert_eq!(locks.net.leader(), Some(NodeId(u32::try_from(count).unwrap())));
        locks.mark();
        locks
    }

    /// Tells a node what its application wants.
    pub fn put(&mut self, index: usize, command: Command) {
        self.net.put(index, Input::Mutex(command));
        self.judge();
    }

    pub fn acquire(&mut self, index: usize, name: &str) {
        self.put(index, Command::Acquire { lock: LockId::from_name(name), lease: LEASE });
    }

    pub fn try_(&mut self, index: usize, name: &str) {
        self.put(index, Command::Try { lock: LockId::from_name(name), lease: LEASE });
    }

    pub fn renew(&mut self, index: usize, name: &str) {
        self.put(index, Command::Renew { lock: LockId::from_name(name), lease: LEASE });
    }

    pub fn release(&mut self, index: usize, name: &str) {
        self.put(index, Command::Release { lock: LockId::from_name(name) });
    }

    pub fn cancel(&mut self, index: usize, name: &str) {
        self.put(index, Command::Cancel { lock: LockId::from_name(name) });
    }

    /// Lets `span` pass, looking at every millisecond who holds what.
    pub fn run(&mut self, span: Span) {
        let end = self.net.now.after(span);
        while self.net.now < end {
            self.net.run(Span::from_millis(1));
            self.judge();
        }
    }

    /// Lets time pass until this node holds the lock, a minute at most. How long that took.
    pub fn await_holder(&mut self, index: usize, name: &str) -> Span {
        let start = self.net.now;
        while self.holder(name) != Some(index) {
            assert!(self.net.now.since(start) < Span::from_secs(60), "node {index} waits for {name} for ever");
            self.run(Span::from_millis(1));
        }
        self.net.now.since(start)
    }

    /// Who holds the lock. Never two.
    pub fn holder(&self, name: &str) -> Option<usize> {
        let holders = self.holders(LockId::from_name(name));
        assert!(holders.len() <= 1, "{holders:?} hold {name} at {:?}", self.net.now);
        holders.first().map(|&(index, _)| index)
    }

    /// The fence under which the lock is held.
    pub fn fence(&self, name: &str) -> Option<Fence> {
        self.holders(LockId::from_name(name)).first().map(|&(_, fence)| fence)
    }

    /// From now on only what is new is told and counted.
    pub fn mark(&mut self) {
        self.seen = (self.net.notices.len(), letters(&self.net, self.kind));
    }

    /// What a node's application was told since the mark.
    pub fn told(&self, index: usize) -> Vec<Notice> {
        let new = self.net.notices[self.seen.0..].iter().filter(|(_, node, _)| *node == index);
        new.filter_map(|(_, _, notice)| match notice {
            node::Notice::Mutex(notice) => Some(*notice),
            node::Notice::Role(_) | node::Notice::Halted(_) => None,
        })
        .collect()
    }

    /// How many letters of the lock were written since the mark, each counted once for everyone it is for.
    pub fn letters(&self) -> usize {
        letters(&self.net, self.kind) - self.seen.1
    }

    fn holders(&self, lock: LockId) -> Vec<(usize, Fence)> {
        let nodes = self.net.nodes.iter().enumerate();
        nodes.filter_map(|(index, node)| Some((index, node.as_ref()?.holds(lock, self.net.now)?))).collect()
    }

    /// Never two hold one lock, no fence is given to two, none is below an earlier one, and nobody has stopped.
    fn judge(&mut self) {
        for (at, index, notice) in &self.net.notices[self.judged..] {
            let node::Notice::Mutex(Notice::Acquired { lock, fence, .. }) = notice else {
                assert!(!matches!(notice, node::Notice::Halted(_)), "node {index} at {at:?}: {notice:?}");
                continue;
            };
            let Some((_, highest, holder)) = self.fences.iter_mut().find(|(known, ..)| known == lock) else {
                self.fences.push((*lock, *fence, *index));
                continue;
            };
            let again = fence == highest && index == holder; // it was renewed
            assert!(fence > highest || again, "node {index} at {at:?}: {fence:?} after {highest:?}");
            (*highest, *holder) = (*fence, *index);
        }
        self.judged = self.net.notices.len();
        for &(lock, ..) in &self.fences {
            let holders = self.holders(lock);
            assert!(holders.len() <= 1, "{holders:?} hold {lock:?} at {:?}", self.net.now);
        }
    }
}
