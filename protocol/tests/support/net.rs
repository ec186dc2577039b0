//! Whole nodes that exchange frames in virtual time: links are cut, frames lost, duplicated, delayed and reordered, clocks
//! drift, nodes crash and restart. It knows nothing of radios: the simulator does.

use super::context::id;
use protocol::base::capacity::Capacity;
use protocol::base::membership::Group;
use protocol::base::quorum::Mode;
use protocol::base::records::Records;
use protocol::base::rng::Rng;
use protocol::base::term::Term;
use protocol::election::{Bully, Command, Election};
use protocol::mutex::{Mutex, NoMutex};
use protocol::node::{Boot, Halt, Input, Node, Notice, Stages};
use protocol::registry::message_name;
use protocol::service::{NoService, Service};
use protocol::wire::{self, Cipher, Destination, FRAME_MAX, Key, Kind, Recipients};
use protocol::{Config, Duration, Instant, NodeId, NodeSet, Timing};
use std::collections::BTreeMap;
use std::rc::Rc;

pub mod locks;
pub mod traced;

/// How many peers a node has room for, unless a test says so.
pub const ROOM: usize = 16;
/// How many members a group with a service has at most.
pub const SERVICE_ROOM: usize = 32;

/// How long a frame takes, unless a test says so.
pub const HOP: Duration = Duration::from_millis(2);

/// How many steps the nodes of a network take in one moment: more, and a deadline is never met.
const STEPS_MAX: u32 = 100_000;

/// What happens to frames.
#[derive(Clone, Copy, Debug)]
pub struct Medium {
    /// Percent of frames that are lost.
    pub lost: u32,
    /// Percent of frames that arrive twice.
    pub duplicated: u32,
    /// The shortest and the longest delay.
    pub delay: (Duration, Duration),
}

/// Every frame arrives after one hop time.
pub const RELIABLE: Medium = Medium { lost: 0, duplicated: 0, delay: (HOP, HOP) };

/// Frames are lost, duplicated and reordered.
pub const UNRELIABLE: Medium =
    Medium { lost: 15, duplicated: 10, delay: (Duration::from_millis(1), Duration::from_millis(10)) };

/// A frame in the air, to one receiver or to all.
struct Flight {
    sender: usize,
    receiver: Option<usize>,
    bytes: Rc<[u8]>,
}

/// A node with or without a group.
pub type TestNode<E, M, S, const N: usize> = Node<E, M, N, S, Option<Group>>;

/// A network of nodes numbered from 0; node `i` has the id `i + 1`.
pub struct Net<E: Election, M: Mutex, S: Service = NoService, const N: usize = ROOM> {
    pub now: Instant,
    pub nodes: Vec<Option<TestNode<E, M, S, N>>>,
    pub notices: Vec<(Instant, usize, Notice<S::Notice>)>,
    pub service_notices: Vec<(Instant, usize, S::Notice)>,
    pub links: Vec<Vec<bool>>,
    /// Every frame ever sent, lost or not, and its sender.
    pub sent: Vec<(usize, Rc<[u8]>)>,
    medium: Medium,
    /// Whether a frame from one node reaches the other.
    filter: Box<dyn FnMut(usize, usize) -> bool>,
    rng: Rng,
    seed: u64,
    air: BTreeMap<(Instant, u64), Flight>,
    flights: u64,
    /// The drift of each clock in ppm, and what it showed at the beginning.
    clocks: Vec<(i64, u64)>,
    /// When each node has to be woken.
    wakes: Vec<Option<Instant>>,
    records: Vec<Records>,
    /// The logs of the services, as in flash.
    logs: Vec<Option<Vec<u8>>>,
    capacities: Vec<u16>,
    members: Vec<NodeId>,
    make: Box<dyn Fn(usize) -> (Config, E, M, S)>,
}

pub fn config(index: usize) -> Config {
    Config {
        me: id(index),
        key: Key::from_name("test"),
        hops: 8,
        may_lead: true,
        mode: Mode::Available,
        timing: Timing::RADIO,
    }
}

impl<E: Election, M: Mutex> Net<E, M> {
    /// `count` nodes without a group that are not started, each linked to those `linked` names.
    pub fn new(
        count: usize,
        linked: impl Fn(usize, usize) -> bool,
        make: impl Fn(usize) -> (Config, E, M) + 'static,
    ) -> Self {
        let make = move |index| {
            let (config, election, mutex) = make(index);
            (config, election, mutex, NoService)
        };
        Self::build(count, (RELIABLE, 0), linked, make)
    }
}

impl<E: Election> Net<E, NoMutex> {
    /// A group whose members are all in range of each other and differ by their ids only.
    pub fn room(count: usize, election: impl Fn() -> E + 'static) -> Self {
        Self::new(count, complete, move |index| (Config { hops: 1, ..config(index) }, election(), NoMutex))
            .in_group()
            .alike()
    }
}

impl<E: Election, S: Service> Net<E, NoMutex, S> {
    /// Nodes without a group, with an election and a service.
    pub fn ungrouped(
        count: usize,
        medium: (Medium, u64),
        linked: impl Fn(usize, usize) -> bool,
        make: impl Fn(usize) -> (Config, E, S) + 'static,
    ) -> Self {
        let make = move |index| {
            let (config, election, service) = make(index);
            (config, election, NoMutex, service)
        };
        Self::build(count, medium, linked, make)
    }
}

impl<S: Service> Net<Bully, NoMutex, S, SERVICE_ROOM> {
    /// A group with a service; the last node leads.
    pub fn with_service(
        count: usize,
        medium: (Medium, u64),
        linked: impl Fn(usize, usize) -> bool,
        make: impl Fn(usize) -> (Config, S) + 'static,
    ) -> Self {
        let make = move |index| {
            let (config, service) = make(index);
            (config, Bully::default(), NoMutex, service)
        };
        Self::build(count, medium, linked, make).in_group()
    }

    pub fn ask(&mut self, index: usize, command: S::Command) -> &mut Self {
        self.put(index, Input::Service(command))
    }

    pub fn service(&self, index: usize) -> &S {
        self.node(index).service()
    }
}

impl<E: Election, M: Mutex, S: Service, const N: usize> Net<E, M, S, N> {
    fn build(
        count: usize,
        (medium, seed): (Medium, u64),
        linked: impl Fn(usize, usize) -> bool,
        make: impl Fn(usize) -> (Config, E, M, S) + 'static,
    ) -> Self {
        let mut net = Self {
            now: Instant::ZERO,
            nodes: (0..count).map(|_| None).collect(),
            notices: Vec::new(),
            service_notices: Vec::new(),
            links: vec![vec![false; count]; count],
            sent: Vec::new(),
            medium,
            filter: Box::new(|_, _| true),
            rng: Rng::new(seed),
            seed,
            air: BTreeMap::new(),
            flights: 0,
            clocks: vec![(0, 0); count],
            wakes: vec![None; count],
            records: vec![Records::FACTORY; count],
            logs: vec![None; count],
            capacities: (0..count).map(|index| u16::try_from(index).unwrap() * 100 + 100).collect(),
            members: Vec::new(),
            make: Box::new(make),
        };
        net.relink(linked);
        net
    }

    /// The same network from its beginning.
    pub fn started(mut self) -> Self {
        (0..self.nodes.len()).for_each(|index| _ = self.boot(index));
        self
    }

    /// The same network from its beginning, every node a member of one group.
    pub fn in_group(self) -> Self {
        let order: Vec<usize> = (0..self.nodes.len()).collect();
        self.in_ring(&order)
    }

    /// The same network from its beginning, every node a member of one group, listed in this order.
    pub fn in_ring(mut self, order: &[usize]) -> Self {
        self.members = order.iter().map(|&index| config(index).me).collect();
        self.started()
    }

    /// The same network from its beginning, all nodes of the same capacity.
    pub fn alike(self) -> Self {
        self.with_capacities(|_| 500)
    }

    /// The same network from its beginning, every node of this capacity.
    pub fn with_capacities(mut self, capacity: impl Fn(usize) -> u16) -> Self {
        self.capacities = (0..self.nodes.len()).map(capacity).collect();
        self.started()
    }

    /// The same network from its beginning, with clocks of this drift in ppm and this first reading.
    pub fn with_clocks(mut self, clock: impl Fn(usize) -> (i64, u64)) -> Self {
        self.clocks = (0..self.nodes.len()).map(clock).collect();
        self.started()
    }

    /// The same network, a frame arriving if `filter` lets it pass from its sender to its receiver.
    pub fn with_filter(mut self, filter: impl FnMut(usize, usize) -> bool + 'static) -> Self {
        self.set_filter(filter);
        self
    }

    pub fn set_filter(&mut self, filter: impl FnMut(usize, usize) -> bool + 'static) -> &mut Self {
        self.filter = Box::new(filter);
        self
    }

    /// The key with which the nodes seal their frames.
    pub fn key(&self) -> Key {
        let key = config(0).key;
        if self.members.is_empty() { key } else { key.for_group(&self.members) }
    }

    pub fn draw(&mut self, sides: u32) -> u32 {
        self.rng.next_u32() % sides
    }

    /// Starts a node with the records it kept.
    pub fn boot(&mut self, index: usize) -> &mut Self {
        self.boot_with(index, Some(self.records[index]))
    }

    /// Starts a node, with or without the records it kept.
    pub fn boot_with(&mut self, index: usize, records: Option<Records>) -> &mut Self {
        let (config, election, mutex, mut service) = (self.make)(index);
        if let Some(log) = self.logs[index].as_ref().filter(|_| records.is_some()) {
            service.restore(log);
        }
        let config = Config { hops: config.hops.min(mutex.hops_max()), ..config };
        let now = self.local(index);
        let seed = index as u64 * 7919 + now.as_micros() + (self.seed << 32);
        // These tests judge by capacities alone, however often a node has booted.
        let records = records.map(|kept| Records { flaps: 0, ..kept });
        let boot = Boot { records, capacity: None, seed };
        let group = Group::of(&self.members).ok();
        let mut node = Node::new(config, &group, boot, now, Stages { election, mutex, service }).unwrap();
        node.handle(now, Input::Capacity(Some(Capacity::new(self.capacities[index]))));
        self.nodes[index] = Some(node);
        self.drain(index);
        self
    }

    /// Stops a node for good.
    pub fn crash(&mut self, index: usize) -> &mut Self {
        self.take(index);
        self
    }

    /// Takes a node out of the network: it sleeps.
    pub fn take(&mut self, index: usize) -> Option<TestNode<E, M, S, N>> {
        self.wakes[index] = None;
        self.nodes[index].take()
    }

    /// Measures the capacity of every node.
    pub fn measure(&mut self, capacities: &[u16]) {
        self.capacities.copy_from_slice(capacities);
        for (index, &capacity) in capacities.iter().enumerate() {
            self.put(index, Input::Capacity(Some(Capacity::new(capacity))));
        }
    }

    /// Replaces all links.
    pub fn relink(&mut self, linked: impl Fn(usize, usize) -> bool) -> &mut Self {
        for (a, links) in self.links.iter_mut().enumerate() {
            for (b, link) in links.iter_mut().enumerate() {
                *link = a != b && linked(a, b);
            }
        }
        self
    }

    /// The reading of a node's own clock.
    pub fn local(&self, index: usize) -> Instant {
        let (ppm, start) = self.clocks[index];
        let now = i64::try_from(self.now.as_micros()).unwrap();
        Instant::from_micros(start + u64::try_from(now + now * ppm / 1_000_000).unwrap())
    }

    /// When a node's own clock shows `local`, or a little later.
    fn global(&self, index: usize, local: Instant) -> Instant {
        let (ppm, start) = self.clocks[index];
        let wanted = i64::try_from(local.as_micros().saturating_sub(start)).unwrap_or(i64::MAX / 2);
        let at = i64::try_from(i128::from(wanted) * 1_000_000 / i128::from(1_000_000 + ppm)).unwrap();
        Instant::from_micros(u64::try_from(at).unwrap() + if ppm == 0 { 0 } else { 2 })
    }

    pub fn put(&mut self, index: usize, input: Input<'_, S::Command>) -> &mut Self {
        let now = self.local(index);
        self.nodes[index].as_mut().expect("it is up").handle(now, input);
        self.drain(index);
        self
    }

    /// The host's loop after one input.
    fn drain(&mut self, index: usize) {
        let local = self.local(index);
        let Some(node) = self.nodes[index].as_mut() else { return };
        while let Some(records) = node.poll_persist() {
            self.records[index] = records;
        }
        if let Some(log) = node.poll_log(&mut [0; FRAME_MAX]) {
            self.logs[index] = Some(log.to_vec());
        }
        let first = self.sent.len();
        let mut buffer = [0; FRAME_MAX];
        while let Some(frame) = node.poll_transmit(local, &mut buffer) {
            self.sent.push((index, Rc::from(frame)));
        }
        while let Some(notice) = node.poll_notice() {
            match notice {
                Notice::Service(notice) => self.service_notices.push((self.now, index, notice)),
                notice => self.notices.push((self.now, index, notice)),
            }
        }
        if node.halted() == Some(Halt::Superseded) {
            self.boot(index); // as a board does
            return;
        }
        assert_eq!(node.halted(), None, "node {index} halted at {:?}", self.now);
        let deadline = node.deadline();
        self.wakes[index] = deadline.map(|at| self.global(index, at));
        for at in first..self.sent.len() {
            let bytes = self.sent[at].1.clone();
            self.transmit(index, &bytes);
        }
    }

    /// Sends a frame on its way: to all at once where the medium treats all alike, otherwise to each by itself.
    fn transmit(&mut self, sender: usize, bytes: &Rc<[u8]>) {
        let Medium { lost, duplicated, delay: (least, most) } = self.medium;
        if lost == 0 && duplicated == 0 && least == most {
            return self.fly(least, Flight { sender, receiver: None, bytes: bytes.clone() });
        }
        for receiver in (0..self.nodes.len()).filter(|&receiver| receiver != sender) {
            let copies = u32::from(self.draw(100) >= lost) + u32::from(self.draw(100) < duplicated);
            for _ in 0..copies {
                let more = Duration::from_micros(self.draw(most.minus(least).as_micros() + 1));
                self.fly(least.plus(more), Flight { sender, receiver: Some(receiver), bytes: bytes.clone() });
            }
        }
    }

    fn fly(&mut self, delay: Duration, flight: Flight) {
        self.flights += 1;
        self.air.insert((self.now.after(delay), self.flights), flight);
    }

    fn land(&mut self, Flight { sender, receiver, bytes }: &Flight) {
        let receivers = receiver.map_or(0..self.nodes.len(), |receiver| receiver..receiver + 1);
        for receiver in receivers {
            let linked = self.links[*sender][receiver] && self.nodes[receiver].is_some();
            if linked && (self.filter)(*sender, receiver) {
                self.put(receiver, Input::Frame { bytes, quality: u8::MAX });
            }
        }
    }

    /// Lets `span` pass.
    pub fn run(&mut self, span: Duration) -> &mut Self {
        self.run_until(span, |_| false);
        self
    }

    /// Lets time pass until `done`, or `most` has passed; returns whether it is done.
    pub fn run_until(&mut self, most: Duration, done: impl Fn(&Self) -> bool) -> bool {
        let end = self.now.after(most);
        let mut since = (self.now, 0);
        while !done(self) {
            since = if since.0 == self.now { (since.0, since.1 + 1) } else { (self.now, 0) };
            assert!(since.1 < STEPS_MAX, "time stands still at {:?}", self.now);
            let landing = self.air.first_key_value().map(|(&(at, _), _)| at);
            let waking = (0..).zip(&self.wakes).filter_map(|(index, at)| Some(((*at)?, index))).min();
            let next = [landing, waking.map(|(at, _)| at)].into_iter().flatten().min();
            let Some(next) = next.filter(|&at| at <= end) else {
                self.now = end;
                return done(self);
            };
            self.now = self.now.max(next);
            if landing == Some(next) {
                let (_, flight) = self.air.pop_first().unwrap();
                self.land(&flight);
            } else if let Some((_, index)) = waking {
                self.put(index, Input::Timeout);
            }
        }
        true
    }

    /// Lets so many seconds pass.
    pub fn run_secs(&mut self, secs: u32) -> &mut Self {
        self.run(Duration::from_secs(secs))
    }

    /// These nodes call an election at one moment, which gets this long.
    pub fn elect(&mut self, callers: &[usize], span: Duration) -> &mut Self {
        for &caller in callers {
            self.put(caller, Input::Election(Command::Call));
        }
        self.run(span);
        self
    }

    /// Lets time pass until the nodes that are up agree on this leader, a minute at most.
    pub fn await_leader(&mut self, leader: NodeId) {
        let agree = self.run_until(Duration::from_secs(60), |net| net.leader() == Some(leader));
        assert!(agree, "{leader:?} does not lead: {:?}", self.leaders());
    }

    pub fn node(&self, index: usize) -> &TestNode<E, M, S, N> {
        self.nodes[index].as_ref().expect("it is up")
    }

    /// Returns the boot of a node, as its records have it.
    pub fn incarnation(&self, index: usize) -> u32 {
        self.records[index].incarnation
    }

    pub fn is_up(&self, index: usize) -> bool {
        self.nodes[index].is_some()
    }

    /// The nodes that are up.
    pub fn up(&self) -> Vec<usize> {
        (0..self.nodes.len()).filter(|&index| self.nodes[index].is_some()).collect()
    }

    /// The leader of each node that is up.
    pub fn leaders(&self) -> Vec<Option<(NodeId, Term)>> {
        self.nodes.iter().flatten().map(Node::leader).collect()
    }

    /// The one leader all nodes that are up agree on.
    pub fn leader(&self) -> Option<NodeId> {
        let mut leaders = self.nodes.iter().flatten().map(Node::leader);
        let first = leaders.next()?;
        leaders.all(|leader| leader == first).then_some(first?.0)
    }

    /// The recipients of every reliable message with a frame for which `which` holds: by origin, incarnation and sequence
    /// number, each once however often it was retransmitted.
    fn messages(&self, which: impl Fn(&Key, Kind, &[u8]) -> bool) -> BTreeMap<(NodeId, u32, u32), NodeSet> {
        let key = self.key();
        let mut messages = BTreeMap::new();
        for (_, bytes) in &self.sent {
            let mut buffer = [0; FRAME_MAX];
            let Ok(packet) = wire::open(&key, bytes, &mut buffer) else { continue };
            let Destination::Reliable(header) = packet.destination else { continue };
            let recipients = match (header.origin, header.recipients) {
                (None, Recipients::Members { set, .. }) => set,
                // Of a node without a group: the slot is that of its id here.
                (None, Recipients::Node(to)) => NodeSet::slot(to.id.0 as usize - 1),
                (Some(_), _) => continue, // relayed
            };
            if which(&key, packet.kind, bytes) {
                let sent =
                    messages.entry((packet.sender, packet.incarnation, header.attempt.seq)).or_insert(NodeSet::EMPTY);
                *sent = sent.with(recipients);
            }
        }
        messages
    }

    /// How many reliable messages of this name were sent.
    pub fn messages_named(&self, name: &str) -> usize {
        self.messages(|key, _, bytes| message_name(key, bytes) == Some(name)).len()
    }

    /// How many reliable messages for which `which` holds were sent, each counted once for every recipient.
    fn copies(&self, which: impl Fn(&Key, Kind, &[u8]) -> bool) -> usize {
        self.messages(which).values().map(|recipients| recipients.len() as usize).sum()
    }

    pub fn copies_named(&self, name: &str) -> usize {
        self.copies(|key, _, bytes| message_name(key, bytes) == Some(name))
    }

    pub fn copies_of(&self, kind: Kind) -> usize {
        self.copies(|_, other, _| other == kind)
    }
}

/// Loses about `percent` of all frames, the same ones every time for one `seed`.
pub fn lossy(percent: u64, seed: u64) -> impl FnMut(usize, usize) -> bool {
    let mut state = seed;
    move |_, _| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % 100 >= percent
    }
}

/// Links of a line of nodes.
pub fn line(a: usize, b: usize) -> bool {
    a.abs_diff(b) == 1
}

/// Links of nodes that are all in range of each other.
pub fn complete(_: usize, _: usize) -> bool {
    true
}
