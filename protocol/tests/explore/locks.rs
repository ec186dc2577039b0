//! The search: every state of three nodes with a lock and the network between them.
//!
//! A state is three numbers of nodes, one number for what is on the way between every two of them, and what an onlooker
//! remembers. The search is breadth first, so that what it finds wrong is told in the fewest steps.

use crate::bounds::{Bounds, Post};
use crate::cast::{Cast, Event, Explored, Known, NODES, Role};
use crate::fingerprint::Fingerprints;
use crate::numbered::Numbered;
use protocol::NodeSet;
use protocol::mutex::Fence;
use protocol::wire::{Delivery, Message};
use std::collections::HashMap;
use std::hash::BuildHasher;

#[path = "verdict.rs"]
mod verdict;

/// What an onlooker remembers of the past.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Past {
    highest: Fence,
    repeats: u8,
    suspicions: u8,
    crashes: u8,
    hour: u8,
}

/// No search is larger: it would take too long, or would not end.
const STATES_MAX: usize = 3_000_000;

/// Stands among the letters from a node that has started anew: whoever comes to it is told so.
const ANEW: u32 = u32::MAX;

/// Everything that tells one moment from another, by numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct State {
    nodes: [u32; NODES],
    /// What is on the way from each to each.
    ways: [u32; NODES * NODES],
    past: u32,
}

/// One way on from a state.
#[derive(Clone, Copy, Debug)]
enum Move {
    /// Something happens to a node.
    At(usize, Event),
    /// A letter arrives, and will once more.
    Repeat(u32),
    /// The first letter of a way is given up.
    Lose(usize),
    /// A node starts anew.
    Crash(usize),
    /// Time goes on for everybody.
    Hour,
}

/// What was found out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figures {
    pub(crate) states: usize,
    /// In how many of them somebody held the lock.
    pub(crate) held: usize,
    /// From how many of them a step led beyond the bounds.
    pub(crate) cut: usize,
    pub(crate) letters: usize,
}

/// A run that must not be.
#[derive(Debug)]
pub(crate) struct Broken {
    pub(crate) why: &'static str,
    pub(crate) steps: Vec<String>,
}

/// A search through all states.
pub(crate) struct Explorer<L: Explored> {
    bounds: Bounds,
    /// What each node starts with.
    fresh: [L; NODES],
    cast: Cast<L>,
    ways: Numbered<Vec<u32>>,
    pasts: Numbered<Past>,
    states: Vec<State>,
    /// Whence each state was reached first.
    before: Vec<(u32, Option<Move>)>,
    numbers: HashMap<u64, u32, Fingerprints>,
    /// The steps that are taken sometime, whoever asks for what: from where to where.
    certain: Vec<(u32, u32)>,
    cut: Vec<bool>,
}

impl<L: Explored> Explorer<L> {
    /// Of three nodes, each with the lock that is made for it.
    pub(crate) fn new(bounds: Bounds, lock: impl Fn(usize) -> L) -> Self {
        let leaders = [bounds.leader, bounds.successor.unwrap_or(bounds.leader)];
        Self {
            bounds,
            fresh: std::array::from_fn(lock),
            cast: Cast::new(bounds.members, leaders, bounds.slow, bounds.stamp_max),
            ways: Numbered::new(),
            pasts: Numbered::new(),
            states: Vec::new(),
            before: Vec::new(),
            numbers: HashMap::default(),
            certain: Vec::new(),
            cut: Vec::new(),
        }
    }

    /// Visits every state there is.
    pub(crate) fn explore(&mut self) -> Result<Figures, Broken> {
        let nodes = std::array::from_fn(|node| self.cast.enter(node, self.fresh[node].clone()));
        let ways = [self.ways.number(Vec::new()); NODES * NODES];
        let past = self.pasts.number(Past { highest: Fence::ZERO, repeats: 0, suspicions: 0, crashes: 0, hour: 0 });
        let mut first = State { nodes, ways, past };
        for node in 0..self.bounds.members {
            for event in [Event::Lead(Known::First), Event::Root] {
                if event == Event::Root && node == self.bounds.leader {
                    continue;
                }
                let next = self.follow(&first, Move::At(node, event));
                first = next.map_err(|why| Broken { why, steps: Vec::new() })?.expect("a beginning");
            }
        }
        self.visit(first, 0, None);
        let mut held = 0;
        let mut at = 0;
        while at < self.states.len() {
            held += usize::from(self.is_held(&self.states[at]));
            self.expand(at)?;
            at += 1;
        }
        if self.bounds.post == Post::Promised {
            self.certain.sort_unstable_by_key(|&(_, to)| to);
            for &node in self.bounds.askers {
                self.check_waiter(node)?;
            }
        }
        let cut = self.cut.iter().filter(|&&cut| cut).count();
        Ok(Figures { states: self.states.len(), held, cut, letters: self.cast.letters.len() })
    }

    fn visit(&mut self, state: State, from: usize, by: Option<Move>) -> u32 {
        let next = u32::try_from(self.states.len()).unwrap();
        let number = *self.numbers.entry(Fingerprints::default().hash_one(state)).or_insert(next);
        if number == next {
            assert!(self.states.len() < STATES_MAX, "bounds that end: {:?}", self.bounds);
            self.states.push(state);
            self.before.push((u32::try_from(from).unwrap(), by));
            self.cut.push(false);
        }
        number
    }

    /// Takes every step there is from a state.
    fn expand(&mut self, at: usize) -> Result<(), Broken> {
        let state = self.states[at];
        for (step, certain) in self.moves(&state) {
            match self.follow(&state, step) {
                Ok(None) => self.cut[at] = true,
                Ok(Some(next)) if next == state => {}
                Ok(Some(next)) => {
                    let number = self.visit(next, at, Some(step));
                    if certain {
                        self.certain.push((u32::try_from(at).unwrap(), number));
                    }
                }
                Err(why) => return Err(self.broken(why, at, Some(step))),
            }
        }
        Ok(())
    }

    /// Whatever can happen next, and whether it happens sometime whatever else does.
    fn moves(&self, state: &State) -> Vec<(Move, bool)> {
        let bounds = &self.bounds;
        let mut moves = Vec::new();
        let past = *self.pasts.get(state.past);
        let hour = past.hour;
        let due = |&number: &u32| self.cast.get(number).is_due(hour);
        let calm = state.ways.iter().all(|&way| self.ways.get(way).is_empty()) && !state.nodes.iter().any(due);
        if hour < bounds.hours && (calm || !bounds.calm) {
            moves.push((Move::Hour, true));
        }
        let changing =
            state.nodes.iter().take(bounds.members).any(|&number| self.cast.get(number).known != Known::First);
        for (node, &number) in state.nodes.iter().enumerate().take(bounds.members) {
            let local = self.cast.get(number);
            if past.crashes < bounds.crashes && bounds.victims.contains(&node) {
                moves.push((Move::Crash(node), false));
            }
            let mut may = |condition: bool, event: Event, certain: bool| {
                if condition {
                    moves.push((Move::At(node, event), certain));
                }
            };
            let asks = local.role == Role::Idle && local.asked < bounds.rounds && bounds.askers.contains(&node);
            let tries = bounds.triers.contains(&node);
            may(local.is_due(hour), Event::Timeout, true);
            may(asks && !tries, Event::Acquire, false);
            may(asks && tries, Event::Try, false);
            let holds = local.holds(hour).is_some();
            may(holds, Event::Release, true);
            may(holds && local.renewed < bounds.renewals, Event::Renew, false);
            let waits = matches!(local.role, Role::Waiting { .. });
            may(waits && local.cancelled < bounds.cancels, Event::Cancel, false);
            for peer in (0..bounds.members).filter(|&peer| peer != node) {
                let suspected = local.suspects.meets(NodeSet::slot(peer));
                may(!suspected && past.suspicions < bounds.suspicions, Event::Down(peer), false);
                may(suspected, Event::Up(peer), true);
            }
            may(local.known == Known::None && node != bounds.leader, Event::Lead(Known::First), true);
            let leads = match local.known {
                Known::First => Some(bounds.leader),
                Known::None => None,
                Known::Second => bounds.successor,
            };
            may(!local.rooted && leads.is_some_and(|leader| leader != node), Event::Root, true);
            if let Some(successor) = bounds.successor {
                // Nobody leads before the leader before it has ceased to; whoever follows may hear of it at any time.
                let ceased = self.cast.get(state.nodes[bounds.leader]).known != Known::First;
                let first = local.known == Known::First;
                may(first && node == bounds.leader, Event::Lead(Known::None), changing);
                let told = local.known != Known::Second && (node != successor || ceased);
                may(told, Event::Lead(Known::Second), changing);
            }
        }
        for (way, &number) in state.ways.iter().enumerate() {
            let letters = self.ways.get(number);
            let given_up = self.cast.get(state.nodes[way / NODES]).suspects.meets(NodeSet::slot(way % NODES));
            match bounds.post {
                Post::Promised => {
                    let Some(&first) = letters.first() else { continue };
                    let heard = if first == ANEW { Event::Reset(way / NODES) } else { Event::Hear(first) };
                    moves.push((Move::At(way % NODES, heard), true));
                    if first != ANEW && (given_up || letters.get(1) == Some(&ANEW)) {
                        moves.push((Move::Lose(way), false));
                    }
                }
                Post::Disordered { repeats } => {
                    let mut distinct = letters.clone();
                    distinct.dedup();
                    for letter in distinct {
                        moves.push((Move::At(way % NODES, Event::Hear(letter)), true));
                        if past.repeats < repeats {
                            moves.push((Move::Repeat(letter), false));
                        }
                    }
                }
            }
        }
        moves
    }

    /// The state after a step; `None` beyond the bounds.
    fn follow(&mut self, state: &State, step: Move) -> Result<Option<State>, &'static str> {
        let mut next = *state;
        let mut past = *self.pasts.get(state.past);
        let (node, event) = match step {
            Move::At(node, event) => (node, event),
            Move::Repeat(letter) => {
                past.repeats += 1;
                (self.cast.letters[letter as usize].to, Event::Hear(letter))
            }
            Move::Lose(way) => {
                let rest = self.ways.get(state.ways[way])[1..].to_vec();
                next.ways[way] = self.ways.number(rest);
                return Ok(Some(next));
            }
            Move::Crash(node) => {
                past.crashes += 1;
                next.nodes[node] = self.cast.reboot(next.nodes[node], self.fresh[node].clone(), past.hour);
                for to in (0..self.bounds.members).filter(|&to| to != node) {
                    let way = node * NODES + to;
                    let mut letters = self.ways.get(next.ways[way]).clone();
                    letters.truncate(1); // no other can have left
                    letters.push(ANEW);
                    next.ways[way] = self.ways.number(letters);
                }
                next.past = self.pasts.number(past);
                return Ok(Some(next));
            }
            Move::Hour => {
                past.hour += 1;
                next.past = self.pasts.number(past);
                return Ok(Some(next));
            }
        };
        if let Move::At(_, Event::Hear(letter)) = step {
            let way = self.cast.letters[letter as usize].from * NODES + node;
            self.take_off(&mut next, way, letter);
        }
        if let Event::Reset(from) = event {
            self.take_off(&mut next, from * NODES + node, ANEW);
        }
        if let Event::Down(peer) = event {
            // Of letters to one that is suspected only the first can have left.
            past.suspicions += 1;
            let mut letters = self.ways.get(next.ways[node * NODES + peer]).clone();
            letters.truncate(1);
            next.ways[node * NODES + peer] = self.ways.number(letters);
        }
        let taken = self.cast.step(next.nodes[node], event, past.hour);
        if let Some(why) = taken.wrong {
            return Err(why);
        }
        let Some(local) = taken.local else { return Ok(None) };
        next.nodes[node] = local;
        for letter in taken.says {
            self.post(&mut next, letter);
        }
        if self.holders(&next, past.hour) > 1 {
            return Err("two hold the lock");
        }
        if let Some(fence) = taken.granted {
            if fence <= past.highest {
                return Err("a fence does not grow");
            }
            past.highest = fence;
        }
        next.past = self.pasts.number(past);
        Ok(Some(next))
    }

    /// Puts a letter on its way.
    fn post(&mut self, state: &mut State, number: u32) {
        let letter = &self.cast.letters[number as usize];
        let way = letter.from * NODES + letter.to;
        let mut letters = self.ways.get(state.ways[way]).clone();
        match self.bounds.post {
            Post::Promised => {
                if letter.message.delivery() == Delivery::Latest {
                    let same = (letter.message.word(), letter.message.about());
                    letters.retain(|&old| {
                        if old == ANEW {
                            return true;
                        }
                        let old = &self.cast.letters[old as usize].message;
                        (old.word(), old.about()) != same
                    });
                }
                letters.push(number);
            }
            Post::Disordered { .. } => {
                letters.push(number);
                letters.sort_unstable();
            }
        }
        state.ways[way] = self.ways.number(letters);
    }

    /// Takes a letter off its way.
    fn take_off(&mut self, state: &mut State, way: usize, letter: u32) {
        let mut letters = self.ways.get(state.ways[way]).clone();
        let place = letters.iter().position(|&other| other == letter).expect("it is on the way");
        letters.remove(place);
        state.ways[way] = self.ways.number(letters);
    }

    /// How many hold the lock.
    fn holders(&self, state: &State, hour: u8) -> usize {
        state.nodes.iter().filter(|&&number| self.cast.get(number).holds(hour).is_some()).count()
    }

    fn is_held(&self, state: &State) -> bool {
        self.holders(state, self.pasts.get(state.past).hour) > 0
    }
}
