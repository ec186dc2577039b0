//! Three nodes with an election on a network that is a set: any message ever sent may arrive now, later, twice or never.
//!
//! A node's step depends on nothing but the node and the input, so each is taken once and looked up from then on; a state
//! is three numbers of nodes and a set of messages.

use crate::context::{context, id};
use crate::explorer::{Interned, Model, NODES};
use protocol::algorithm::{Context, Fact, Input, Outbox, Output, Scope};
use protocol::base::capacity::{Candidate, Capacity};
use protocol::base::ids::Roster;
use protocol::base::lamport::LamportTime;
use protocol::base::term::Term;
use protocol::election::leadership::LeaderMessage;
use protocol::election::{
    Bully, ChangRoberts, Clusters, Command, Election, Lelann, Notice, Ring, Wireless, WirelessFlat, bully,
    chang_roberts, clusters, lelann, ring, wireless, wireless_flat,
};
use protocol::{Duration, Instant, NodeId, NodeSet, Timing};
use std::collections::{HashMap, HashSet};
use std::fmt::Debug;
use std::hash::Hash;

/// Who leads according to a message, under which term, and by which heartbeat.
type Claim = (Term, NodeId, u32);

/// An election that can be explored.
pub(crate) trait Explored:
    Election<Message: Copy + Eq + Hash + Debug, Command = Command, Notice = Notice> + Copy + Eq + Hash + Default
{
    /// Returns the term number in a message, and who leads according to it.
    fn read(message: &Self::Message) -> (u32, Option<Claim>);
}

fn read_leader(message: &LeaderMessage) -> (u32, Option<Claim>) {
    match *message {
        LeaderMessage::Elected { term, leader, .. } => claim(term, leader, 0),
        LeaderMessage::Heartbeat { term, leader, count, .. } => claim(term, leader, count),
        LeaderMessage::RaiseTerm { term }
        | LeaderMessage::Pulse { term, heir: None }
        | LeaderMessage::Doubt { term }
        | LeaderMessage::Veto { term }
        | LeaderMessage::Bid { term, .. } => (term.number, None),
        LeaderMessage::Pulse { heir: Some(heir), .. } => (heir.number, None),
    }
}

fn claim(term: Term, leader: Candidate, heartbeat: u32) -> (u32, Option<Claim>) {
    (term.number, Some((term, leader.id, heartbeat)))
}

impl Explored for Wireless {
    fn read(message: &wireless::Message) -> (u32, Option<Claim>) {
        use wireless::Message as M;
        match message {
            M::Leadership(message) => read_leader(message),
            M::Election { index, .. } | M::Probe { index, .. } | M::Report { index, .. } => (index.number, None),
        }
    }
}

impl Explored for WirelessFlat {
    fn read(message: &wireless_flat::Message) -> (u32, Option<Claim>) {
        use wireless_flat::Message as M;
        match message {
            M::Leadership(message) => read_leader(message),
            M::Election { index } | M::Answer { index, .. } => (index.number, None),
        }
    }
}

impl Explored for Bully {
    fn read(message: &bully::Message) -> (u32, Option<Claim>) {
        use bully::Message as M;
        match message {
            M::Coordinator { term, leader, .. } => claim(*term, *leader, 0),
            M::Leadership(message) => read_leader(message),
            M::Election { term, .. } | M::Ok { term } | M::Alert { term } | M::Broadcast { term, .. } => {
                (term.number, None)
            }
            M::Ask => (0, None),
        }
    }
}

impl Explored for Ring {
    fn read(message: &ring::Message) -> (u32, Option<Claim>) {
        use ring::Message as M;
        match message {
            M::Coordinator(outcome) => claim(outcome.term, outcome.leader, 0),
            M::Leadership(message) => read_leader(message),
            M::Election(list) => (list.term.number, None),
            M::Seek { term } | M::Here { term } => (term.number, None),
        }
    }
}

impl Explored for ChangRoberts {
    fn read(message: &chang_roberts::Message) -> (u32, Option<Claim>) {
        use chang_roberts::Message as M;
        match message {
            M::Elected { term, leader } => claim(*term, *leader, 0),
            M::Leadership(message) => read_leader(message),
            M::Election { round, .. } => (*round, None),
        }
    }
}

impl Explored for Lelann {
    fn read(message: &lelann::Message) -> (u32, Option<Claim>) {
        match message {
            lelann::Message::Leadership(message) => read_leader(message),
            lelann::Message::Number(number) => (number.round, None),
        }
    }
}

impl Explored for Clusters {
    fn read(message: &clusters::Message) -> (u32, Option<Claim>) {
        match *message {
            clusters::Message::Beacon(clusters::Beacon { term, count, .. }) => {
                (term.number, Some((term, term.by, count)))
            }
            clusters::Message::Resigned { term } => (term.number, None),
        }
    }
}

/// How far the search follows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Nodes that may start an election.
    pub(crate) starters: &'static [usize],
    /// The highest term number.
    pub(crate) number_max: u32,
    /// The most heartbeats of one leader.
    pub(crate) heartbeats_max: u32,
    /// How often a silent neighbour is probed.
    pub(crate) probes: u8,
    /// Whether leaders send pulses, and name heirs.
    pub(crate) pulses: bool,
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

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct State {
    /// The interned locals.
    nodes: [u32; NODES],
    /// The interned messages that were ever sent, as bits.
    sent: u128,
}

/// The result of an event at a node.
#[derive(Clone, Copy)]
enum Step {
    Untried,
    /// It cannot happen, or changes nothing.
    Nothing,
    Beyond,
    To {
        local: u32,
        sent: u128,
    },
}

/// Time passes; every node is suspected, and no more: the events that are not messages.
const EVENTS: usize = 1 + 2 * NODES;

/// Elections of three nodes.
pub(crate) struct ElectionModel<E: Explored> {
    timing: Timing,
    rosters: [Roster<NODES>; NODES],
    bounds: Bounds,
    locals: Interned<Local<E>>,
    /// The result of each event at each of `locals`.
    steps: Vec<Vec<Step>>,
    /// Every message that was ever sent, from whom to whom.
    pub(crate) messages: Interned<(usize, usize, E::Message)>,
    /// By term and leader, the messages that name it.
    claims: HashMap<Term, Vec<(NodeId, u128)>>,
    /// Who won, in any run.
    pub(crate) winners: HashSet<NodeId>,
}

impl<E: Explored> ElectionModel<E> {
    /// Nodes with these links; in a group, everybody reaches everybody.
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
            timing: Timing {
                reflood_count: 0,
                probes: bounds.probes,
                pulse: bounds.pulses.then_some(Duration::ZERO),
                ..Timing::ZERO
            },
            rosters,
            bounds,
            locals: Interned::new(),
            steps: Vec::new(),
            messages: Interned::new(),
            claims: HashMap::new(),
            winners: HashSet::new(),
        }
    }

    pub(crate) fn first(&mut self) -> State {
        let local = |node| Local { node, election: E::default(), suspects: NodeSet::EMPTY };
        State { nodes: [0, 1, 2].map(|node| self.number(local(node))), sent: 0 }
    }

    fn number(&mut self, local: Local<E>) -> u32 {
        let number = self.locals.number(&local, || local);
        self.steps.resize(self.locals.len(), Vec::new());
        number
    }

    /// The result of an event at a node, computed once.
    fn step(&mut self, local: u32, event: usize) -> Step {
        let tried = &mut self.steps[local as usize];
        if tried.len() <= event {
            tried.resize(event + 1, Step::Untried);
        }
        if let Step::Untried = tried[event] {
            let before = *self.locals.get(local);
            let step = match self.input(before, event) {
                Some((local, input)) => self.take(before, local, input).unwrap_or(Step::Beyond),
                None => Step::Nothing,
            };
            self.steps[local as usize][event] = step;
        }
        self.steps[local as usize][event]
    }

    /// The input of an event, and the node that gets it as it is then; `None` where it cannot happen.
    #[expect(clippy::type_complexity, reason = "it is used here only")]
    fn input(&self, mut local: Local<E>, event: usize) -> Option<(Local<E>, Input<E::Message, Command>)> {
        let input = match event.checked_sub(EVENTS) {
            Some(bit) => {
                let (from, _, message) = *self.messages.get(u32::try_from(bit).unwrap());
                Input::Message { from: id(from), sent_at: LamportTime(0), message }
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

    /// Takes one step of one node; `None` beyond the bounds.
    fn take(&mut self, before: Local<E>, mut local: Local<E>, input: Input<E::Message, Command>) -> Option<Step> {
        let (roster, me) = (self.rosters[local.node].view(), id(local.node));
        let candidate = |id: NodeId| Candidate { capacity: Capacity::new(u16::try_from(id.0).unwrap()), id };
        let cx = context(roster, me);
        let up = cx.peers.without(local.suspects);
        let grouped = local.election.scope() == Scope::Group;
        let better = cx.peers.slots().filter(|&slot| grouped && roster.id_of(slot) > Some(me));
        let cx = Context {
            now: Instant::ZERO,
            uptime: Duration::ZERO,
            candidate: Some(candidate(me)),
            up,
            better: better.fold(NodeSet::EMPTY, |set, slot| set.with(NodeSet::slot(slot))),
            best_peer: if grouped { roster.ids_of(up).max().map(candidate) } else { None },
            lamport: LamportTime(0),
            timing: &self.timing,
            ..cx
        };
        let received = if let Input::Message { message, .. } = &input { E::read(message).0 } else { 0 };
        let mut out = Outbox::new();
        local.election.handle(&cx, input, &mut out);
        local.election.take_deposed(); // the node counts it, and the election forgets it
        assert!(!out.overflowed(), "a step asks for no more than it may");
        if let Some(((leader, term), (former, earlier))) = local.election.leader().zip(before.election.leader()) {
            // Where there are clusters, each has terms of its own.
            let other = leader != former && local.election.horizon().is_some();
            assert!(term >= earlier || other, "no node's term falls");
        }
        let number = local.election.term_number();
        let started = number > before.election.term_number().max(received);
        if number > self.bounds.number_max || (started && !self.bounds.starters.contains(&local.node)) {
            return None;
        }
        let mut sent = 0;
        for output in out {
            match output {
                Output::Send { to, message } => sent |= self.send(local.node, to, message)?,
                Output::Notify(Notice::Gained { .. }) => _ = self.winners.insert(me),
                Output::Notify(Notice::Following { .. } | Notice::Leaderless) => {}
            }
        }
        let local = self.number(local);
        Some(Step::To { local, sent })
    }

    /// The bits of a message to everybody in `to`; `None` beyond the bounds.
    fn send(&mut self, from: usize, to: NodeSet, message: E::Message) -> Option<u128> {
        let (_, claim) = E::read(&message);
        if claim.is_some_and(|(_, _, heartbeat)| heartbeat > self.bounds.heartbeats_max) {
            return None;
        }
        let mut bits = 0;
        for slot in to.slots() {
            let to = self.rosters[from].view().id_of(slot)?.0 as usize - 1;
            let number = self.messages.number(&(from, to, message), || (from, to, message));
            assert!(number < 128, "a state has a bit for every message");
            bits |= 1 << number;
        }
        if let Some((term, leader, _)) = claim {
            let named = self.claims.entry(term).or_default();
            match named.iter_mut().find(|(name, _)| *name == leader) {
                Some((_, named)) => *named |= bits,
                None => named.push((leader, bits)),
            }
        }
        Some(bits)
    }
}

impl<E: Explored> Model for ElectionModel<E> {
    type State = State;
    /// An event at a node.
    type Move = (usize, usize);

    fn moves(&self, state: &State, moves: &mut Vec<((usize, usize), bool)>) {
        moves.extend((0..NODES * EVENTS).map(|pair| ((pair / EVENTS, pair % EVENTS), false)));
        let mut left = state.sent;
        while left != 0 {
            let bit = left.trailing_zeros();
            left &= left - 1;
            moves.push(((self.messages.get(bit).1, EVENTS + bit as usize), false));
        }
    }

    fn follow(&mut self, state: &State, (node, event): (usize, usize)) -> Result<Option<State>, &'static str> {
        let (local, sent) = match self.step(state.nodes[node], event) {
            Step::Untried | Step::Nothing => return Ok(Some(*state)),
            Step::Beyond => return Ok(None),
            Step::To { local, sent } => (local, sent),
        };
        let mut next = State { sent: state.sent | sent, ..*state };
        next.nodes[node] = local;
        let suspects = |number: &u32| self.locals.get(*number).suspects.len();
        let within =
            !(1..EVENTS).contains(&event) || next.nodes.iter().map(suspects).sum::<u32>() <= self.bounds.suspects;
        Ok(within.then_some(next))
    }

    /// No two nodes are leaders of one term, in anything sent or believed.
    fn check(&mut self, state: &State) -> Result<(), &'static str> {
        for named in self.claims.values().filter(|named| named.len() > 1) {
            if named.iter().filter(|(_, bits)| state.sent & bits != 0).count() > 1 {
                return Err("messages name two leaders of one term");
            }
        }
        let believed = state.nodes.map(|number| self.locals.get(number).election.leader());
        for (leader, term) in believed.into_iter().flatten() {
            let named = self.claims.get(&term).into_iter().flatten();
            if named.into_iter().any(|(name, bits)| *name != leader && state.sent & bits != 0) {
                return Err("a node follows one leader of a term, a message names another");
            }
            if believed.into_iter().flatten().any(|(name, other)| other == term && name != leader) {
                return Err("two nodes follow different leaders of one term");
            }
        }
        Ok(())
    }

    fn describe(&self, (node, event): (usize, usize)) -> String {
        match event.checked_sub(EVENTS) {
            Some(bit) => {
                let (from, to, message) = self.messages.get(u32::try_from(bit).unwrap());
                format!("{to} receives {message:?} from {from}")
            }
            None if event == 0 => format!("{node} times out"),
            None if event & 1 == 0 => format!("{node} trusts {}", (event - 1) / 2),
            None => format!("{node} suspects {}", (event - 1) / 2),
        }
    }
}
