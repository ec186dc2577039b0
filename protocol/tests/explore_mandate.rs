//! Every order of events around the mandate of a group of three, on the unchanged code.
//!
//! The election is an adversary: it may name either of two nodes to anybody at any moment. The network is a set: whatever
//! was ever said may arrive at any later moment, twice or never. A node may sleep through any of it, as its deadlines are
//! met or not. One node may crash and come back without memory. What must hold: no two nodes may act at one moment.
//!
//! The bounds: time goes on in steps of half a heartbeat up to an end, the election speaks up to so many times, and clocks all
//! run alike (the simulator has them differ).

use protocol::algorithm::{Algorithm, Context, Fact, Input, Outbox, Output};
use protocol::clock::{Stamp, Term};
use protocol::group::Roster;
use protocol::mandate::{Mandate, Message, Mode};
use protocol::{Instant, NodeId, NodeSet, Span, Timing};
use std::collections::{BTreeSet, HashSet, VecDeque};
use std::hash::{BuildHasher, RandomState};

const NODES: usize = 3;
/// Who may be elected.
const CANDIDATES: usize = 2;
const TICK: Span = Span::from_millis(500);

/// A heartbeat of a second, and a lease of little more than one.
const TIMING: Timing = Timing { heartbeat: Span::from_secs(1), beats_missed: 1, ..Timing::RADIO };

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    ticks: u32,
    nodes: [Mandate; NODES],
    /// When each node started: long ago, or when it came back.
    born: [u32; NODES],
    said: BTreeSet<(usize, usize, [u8; 24], u8)>,
    /// How often the election has named somebody to somebody.
    named: u32,
    crashed: bool,
}

/// How the explorer treats a node: as the code has it, or as if a mandate never ended by itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Belief {
    Checked,
    Stale,
}

struct Explorer {
    roster: Roster<NODES>,
    end: u32,
    named_max: u32,
    crashes: bool,
    belief: Belief,
    states: usize,
    /// Who acted in any state.
    acted: BTreeSet<usize>,
    /// Two that acted at once.
    rivals: usize,
}

fn id(index: usize) -> NodeId {
    NodeId(u32::try_from(index).unwrap() + 1)
}

/// Time since the host's zero; the run begins a minute later, so that every node has been up for long.
fn at(ticks: u32) -> Instant {
    Instant::ZERO.after(Span::from_secs(60)).after(TICK.times(ticks))
}

fn pack(message: &Message) -> ([u8; 24], u8) {
    let mut bytes = [0; 24];
    let len = postcard::to_slice(message, &mut bytes).unwrap().len();
    (bytes, u8::try_from(len).unwrap())
}

impl Explorer {
    fn new(end: u32, named_max: u32, crashes: bool, belief: Belief) -> Self {
        let mut roster = Roster::new();
        (0..NODES).for_each(|index| assert!(roster.insert(id(index)).is_some()));
        Self { roster, end, named_max, crashes, belief, states: 0, acted: BTreeSet::new(), rivals: 0 }
    }

    fn first(&self) -> State {
        let nodes = [Mandate::in_group(Mode::Quorum, self.roster.view().all()); NODES];
        State { ticks: 0, nodes, born: [0; NODES], said: BTreeSet::new(), named: 0, crashed: false }
    }

    fn step(&self, state: &State, node: usize, input: Input<Message, core::convert::Infallible>) -> State {
        let (now, all) = (at(state.ticks), self.roster.view().all());
        let others = all.without(NodeSet::slot(node));
        let since = if state.born[node] == 0 { Instant::ZERO } else { at(state.born[node]) };
        let cx = Context {
            now,
            uptime: now.since(since),
            me: id(node),
            standing: None,
            roster: self.roster.view(),
            peers: others,
            up: others,
            near: others,
            better: NodeSet::EMPTY,
            rival: None,
            view: all,
            stamp: Stamp(0),
            random: 0,
            timing: &TIMING,
        };
        let mut next = state.clone();
        let mut out = Outbox::new();
        next.nodes[node].handle(&cx, input, &mut out);
        assert!(!out.overflowed());
        for output in out {
            if let Output::Send { to, message } = output {
                let (bytes, len) = pack(&message);
                next.said.extend(to.slots().map(|slot| (node, slot, bytes, len)));
            }
        }
        next
    }

    /// Everything that can happen next.
    fn successors(&self, state: &State) -> Vec<State> {
        let mut next = Vec::new();
        for node in 0..NODES {
            next.push(self.step(state, node, Input::Timeout));
            for elected in (0..CANDIDATES).filter(|_| state.named < self.named_max) {
                let term = Term { number: 1, by: id(elected) };
                let after = self.step(state, node, Input::Fact(Fact::Leader { leader: id(elected), term }));
                next.push(State { named: state.named + 1, ..after });
            }
        }
        for &(from, to, bytes, len) in &state.said {
            let message = postcard::from_bytes(&bytes[..usize::from(len)]).unwrap();
            next.push(self.step(state, to, Input::Message { from: id(from), stamp: Stamp(0), message }));
        }
        if state.ticks < self.end {
            next.push(State { ticks: state.ticks + 1, ..state.clone() });
        }
        if self.crashes && !state.crashed && state.ticks > 0 {
            for node in 0..NODES {
                let mut after = State { crashed: true, ..state.clone() };
                after.nodes[node] = self.first().nodes[node];
                after.born[node] = state.ticks;
                next.push(after);
            }
        }
        next
    }

    fn check(&mut self, state: &State) {
        let acts = |node: &usize| match self.belief {
            Belief::Checked => state.nodes[*node].acts(at(state.ticks)).is_some(),
            Belief::Stale => state.nodes[*node].leader().is_some_and(|(leader, _)| leader == id(*node)),
        };
        let acting: Vec<usize> = (0..NODES).filter(acts).collect();
        self.acted.extend(acting.iter().copied());
        self.rivals += usize::from(acting.len() > 1);
    }

    fn explore(&mut self) {
        let hasher = RandomState::new();
        let first = self.first();
        let mut seen = HashSet::from([hasher.hash_one(&first)]);
        let mut open = VecDeque::from([first]);
        while let Some(state) = open.pop_front() {
            self.states += 1;
            self.check(&state);
            for next in self.successors(&state) {
                if seen.insert(hasher.hash_one(&next)) {
                    open.push_back(next);
                }
            }
        }
    }
}

fn explore(end: u32, named: u32, crashes: bool, belief: Belief) -> Explorer {
    let mut explorer = Explorer::new(end, named, crashes, belief);
    explorer.explore();
    println!(
        "{end} ticks, {named} times named, crash {crashes}: {} states, {} with rivals",
        explorer.states, explorer.rivals
    );
    explorer
}

#[test]
fn no_two_nodes_ever_may_act_at_once_whatever_the_election_says() {
    let explorer = explore(4, 4, false, Belief::Checked);
    assert_eq!(explorer.rivals, 0);
    assert_eq!(explorer.acted, BTreeSet::from([0, 1]), "both can come to act");
}

#[test]
fn nor_where_one_of_them_comes_back_without_memory() {
    let explorer = explore(3, 4, true, Belief::Checked);
    assert_eq!(explorer.rivals, 0);
    assert_eq!(explorer.acted, BTreeSet::from([0, 1]));
}

#[test]
fn a_node_that_acts_by_what_it_was_told_last_is_found_out() {
    assert!(explore(4, 4, false, Belief::Stale).rivals > 0);
}
