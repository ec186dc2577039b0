//! The search: every state of three nodes with an application on top and the letters between them.
//!
//! A state is three numbers of nodes, one number for what is on the way between every two of them, and what an onlooker
//! remembers. Time stands still, and whatever waits for nothing but a moment may happen at any. The search is breadth
//! first, so that what it finds wrong is told in the fewest steps.

use crate::fingerprint::Fingerprints;
use crate::numbered::Numbered;
use protocol::algorithm::{Context, Input, Outbox, Output};
use protocol::application::Application;
use protocol::clock::Stamp;
use protocol::group::Roster;
use protocol::snapshot::{self, Part};
use protocol::suite::{self, Suite};
use protocol::termination::{self, Detection};
use protocol::upper::Upper;
use protocol::{Instant, NodeId, NodeSet, Span, Timing};
use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::BuildHasher;

pub(crate) const NODES: usize = 3;

/// Long after everybody started.
const NOW: Instant = Instant::from_micros(60_000_000);

/// Waves follow each other without a pause; nobody loses patience.
const TIMING: Timing = Timing { probe: Span::ZERO, ..Timing::RADIO };

/// No search is larger: it would take too long, or would not end.
const STATES_MAX: usize = 3_000_000;

/// How far the search follows, and what the network does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Who asks, at any moment, once.
    pub(crate) askers: &'static [usize],
    /// How many messages the applications send.
    pub(crate) sends: u8,
    /// Whether everybody says at once what it has to say, or at any moment.
    pub(crate) eager: bool,
    /// Whether the letters from one node to another arrive in order.
    pub(crate) in_order: bool,
    /// What an application may draw: the lowest bit while it takes a step, the others when it speaks.
    pub(crate) draws: &'static [u32],
    /// What all nodes' applications have together, if that never changes.
    pub(crate) sum: Option<u32>,
}

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
enum Event {
    Timeout,
    /// It may say one thing.
    Speak,
    Ask,
    Hear(u32),
}

/// Said by one node to another.
struct Letter<M> {
    from: usize,
    to: usize,
    message: M,
}

/// What a node makes of an event.
#[derive(Clone)]
struct Step {
    local: u32,
    says: Vec<u32>,
    told: Vec<suite::Notice>,
}

/// How a snapshot stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Picture {
    /// What all its pieces come to.
    sum: u32,
    taken: bool,
}

/// What an onlooker remembers of the past.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Past {
    sends: u8,
    asked: [bool; NODES],
    pictures: [Picture; NODES],
    /// Who was told of the end.
    ended: [bool; NODES],
}

/// Everything that tells one moment from another, by numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct State {
    nodes: [u32; NODES],
    ways: [u32; NODES * NODES],
    past: u32,
}

/// What was found out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figures {
    pub(crate) states: usize,
    /// In how many of them nothing is left to do within the bounds.
    pub(crate) last: usize,
    /// In how many of those every snapshot that was asked for was taken, or everybody was told of the end.
    pub(crate) complete: usize,
    /// From how many of them a step led beyond the bounds.
    pub(crate) cut: usize,
}

/// A run that must not be.
#[derive(Debug)]
pub(crate) struct Broken {
    pub(crate) why: &'static str,
    pub(crate) steps: Vec<String>,
}

/// A search through all states.
pub(crate) struct Explorer<U: Explored> {
    bounds: Bounds,
    /// What is asked.
    command: U::Command,
    roster: Roster<NODES>,
    locals: Vec<U>,
    /// The locals by all that can be seen of them.
    numbers: HashMap<(usize, String), u32, Fingerprints>,
    nodes: Vec<usize>,
    letters: Vec<Letter<U::Message>>,
    said: HashMap<(usize, usize, String), u32, Fingerprints>,
    steps: HashMap<(u32, Event, u32), Step, Fingerprints>,
    ways: Numbered<Vec<u32>>,
    pasts: Numbered<Past>,
    states: Vec<State>,
    before: Vec<(usize, Option<(usize, Event)>)>,
    seen: HashMap<u64, (), Fingerprints>,
}

pub(crate) fn id(index: usize) -> NodeId {
    NodeId(u32::try_from(index).unwrap() + 1)
}

impl<U: Explored> Explorer<U> {
    /// Of three nodes that are asked `command`.
    pub(crate) fn new(bounds: Bounds, command: U::Command) -> Self {
        let mut roster = Roster::new();
        (0..NODES).for_each(|index| _ = roster.insert(id(index)));
        Self {
            bounds,
            command,
            roster,
            locals: Vec::new(),
            numbers: HashMap::default(),
            nodes: Vec::new(),
            letters: Vec::new(),
            said: HashMap::default(),
            steps: HashMap::default(),
            ways: Numbered::new(),
            pasts: Numbered::new(),
            states: Vec::new(),
            before: Vec::new(),
            seen: HashMap::default(),
        }
    }

    /// Visits every state there is. Before that everybody starts and says what it has to say, and `begin` is asked of the
    /// first.
    pub(crate) fn explore(&mut self, make: impl Fn(usize) -> U, begin: Option<U::Command>) -> Result<Figures, Broken> {
        let first = self.prepare(make, begin);
        self.visit(first, 0, None);
        let mut figures = Figures { states: 0, last: 0, complete: 0, cut: 0 };
        while figures.states < self.states.len() {
            let at = figures.states;
            let (mut moved, mut cut) = (false, false);
            let state = self.states[at];
            for (node, event) in self.moves(&state) {
                for &draw in self.bounds.draws {
                    match self.follow(&state, node, event, draw) {
                        Ok(None) => cut = true,
                        Ok(Some(next)) if next == state => {}
                        Ok(Some(next)) => {
                            moved = true;
                            self.visit(next, at, Some((node, event)));
                        }
                        Err(why) => return Err(self.broken(why, at, (node, event))),
                    }
                }
            }
            figures.states += 1;
            figures.cut += usize::from(cut);
            if !moved && !cut {
                figures.last += 1;
                figures.complete += usize::from(self.is_complete(&state));
            }
        }
        Ok(figures)
    }

    /// Whether every snapshot that was asked for was taken, or everybody was told of the end.
    fn is_complete(&self, state: &State) -> bool {
        let past = self.pasts.get(state.past);
        match self.bounds.sum {
            Some(_) => (0..NODES).all(|node| !past.asked[node] || past.pictures[node].taken),
            None => past.ended == [true; NODES],
        }
    }

    /// The state in which everybody has started and heard of everybody.
    fn prepare(&mut self, make: impl Fn(usize) -> U, begin: Option<U::Command>) -> State {
        let nodes = std::array::from_fn(|node| {
            let mut upper = make(node);
            upper.resume(1);
            self.enter(node, upper)
        });
        let past = self.pasts.number(Past::default());
        let mut state = State { nodes, ways: [self.ways.number(Vec::new()); NODES * NODES], past };
        loop {
            let mut next = state;
            for node in 0..NODES {
                next = self.follow(&next, node, Event::Speak, 0).ok().flatten().expect("a beginning");
            }
            while let Some((node, event)) = self.moves(&next).into_iter().find(|(_, e)| matches!(e, Event::Hear(_))) {
                next = self.follow(&next, node, event, 0).ok().flatten().expect("a beginning");
            }
            if next == state {
                break;
            }
            state = next;
        }
        if let Some(command) = begin {
            let (mut upper, mut out) = (self.locals[state.nodes[0] as usize].clone(), Outbox::new());
            upper.handle(&self.context(0, 0), Input::Command(command), &mut out);
            assert!(out.outputs().is_empty(), "it only begins");
            state.nodes[0] = self.enter(0, upper);
        }
        state
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

    fn enter(&mut self, node: usize, upper: U) -> u32 {
        let next = u32::try_from(self.locals.len()).unwrap();
        let number = *self.numbers.entry((node, format!("{upper:?}"))).or_insert(next);
        if number == next {
            self.locals.push(upper);
            self.nodes.push(node);
        }
        number
    }

    fn visit(&mut self, state: State, from: usize, by: Option<(usize, Event)>) {
        if self.seen.insert(Fingerprints::default().hash_one(state), ()).is_none() {
            assert!(self.states.len() < STATES_MAX, "bounds that end: {:?}", self.bounds);
            self.states.push(state);
            self.before.push((from, by));
        }
    }

    /// Whatever can happen next.
    fn moves(&self, state: &State) -> Vec<(usize, Event)> {
        let mut moves = Vec::new();
        let past = self.pasts.get(state.past);
        for (node, &number) in state.nodes.iter().enumerate() {
            if self.locals[number as usize].deadline().is_some_and(|at| at <= NOW) {
                moves.push((node, Event::Timeout));
            }
            if !self.bounds.eager {
                moves.push((node, Event::Speak));
            }
            if self.bounds.askers.contains(&node) && !past.asked[node] {
                moves.push((node, Event::Ask));
            }
        }
        for (way, &number) in state.ways.iter().enumerate() {
            let letters = self.ways.get(number);
            let next = if self.bounds.in_order { &letters[..letters.len().min(1)] } else { letters };
            moves.extend(next.iter().map(|&letter| (way % NODES, Event::Hear(letter))));
        }
        moves
    }

    /// What a node makes of an event, and remembers making of it.
    fn step(&mut self, local: u32, event: Event, draw: u32) -> Step {
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
        while self.bounds.eager && spoken {
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
                Output::Send { to, message } => says.extend(to.slots().map(|to| self.letter(node, to, message))),
                Output::Notify(notice) => told.push(notice.clone()),
            }
        }
    }

    fn letter(&mut self, from: usize, to: usize, message: &U::Message) -> u32 {
        let next = u32::try_from(self.letters.len()).unwrap();
        let number = *self.said.entry((from, to, format!("{message:?}"))).or_insert(next);
        if number == next {
            self.letters.push(Letter { from, to, message: message.clone() });
        }
        number
    }

    /// The state after an event at a node; `None` beyond the bounds.
    fn follow(&mut self, state: &State, node: usize, event: Event, draw: u32) -> Result<Option<State>, &'static str> {
        let Step { local, says, told } = self.step(state.nodes[node], event, draw);
        let mut next = *state;
        let mut past = *self.pasts.get(state.past);
        if let Event::Hear(letter) = event {
            let way = self.letters[letter as usize].from * NODES + node;
            let mut letters = self.ways.get(next.ways[way]).clone();
            let place = letters.iter().position(|&other| other == letter).expect("it is on the way");
            letters.remove(place);
            next.ways[way] = self.ways.number(letters);
        }
        past.asked[node] |= event == Event::Ask;
        next.nodes[node] = local;
        for letter in says {
            let Letter { from, to, message } = &self.letters[letter as usize];
            past.sends += u8::from(U::is_work(message));
            let way = from * NODES + to;
            let mut letters = self.ways.get(next.ways[way]).clone();
            letters.push(letter);
            if !self.bounds.in_order {
                letters.sort_unstable();
            }
            next.ways[way] = self.ways.number(letters);
        }
        if past.sends > self.bounds.sends {
            return Ok(Some(*state)); // it sends no more
        }
        if self.locals[local as usize].is_beyond() {
            return Ok(None);
        }
        for notice in told {
            self.judge(&next, &mut past, node, notice)?;
        }
        next.past = self.pasts.number(past);
        Ok(Some(next))
    }

    /// What is wrong with what a node is told.
    fn judge(&self, state: &State, past: &mut Past, node: usize, notice: suite::Notice) -> Result<(), &'static str> {
        match notice {
            suite::Notice::Snapshot(snapshot::Notice::Part { part, .. }) => {
                let (Part::State { bytes, .. } | Part::Message { bytes, .. }) = part;
                past.pictures[node].sum += postcard::from_bytes::<u32>(&bytes).unwrap();
            }
            suite::Notice::Snapshot(snapshot::Notice::Taken { .. }) => {
                past.pictures[node].taken = true;
                if self.bounds.sum != Some(past.pictures[node].sum) {
                    return Err("the sum is not conserved");
                }
            }
            suite::Notice::Snapshot(snapshot::Notice::Aborted { .. }) if self.bounds.in_order => {
                return Err("a snapshot is aborted");
            }
            suite::Notice::Termination(termination::Notice::Terminated { .. }) => {
                past.ended[node] = true;
                if state.nodes.iter().any(|&number| self.locals[number as usize].is_busy()) {
                    return Err("the end is told while somebody works");
                }
                let letters = state.ways.iter().flat_map(|&way| self.ways.get(way));
                if letters.into_iter().any(|&letter| U::is_work(&self.letters[letter as usize].message)) {
                    return Err("the end is told while work is on its way");
                }
            }
            suite::Notice::Termination(termination::Notice::Aborted { .. }) => return Err("the end will not be found"),
            suite::Notice::Snapshot(snapshot::Notice::Recorded { .. } | snapshot::Notice::Aborted { .. })
            | suite::Notice::Clock(_) => {}
        }
        Ok(())
    }

    /// How it came to that.
    fn broken(&self, why: &'static str, mut at: usize, last: (usize, Event)) -> Broken {
        let mut moves = vec![last];
        while let (before, Some(step)) = self.before[at] {
            moves.push(step);
            at = before;
        }
        let describe = |(node, event): (usize, Event)| match event {
            Event::Hear(number) => {
                let Letter { from, to, message } = &self.letters[number as usize];
                format!("{to} hears {from} say {message:?}")
            }
            event => format!("{node}: {event:?}"),
        };
        Broken { why, steps: moves.into_iter().rev().map(describe).collect() }
    }
}

/// What an application draws when it speaks: one bit for whom, one for how much.
fn speech(draw: u32) -> u32 {
    (draw >> 1 & 1) | (draw >> 2 & 1) << 8
}
