//! Three nodes with an application on top: what each makes of whatever happens to it.
//!
//! A node's step depends on nothing but the node and what it is told, so each is taken once and looked up from then on.

use crate::fingerprint::Fingerprints;
use protocol::algorithm::{Context, Input, Outbox, Output};
use protocol::application::Application;
use protocol::clock::Stamp;
use protocol::group::Roster;
use protocol::suite::{self, Suite};
use protocol::termination::Detection;
use protocol::upper::Upper;
use protocol::{Instant, NodeId, NodeSet, Span, Timing};
use std::collections::HashMap;
use std::fmt::Debug;

pub(crate) const NODES: usize = 3;

/// Long after everybody started.
pub(crate) const NOW: Instant = Instant::from_micros(60_000_000);

/// Waves follow each other without a pause; nobody loses patience.
const TIMING: Timing = Timing { probe: Span::ZERO, ..Timing::RADIO };

/// What is explored: an application and what watches it.
pub(crate) trait Explored: Upper<Message: Debug, Command: Copy, Notice = suite::Notice> + Clone + Debug {
    /// Whether its application works.
    fn is_busy(&self) -> bool;
    /// Whether this is of the application.
    fn is_work(message: &Self::Message) -> bool;
    /// Whether this is not followed any further.
    fn is_beyond(&self) -> bool;
}

impl<A, D, const N: usize> Explored for Suite<A, D, N>
where
    A: Application<Message: Debug, Command: Copy> + Clone + Debug,
    D: Detection<Message: Debug> + Watched + Clone + Debug,
{
    fn is_busy(&self) -> bool {
        self.application().is_busy()
    }

    fn is_work(message: &Self::Message) -> bool {
        matches!(message, suite::Message::Application(_))
    }

    fn is_beyond(&self) -> bool {
        self.detection().waves() > WAVES_MAX
    }
}

/// How many waves are followed.
const WAVES_MAX: u32 = 3;

/// A detection, and how many waves it has sent.
pub(crate) trait Watched {
    fn waves(&self) -> u32 {
        0
    }
}

/// What happens to a node, and what its application draws meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Event {
    Timeout,
    /// It may say one thing.
    Speak,
    Ask,
    Hear(u32),
}

/// Said by one node to another.
pub(crate) struct Letter<M> {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) message: M,
}

/// What a node makes of an event.
#[derive(Clone)]
pub(crate) struct Step {
    pub(crate) local: u32,
    pub(crate) says: Vec<u32>,
    pub(crate) told: Vec<suite::Notice>,
}

/// All nodes there were in any state, and all that was ever said.
pub(crate) struct Actors<U: Explored> {
    /// Whether everybody says at once what it has to say.
    eager: bool,
    /// What is asked.
    command: U::Command,
    roster: Roster<NODES>,
    locals: Vec<U>,
    /// Which of the three each is.
    nodes: Vec<usize>,
    /// The locals by all that can be seen of them.
    numbers: HashMap<(usize, String), u32, Fingerprints>,
    letters: Vec<Letter<U::Message>>,
    said: HashMap<(usize, usize, String), u32, Fingerprints>,
    steps: HashMap<(u32, Event, u32), Step, Fingerprints>,
}

pub(crate) fn id(index: usize) -> NodeId {
    NodeId(u32::try_from(index).unwrap() + 1)
}

impl<U: Explored> Actors<U> {
    pub(crate) fn new(eager: bool, command: U::Command) -> Self {
        let mut roster = Roster::new();
        (0..NODES).for_each(|index| _ = roster.insert(id(index)));
        Self {
            eager,
            command,
            roster,
            locals: Vec::new(),
            nodes: Vec::new(),
            numbers: HashMap::default(),
            letters: Vec::new(),
            said: HashMap::default(),
            steps: HashMap::default(),
        }
    }

    pub(crate) fn get(&self, number: u32) -> &U {
        &self.locals[number as usize]
    }

    pub(crate) fn letter(&self, number: u32) -> &Letter<U::Message> {
        &self.letters[number as usize]
    }

    /// A node is asked something before all begins.
    pub(crate) fn begin(&mut self, number: u32, command: U::Command) -> u32 {
        let node = self.nodes[number as usize];
        let (mut upper, mut out) = (self.get(number).clone(), Outbox::new());
        upper.handle(&self.context(node, 0), Input::Command(command), &mut out);
        assert!(out.outputs().is_empty(), "it only begins");
        self.enter(node, upper)
    }

    fn context(&self, node: usize, random: u32) -> Context<'_> {
        let roster = self.roster.view();
        let peers = roster.all().without(NodeSet::slot(node));
        Context {
            now: NOW,
            uptime: Span::from_secs(60),
            me: id(node),
            standing: None,
            roster,
            peers,
            up: peers,
            near: peers,
            better: NodeSet::EMPTY,
            rival: None,
            view: roster.all(),
            stamp: Stamp(0),
            random,
            timing: &TIMING,
        }
    }

    /// The number of a node that is this.
    pub(crate) fn enter(&mut self, node: usize, upper: U) -> u32 {
        let next = u32::try_from(self.locals.len()).unwrap();
        let number = *self.numbers.entry((node, format!("{upper:?}"))).or_insert(next);
        if number == next {
            self.locals.push(upper);
            self.nodes.push(node);
        }
        number
    }

    /// What a node makes of an event, and remembers making of it.
    pub(crate) fn step(&mut self, local: u32, event: Event, draw: u32) -> Step {
        if let Some(step) = self.steps.get(&(local, event, draw)) {
            return step.clone();
        }
        let node = self.nodes[local as usize];
        let mut upper = self.locals[local as usize].clone();
        let (mut says, mut told) = (Vec::new(), Vec::new());
        let mut out = Outbox::new();
        let mut spoken = true;
        match event {
            Event::Speak => spoken = upper.speak(&self.context(node, speech(draw)), &mut out),
            Event::Timeout => upper.handle(&self.context(node, draw & 1), Input::Timeout, &mut out),
            Event::Ask => upper.handle(&self.context(node, draw & 1), Input::Command(self.command), &mut out),
            Event::Hear(number) => {
                let Letter { from, message, .. } = &self.letters[number as usize];
                let input = Input::Message { from: id(*from), stamp: Stamp(0), message: message.clone() };
                upper.handle(&self.context(node, draw & 1), input, &mut out);
            }
        }
        self.take(node, &out, &mut says, &mut told);
        while self.eager && spoken {
            let mut out = Outbox::new();
            spoken = upper.speak(&self.context(node, speech(draw)), &mut out);
            self.take(node, &out, &mut says, &mut told);
        }
        let step = Step { local: self.enter(node, upper), says, told };
        self.steps.insert((local, event, draw), step.clone());
        step
    }

    fn take(
        &mut self,
        node: usize,
        out: &Outbox<U::Message, suite::Notice>,
        says: &mut Vec<u32>,
        told: &mut Vec<suite::Notice>,
    ) {
        assert!(!out.overflowed(), "a step says no more than it may");
        for output in out.outputs() {
            match output {
                Output::Send { to, message } => says.extend(to.slots().map(|to| self.post(node, to, message))),
                Output::Notify(notice) => told.push(notice.clone()),
            }
        }
    }

    fn post(&mut self, from: usize, to: usize, message: &U::Message) -> u32 {
        let next = u32::try_from(self.letters.len()).unwrap();
        let number = *self.said.entry((from, to, format!("{message:?}"))).or_insert(next);
        if number == next {
            self.letters.push(Letter { from, to, message: message.clone() });
        }
        number
    }
}

/// What an application draws when it speaks: one bit for whom, one for how much.
fn speech(draw: u32) -> u32 {
    (draw >> 1 & 1) | (draw >> 2 & 1) << 8
}
