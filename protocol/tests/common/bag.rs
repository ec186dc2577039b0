//! Locks by themselves: no link, no election, and letters that arrive in any order, each exactly once.

use protocol::algorithm::{Context, Fact, Input, Outbox, Output};
use protocol::clock::{Clock, Stamp};
use protocol::dice::Dice;
use protocol::group::Roster;
use protocol::mutex::{Command, Fence, LockId, Mutex, Notice};
use protocol::wire::Message;
use protocol::{Instant, NodeId, NodeSet, Span, Timing};
use std::collections::BTreeMap;

/// A letter on its way: from whom, to whom, when by the writer's clock, and what.
pub type Letter<M> = (usize, usize, Stamp, M);

/// The order in which letters arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Those of one writer to one reader as they were written.
    Fifo,
    /// Any.
    Any,
}

/// Members with a lock, numbered from 0, and the letters between them.
pub struct Bag<M: Mutex> {
    pub now: Instant,
    pub nodes: Vec<M>,
    pub letters: Vec<Letter<M::Message>>,
    pub told: Vec<(usize, Notice)>,
    /// How many letters were written, by their words.
    pub said: BTreeMap<&'static str, usize>,
    pub down: NodeSet,
    born: Vec<Instant>,
    timing: Timing,
    clocks: Vec<Clock>,
    order: Order,
    dice: Dice,
}

impl<M: Mutex> Bag<M> {
    /// Nodes that have been up for long.
    pub fn new(nodes: Vec<M>, order: Order, seed: u64) -> Self {
        Self {
            now: Instant::from_micros(60_000_000),
            clocks: vec![Clock::default(); nodes.len()],
            born: vec![Instant::ZERO; nodes.len()],
            nodes,
            letters: Vec::new(),
            told: Vec::new(),
            said: BTreeMap::new(),
            down: NodeSet::EMPTY,
            timing: Timing::RADIO,
            order,
            dice: Dice::new(seed),
        }
    }

    /// A number below `sides`.
    pub fn draw(&mut self, sides: usize) -> usize {
        self.dice.throw() as usize % sides
    }

    /// Takes one step of one node.
    pub fn step(&mut self, index: usize, input: Input<M::Message, Command>) {
        let mut roster = Roster::<64>::new();
        for id in 0..self.nodes.len() {
            roster.insert(NodeId(u32::try_from(id).unwrap()));
        }
        let asked = matches!(input, Input::Command(_));
        let peers = roster.view().all().without(NodeSet::slot(index));
        let stamp = Stamp(self.clocks[index].reading().0 + 1);
        let cx = Context {
            now: self.now,
            uptime: self.now.since(self.born[index]),
            me: NodeId(u32::try_from(index).unwrap()),
            standing: None,
            roster: roster.view(),
            peers,
            up: peers.without(self.down),
            near: peers,
            better: NodeSet::EMPTY,
            rival: None,
            view: roster.view().all(),
            stamp,
            random: self.dice.throw(),
            timing: &self.timing,
        };
        let mut out = Outbox::new();
        self.nodes[index].handle(&cx, input, &mut out);
        assert!(!out.overflowed(), "node {index} says too much at once");
        if asked {
            self.clocks[index].hear(stamp);
        }
        for output in out {
            match output {
                Output::Send { to, message } => {
                    self.clocks[index].hear(stamp);
                    assert!(to.without(peers).is_empty(), "letters to oneself do not exist");
                    for slot in to.slots() {
                        *self.said.entry(message.word()).or_default() += 1;
                        self.letters.push((index, slot, stamp, message.clone()));
                    }
                }
                Output::Notify(notice) => self.told.push((index, notice)),
            }
        }
        let floor = self.nodes[index].floor();
        self.clocks[index].hear(floor);
    }

    /// Delivers one letter, if there is any; with [`Order::Fifo`] the first between the two.
    pub fn deliver(&mut self) -> bool {
        if self.letters.is_empty() {
            return false;
        }
        let drawn = self.draw(self.letters.len());
        let (from, to, ..) = self.letters[drawn];
        let first = self.letters.iter().position(|&(a, b, ..)| (a, b) == (from, to)).unwrap();
        self.deliver_at(if self.order == Order::Fifo { first } else { drawn });
        true
    }

    /// Delivers the first letter from one to the other.
    pub fn carry(&mut self, from: usize, to: usize) {
        let at = self.letters.iter().position(|&(a, b, ..)| (a, b) == (from, to));
        self.deliver_at(at.unwrap_or_else(|| panic!("no letter from {from} to {to}")));
    }

    fn deliver_at(&mut self, at: usize) {
        let (from, to, stamp, message) = self.letters.remove(at);
        if self.down.meets(NodeSet::slot(to)) {
            return;
        }
        self.clocks[to].hear(stamp);
        self.step(to, Input::Message { from: NodeId(u32::try_from(from).unwrap()), stamp, message });
    }

    /// Delivers everything.
    pub fn settle(&mut self) {
        while self.deliver() {}
    }

    /// Lets time pass until the next deadline, if that is not later than `end`, and says whether there was one.
    pub fn wait(&mut self, end: Instant) -> bool {
        let up = (0..self.nodes.len()).filter(|&index| !self.down.meets(NodeSet::slot(index)));
        let next = up.filter_map(|index| Some((self.nodes[index].deadline()?, index))).min();
        let Some((at, index)) = next.filter(|&(at, _)| at <= end) else { return false };
        self.now = self.now.max(at);
        self.step(index, Input::Timeout);
        true
    }

    /// Lets `span` pass, delivering everything at once.
    pub fn run(&mut self, span: Span) {
        let end = self.now.after(span);
        loop {
            self.settle();
            if !self.wait(end) {
                break;
            }
        }
        self.now = end;
    }

    pub fn command(&mut self, index: usize, command: Command) {
        self.step(index, Input::Command(command));
    }

    /// A node starts anew: it has forgotten all but the highest number it agreed to.
    pub fn restart(&mut self, index: usize, mut fresh: M) {
        fresh.resume(self.clocks[index].reading());
        self.nodes[index] = fresh;
        self.born[index] = self.now;
        self.letters.retain(|&(from, to, ..)| from != index && to != index);
        let set = NodeSet::slot(index);
        for other in (0..self.nodes.len()).filter(|&other| other != index) {
            self.step(other, Input::Fact(Fact::PeerReset(set)));
            self.step(other, Input::Fact(Fact::PeerUp(set)));
        }
    }

    /// Nodes go down, and the others hear of it.
    pub fn crash(&mut self, index: usize) {
        let set = NodeSet::slot(index);
        self.down = self.down.with(set);
        for other in (0..self.nodes.len()).filter(|&other| other != index) {
            if !self.down.meets(NodeSet::slot(other)) {
                self.step(other, Input::Fact(Fact::PeerDown(set)));
            }
        }
    }

    /// Who holds `lock`, and under which fence. Never two.
    pub fn holder(&self, lock: LockId) -> Option<(usize, Fence)> {
        let held = |index: usize| Some((index, self.nodes[index].holds(lock, self.now)?));
        let holders: Vec<_> = (0..self.nodes.len()).filter_map(held).collect();
        assert!(holders.len() <= 1, "{holders:?}");
        holders.first().copied()
    }

    /// How many letters were written.
    pub fn count(&self) -> usize {
        self.said.values().sum()
    }
}

/// What a contest of all nodes for one lock came to.
#[derive(Clone, Debug, Default)]
pub struct Contest {
    /// Who entered, in order.
    pub entered: Vec<usize>,
    pub letters: usize,
}

/// Every node wants the lock `rounds` times, all at once; letters arrive in any order and take no time. Each enters so
/// often, never two at a time, each under a higher fence than the one before, within `patience`.
pub fn contend<M: Mutex>(bag: &mut Bag<M>, lock: LockId, rounds: usize, patience: Span) -> Contest {
    let count = bag.nodes.len();
    let (mut left, mut asked) = (vec![rounds; count], vec![false; count]);
    let (mut contest, mut last) = (Contest::default(), Fence::ZERO);
    let mut inside = None;
    let end = bag.now.after(patience);
    while left.iter().any(|&left| left > 0) {
        let index = bag.draw(count);
        match bag.draw(4) {
            0 if !asked[index] && left[index] > 0 => {
                asked[index] = true;
                bag.command(index, Command::Acquire { lock, lease: bag.timing.lock_lease });
            }
            1 if inside.is_some() => {
                let holder: usize = inside.take().unwrap();
                asked[holder] = false;
                left[holder] -= 1;
                bag.command(holder, Command::Release { lock });
            }
            _ if bag.deliver() => {}
            _ if inside.is_some() || (0..count).any(|index| !asked[index] && left[index] > 0) => {}
            _ => assert!(bag.wait(end), "stuck after {:?}: {:?}", contest.entered, bag.said),
        }
        let holder = bag.holder(lock);
        if let (None, Some((holder, fence))) = (inside, holder) {
            assert!(fence > last, "{holder} entered under {fence:?} after {last:?}");
            last = fence;
            contest.entered.push(holder);
        }
        inside = holder.map(|(holder, _)| holder);
    }
    contest.letters = bag.count();
    contest
}
