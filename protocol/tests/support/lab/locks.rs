//! Locks in the lab. Nodes are named by their ids.

use super::{Envelope, Lab, Order, START};
use crate::support::net::locks::LEASE;
use protocol::algorithm::{Context, Fact, Input};
use protocol::base::lamport::{LamportClock, LamportTime};
use protocol::mutex::{Command, Fence, LockId, Mutex, Notice};
use protocol::wire::Payload;
use protocol::{Duration, NodeSet, Timing};

/// The lock most tests are about.
pub const DOOR: LockId = LockId::from_name("door");

/// How long a node pauses at most before its next request.
const PAUSE: Duration = Timing::RADIO.retry;

impl<M: Mutex> Lab<M> {
    /// Members of these ids, each message delivered by hand or in the order of sending.
    pub fn by_hand(ids: &[usize]) -> Self
    where
        M: Default,
    {
        let ids: Vec<u32> = ids.iter().map(|&id| u32::try_from(id).unwrap()).collect();
        let mut lab = Self::new(&ids, Order::Sent, 0, |_| M::default());
        (0..ids.len()).for_each(|index| _ = lab.put_at(index, Input::Timeout));
        lab
    }

    /// Members with the ids 0, 1, ..., messages delivered in this order.
    pub fn at_random(count: usize, order: Order, seed: u64, lock: &M) -> Self
    where
        M: Clone,
    {
        let ids: Vec<u32> = (0..u32::try_from(count).unwrap()).collect();
        Self::new(&ids, order, seed, |_| lock.clone())
    }

    fn index(&self, id: usize) -> usize {
        self.nodes.iter().position(|machine| machine.id.0 as usize == id).unwrap()
    }

    pub fn set_of(&self, ids: &[usize]) -> NodeSet {
        ids.iter().fold(NodeSet::EMPTY, |set, &id| set.with(NodeSet::slot(self.index(id))))
    }

    /// Takes a step; by hand, also those that are due at once then.
    fn put_at(&mut self, index: usize, input: Input<M::Message, Command>) -> &mut Self {
        self.step(index, input);
        self.raise_clock(index);
        let due = |lab: &Self| lab.nodes[index].algorithm.deadline().is_some_and(|at| at <= lab.now);
        for _ in 0..8 {
            if self.order != Order::Sent || !due(self) {
                return self;
            }
            self.step(index, Input::Timeout);
            self.raise_clock(index);
        }
        panic!("{index} is never done");
    }

    /// A node's clock never falls behind what its lock agreed to.
    fn raise_clock(&mut self, index: usize) {
        let floor = self.nodes[index].algorithm.floor();
        self.nodes[index].clock.observe(floor);
    }

    pub fn command(&mut self, id: usize, command: Command) -> &mut Self {
        self.put_at(self.index(id), Input::Command(command))
    }

    pub fn acquire(&mut self, id: usize) -> &mut Self {
        self.acquire_for(id, LEASE)
    }

    pub fn acquire_for(&mut self, id: usize, lease: Duration) -> &mut Self {
        self.command(id, Command::Acquire { lock: DOOR, lease })
    }

    pub fn release(&mut self, id: usize) -> &mut Self {
        self.command(id, Command::Release { lock: DOOR })
    }

    pub fn cancel(&mut self, id: usize) -> &mut Self {
        self.command(id, Command::Cancel { lock: DOOR })
    }

    /// Hands a member a message of the sender's Lamport time.
    pub fn hand(&mut self, from: usize, to: usize, message: M::Message) -> &mut Self {
        let time = self.nodes[self.index(from)].clock.now();
        self.hand_at(from, to, time, message)
    }

    pub fn hand_at(&mut self, from: usize, to: usize, time: LamportTime, message: M::Message) -> &mut Self {
        let (from, to) = (self.nodes[self.index(from)].id, self.index(to));
        self.nodes[to].clock.observe(time);
        self.put_at(to, Input::Message { from, sent_at: time, message })
    }

    fn hand_envelope(&mut self, Envelope { from, to, time, message }: Envelope<M::Message>) {
        let [from, to] = [from, to].map(|index| self.nodes[index].id.0 as usize);
        self.hand_at(from, to, time, message.expect("no node restarts by itself"));
    }

    /// Delivers messages in the order of sending, with those sent meanwhile and within a pause, until there are none.
    pub fn deliver_all(&mut self) -> &mut Self {
        loop {
            while !self.in_flight.is_empty() {
                let envelope = self.in_flight.remove(0);
                self.hand_envelope(envelope);
            }
            let next = self.next_deadline().filter(|&(at, _)| at <= self.now.after(PAUSE));
            let Some((at, _)) = next else { break };
            self.pass(at.since(self.now));
        }
        self
    }

    /// Delivers messages until the first of this name between these two is next, and takes that.
    pub fn take(&mut self, name: &str, from: usize, to: usize) -> M::Message {
        let (from, to) = (self.index(from), self.index(to));
        loop {
            assert!(!self.in_flight.is_empty(), "it will be sent");
            let envelope = self.in_flight.remove(0);
            let message = envelope.message.as_ref().expect("no node restarts by itself");
            if message.name() == name && (envelope.from, envelope.to) == (from, to) {
                return message.clone();
            }
            self.hand_envelope(envelope);
        }
    }

    /// Reads a message of this member that is in flight.
    pub fn read_in_flight<T>(&self, from: usize, read: impl Fn(&M::Message) -> Option<T>) -> T {
        let from = self.index(from);
        let mine = self.in_flight.iter().filter(|envelope| envelope.from == from);
        mine.filter_map(|envelope| envelope.message.as_ref()).find_map(read).unwrap()
    }

    /// Loses every message in flight.
    pub fn lose_all(&mut self) -> &mut Self {
        self.in_flight.clear();
        self
    }

    /// Lets time pass for all.
    pub fn pass(&mut self, span: Duration) -> &mut Self {
        self.now = self.now.after(span);
        (0..self.nodes.len()).for_each(|index| _ = self.put_at(index, Input::Timeout));
        self
    }

    pub fn set_clock(&mut self, id: usize, time: u64) -> &mut Self {
        let index = self.index(id);
        self.nodes[index].clock = LamportClock::after(LamportTime(time));
        self
    }

    pub fn set_view(&mut self, id: usize, view: &[usize]) -> &mut Self {
        let (index, view) = (self.index(id), self.set_of(view));
        self.nodes[index].view = view;
        self.put_at(index, Input::Fact(Fact::View))
    }

    pub fn fact(&mut self, id: usize, fact: impl Fn(NodeSet) -> Fact, about: &[usize]) -> &mut Self {
        let set = self.set_of(about);
        self.put_at(self.index(id), Input::Fact(fact(set)))
    }

    /// Looks at a member with its context.
    pub fn look<T>(&mut self, id: usize, look: impl FnOnce(&mut M, &Context<'_>) -> T) -> T {
        self.act(self.index(id), |lock, cx, _| look(lock, cx))
    }

    /// A member restarts with the Lamport times it had reserved; messages to and from it are lost, and the others learn
    /// of it at once.
    pub fn reboot(&mut self, id: usize)
    where
        M: Default,
    {
        let index = self.index(id);
        self.in_flight.retain(|envelope| envelope.from != index && envelope.to != index);
        let reserved = self.nodes[index].clock.now().0 + 10;
        self.nodes[index].clock = LamportClock::after(LamportTime(reserved));
        self.start(index, M::default());
        for other in (0..self.nodes.len()).filter(|&other| other != index) {
            self.put_at(other, Input::Fact(Fact::PeerReset(NodeSet::slot(index))));
        }
    }

    /// A member restarts with nothing but its Lamport clock; the others learn of it by a message.
    pub fn restart(&mut self, index: usize, fresh: M) {
        self.start(index, fresh);
        self.nodes[index].suspects = NodeSet::EMPTY;
        for to in (0..self.nodes.len()).filter(|&to| to != index) {
            self.in_flight.push(Envelope { from: index, to, time: LamportTime(0), message: None });
        }
    }

    fn start(&mut self, index: usize, mut fresh: M) {
        fresh.resume(self.nodes[index].clock.now());
        let booted = self.local(index);
        let machine = &mut self.nodes[index];
        (machine.algorithm, machine.booted) = (fresh, booted);
    }

    /// The members that hold the lock.
    pub fn holders(&self) -> Vec<usize> {
        let holds = |machine: &&super::Machine<M>| machine.algorithm.holds(DOOR, self.now).is_some();
        self.nodes.iter().filter(holds).map(|machine| machine.id.0 as usize).collect()
    }

    /// The holder of a lock, of which there are never two, and its fence.
    pub fn holder(&self, lock: LockId) -> Option<(usize, Fence)> {
        let held = |index: usize| Some((index, self.nodes[index].algorithm.holds(lock, self.local(index))?));
        let holders: Vec<_> = (0..self.nodes.len()).filter_map(held).collect();
        assert!(holders.len() <= 1, "{holders:?}");
        holders.first().copied()
    }

    pub fn holds(&self, id: usize, lock: LockId) -> bool {
        self.nodes[self.index(id)].algorithm.holds(lock, self.now).is_some()
    }

    pub fn fence(&self, id: usize) -> Fence {
        self.nodes[self.index(id)].algorithm.holds(DOOR, self.now).expect("it holds the lock")
    }

    pub fn notices_of(&self, id: usize) -> Vec<Notice> {
        let index = self.index(id);
        self.notices.iter().filter(|(node, _)| *node == index).map(|(_, notice)| *notice).collect()
    }

    /// How many messages of this name were sent.
    pub fn sent_named(&self, name: &str) -> usize {
        self.sent.get(name).copied().unwrap_or(0)
    }

    /// How much time has passed since the beginning.
    pub fn elapsed(&self) -> Duration {
        self.now.since(START)
    }
}
