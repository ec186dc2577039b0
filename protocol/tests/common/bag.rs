//! Locks by themselves: no link, no election, and letters that arrive in any order, each exactly once.

use protocol::algorithm::{Context, Fact, Input, Outbox, Output};
use protocol::clock::{Clock, Stamp};
use protocol::dice::Dice;
use protocol::group::Roster;
use protocol::mutex::{Command, Fence, LockId, Mutex, Notice};
use protocol::wire::Message;
use protocol::{Instant, NodeId, NodeSet, Span, Timing};
use std::collections::BTreeMap;

/// A letter on its way: from whom, to whom, when by the writer's clock, and what; nothing, where it is but the first sign
/// of a node that has started anew.
pub type Letter<M> = (usize, usize, Stamp, Option<M>);

/// The order in which letters arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Those of one writer to one reader as they were written.
    Fifo,
    /// Any.
    Any,
    /// Any, and some arrive twice.
    Twice,
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
    /// Whom each node suspects to be down.
    pub suspects: Vec<NodeSet>,
    /// By how many ten-thousandths each node's clock is fast.
    pub drift: Vec<i64>,
    born: Vec<Instant>,
    pub timing: Timing,
    clocks: Vec<Clock>,
    order: Order,
    dice: Dice,
}

impl<M: Mutex> Bag<M> {
    /// Nodes that have been up for long.
    pub fn new(nodes: Vec<M>, order: Order, seed: u64) -> Self {
        let count = nodes.len();
        Self {
            now: Instant::from_micros(60_000_000),
            clocks: vec![Clock::default(); count],
            born: vec![Instant::ZERO; count],
            nodes,
            letters: Vec::new(),
            told: Vec::new(),
            said: BTreeMap::new(),
            down: NodeSet::EMPTY,
            suspects: vec![NodeSet::EMPTY; count],
            drift: vec![0; count],
            timing: Timing::RADIO,
            order,
            dice: Dice::new(seed),
        }
    }

    /// A number below `sides`.
    pub fn draw(&mut self, sides: usize) -> usize {
        self.dice.throw() as usize % sides
    }

    /// The time by a node's own clock.
    pub fn local(&self, index: usize) -> Instant {
        let fast = i64::try_from(self.now.as_micros()).unwrap() * self.drift[index] / 10_000;
        Instant::from_micros(self.now.as_micros().checked_add_signed(fast).unwrap())
    }

    /// When it will be `local` by a node's own clock, or a little later.
    fn global(&self, index: usize, local: Instant) -> Instant {
        let pace = u64::try_from(10_000 + self.drift[index]).unwrap();
        Instant::from_micros((local.as_micros().min(1 << 48) * 10_000).div_ceil(pace) + 1)
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
            now: self.local(index),
            uptime: self.local(index).since(self.born[index]),
            me: NodeId(u32::try_from(index).unwrap()),
            standing: None,
            roster: roster.view(),
            peers,
            up: peers.without(self.down).without(self.suspects[index]),
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
                        self.letters.push((index, slot, stamp, Some(message.clone())));
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
        if self.order == Order::Twice && self.draw(5) == 0 {
            self.letters.push(self.letters[drawn].clone());
        }
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
        let Some(message) = message else {
            self.forget(to, from, 50);
            self.suspects[to] = self.suspects[to].without(NodeSet::slot(from));
            self.step(to, Input::Fact(Fact::PeerReset(NodeSet::slot(from))));
            self.step(to, Input::Fact(Fact::PeerUp(NodeSet::slot(from))));
            return;
        };
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
        let next = up.filter_map(|index| Some((self.global(index, self.nodes[index].deadline()?), index))).min();
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
        self.born[index] = self.local(index);
        self.suspects[index] = NodeSet::EMPTY;
        for other in (0..self.nodes.len()).filter(|&other| other != index) {
            self.letters.push((index, other, Stamp(0), None));
        }
    }

    /// Gives up letters from one to the other, some percent of them; the others keep their order.
    fn forget(&mut self, from: usize, to: usize, percent: usize) {
        let dice = &mut self.dice;
        let mut lost = || dice.throw() as usize % 100 < percent;
        self.letters.retain(|letter| (letter.0, letter.1) != (from, to) || letter.3.is_none() || !lost());
    }

    /// One node begins to suspect another: its letters are given up.
    pub fn suspect(&mut self, index: usize, other: usize) {
        let set = NodeSet::slot(other);
        self.forget(index, other, 70);
        self.suspects[index] = self.suspects[index].with(set);
        self.step(index, Input::Fact(Fact::PeerDown(set)));
    }

    /// One node suspects another no more. What it wrote meanwhile may be lost.
    pub fn trust(&mut self, index: usize, other: usize) {
        let set = NodeSet::slot(other);
        self.forget(index, other, 70);
        self.suspects[index] = self.suspects[index].without(set);
        self.step(index, Input::Fact(Fact::PeerUp(set)));
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
        let held = |index: usize| Some((index, self.nodes[index].holds(lock, self.local(index))?));
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

/// Nodes ask, give back, renew and cancel; restart, are suspected without reason, sleep through deadlines; letters are late
/// and given up; clocks differ by 2 %. Never two hold a lock, and fences grow. When all that is over, everybody who waits is
/// served.
pub fn afflict<M: Mutex + Clone>(make: &M, count: usize, seed: u64) {
    let mut bag = Bag::new(vec![make.clone(); count], Order::Fifo, seed);
    let locks = ["door", "window"].map(LockId::from_name);
    bag.drift = (0..count).map(|_| i64::try_from(bag.draw(201)).unwrap() - 100).collect();
    let mut judge = Judge::default();
    let restarts = bag.draw(4);
    for _ in 0..restarts {
        afflict_once(&mut bag, &locks, &mut judge);
        let index = bag.draw(count);
        bag.restart(index, make.clone());
    }
    afflict_once(&mut bag, &locks, &mut judge);
    let mut waiting: Vec<(usize, LockId)> = (0..count).flat_map(|index| locks.map(|lock| (index, lock))).collect();
    for &(index, lock) in &waiting {
        bag.command(index, Command::Cancel { lock });
        bag.command(index, Command::Release { lock });
    }
    let mut heard = bag.told.len();
    for &(index, lock) in &waiting {
        bag.command(index, Command::Acquire { lock, lease: Span::from_secs(2) });
    }
    for _ in 0..3 * count {
        bag.deliver();
    }
    for (index, other) in (0..count).flat_map(|index| (0..count).map(move |other| (index, other))) {
        if bag.suspects[index].meets(NodeSet::slot(other)) {
            bag.trust(index, other);
        }
    }
    // From now on nothing goes wrong.
    let end = bag.now.after(Span::from_secs(200));
    while !waiting.is_empty() {
        if !bag.deliver() {
            assert!(bag.wait(end), "seed {seed}: {waiting:?} wait for ever");
        }
        judge.look(&bag, &locks);
        while let Some(&(index, notice)) = bag.told.get(heard) {
            heard += 1;
            match notice {
                Notice::Acquired { lock, .. } => {
                    waiting.retain(|&waiting| waiting != (index, lock));
                    bag.command(index, Command::Release { lock });
                }
                Notice::Refused { .. } | Notice::Lost { .. } => panic!("seed {seed}: node {index}: {notice:?}"),
                Notice::Waiting { .. } | Notice::Expiring { .. } | Notice::Released { .. } => {}
            }
        }
    }
}

/// Some seconds in which much goes wrong.
fn afflict_once<M: Mutex>(bag: &mut Bag<M>, locks: &[LockId], judge: &mut Judge) {
    let count = bag.nodes.len();
    for _ in 0..150 {
        let (index, other) = (bag.draw(count), bag.draw(count));
        let lock = locks[bag.draw(locks.len())];
        let lease = Span::from_millis(u32::try_from(200 + bag.draw(4_800)).unwrap());
        match bag.draw(14) {
            0 | 1 => bag.command(index, Command::Acquire { lock, lease }),
            2 => bag.command(index, Command::Try { lock, lease }),
            3 => bag.command(index, Command::Renew { lock, lease }),
            4 => bag.command(index, Command::Release { lock }),
            5 if bag.draw(4) == 0 => bag.command(index, Command::Cancel { lock }),
            6 if index != other && bag.draw(3) == 0 => bag.suspect(index, other),
            7 if bag.suspects[index].meets(NodeSet::slot(other)) => bag.trust(index, other),
            // Time passes, and deadlines with it: all at once, or those that sleep notice later.
            8 => {
                let end = bag.now.after(Span::from_millis(u32::try_from(bag.draw(20) * bag.draw(20)).unwrap()));
                while bag.draw(10) > 0 && bag.wait(end) {
                    judge.look(bag, locks);
                }
                bag.now = bag.now.max(end);
            }
            _ => {
                for _ in 0..count {
                    bag.deliver();
                    judge.look(bag, locks);
                }
            }
        }
        judge.look(bag, locks);
    }
}

/// Sees to it that never two hold a lock, and that every grant has a higher fence than those before.
#[derive(Default)]
struct Judge {
    last: BTreeMap<LockId, (usize, Fence)>,
    grants: usize,
}

impl Judge {
    fn look<M: Mutex>(&mut self, bag: &Bag<M>, locks: &[LockId]) {
        for &lock in locks {
            let Some(held) = bag.holder(lock) else { continue };
            if let Some(before) = self.last.insert(lock, held).filter(|&before| before != held) {
                assert!(held.1 > before.1, "{held:?} after {before:?}");
                self.grants += 1;
            }
        }
    }
}
