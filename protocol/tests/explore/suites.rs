//! The search: every state of three nodes with an application on top and the letters between them.
//!
//! A state is three numbers of nodes, one number for what is on the way between every two of them, and what an onlooker
//! remembers. Time stands still, and whatever waits for nothing but a moment may happen at any. The search is breadth
//! first, so that what it finds wrong is told in the fewest steps.

use crate::actors::{Actors, Event, Explored, Letter, NODES, NOW, Step};
use crate::fingerprint::Fingerprints;
use crate::numbered::Numbered;
use protocol::snapshot::{self, Part};
use protocol::{suite, termination};
use std::collections::HashSet;
use std::hash::BuildHasher;

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
    actors: Actors<U>,
    ways: Numbered<Vec<u32>>,
    pasts: Numbered<Past>,
    states: Vec<State>,
    before: Vec<(usize, Option<(usize, Event)>)>,
    seen: HashSet<u64, Fingerprints>,
}

impl<U: Explored> Explorer<U> {
    /// Of three nodes that are asked `command`.
    pub(crate) fn new(bounds: Bounds, command: U::Command) -> Self {
        Self {
            bounds,
            actors: Actors::new(bounds.eager, command),
            ways: Numbered::new(),
            pasts: Numbered::new(),
            states: Vec::new(),
            before: Vec::new(),
            seen: HashSet::default(),
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
            self.actors.enter(node, upper)
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
            state.nodes[0] = self.actors.begin(state.nodes[0], command);
        }
        state
    }

    fn visit(&mut self, state: State, from: usize, by: Option<(usize, Event)>) {
        if self.seen.insert(Fingerprints::default().hash_one(state)) {
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
            if self.actors.get(number).deadline().is_some_and(|at| at <= NOW) {
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

    /// The state after an event at a node; `None` beyond the bounds.
    fn follow(&mut self, state: &State, node: usize, event: Event, draw: u32) -> Result<Option<State>, &'static str> {
        let Step { local, says, told } = self.actors.step(state.nodes[node], event, draw);
        let mut next = *state;
        let mut past = *self.pasts.get(state.past);
        if let Event::Hear(letter) = event {
            let way = self.actors.letter(letter).from * NODES + node;
            let mut letters = self.ways.get(next.ways[way]).clone();
            let place = letters.iter().position(|&other| other == letter).expect("it is on the way");
            letters.remove(place);
            next.ways[way] = self.ways.number(letters);
        }
        past.asked[node] |= event == Event::Ask;
        next.nodes[node] = local;
        for letter in says {
            let Letter { from, to, message } = self.actors.letter(letter);
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
        if self.actors.get(local).is_beyond() {
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
                if state.nodes.iter().any(|&number| self.actors.get(number).is_busy()) {
                    return Err("the end is told while somebody works");
                }
                let letters = state.ways.iter().flat_map(|&way| self.ways.get(way));
                if letters.into_iter().any(|&letter| U::is_work(&self.actors.letter(letter).message)) {
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
                let Letter { from, to, message } = self.actors.letter(number);
                format!("{to} hears {from} say {message:?}")
            }
            event => format!("{node}: {event:?}"),
        };
        Broken { why, steps: moves.into_iter().rev().map(describe).collect() }
    }
}
