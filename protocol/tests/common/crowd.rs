//! A group of nodes with something on top, on a bad network: frames are lost, repeated, late and out of order, and no two
//! clocks run alike.

use super::config;
use protocol::algorithm::{self, Context, Fact};
use protocol::application::{Application, Item, Record};
use protocol::capacity::Capacity;
use protocol::dice::Dice;
use protocol::election::Bully;
use protocol::mutex::NoMutex;
use protocol::node::{Boot, Input, Node, Notice};
use protocol::records::Records;
use protocol::upper::Upper;
use protocol::wire::{self, FRAME_MAX, Kind, Path, To};
use protocol::{Config, Instant, NodeId, NodeSet, Span};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// How many members a group of these tests has at most.
pub const ROOM: usize = 32;

/// What happens to frames.
#[derive(Clone, Copy, Debug)]
pub struct Weather {
    /// How many of a hundred are lost.
    pub lost: u32,
    /// How many of a hundred come twice.
    pub twice: u32,
    /// How long they take: from this, up to.
    pub delay: (Span, Span),
}

/// Every frame arrives after two milliseconds.
pub const FAIR: Weather = Weather { lost: 0, twice: 0, delay: (Span::from_millis(2), Span::from_millis(2)) };

/// Frames are lost, come twice and overtake each other.
pub const FOUL: Weather = Weather { lost: 15, twice: 10, delay: (Span::from_millis(1), Span::from_millis(10)) };

type Member<U> = Node<Bully, NoMutex, ROOM, U>;

/// A group; node `i` has the id `i + 1`, and the last is worth most.
pub struct Crowd<U: Upper> {
    pub now: Instant,
    pub nodes: Vec<Option<Member<U>>>,
    pub told: Vec<(Instant, usize, U::Notice)>,
    pub notices: Vec<(Instant, usize, Notice)>,
    pub weather: Weather,
    /// By how many millionths each node's clock is too fast, and what it showed at the beginning.
    pub clocks: Vec<(i64, u64)>,
    /// Whether a frame from one node reaches the other.
    pub linked: fn(usize, usize) -> bool,
    records: Vec<Records>,
    members: Vec<NodeId>,
    dice: Dice,
    air: BTreeMap<(Instant, u64), (usize, Vec<u8>)>,
    frames: u64,
    letters: BTreeSet<(&'static str, NodeId, u32, u32, usize)>,
    make: Box<dyn Fn(usize) -> (Config, U)>,
}

impl<U: Upper> Crowd<U> {
    pub fn new(count: usize, seed: u64, weather: Weather, make: impl Fn(usize) -> (Config, U) + 'static) -> Self {
        Self::linked(count, seed, weather, |_, _| true, make)
    }

    pub fn linked(
        count: usize,
        seed: u64,
        weather: Weather,
        linked: fn(usize, usize) -> bool,
        make: impl Fn(usize) -> (Config, U) + 'static,
    ) -> Self {
        let mut crowd = Self {
            now: Instant::ZERO,
            nodes: (0..count).map(|_| None).collect(),
            told: Vec::new(),
            notices: Vec::new(),
            weather,
            clocks: vec![(0, 0); count],
            linked,
            records: vec![Records::FACTORY; count],
            members: (0..count).map(|index| config(index).me).collect(),
            dice: Dice::new(seed),
            air: BTreeMap::new(),
            frames: 0,
            letters: BTreeSet::new(),
            make: Box::new(make),
        };
        for index in 0..count {
            crowd.boot(index);
        }
        crowd
    }

    /// The same group from its beginning, with clocks that run and start as told.
    pub fn with_clocks(mut self, clock: impl Fn(usize) -> (i64, u64)) -> Self {
        self.clocks = (0..self.nodes.len()).map(clock).collect();
        for index in 0..self.nodes.len() {
            self.boot(index);
        }
        self
    }

    pub fn draw(&mut self, sides: u32) -> u32 {
        self.dice.throw() % sides
    }

    pub fn boot(&mut self, index: usize) {
        let (config, upper) = (self.make)(index);
        let seed = u64::from(self.dice.throw()) << 32 | u64::from(self.dice.throw());
        let boot = Boot { records: Some(self.records[index]), seed };
        let now = self.local(index);
        let node = Node::with_upper(config, boot, now, Bully::default(), NoMutex, upper).unwrap();
        let mut node = node.in_group(&self.members).unwrap();
        let worth = Capacity::new(u16::try_from(index).unwrap() * 100 + 100);
        node.handle(now, Input::Capacity(Some(worth)));
        self.nodes[index] = Some(node);
        self.drain(index);
    }

    pub fn crash(&mut self, index: usize) {
        self.nodes[index] = None;
    }

    /// What a node's own clock shows.
    pub fn local(&self, index: usize) -> Instant {
        let (ppm, start) = self.clocks[index];
        let now = i64::try_from(self.now.as_micros()).unwrap();
        Instant::from_micros(start + u64::try_from(now + now * ppm / 1_000_000).unwrap())
    }

    /// When a node's own clock shows `local`, or a little later.
    fn truly(&self, index: usize, local: Instant) -> Instant {
        let (ppm, start) = self.clocks[index];
        let wanted = i64::try_from(local.as_micros().saturating_sub(start)).unwrap_or(i64::MAX / 2);
        let at = i64::try_from(i128::from(wanted) * 1_000_000 / i128::from(1_000_000 + ppm)).unwrap();
        Instant::from_micros(u64::try_from(at).unwrap() + if ppm == 0 { 0 } else { 2 })
    }

    pub fn ask(&mut self, index: usize, command: U::Command) {
        let now = self.local(index);
        if let Some(node) = &mut self.nodes[index] {
            node.ask(now, command);
        }
        self.drain(index);
    }

    fn put(&mut self, index: usize, input: Input<'_>) {
        let now = self.local(index);
        if let Some(node) = &mut self.nodes[index] {
            node.handle(now, input);
        }
        self.drain(index);
    }

    fn drain(&mut self, index: usize) {
        let local = self.local(index);
        let Some(mut node) = self.nodes[index].take() else { return };
        while let Some(records) = node.poll_persist() {
            self.records[index] = records;
        }
        let mut buffer = [0; FRAME_MAX];
        while let Some(frame) = node.poll_transmit(local, &mut buffer) {
            let frame = frame.to_vec();
            self.count(&frame);
            let linked = self.linked;
            for receiver in (0..self.nodes.len()).filter(|&other| other != index && linked(index, other)) {
                let copies =
                    u32::from(self.draw(100) >= self.weather.lost) + u32::from(self.draw(100) < self.weather.twice);
                for _ in 0..copies {
                    let (least, most) = self.weather.delay;
                    let more = self.draw(most.minus(least).as_micros() + 1);
                    let at = self.now.after(least).after(Span::from_micros(more));
                    self.frames += 1;
                    self.air.insert((at, self.frames), (receiver, frame.clone()));
                }
            }
        }
        while let Some(notice) = node.poll_notice() {
            self.notices.push((self.now, index, notice));
        }
        while let Some(told) = node.poll_told() {
            self.told.push((self.now, index, told));
        }
        assert_eq!(node.halted(), None, "node {index} halted at {:?}", self.now);
        self.nodes[index] = Some(node);
    }

    /// Counts a letter, once for everyone it is for, however often it is tried.
    fn count(&mut self, frame: &[u8]) {
        let key = config(0).key.for_group(&self.members);
        let packet = wire::open(&key, frame).unwrap();
        let Path::Letter(letter) = packet.path else { return };
        let (None, To::Members(set)) = (letter.writer, letter.to) else { return };
        let word = protocol::describe::describe(&key, frame).unwrap();
        let word = if packet.kind == Kind::Mandate { "mandate" } else { word };
        let (sender, boot) = (packet.sender, packet.incarnation);
        self.letters.extend(set.slots().map(|slot| (word, sender, boot, letter.number, slot)));
    }

    /// How many letters of these words were written so far, each counted once for everyone it is for.
    pub fn letters(&self, words: &[&str]) -> usize {
        self.letters.iter().filter(|(word, ..)| words.contains(word)).count()
    }

    pub fn run(&mut self, span: Span) {
        let end = self.now.after(span);
        self.run_while(end, |_| true);
    }

    /// Lets time pass until `done`, or `most` has passed: whether it is done.
    pub fn run_until(&mut self, most: Span, done: impl Fn(&Self) -> bool) -> bool {
        let end = self.now.after(most);
        self.run_while(end, |crowd| !done(crowd));
        done(self)
    }

    fn run_while(&mut self, end: Instant, going: impl Fn(&Self) -> bool) {
        while going(self) {
            let landing = self.air.first_key_value().map(|(&(at, _), _)| at);
            let due = |(index, node): (usize, &Option<Member<U>>)| {
                Some((self.truly(index, node.as_ref()?.deadline()?), index))
            };
            let waking = self.nodes.iter().enumerate().filter_map(due).min();
            let next = [landing, waking.map(|(at, _)| at)].into_iter().flatten().min();
            let Some(next) = next.filter(|&at| at <= end) else {
                self.now = end;
                return;
            };
            self.now = self.now.max(next);
            if landing == Some(next) {
                let (_, (receiver, bytes)) = self.air.pop_first().unwrap();
                self.put(receiver, Input::Frame { bytes: &bytes, quality: u8::MAX });
            } else if let Some((_, index)) = waking {
                self.put(index, Input::Timeout);
            }
        }
    }

    pub fn node(&self, index: usize) -> &Member<U> {
        self.nodes[index].as_ref().expect("it is up")
    }
}

/// What an application did, in the order of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Sent {
        to: usize,
    },
    Heard {
        from: usize,
    },
    /// Its state was recorded.
    Recorded,
    /// Letters to that node may have been lost.
    GaveUp {
        to: usize,
    },
}

/// What all applications did: node and event.
pub type Log = Rc<RefCell<Vec<(usize, Event)>>>;

/// An application of which everything is written down.
#[derive(Clone, Debug)]
pub struct Traced<A> {
    pub inner: A,
    pub index: usize,
    pub log: Log,
}

impl<A: Application> Application for Traced<A> {
    type Message = A::Message;
    type Command = A::Command;

    fn handle(&mut self, cx: &Context<'_>, input: algorithm::Input<A::Message, A::Command>) {
        if let algorithm::Input::Message { from, .. } = &input {
            let from = usize::try_from(from.0).unwrap() - 1;
            self.log.borrow_mut().push((self.index, Event::Heard { from }));
        }
        if let algorithm::Input::Fact(Fact::PeerDown(set)) = &input {
            self.log.borrow_mut().extend(set.slots().map(|to| (self.index, Event::GaveUp { to })));
        }
        self.inner.handle(cx, input);
    }

    fn speak(&mut self, cx: &Context<'_>) -> Option<(NodeSet, A::Message)> {
        let said = self.inner.speak(cx);
        if let Some((to, _)) = &said {
            self.log.borrow_mut().extend(to.slots().map(|to| (self.index, Event::Sent { to })));
        }
        said
    }

    fn is_busy(&self) -> bool {
        self.inner.is_busy()
    }

    fn record(&self, cx: &Context<'_>) -> Option<Record> {
        let record = self.inner.record(cx);
        if record.is_some() {
            self.log.borrow_mut().push((self.index, Event::Recorded));
        }
        record
    }

    fn item(&self, cx: &Context<'_>, from: NodeId, message: &A::Message) -> Item {
        self.inner.item(cx, from, message)
    }

    fn job(&self) -> u32 {
        self.inner.job()
    }

    fn finish(&mut self, job: u32) {
        self.inner.finish(job);
    }

    fn deadline(&self) -> Option<Instant> {
        self.inner.deadline()
    }
}

/// One cut through everything that happened.
pub struct Cut {
    /// How many messages one node had sent to the other.
    pub sent: Vec<Vec<usize>>,
    /// How many messages of one node the other had heard.
    pub heard: Vec<Vec<usize>>,
    /// Whether letters of one node to the other may have been lost.
    pub lossy: Vec<Vec<bool>>,
}

impl Cut {
    /// The cut where each node's state was recorded the `nth` time.
    pub fn new(log: &Log, count: usize, nth: impl Fn(usize) -> usize) -> Self {
        let table = || vec![vec![0; count]; count];
        let mut cut = Self { sent: table(), heard: table(), lossy: vec![vec![false; count]; count] };
        let mut recorded = vec![0; count];
        for &(node, event) in log.borrow().iter() {
            if recorded[node] > nth(node) {
                continue;
            }
            match event {
                Event::Sent { to } => cut.sent[node][to] += 1,
                Event::Heard { from } => cut.heard[from][node] += 1,
                Event::Recorded => recorded[node] += 1,
                Event::GaveUp { to } => cut.lossy[node][to] = true,
            }
        }
        cut
    }
}
