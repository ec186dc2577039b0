//! A small network for tests: nodes in virtual time, links that can be cut, frames that can be lost.
//!
//! Everything sent is heard by every linked node one hop time later. It knows nothing of radios: the simulator does.

#![allow(dead_code, unreachable_pub, reason = "every test file is a crate of its own and uses its own part")]

use protocol::capacity::Capacity;
use protocol::clock::Term;
use protocol::describe::describe;
use protocol::election::Election;
use protocol::mandate::Mode;
use protocol::mutex::Mutex;
use protocol::node::{Boot, Input, Node, Notice};
use protocol::records::Records;
use protocol::wire::{self, FRAME_MAX, Key, Kind, Path, To};
use protocol::{Config, Instant, NodeId, Span, Timing};
use std::collections::{BTreeMap, BTreeSet};

pub mod bag;
pub mod bench;
pub mod crowd;
pub mod faults;
pub mod laws;
pub mod locks;
pub mod member;
pub mod tokens;
pub mod turmoil;

/// How many others a node of these tests has room for.
pub const ROOM: usize = 16;

/// How long a frame takes.
pub const HOP: Span = Span::from_millis(2);

/// How many steps the nodes of a network take in one moment: more, and a deadline is never met.
const STEPS_MAX: u32 = 100_000;

/// What a frame looks like on the air: who sent it, and its bytes.
pub type Flight = (usize, Vec<u8>);

/// Decides the fate of a frame: given sender, receiver and a running number, whether it arrives.
pub type Fate = Box<dyn FnMut(usize, usize, u64) -> bool>;

/// A network of nodes numbered from 0; node `i` has the id `i + 1`.
pub struct Net<E: Election, M: Mutex> {
    pub now: Instant,
    pub nodes: Vec<Option<Node<E, M, ROOM>>>,
    pub records: Vec<Records>,
    pub notices: Vec<(Instant, usize, Notice)>,
    pub links: Vec<Vec<bool>>,
    pub frames: u64,
    /// Every frame ever sent, lost or not.
    pub sent: Vec<Flight>,
    fate: Fate,
    air: BTreeMap<(Instant, u64), Flight>,
    make: Box<dyn Fn(usize) -> (Config, E, M)>,
    members: Vec<NodeId>,
    /// What each node is worth.
    worths: Vec<u16>,
}

pub fn config(index: usize) -> Config {
    Config {
        me: NodeId(u32::try_from(index).unwrap() + 1),
        key: Key::from_name("test"),
        hops: 8,
        may_lead: true,
        mode: Mode::Available,
        timing: Timing::RADIO,
    }
}

impl<E: Election, M: Mutex> Net<E, M> {
    /// `count` nodes, all up, each linked to those `linked` says.
    pub fn new(
        count: usize,
        linked: impl Fn(usize, usize) -> bool,
        make: impl Fn(usize) -> (Config, E, M) + 'static,
    ) -> Self {
        let links = (0..count).map(|a| (0..count).map(|b| a != b && linked(a, b)).collect()).collect();
        let mut net = Self {
            now: Instant::ZERO,
            nodes: (0..count).map(|_| None).collect(),
            records: vec![Records::FACTORY; count],
            notices: Vec::new(),
            links,
            frames: 0,
            sent: Vec::new(),
            fate: Box::new(|_, _, _| true),
            air: BTreeMap::new(),
            make: Box::new(make),
            members: Vec::new(),
            worths: (0..count).map(|index| u16::try_from(index).unwrap() * 100 + 100).collect(),
        };
        for index in 0..count {
            net.boot(index);
        }
        net
    }

    /// The same network, every node a member of one group.
    pub fn in_group(self) -> Self {
        let order: Vec<usize> = (0..self.nodes.len()).collect();
        self.in_ring(&order)
    }

    /// The same network, every node a member of one group, listed in this order.
    pub fn in_ring(mut self, order: &[usize]) -> Self {
        self.members = order.iter().map(|&index| config(index).me).collect();
        for index in 0..self.nodes.len() {
            self.boot(index);
        }
        self
    }

    /// The same network from its beginning, every node worth the same.
    pub fn alike(mut self) -> Self {
        self.worths.fill(500);
        for index in 0..self.nodes.len() {
            self.boot(index);
        }
        self
    }

    /// Every node measures what it is worth.
    pub fn measure(&mut self, worths: &[u16]) {
        self.worths.copy_from_slice(worths);
        for (index, &worth) in worths.iter().enumerate() {
            self.put(index, Input::Capacity(Some(Capacity::new(worth))));
        }
    }

    /// The same network from its beginning, every node worth what `worth` says.
    pub fn worth(mut self, worth: impl Fn(usize) -> u16) -> Self {
        self.worths = (0..self.nodes.len()).map(worth).collect();
        for index in 0..self.nodes.len() {
            self.boot(index);
        }
        self
    }

    /// The same network, frames arriving as `fate` says.
    pub fn with_fate(mut self, fate: impl FnMut(usize, usize, u64) -> bool + 'static) -> Self {
        self.fate = Box::new(fate);
        self
    }

    /// From now on frames arrive as `fate` says.
    pub fn set_fate(&mut self, fate: impl FnMut(usize, usize, u64) -> bool + 'static) {
        self.fate = Box::new(fate);
    }

    /// What the nodes seal their frames with.
    pub fn key(&self) -> Key {
        let key = config(0).key;
        if self.members.is_empty() { key } else { key.for_group(&self.members) }
    }

    /// Starts a node with the records it kept.
    pub fn boot(&mut self, index: usize) {
        self.boot_with(index, Some(self.records[index]));
    }

    /// Starts a node that lost its records.
    pub fn boot_blank(&mut self, index: usize) {
        self.boot_with(index, None);
    }

    fn boot_with(&mut self, index: usize, records: Option<Records>) {
        let (config, election, mutex) = (self.make)(index);
        let boot = Boot { records, seed: index as u64 * 7919 + self.now.as_micros() };
        let mut node = Node::new(config, boot, self.now, election, mutex).unwrap();
        if !self.members.is_empty() {
            node = node.in_group(&self.members).unwrap();
        }
        let capacity = Capacity::new(self.worths[index]);
        node.handle(self.now, Input::Capacity(Some(capacity)));
        self.nodes[index] = Some(node);
        self.drain(index);
    }

    /// Stops a node for good.
    pub fn crash(&mut self, index: usize) {
        self.nodes[index] = None;
    }

    /// Links the nodes anew.
    pub fn relink(&mut self, linked: impl Fn(usize, usize) -> bool) {
        for (a, links) in self.links.iter_mut().enumerate() {
            for (b, link) in links.iter_mut().enumerate() {
                *link = a != b && linked(a, b);
            }
        }
    }

    /// Lets time pass in steps of a millisecond until `done`, a minute at most.
    pub fn run_until(&mut self, done: impl Fn(&Self) -> bool) {
        let end = self.now.after(Span::from_secs(60));
        while !done(self) {
            assert!(self.now < end, "waited for a minute");
            self.run(Span::from_millis(1));
        }
    }

    /// The messages sent so far, by their words, each counted once however often it was tried.
    pub fn said(&self, word: &str) -> usize {
        let key = self.key();
        let mut numbers = BTreeSet::new();
        for (_, bytes) in &self.sent {
            let Ok(packet) = wire::open(&key, bytes) else { continue };
            let Path::Letter(letter) = packet.path else { continue };
            if letter.writer.is_none() && describe(&key, bytes) == Some(word) {
                numbers.insert((packet.sender, packet.incarnation, letter.number));
            }
        }
        numbers.len()
    }

    /// Puts an input to a node.
    pub fn put(&mut self, index: usize, input: Input<'_>) {
        let now = self.now;
        self.nodes[index].as_mut().unwrap().handle(now, input);
        self.drain(index);
    }

    /// The host's loop after one input.
    fn drain(&mut self, index: usize) {
        let Some(node) = self.nodes[index].as_mut() else { return };
        while let Some(records) = node.poll_persist() {
            self.records[index] = records;
        }
        let mut buffer = [0; FRAME_MAX];
        while let Some(frame) = node.poll_transmit(self.now, &mut buffer) {
            self.frames += 1;
            self.sent.push((index, frame.to_vec()));
            self.air.insert((self.now.after(HOP), self.frames), (index, frame.to_vec()));
        }
        while let Some(notice) = node.poll_notice() {
            self.notices.push((self.now, index, notice));
        }
    }

    /// Lets `span` pass.
    pub fn run(&mut self, span: Span) {
        let end = self.now.after(span);
        let mut since = (self.now, 0);
        loop {
            since = if since.0 == self.now { (since.0, since.1 + 1) } else { (self.now, 0) };
            assert!(since.1 < STEPS_MAX, "time stands still at {:?}", self.now);
            let landing = self.air.first_key_value().map(|(&(at, _), _)| at);
            let waking = self.nodes.iter().enumerate();
            let waking = waking.filter_map(|(index, node)| node.as_ref()?.deadline().map(|at| (at, index))).min();
            let next = [landing, waking.map(|(at, _)| at)].into_iter().flatten().min();
            let Some(next) = next.filter(|&at| at <= end) else { break };
            self.now = self.now.max(next);
            if landing == Some(next) {
                let ((_, number), (sender, bytes)) = self.air.pop_first().unwrap();
                self.deliver(sender, number, &bytes);
            } else if let Some((_, index)) = waking {
                self.put(index, Input::Timeout);
            }
        }
        self.now = end;
    }

    fn deliver(&mut self, sender: usize, number: u64, bytes: &[u8]) {
        for receiver in 0..self.nodes.len() {
            if self.links[sender][receiver] && self.nodes[receiver].is_some() && (self.fate)(sender, receiver, number) {
                self.put(receiver, Input::Frame { bytes, quality: u8::MAX });
            }
        }
    }

    /// Whom each node that is up follows.
    pub fn leaders(&self) -> Vec<Option<(NodeId, Term)>> {
        self.nodes.iter().flatten().map(Node::leader).collect()
    }

    /// The one leader all nodes that are up agree on.
    pub fn leader(&self) -> Option<NodeId> {
        let leaders = self.leaders();
        let first = *leaders.first()?;
        leaders.iter().all(|&leader| leader == first).then_some(first?.0)
    }
}

/// How many letters of `kind` were written, each counted once for everyone it is for.
pub fn letters<E: Election, M: Mutex>(net: &Net<E, M>, kind: Kind) -> usize {
    let key = net.key();
    let mut letters = BTreeSet::new();
    for packet in net.sent.iter().filter_map(|(_, bytes)| wire::open(&key, bytes).ok()) {
        let Path::Letter(letter) = packet.path else { continue };
        if packet.kind != kind || letter.writer.is_some() {
            continue;
        }
        let To::Members(set) = letter.to else { panic!("a group's letter is for members") };
        letters.extend(set.slots().map(|slot| (packet.sender, letter.number, slot)));
    }
    letters.len()
}

/// Loses about `percent` of all frames, the same ones every time for one `seed`.
pub fn lossy(percent: u64, seed: u64) -> impl FnMut(usize, usize, u64) -> bool {
    let mut state = seed;
    move |_, _, _| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % 100 >= percent
    }
}

/// Links of a line of nodes.
pub fn line(a: usize, b: usize) -> bool {
    a.abs_diff(b) == 1
}

/// Links of nodes that all hear each other.
pub fn complete(_: usize, _: usize) -> bool {
    true
}
