//! Every order of events of a small network, on the unchanged algorithms.
//!
//! Nothing is waited for ([`Timing::ZERO`]), so any deadline may come at any moment. The network is a set: whatever
//! was ever said to a node may reach it now, later, twice or never, in any order. That is loss, repetition,
//! reordering and any delay at once. States are compared whole, so the search ends, and what it says holds for every
//! run within its bounds.
//!
//! The bounds: term numbers up to a limit and a first beat of each leader. A step beyond them is not followed; what
//! lies within is explored completely.

use protocol::algorithm::{Algorithm, Context, Input, Outbox, Output};
use protocol::capacity::{Capacity, Standing};
use protocol::clock::{Stamp, Term};
use protocol::election::wireless::{Message, Wireless};
use protocol::election::{Command, Election, Notice};
use protocol::group::Roster;
use protocol::{Instant, NodeId, NodeSet, Span, Timing};
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher, BuildHasherDefault, Hasher};

const NODES: usize = 3;

/// Said by one node to another.
type Said = (usize, usize, Message);

/// Everything that tells one moment from another.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct State {
    nodes: [Wireless; NODES],
    /// Which of the messages in [`Explorer::said`] have been said.
    said: u128,
}

/// How far the search follows.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// Who may start a computation.
    starters: &'static [usize],
    /// The highest term number.
    number_max: u32,
    /// The most beats of one leader.
    beat_max: u32,
    /// How often a silent neighbour is asked.
    probes: u8,
}

/// A search through all states.
struct Explorer {
    timing: Timing,
    rosters: [Roster<NODES>; NODES],
    bounds: Bounds,
    /// Every message that was ever said, and its bit in a state.
    said: Vec<Said>,
    bits: HashMap<Said, usize, Fingerprints>,
    /// The bits of those that name a leader.
    claims: Vec<(usize, (Term, NodeId))>,
    states: usize,
    /// Who was named leader of each term, in any run.
    outcomes: HashSet<NodeId>,
}

/// A fast 64-bit hash: at ten million states the chance that it hides one is about three in a million.
#[derive(Default)]
struct Fingerprint(u64);

type Fingerprints = BuildHasherDefault<Fingerprint>;

impl Hasher for Fingerprint {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }
    fn write_u8(&mut self, value: u8) {
        self.write_u64(value.into());
    }
    fn write_u32(&mut self, value: u32) {
        self.write_u64(value.into());
    }
    fn write_u64(&mut self, value: u64) {
        let product =
            u128::from(self.0 ^ value ^ 0x9E37_79B9_7F4A_7C15).wrapping_mul(0xA076_1D64_78BD_642F_E703_7ED1_A0B4_28DB);
        let [low, high] = [product, product >> 64].map(|half| u64::try_from(half & u128::from(u64::MAX)).unwrap());
        self.0 = low ^ high;
    }
    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }
    fn finish(&self) -> u64 {
        self.0
    }
}

fn id(index: usize) -> NodeId {
    NodeId(u32::try_from(index).unwrap() + 1)
}

/// What one message says about who leads under which term.
fn claim(message: &Message) -> Option<(Term, NodeId, u32)> {
    match *message {
        Message::Leader { term, leader, .. } => Some((term, leader.id, 0)),
        Message::Beat { term, leader, beat, .. } => Some((term, leader.id, beat)),
        Message::Election { .. } | Message::Probe { .. } | Message::Ack { .. } | Message::Raise { .. } => None,
    }
}

impl Explorer {
    fn new(links: &[(usize, usize)], bounds: Bounds) -> Self {
        let mut rosters = [Roster::new(); NODES];
        for &(a, b) in links {
            rosters[a].insert(id(b));
            rosters[b].insert(id(a));
        }
        let timing = Timing { repeats: 0, probes: bounds.probes, ..Timing::ZERO };
        Self {
            timing,
            rosters,
            bounds,
            said: Vec::new(),
            bits: HashMap::default(),
            claims: Vec::new(),
            states: 0,
            outcomes: HashSet::new(),
        }
    }

    /// Takes one step of one node.
    fn step(&mut self, state: &State, node: usize, input: Input<Message, Command>) -> Option<State> {
        let roster = self.rosters[node].view();
        let me = id(node);
        let capacity = Capacity::new(u16::try_from(node).unwrap());
        let cx = Context {
            now: Instant::ZERO,
            uptime: Span::ZERO,
            me,
            standing: Some(Standing { capacity, id: me }),
            roster,
            peers: roster.all(),
            up: roster.all(),
            near: roster.all(),
            better: NodeSet::EMPTY,
            rival: None,
            view: roster.all(),
            stamp: Stamp(0),
            random: 0,
            timing: &self.timing,
        };
        let mut moved = state.nodes[node];
        let mut out = Outbox::new();
        moved.handle(&cx, input, &mut out);
        assert!(!out.overflowed(), "a step says no more than it may");
        if moved.number() > self.bounds.number_max {
            return None;
        }
        let mut said = state.said;
        for output in out {
            match output {
                Output::Send { to, message } => said |= self.say(node, to, message)?,
                Output::Notify(Notice::Gained { .. }) => {
                    self.outcomes.insert(me);
                }
                Output::Notify(Notice::Following { .. } | Notice::Leaderless) => {}
            }
        }
        if said == state.said && moved == state.nodes[node] {
            return None; // nothing happened: most of what arrives, arrives again
        }
        let mut next = State { said, ..*state };
        next.nodes[node] = moved;
        Some(next)
    }

    /// The bits of a message said to everybody in `to`; `None` beyond the bounds.
    fn say(&mut self, node: usize, to: NodeSet, message: Message) -> Option<u128> {
        if claim(&message).is_some_and(|(_, _, beat)| beat > self.bounds.beat_max) {
            return None;
        }
        if let Message::Election { index, .. } = message
            && !self.bounds.starters.iter().any(|&starter| id(starter) == index.by)
        {
            return None;
        }
        let mut bits = 0;
        for slot in to.slots() {
            let name = self.rosters[node].view().id_of(slot)?;
            bits |= 1 << self.bit((node, name.0 as usize - 1, message));
        }
        Some(bits)
    }

    fn bit(&mut self, said: Said) -> usize {
        if let Some(&bit) = self.bits.get(&said) {
            return bit;
        }
        self.bits.insert(said, self.said.len());
        self.claims.extend(claim(&said.2).map(|(term, leader, _)| (self.said.len(), (term, leader))));
        self.said.push(said);
        assert!(self.said.len() <= 128, "a state has a bit for every message");
        self.said.len() - 1
    }

    /// No two nodes are leaders of one term, in anything said or believed.
    fn check(&self, state: &State) {
        let said = self.claims.iter().filter(|(bit, _)| state.said >> bit & 1 == 1).map(|&(_, claim)| claim);
        let believed = state.nodes.iter().filter_map(Election::leader).map(|(leader, term)| (term, leader));
        for (term, leader) in said.clone().chain(believed) {
            let rival = said.clone().find(|&(other, rival)| other == term && rival != leader);
            assert_eq!(rival, None, "{leader:?} leads too");
        }
    }

    /// Visits every state there is.
    fn explore(&mut self) {
        let hasher = Fingerprints::default();
        let first = State { nodes: [Wireless::new(); NODES], said: 0 };
        let mut seen = HashSet::from([hasher.hash_one(first)]);
        let mut open = VecDeque::from([first]);
        while let Some(state) = open.pop_front() {
            self.states += 1;
            self.check(&state);
            let said = (0..self.said.len()).filter(|bit| state.said >> bit & 1 == 1).map(Some);
            for event in (0..NODES).map(|_| None).chain(said).enumerate() {
                let (node, input) = match event {
                    (node, None) => (node, Input::Timeout),
                    (_, Some(bit)) => {
                        let (from, to, message) = self.said[bit];
                        (to, Input::Message { from: id(from), stamp: Stamp(0), message })
                    }
                };
                if let Some(next) = self.step(&state, node, input)
                    && seen.insert(hasher.hash_one(next))
                {
                    open.push_back(next);
                }
            }
        }
    }
}

const LINE: &[(usize, usize)] = &[(0, 1), (1, 2)];
const TRIANGLE: &[(usize, usize)] = &[(0, 1), (1, 2), (0, 2)];

/// Explores and says what was proved. The best node must be among those that can win: a search that reaches no
/// election proves nothing.
fn prove(name: &str, links: &[(usize, usize)], bounds: Bounds) {
    let mut explorer = Explorer::new(links, bounds);
    explorer.explore();
    println!("{name} {bounds:?}: {} states, {} messages", explorer.states, explorer.said.len());
    assert!(explorer.outcomes.contains(&id(2)), "the best can win");
}

#[test]
fn a_line_with_one_starter_never_has_two_leaders_in_one_term() {
    for starters in [&[0], &[1], &[2]] {
        prove("line", LINE, Bounds { starters, number_max: 1, beat_max: 1, probes: 1 });
    }
}

#[test]
fn a_line_with_two_starters_never_has_two_leaders_in_one_term() {
    for starters in [&[0, 1], &[0, 2]] {
        prove("line", LINE, Bounds { starters, number_max: 1, beat_max: 0, probes: 1 });
    }
}

#[test]
fn a_triangle_with_one_starter_never_has_two_leaders_in_one_term() {
    for starters in [&[0], &[1], &[2]] {
        prove("triangle", TRIANGLE, Bounds { starters, number_max: 1, beat_max: 0, probes: 1 });
    }
}

#[test]
fn a_triangle_with_two_starters_never_has_two_leaders_in_one_term() {
    prove("triangle", TRIANGLE, Bounds { starters: &[0, 1], number_max: 1, beat_max: 0, probes: 0 });
}
