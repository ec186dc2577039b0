//! State machines that exchange messages: no link, no frames. Messages are delivered by hand, or in any order drawn from a
//! seed.

use super::context::{context, roster};
use protocol::algorithm::{Algorithm, Context, Fact, Input, Outbox, Output};
use protocol::base::ids::Roster;
use protocol::base::lamport::{LamportClock, LamportTime};
use protocol::base::rng::Rng;
use protocol::wire;
use protocol::{Duration, Instant, NodeId, NodeSet};
use std::collections::BTreeMap;

mod apps;
pub mod locks;
pub mod single;

/// When every lab begins: all nodes have been up for a minute.
pub const START: Instant = Instant::from_micros(60_000_000);

/// The order in which messages are delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As they were sent.
    Sent,
    /// Any, but FIFO from each node to each.
    Fifo,
    Any,
    /// Any, and some are delivered twice.
    Duplicated,
}

/// A message in flight; a restart of its sender, where there is none.
#[derive(Clone, Debug)]
pub struct Envelope<M> {
    pub from: usize,
    pub to: usize,
    pub time: LamportTime,
    pub message: Option<M>,
}

/// A state machine, and what it knows of the others.
pub struct Machine<A> {
    pub algorithm: A,
    pub id: NodeId,
    pub clock: LamportClock,
    pub view: NodeSet,
    pub suspects: NodeSet,
    /// The drift of its clock, in ten-thousandths.
    pub drift: i64,
    booted: Instant,
}

/// State machines, and the messages in flight between them.
pub struct Lab<A: Algorithm> {
    pub now: Instant,
    pub nodes: Vec<Machine<A>>,
    pub in_flight: Vec<Envelope<A::Message>>,
    pub notices: Vec<(usize, A::Notice)>,
    /// How many messages were sent, by name.
    pub sent: BTreeMap<&'static str, usize>,
    /// What was sent, from whom to whom, where a test wants to read it.
    pub kept: Option<Vec<(usize, usize, A::Message)>>,
    /// Channels on which nothing is delivered.
    pub blocked: Vec<(usize, usize)>,
    pub order: Order,
    pub down: NodeSet,
    roster: Roster<64>,
    rng: Rng,
}

impl<A: Algorithm<Message: wire::Payload>> Lab<A> {
    /// Nodes of these ids, in this order.
    pub fn new(ids: &[u32], order: Order, seed: u64, make: impl Fn(usize) -> A) -> Self {
        let view = NodeSet::first(ids.len());
        let machine = |(index, &id)| Machine {
            algorithm: make(index),
            id: NodeId(id),
            clock: LamportClock::default(),
            view,
            suspects: NodeSet::EMPTY,
            drift: 0,
            booted: Instant::ZERO,
        };
        Self {
            now: START,
            nodes: ids.iter().enumerate().map(machine).collect(),
            in_flight: Vec::new(),
            notices: Vec::new(),
            sent: BTreeMap::new(),
            kept: None,
            blocked: Vec::new(),
            order,
            down: NodeSet::EMPTY,
            roster: roster(ids.iter().copied()),
            rng: Rng::new(seed),
        }
    }

    /// A number below `sides`.
    pub fn draw(&mut self, sides: usize) -> usize {
        self.rng.next_u32() as usize % sides
    }

    /// The reading of a node's own clock.
    pub fn local(&self, index: usize) -> Instant {
        let fast = i64::try_from(self.now.as_micros()).unwrap() * self.nodes[index].drift / 10_000;
        Instant::from_micros(self.now.as_micros().checked_add_signed(fast).unwrap())
    }

    /// When a node's own clock shows `local`, or a little later.
    fn global(&self, index: usize, local: Instant) -> Instant {
        let drift = self.nodes[index].drift;
        let pace = u64::try_from(10_000 + drift).unwrap();
        let late = u64::from(drift != 0);
        Instant::from_micros((local.as_micros().min(1 << 48) * 10_000).div_ceil(pace) + late)
    }

    /// Calls a node with its context, and takes what it asks for.
    pub fn act<T>(
        &mut self,
        index: usize,
        act: impl FnOnce(&mut A, &Context<'_>, &mut Outbox<A::Message, A::Notice>) -> T,
    ) -> T {
        let now = self.local(index);
        let random = if self.order == Order::Sent { 0 } else { self.rng.next_u32() };
        let machine = &mut self.nodes[index];
        let time = LamportTime(machine.clock.now().0 + 1);
        let cx = context(self.roster.view(), machine.id);
        let peers = cx.peers;
        let cx = Context {
            now,
            uptime: now.since(machine.booted),
            up: peers.without(self.down).without(machine.suspects),
            view: machine.view,
            lamport: time,
            random,
            ..cx
        };
        let mut out = Outbox::new();
        let result = act(&mut machine.algorithm, &cx, &mut out);
        assert!(!out.overflowed(), "node {index} asks for too much at once");
        for output in out {
            match output {
                Output::Send { to, message } => {
                    assert!(to.without(peers).is_empty(), "a message to itself");
                    self.nodes[index].clock.observe(time);
                    for to in to.slots() {
                        *self.sent.entry(wire::Payload::name(&message)).or_default() += 1;
                        self.kept.iter_mut().for_each(|kept| kept.push((index, to, message.clone())));
                        self.in_flight.push(Envelope { from: index, to, time, message: Some(message.clone()) });
                    }
                }
                Output::Notify(notice) => self.notices.push((index, notice)),
            }
        }
        result
    }

    /// Takes one step of one node.
    pub fn step(&mut self, index: usize, input: Input<A::Message, A::Command>) {
        let asked = matches!(input, Input::Command(_));
        let time = self.act(index, |algorithm, cx, out| {
            algorithm.handle(cx, input, out);
            cx.lamport
        });
        if asked {
            self.nodes[index].clock.observe(time);
        }
    }

    /// Hands a node a message.
    pub fn receive(&mut self, from: usize, to: usize, time: LamportTime, message: A::Message) {
        self.nodes[to].clock.observe(time);
        let from = self.nodes[from].id;
        self.step(to, Input::Message { from, sent_at: time, message });
    }

    /// Draws the next message to deliver, and takes it out of flight; `None` where there is none.
    fn pick(&mut self) -> Option<Envelope<A::Message>> {
        let blocked = |envelope: &Envelope<_>| self.blocked.contains(&(envelope.from, envelope.to));
        let open: Vec<usize> = (0..self.in_flight.len()).filter(|&at| !blocked(&self.in_flight[at])).collect();
        let first = *open.first()?;
        if self.order == Order::Sent {
            return Some(self.in_flight.remove(first));
        }
        let drawn = open[self.draw(open.len())];
        let channel = |envelope: &Envelope<_>| (envelope.from, envelope.to);
        if self.order == Order::Duplicated && self.draw(5) == 0 {
            self.in_flight.push(self.in_flight[drawn].clone());
        }
        let at = match self.order {
            Order::Fifo => {
                let way = channel(&self.in_flight[drawn]);
                self.in_flight.iter().position(|envelope| channel(envelope) == way)?
            }
            Order::Sent | Order::Any | Order::Duplicated => drawn,
        };
        Some(self.in_flight.remove(at))
    }

    /// Delivers one message; returns whether there was one.
    pub fn deliver(&mut self) -> bool {
        let Some(envelope) = self.pick() else { return false };
        self.deliver_envelope(envelope);
        true
    }

    /// Delivers the first message from one node to another.
    pub fn deliver_from(&mut self, from: usize, to: usize) -> &mut Self {
        let at = self.in_flight.iter().position(|envelope| (envelope.from, envelope.to) == (from, to));
        let envelope = self.in_flight.remove(at.unwrap_or_else(|| panic!("no message from {from} to {to}")));
        self.deliver_envelope(envelope);
        self
    }

    fn deliver_envelope(&mut self, Envelope { from, to, time, message }: Envelope<A::Message>) {
        if self.down.meets(NodeSet::slot(to)) {
            return;
        }
        if let Some(message) = message {
            self.receive(from, to, time, message);
        } else {
            self.lose(to, from, 50);
            self.nodes[to].suspects = self.nodes[to].suspects.without(NodeSet::slot(from));
            self.step(to, Input::Fact(Fact::PeerReset(NodeSet::slot(from))));
            self.step(to, Input::Fact(Fact::PeerUp(NodeSet::slot(from))));
        }
    }

    /// Delivers everything.
    pub fn settle(&mut self) -> &mut Self {
        while self.deliver() {}
        self
    }

    /// The node with the next deadline.
    fn next_deadline(&self) -> Option<(Instant, usize)> {
        let up = (0..self.nodes.len()).filter(|&index| !self.down.meets(NodeSet::slot(index)));
        up.filter_map(|index| Some((self.global(index, self.nodes[index].algorithm.deadline()?), index))).min()
    }

    /// Lets time pass until the next deadline, if that is not later than `end`; returns whether there was one.
    pub fn wait(&mut self, end: Instant) -> bool {
        let Some((at, index)) = self.next_deadline().filter(|&(at, _)| at <= end) else { return false };
        self.now = self.now.max(at);
        self.step(index, Input::Timeout);
        true
    }

    /// Lets `span` pass, delivering everything at once.
    pub fn run(&mut self, span: Duration) -> &mut Self {
        let end = self.now.after(span);
        self.settle();
        while self.wait(end) {
            self.settle();
        }
        self.now = end;
        self
    }

    /// Loses some percent of the messages from one node to another; the others keep their order.
    fn lose(&mut self, from: usize, to: usize, percent: usize) {
        let rng = &mut self.rng;
        let mut lost = || rng.next_u32() as usize % 100 < percent;
        let mine = |envelope: &Envelope<_>| (envelope.from, envelope.to) == (from, to) && envelope.message.is_some();
        self.in_flight.retain(|envelope| !mine(envelope) || !lost());
    }

    /// One node begins to suspect another: messages to it are abandoned.
    pub fn suspect(&mut self, index: usize, other: usize) {
        let set = NodeSet::slot(other);
        self.lose(index, other, 70);
        self.nodes[index].suspects = self.nodes[index].suspects.with(set);
        self.step(index, Input::Fact(Fact::PeerDown(set)));
    }

    /// One node no more suspects another. What it sent meanwhile may be lost.
    pub fn trust(&mut self, index: usize, other: usize) {
        let set = NodeSet::slot(other);
        self.lose(index, other, 70);
        self.nodes[index].suspects = self.nodes[index].suspects.without(set);
        self.step(index, Input::Fact(Fact::PeerUp(set)));
    }

    /// A node crashes, and every other learns of it.
    pub fn crash(&mut self, index: usize) {
        let set = NodeSet::slot(index);
        self.down = self.down.with(set);
        self.in_flight.retain(|envelope| envelope.to != index);
        let down = self.down;
        for other in (0..self.nodes.len()).filter(|&other| !down.meets(NodeSet::slot(other))) {
            self.step(other, Input::Fact(Fact::PeerDown(set)));
        }
    }

    /// How many messages were sent.
    pub fn count(&self) -> usize {
        self.sent.values().sum()
    }
}
