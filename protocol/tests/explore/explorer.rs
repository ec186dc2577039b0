//! The search: every state of three nodes and the network between them.
//!
//! A node's step depends on nothing but the node and what it is told, so each is taken once and looked up from then on;
//! a state of the whole is three numbers of nodes and a set of messages.

use crate::fingerprint::Fingerprints;
use crate::subjects::Explored;
use protocol::algorithm::{Algorithm, Context, Fact, Input, Outbox, Output, Scope};
use protocol::capacity::{Capacity, Standing};
use protocol::clock::{Stamp, Term};
use protocol::election::Notice;
use protocol::group::Roster;
use protocol::{Instant, NodeId, NodeSet, Span, Timing};
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher;

pub(crate) const NODES: usize = 3;

/// How far the search follows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Who may start an election.
    pub(crate) starters: &'static [usize],
    /// The highest term number.
    pub(crate) number_max: u32,
    /// The most beats of one leader.
    pub(crate) beat_max: u32,
    /// How often a silent neighbour is asked.
    pub(crate) probes: u8,
    /// How many suspicions there may be at a time, right or wrong. Each may come and go at any time.
    pub(crate) suspects: u32,
}

/// A node at some moment.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Local<E> {
    node: usize,
    election: E,
    suspects: NodeSet,
}

/// Everything that tells one moment from another.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct State {
    /// By their numbers in [`Explorer::locals`].
    nodes: [u32; NODES],
    /// Which of the messages in [`Explorer::said`] have been said.
    said: u128,
}

/// What a node makes of an event.
#[derive(Clone, Copy)]
enum Step {
    /// Not tried yet.
    Untried,
    /// Nothing, or something beyond the bounds.
    Nothing,
    /// It becomes this node and says this.
    To { local: u32, said: u128 },
}

/// What a node is told.
type Told<E> = Input<<E as Algorithm>::Message, <E as Algorithm>::Command>;

/// Said by one node to another.
type Said<M> = (usize, usize, M);

/// A search through all states.
pub(crate) struct Explorer<E: Explored> {
    timing: Timing,
    rosters: [Roster<NODES>; NODES],
    bounds: Bounds,
    locals: Vec<Local<E>>,
    numbers: HashMap<Local<E>, u32, Fingerprints>,
    /// What each node of [`Explorer::locals`] makes of each event.
    steps: Vec<Vec<Step>>,
    /// Every message that was ever said, and its bit in a state.
    pub(crate) said: Vec<Said<E::Message>>,
    bits: HashMap<Said<E::Message>, usize, Fingerprints>,
    /// For each term and leader, in which messages it is named.
    claims: HashMap<Term, Vec<(NodeId, u128)>>,
    pub(crate) states: usize,
    /// Who won, in any run.
    pub(crate) winners: HashSet<NodeId>,
}

pub(crate) fn id(index: usize) -> NodeId {
    NodeId(u32::try_from(index).unwrap() + 1)
}

/// The events that are not messages: time passes, and every node is suspected and no more.
const EVENTS: usize = 1 + 2 * NODES;

impl<E: Explored> Explorer<E> {
    /// A search over nodes with these links; in a group, everybody reaches everybody.
    pub(crate) fn new(links: &[(usize, usize)], bounds: Bounds) -> Self {
        let mut rosters = [Roster::new(); NODES];
        match E::default().scope() {
            Scope::Group => (0..NODES * NODES).for_each(|pair| {
                rosters[pair / NODES].insert(id(pair % NODES));
            }),
            Scope::Neighbours | Scope::Nobody => links.iter().for_each(|&(a, b)| {
                rosters[a].insert(id(b));
                rosters[b].insert(id(a));
            }),
        }
        Self {
            timing: Timing { repeats: 0, probes: bounds.probes, ..Timing::ZERO },
            rosters,
            bounds,
            locals: Vec::new(),
            numbers: HashMap::default(),
            steps: Vec::new(),
            said: Vec::new(),
            bits: HashMap::default(),
            claims: HashMap::new(),
            states: 0,
            winners: HashSet::new(),
        }
    }

    /// The number of a node in [`Explorer::locals`].
    fn number(&mut self, local: Local<E>) -> u32 {
        let next = u32::try_from(self.locals.len()).unwrap();
        let number = *self.numbers.entry(local).or_insert(next);
        if number == next {
            self.locals.push(local);
            self.steps.push(Vec::new());
        }
        number
    }

    /// What a node makes of an event, and remembers making of it.
    fn step(&mut self, local: u32, event: usize) -> Step {
        let tried = &mut self.steps[local as usize];
        if tried.len() <= event {
            tried.resize(event + 1, Step::Untried);
        }
        if let Step::Untried = tried[event] {
            let step = self.take(self.locals[local as usize], event).unwrap_or(Step::Nothing);
            self.steps[local as usize][event] = step;
        }
        self.steps[local as usize][event]
    }

    /// The input of an event, and the node it is put to as it is then; `None` where it cannot happen.
    fn input(&self, mut local: Local<E>, event: usize) -> Option<(Local<E>, Told<E>)> {
        let input = match event.checked_sub(EVENTS) {
            Some(bit) => {
                let (from, _, message) = self.said[bit];
                Input::Message { from: id(from), stamp: Stamp(0), message }
            }
            None if event == 0 => Input::Timeout,
            None => {
                let (peer, up) = ((event - 1) / 2, event & 1 == 0);
                let set = self.rosters[local.node].view().set_of(id(peer));
                if peer == local.node || local.suspects.meets(set) != up {
                    return None;
                }
                local.suspects = if up { local.suspects.without(set) } else { local.suspects.with(set) };
                Input::Fact(if up { Fact::PeerUp(set) } else { Fact::PeerDown(set) })
            }
        };
        Some((local, input))
    }

    /// Takes one step of one node.
    fn take(&mut self, before: Local<E>, event: usize) -> Option<Step> {
        let (mut local, input) = self.input(before, event)?;
        let roster = self.rosters[local.node].view();
        let me = id(local.node);
        let standing = |id: NodeId| Standing { capacity: Capacity::new(u16::try_from(id.0).unwrap()), id };
        let peers = roster.all().without(roster.set_of(me));
        let up = peers.without(local.suspects);
        let grouped = local.election.scope() == Scope::Group;
        let better = peers.slots().filter(|&slot| grouped && roster.id_of(slot) > Some(me));
        let cx = Context {
            now: Instant::ZERO,
            uptime: Span::ZERO,
            me,
            standing: Some(standing(me)),
            roster,
            peers,
            up,
            near: peers,
            better: better.fold(NodeSet::EMPTY, |set, slot| set.with(NodeSet::slot(slot))),
            rival: if grouped { roster.ids_of(up).max().map(standing) } else { None },
            view: roster.all(),
            stamp: Stamp(0),
            random: 0,
            timing: &self.timing,
        };
        let heard = if let Input::Message { message, .. } = &input { E::number_in(message) } else { 0 };
        let mut out = Outbox::new();
        local.election.handle(&cx, input, &mut out);
        assert!(!out.overflowed(), "a step says no more than it may");
        assert!(
            local.election.leader().map(|(_, term)| term) >= before.election.leader().map(|(_, term)| term)
                || local.election.leader().is_none(),
            "nobody's term falls"
        );
        let number = local.election.number();
        let started = number > before.election.number().max(heard);
        if number > self.bounds.number_max || (started && !self.bounds.starters.contains(&local.node)) {
            return None;
        }
        let mut said = 0;
        for output in out {
            match output {
                Output::Send { to, message } => said |= self.say(local.node, to, message)?,
                Output::Notify(Notice::Gained { .. }) => {
                    self.winners.insert(me);
                }
                Output::Notify(Notice::Following { .. } | Notice::Leaderless) => {}
            }
        }
        let local = self.number(local);
        Some(Step::To { local, said })
    }

    /// The bits of a message said to everybody in `to`; `None` beyond the bounds.
    fn say(&mut self, node: usize, to: NodeSet, message: E::Message) -> Option<u128> {
        if E::claim(&message).is_some_and(|(_, _, beat)| beat > self.bounds.beat_max) {
            return None;
        }
        let mut bits = 0;
        for slot in to.slots() {
            let name = self.rosters[node].view().id_of(slot)?;
            bits |= 1 << self.bit((node, name.0 as usize - 1, message));
        }
        Some(bits)
    }

    fn bit(&mut self, said: Said<E::Message>) -> usize {
        if let Some(&bit) = self.bits.get(&said) {
            return bit;
        }
        let bit = self.said.len();
        self.bits.insert(said, bit);
        self.said.push(said);
        assert!(bit < 128, "a state has a bit for every message");
        if let Some((term, leader, _)) = E::claim(&said.2) {
            let named = self.claims.entry(term).or_default();
            match named.iter_mut().find(|(name, _)| *name == leader) {
                Some((_, bits)) => *bits |= 1 << bit,
                None => named.push((leader, 1 << bit)),
            }
        }
        bit
    }

    /// No two nodes are leaders of one term, in anything said or believed.
    fn check(&self, state: &State) {
        for named in self.claims.values().filter(|named| named.len() > 1) {
            let said = named.iter().filter(|(_, bits)| state.said & bits != 0).count();
            assert!(said <= 1, "two are said to lead in one term: {named:?}");
        }
        let leader = |number: u32| self.locals[number as usize].election.leader();
        for (leader, term) in state.nodes.into_iter().filter_map(leader) {
            let said = self.claims.get(&term).into_iter().flatten();
            let rival = said.filter(|(name, bits)| *name != leader && state.said & bits != 0);
            assert_eq!(rival.count(), 0, "{leader:?} leads in {term:?} too");
            let believed = state.nodes.into_iter().filter_map(|number| self.locals[number as usize].election.leader());
            assert!(believed.into_iter().all(|(name, other)| other != term || name == leader), "{term:?}");
        }
    }

    /// Visits every state there is.
    pub(crate) fn explore(&mut self) {
        let hasher = Fingerprints::default();
        let nodes = [0, 1, 2].map(|node| self.number(Local { node, election: E::default(), suspects: NodeSet::EMPTY }));
        let first = State { nodes, said: 0 };
        let mut seen: HashSet<u64, Fingerprints> = HashSet::default();
        seen.insert(hasher.hash_one(first));
        let mut open = vec![first];
        while let Some(state) = open.pop() {
            self.states += 1;
            self.check(&state);
            let mut visit = |next: State| {
                if seen.insert(hasher.hash_one(next)) {
                    open.push(next);
                }
            };
            for (node, event) in (0..NODES * EVENTS).map(|pair| (pair / EVENTS, pair % EVENTS)) {
                self.follow(&state, node, event).map(&mut visit);
            }
            let mut left = state.said;
            while left != 0 {
                let bit = left.trailing_zeros() as usize;
                left &= left - 1;
                self.follow(&state, self.said[bit].1, EVENTS + bit).map(&mut visit);
            }
        }
    }

    /// The state after an event at a node; `None` where nothing happens: most of what arrives, arrives again.
    fn follow(&mut self, state: &State, node: usize, event: usize) -> Option<State> {
        let Step::To { local, said } = self.step(state.nodes[node], event) else { return None };
        let mut next = State { said: state.said | said, ..*state };
        next.nodes[node] = local;
        let suspects = next.nodes.map(|number| self.locals[number as usize].suspects.len());
        (next != *state && suspects.into_iter().sum::<u32>() <= self.bounds.suspects).then_some(next)
    }
}
