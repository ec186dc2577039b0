//! Suites by themselves, joined by channels that deliver in order, or do not: no node, no link, no frames. Everything that can
//! happen next is drawn from a seed.

use protocol::algorithm::{Context, Fact, Input, Outbox, Output};
use protocol::clock::Stamp;
use protocol::dice::Dice;
use protocol::group::Roster;
use protocol::upper::Upper;
use protocol::{Instant, NodeId, NodeSet, Span, Timing};
use std::collections::{BTreeMap, VecDeque};

/// How many letters of one node may be on their way before it has to wait.
const ROOM: usize = 4;

/// Nodes with something on top and nothing below.
pub struct Bench<U: Upper> {
    pub now: Instant,
    pub uppers: Vec<U>,
    pub channels: BTreeMap<(usize, usize), VecDeque<U::Message>>,
    pub told: Vec<(usize, U::Notice)>,
    pub dice: Dice,
    /// Whether channels keep the order of messages.
    pub in_order: bool,
    /// Channels on which nothing arrives.
    pub stuck: Vec<(usize, usize)>,
    /// How many messages were sent, to each receiver.
    pub sent: usize,
    /// Members that do not count at present.
    pub excluded: NodeSet,
    roster: Roster<32>,
    down: NodeSet,
}

impl<U: Upper> Bench<U> {
    pub fn new(count: usize, seed: u64, make: impl Fn(usize) -> U) -> Self {
        let mut roster = Roster::new();
        for name in 1..=count {
            roster.insert(NodeId(u32::try_from(name).unwrap()));
        }
        let mut uppers: Vec<U> = (0..count).map(make).collect();
        for upper in &mut uppers {
            upper.resume(1);
        }
        Self {
            now: Instant::from_micros(1),
            uppers,
            channels: BTreeMap::new(),
            told: Vec::new(),
            dice: Dice::new(seed),
            in_order: true,
            stuck: Vec::new(),
            sent: 0,
            excluded: NodeSet::EMPTY,
            roster,
            down: NodeSet::EMPTY,
        }
    }

    pub fn draw(&mut self, sides: usize) -> usize {
        self.dice.throw() as usize % sides
    }

    /// A step of one node, and then whatever it has to say.
    pub fn step(&mut self, index: usize, input: Input<U::Message, U::Command>) {
        self.act(index, |upper, cx, out| {
            upper.handle(cx, input, out);
            true
        });
        self.speak(index);
    }

    pub fn speak(&mut self, index: usize) {
        let room = ROOM * (self.uppers.len() - 1);
        let waiting = |bench: &Self| -> usize {
            bench.channels.iter().filter(|((from, _), _)| *from == index).map(|(_, letters)| letters.len()).sum()
        };
        while waiting(self) < room && self.act(index, U::speak) {}
    }

    /// Tells everybody else that a node is down.
    pub fn lose(&mut self, index: usize) {
        let set = NodeSet::slot(index);
        self.down = self.down.with(set);
        for other in (0..self.uppers.len()).filter(|&other| other != index) {
            self.channels.remove(&(other, index));
            self.step(other, Input::Fact(Fact::PeerDown(set)));
        }
    }

    fn act(
        &mut self,
        index: usize,
        step: impl FnOnce(&mut U, &Context<'_>, &mut Outbox<U::Message, U::Notice>) -> bool,
    ) -> bool {
        let peers = self.roster.view().all().without(NodeSet::slot(index));
        let cx = Context {
            now: self.now,
            uptime: Span::from_secs(60),
            me: NodeId(u32::try_from(index).unwrap() + 1),
            standing: None,
            roster: self.roster.view(),
            peers,
            up: peers.without(self.down),
            near: peers,
            better: NodeSet::EMPTY,
            rival: None,
            view: self.roster.view().all().without(self.excluded),
            stamp: Stamp(1),
            random: self.dice.throw(),
            timing: &Timing::RADIO,
        };
        let mut out = Outbox::new();
        let spoken = step(&mut self.uppers[index], &cx, &mut out);
        assert!(!out.overflowed());
        for output in out.outputs() {
            match output {
                Output::Send { to, message } => {
                    for to in to.slots() {
                        self.sent += 1;
                        self.channels.entry((index, to)).or_default().push_back(message.clone());
                    }
                }
                Output::Notify(notice) => self.told.push((index, notice.clone())),
            }
        }
        spoken
    }

    /// Lets one thing happen: somebody waits no longer, or a message arrives a little later. Whether anything did.
    pub fn happen(&mut self) -> bool {
        let open: Vec<(usize, usize)> =
            self.channels.iter().filter(|(_, letters)| !letters.is_empty()).map(|(&way, _)| way).collect();
        let open: Vec<_> = open.into_iter().filter(|way| !self.stuck.contains(way)).collect();
        let waking = (0..self.uppers.len()).filter_map(|index| Some((self.uppers[index].deadline()?, index))).min();
        let arrives = !open.is_empty() && waking.is_none_or(|(at, _)| at > self.now);
        if arrives {
            let (from, to) = open[self.draw(open.len())];
            self.now = self.now.after(Span::from_micros(self.dice.throw() % 5_000));
            let in_order = self.in_order;
            let at = if in_order {
                0
            } else {
                let len = self.channels[&(from, to)].len();
                self.draw(len)
            };
            let message = self.channels.get_mut(&(from, to)).unwrap().remove(at).unwrap();
            let from_id = NodeId(u32::try_from(from).unwrap() + 1);
            self.step(to, Input::Message { from: from_id, stamp: Stamp(0), message });
            self.speak(from);
            return true;
        }
        let Some((at, index)) = waking else { return false };
        self.now = self.now.max(at);
        self.step(index, Input::Timeout);
        true
    }
}
