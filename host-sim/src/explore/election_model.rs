//! A few nodes with an election on a network that is a set: any message ever sent may arrive now, later, twice or never.
//!
//! A node's step depends on nothing but the node and the input, so each is taken once and looked up from then on; a state
//! is a number for each node and a set of messages.

use super::context::id;
pub use super::election_machine::{Event, Machine};
pub use super::election_messages::{Claim, Explored};
use super::search::{Described, Model, Stop};
use protocol::base::term::Term;
use protocol::{NodeId, NodeSet};
use std::collections::{BTreeMap, BTreeSet};

/// How far the search follows.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// How many nodes there are, four at most.
    pub members: usize,
    /// Nodes that may start an election.
    pub starters: &'static [usize],
    /// The highest term number.
    pub number_max: u32,
    /// The most heartbeats of one leader.
    pub heartbeats_max: u32,
    /// How often a silent neighbour is probed.
    pub probes: u8,
    /// Whether leaders send pulses, and name heirs.
    pub pulses: bool,
    /// How many suspicions there may be at a time, right or wrong. Each may come and go at any time.
    pub suspects: u32,
    /// How many reboots there may be, each at any moment.
    pub reboots: u8,
    /// Nodes that may reboot.
    pub victims: &'static [usize],
    /// Whether a node that reboots has lost its records too: its quarantine outlasts the search.
    pub amnesia: bool,
}

/// A moment of all nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State<const N: usize> {
    /// The interned locals.
    nodes: [u32; N],
    reboots: u32,
    /// The interned messages that were ever sent, as bits.
    sent: u128,
}

/// The result of an event at a node.
#[derive(Clone, Copy)]
pub enum Step {
    /// It was not computed yet.
    Untried,
    /// It cannot happen, or changes nothing.
    Nothing,
    /// It leads beyond the bounds.
    Beyond,
    /// It is a violation.
    Wrong(&'static str),
    /// It leads to another node, and messages are sent, as bits.
    To {
        /// The number of that node.
        local: u32,
        /// The messages.
        sent: u128,
    },
}

impl From<Stop<()>> for Step {
    fn from(stop: Stop<()>) -> Self {
        match stop {
            Stop::Beyond | Stop::Missing(()) => Self::Beyond,
            Stop::Wrong(why) => Self::Wrong(why),
        }
    }
}

/// The events that are not messages: time passes, the node reboots.
const TIMEOUT: usize = 0;
const REBOOT: usize = 1;
/// Then two for each node: it is suspected, and no more.
const SUSPICIONS: usize = 2;

/// A node at some moment, as far as a search asks.
#[derive(Clone, Copy)]
pub(super) struct Seen {
    pub(super) suspects: NodeSet,
    pub(super) leader: Option<(NodeId, Term)>,
}

/// A message, but for its fields.
#[derive(Clone, Copy)]
pub(super) struct Sent {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) name: &'static str,
}

/// Every node that was ever reached, and what came of their steps.
#[derive(Default)]
pub struct Ledger {
    pub(super) nodes: Vec<Seen>,
    /// Every message that was ever sent.
    pub(super) messages: Vec<Sent>,
    /// By term and leader, the messages that name it.
    pub(super) claims: BTreeMap<Term, Vec<(NodeId, u128)>>,
    /// Who won, in any run.
    pub(super) winners: BTreeSet<NodeId>,
    /// Whether there were more messages than a state has bits for: then the search is not complete.
    pub(super) overflowed: bool,
}

impl Ledger {
    /// Adds messages that name a leader of a term.
    pub(super) fn claim(&mut self, term: Term, leader: NodeId, bits: u128) {
        let named = self.claims.entry(term).or_default();
        match named.iter_mut().find(|(name, _)| *name == leader) {
            Some((_, named)) => *named |= bits,
            None => named.push((leader, bits)),
        }
    }
}

/// Elections of a few nodes.
pub struct ElectionModel<const N: usize> {
    bounds: Bounds,
    machine: Box<dyn Machine>,
    ledger: Ledger,
    /// The result of each event at each node that was ever reached.
    steps: Vec<Vec<Step>>,
}

impl<const N: usize> ElectionModel<N> {
    /// The number of events that are not messages.
    const EVENTS: usize = SUSPICIONS + 2 * N;

    /// Makes nodes with the elections of a machine.
    ///
    /// # Panics
    ///
    /// If there are more nodes than `N`.
    #[must_use]
    pub fn new(bounds: Bounds, machine: Box<dyn Machine>) -> Self {
        assert!(bounds.members <= N, "{bounds:?} has no more than {N} nodes");
        Self { bounds, machine, ledger: Ledger::default(), steps: Vec::new() }
    }

    /// Returns the state in which every node has just started.
    pub fn first(&mut self) -> State<N> {
        let nodes = self.machine.first(N, &mut self.ledger);
        State { nodes: std::array::from_fn(|node| nodes[node]), reboots: 0, sent: 0 }
    }

    /// Returns whether the node with this index won, in any run.
    #[must_use]
    pub fn won(&self, node: usize) -> bool {
        self.ledger.winners.contains(&id(node))
    }

    /// Returns whether there were more messages than are followed.
    #[must_use]
    pub fn overflowed(&self) -> bool {
        self.ledger.overflowed
    }

    fn seen(&self, local: u32) -> &Seen {
        &self.ledger.nodes[local as usize]
    }

    /// The result of an event at a node, as far as it was computed.
    fn step(&self, local: u32, event: usize) -> Step {
        self.steps.get(local as usize).and_then(|steps| steps.get(event)).copied().unwrap_or(Step::Untried)
    }
}

impl<const N: usize> Model for ElectionModel<N> {
    type State = State<N>;
    /// An event at a node.
    type Move = (usize, usize);
    /// An event at a local.
    type Missing = (u32, usize);

    fn moves(&self, state: &State<N>, moves: &mut Vec<((usize, usize), bool)>) {
        for node in 0..self.bounds.members {
            moves.push(((node, TIMEOUT), false));
            if state.reboots < self.bounds.reboots.into() && self.bounds.victims.contains(&node) {
                moves.push(((node, REBOOT), false));
            }
            if self.bounds.suspects > 0 {
                moves.extend((0..2 * self.bounds.members).map(|event| ((node, SUSPICIONS + event), false)));
            }
        }
        let mut left = state.sent;
        while left != 0 {
            let bit = left.trailing_zeros();
            left &= left - 1;
            moves.push(((self.ledger.messages[bit as usize].to, Self::EVENTS + bit as usize), false));
        }
    }

    fn follow(&self, state: &State<N>, (node, event): (usize, usize)) -> Result<State<N>, Stop<(u32, usize)>> {
        let (local, sent) = match self.step(state.nodes[node], event) {
            Step::Untried => return Err(Stop::Missing((state.nodes[node], event))),
            Step::Nothing => return Ok(*state),
            Step::Beyond => return Err(Stop::Beyond),
            Step::Wrong(why) => return Err(Stop::Wrong(why)),
            Step::To { local, sent } => (local, sent),
        };
        let mut next = State { sent: state.sent | sent, ..*state };
        next.nodes[node] = local;
        next.reboots += u32::from(event == REBOOT);
        let suspects = |number: &u32| self.seen(*number).suspects.len();
        let suspicion = (SUSPICIONS..Self::EVENTS).contains(&event);
        if suspicion && next.nodes.iter().map(suspects).sum::<u32>() > self.bounds.suspects {
            return Err(Stop::Beyond);
        }
        Ok(next)
    }

    fn compute(&mut self, (local, event): (u32, usize)) {
        let happens = match event.checked_sub(Self::EVENTS) {
            Some(bit) => Event::Receive(bit as u32),
            None if event == TIMEOUT => Event::Timeout,
            None if event == REBOOT => Event::Reboot,
            None => Event::Suspicion { peer: (event - SUSPICIONS) / 2, ends: (event - SUSPICIONS) & 1 == 1 },
        };
        let step = self.machine.take(local, happens, &mut self.ledger);
        self.steps.resize(self.ledger.nodes.len(), Vec::new());
        let tried = &mut self.steps[local as usize];
        if tried.len() <= event {
            tried.resize(event + 1, Step::Untried);
        }
        tried[event] = step;
    }

    /// No two nodes are leaders of one term, in anything sent or believed.
    fn check(&self, state: &State<N>) -> Result<(), &'static str> {
        for named in self.ledger.claims.values().filter(|named| named.len() > 1) {
            if named.iter().filter(|(_, bits)| state.sent & bits != 0).count() > 1 {
                return Err("messages name two leaders of one term");
            }
        }
        let believed = state.nodes.map(|number| self.seen(number).leader);
        for (leader, term) in believed.into_iter().flatten() {
            let named = self.ledger.claims.get(&term).into_iter().flatten();
            if named.into_iter().any(|(name, bits)| *name != leader && state.sent & bits != 0) {
                return Err("a node follows one leader of a term, a message names another");
            }
            if believed.into_iter().flatten().any(|(name, other)| other == term && name != leader) {
                return Err("two nodes follow different leaders of one term");
            }
        }
        Ok(())
    }

    fn describe(&self, state: &State<N>, (node, event): (usize, usize)) -> Described {
        let sent = match self.step(state.nodes[node], event) {
            Step::To { sent, .. } => sent,
            Step::Untried | Step::Nothing | Step::Beyond | Step::Wrong(_) => 0,
        };
        let to = |bit: u32| (self.ledger.messages[bit as usize].to, bit);
        let sent = (0..u128::BITS).filter(|bit| sent >> bit & 1 == 1).map(to).collect();
        let simple = |text: String| (None, text.clone(), format!("{node} {text}"));
        let (received, text, detail) = match event.checked_sub(Self::EVENTS) {
            Some(bit) => {
                let Sent { from, to, name } = self.ledger.messages[bit];
                let detail = format!("{to} receives {} from {from}", self.machine.detail(bit as u32));
                (Some((from, bit as u32)), format!("{name} from {from}"), detail)
            }
            None if event == TIMEOUT => simple("times out".to_owned()),
            None if event == REBOOT && self.bounds.amnesia => simple("reboots without records".to_owned()),
            None if event == REBOOT => simple("reboots".to_owned()),
            None if (event - SUSPICIONS) & 1 == 1 => simple(format!("trusts {}", (event - SUSPICIONS) / 2)),
            None => simple(format!("suspects {}", (event - SUSPICIONS) / 2)),
        };
        Described { node: Some(node), received, sent, text, detail }
    }
}
