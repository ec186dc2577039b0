//! A few nodes with an election on a network that is a set: any message ever sent may arrive now, later, twice or never.
//!
//! A node's step depends on nothing but the node and the input, so each is taken once and looked up from then on; a state
//! is a number for each node and a set of messages.

use super::context::{context, id};
pub use super::election_messages::{Claim, Explored};
use super::interned::Interned;
use super::search::{Described, Model, Stop};
use protocol::algorithm::{Context, Fact, Input, Outbox, Output, Scope};
use protocol::base::capacity::{Candidate, Capacity};
use protocol::base::ids::Roster;
use protocol::base::lamport::LamportTime;
use protocol::base::term::Term;
use protocol::election::{Command, Notice};
use protocol::wire::Payload as _;
use protocol::{Duration, Instant, NodeId, NodeSet, Timing};
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

/// A node at some moment.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Local<E> {
    node: usize,
    election: E,
    suspects: NodeSet,
    /// Whether the node lost its records, and so may not lead.
    quarantined: bool,
    /// The highest term it acted on before its last reboot, if it kept its records.
    floor: u32,
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
enum Step {
    Untried,
    /// It cannot happen, or changes nothing.
    Nothing,
    Beyond,
    Wrong(&'static str),
    To {
        local: u32,
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

/// Elections of a few nodes.
pub struct ElectionModel<E: Explored, const N: usize> {
    timing: Timing,
    rosters: [Roster<N>; N],
    bounds: Bounds,
    locals: Interned<Local<E>>,
    /// The result of each event at each of `locals`.
    steps: Vec<Vec<Step>>,
    /// Every message that was ever sent, from whom to whom.
    messages: Interned<(usize, usize, E::Message)>,
    /// By term and leader, the messages that name it.
    claims: BTreeMap<Term, Vec<(NodeId, u128)>>,
    /// Who won, in any run.
    winners: BTreeSet<NodeId>,
    /// Whether there were more messages than a state has bits for: then the search is not complete.
    overflowed: bool,
}

impl<E: Explored, const N: usize> ElectionModel<E, N> {
    /// The number of events that are not messages.
    const EVENTS: usize = SUSPICIONS + 2 * N;

    /// Makes nodes with these links; in a group, every node reaches every other.
    ///
    /// # Panics
    ///
    /// If there are more nodes than `N`.
    #[must_use]
    pub fn new(links: &[(usize, usize)], bounds: Bounds) -> Self {
        assert!(bounds.members <= N, "{bounds:?} has no more than {N} nodes");
        let mut rosters = [Roster::new(); N];
        match E::default().scope() {
            Scope::Group => {
                for roster in rosters.iter_mut().take(bounds.members) {
                    (0..bounds.members).for_each(|member| _ = roster.insert(id(member)));
                }
            }
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
            claims: BTreeMap::new(),
            winners: BTreeSet::new(),
            overflowed: false,
        }
    }

    /// Returns the state in which every node has just started.
    pub fn first(&mut self) -> State<N> {
        let local =
            |node| Local { node, election: E::default(), suspects: NodeSet::EMPTY, quarantined: false, floor: 0 };
        State { nodes: std::array::from_fn(|node| self.number(local(node))), reboots: 0, sent: 0 }
    }

    /// Returns whether the node with this index won, in any run.
    #[must_use]
    pub fn won(&self, node: usize) -> bool {
        self.winners.contains(&id(node))
    }

    /// Returns how many messages there were.
    #[must_use]
    pub fn messages(&self) -> usize {
        self.messages.len()
    }

    /// Returns whether there were more messages than are followed.
    #[must_use]
    pub fn overflowed(&self) -> bool {
        self.overflowed
    }

    fn number(&mut self, local: Local<E>) -> u32 {
        let number = self.locals.number(&local, || local);
        self.steps.resize(self.locals.len(), Vec::new());
        number
    }

    /// The result of an event at a node, as far as it was computed.
    fn step(&self, local: u32, event: usize) -> Step {
        self.steps[local as usize].get(event).copied().unwrap_or(Step::Untried)
    }

    /// The input of an event, and the node that gets it as it is then; `None` where it cannot happen.
    #[expect(clippy::type_complexity, reason = "it is used here only")]
    fn input(&self, mut local: Local<E>, event: usize) -> Option<(Local<E>, Input<E::Message, Command>)> {
        let input = match event.checked_sub(Self::EVENTS) {
            Some(bit) => {
                let (from, _, message) = *self.messages.get(bit as u32);
                Input::Message { from: id(from), sent_at: LamportTime(0), message }
            }
            None if event == TIMEOUT => Input::Timeout,
            None if event == REBOOT => return None, // no input: see `reboot`
            None => {
                let (peer, up) = ((event - SUSPICIONS) / 2, (event - SUSPICIONS) & 1 == 1);
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

    /// The node after a reboot: with its records, no term that it acted on is new; without them it may not lead.
    fn reboot(&mut self, before: Local<E>) -> Step {
        let quarantined = before.quarantined || self.bounds.amnesia;
        let floor = if self.bounds.amnesia { 0 } else { before.election.term_number() };
        let mut election = E::default();
        election.resume(floor);
        let local = self.number(Local { election, suspects: NodeSet::EMPTY, quarantined, floor, ..before });
        Step::To { local, sent: 0 }
    }

    /// Takes one step of one node.
    fn take(
        &mut self,
        before: Local<E>,
        mut local: Local<E>,
        input: Input<E::Message, Command>,
    ) -> Result<Step, Stop<()>> {
        let (roster, me) = (self.rosters[local.node].view(), id(local.node));
        let candidate = |id: NodeId| Candidate { capacity: Capacity::new(id.0 as u16), id };
        let cx = context(roster, me);
        let up = cx.peers.without(local.suspects);
        let grouped = local.election.scope() == Scope::Group;
        let better = cx.peers.slots().filter(|&slot| grouped && roster.id_of(slot) > Some(me));
        let cx = Context {
            now: Instant::ZERO,
            uptime: Duration::ZERO,
            candidate: (!local.quarantined).then(|| candidate(me)),
            quarantined: local.quarantined,
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
        if out.overflowed() {
            return Err(Stop::Wrong("a step asks for more than it may"));
        }
        if let Some(((leader, term), (former, earlier))) = local.election.leader().zip(before.election.leader()) {
            // Where there are clusters, each has terms of its own.
            let other = leader != former && local.election.horizon().is_some();
            if term < earlier && !other {
                return Err(Stop::Wrong("a node's term falls"));
            }
        }
        let number = local.election.term_number();
        let started = number > before.election.term_number().max(received);
        if number > self.bounds.number_max || (started && !self.bounds.starters.contains(&local.node)) {
            return Err(Stop::Beyond);
        }
        let mut sent = 0;
        for output in out {
            match output {
                Output::Send { to, message } => sent |= self.send(local.node, to, message)?,
                Output::Notify(Notice::Gained { .. }) if local.quarantined => {
                    return Err(Stop::Wrong("a node leads in its quarantine"));
                }
                Output::Notify(Notice::Gained { term }) if term.number <= local.floor => {
                    return Err(Stop::Wrong("a node leads again under a term of its earlier boot"));
                }
                Output::Notify(Notice::Gained { .. }) => _ = self.winners.insert(me),
                Output::Notify(Notice::Following { .. } | Notice::Leaderless | Notice::Reorganising { .. }) => {}
            }
        }
        let local = self.number(local);
        Ok(Step::To { local, sent })
    }

    /// The bits of a message to everybody in `to`.
    fn send(&mut self, from: usize, to: NodeSet, message: E::Message) -> Result<u128, Stop<()>> {
        let (_, claim) = E::read(&message);
        if claim.is_some_and(|(_, _, heartbeat)| heartbeat > self.bounds.heartbeats_max) {
            return Err(Stop::Beyond);
        }
        let mut bits = 0;
        for slot in to.slots() {
            let to = self.rosters[from].view().id_of(slot).ok_or(Stop::Beyond)?.0 as usize - 1;
            let sending = (from, to, message);
            if self.messages.len() == u128::BITS as usize && self.messages.find(&sending).is_none() {
                self.overflowed = true;
                return Err(Stop::Beyond);
            }
            bits |= 1 << self.messages.number(&sending, || sending);
        }
        if let Some((term, leader, _)) = claim {
            let named = self.claims.entry(term).or_default();
            match named.iter_mut().find(|(name, _)| *name == leader) {
                Some((_, named)) => *named |= bits,
                None => named.push((leader, bits)),
            }
        }
        Ok(bits)
    }
}

impl<E: Explored, const N: usize> Model for ElectionModel<E, N> {
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
            moves.push(((self.messages.get(bit).1, Self::EVENTS + bit as usize), false));
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
        let suspects = |number: &u32| self.locals.get(*number).suspects.len();
        let suspicion = (SUSPICIONS..Self::EVENTS).contains(&event);
        if suspicion && next.nodes.iter().map(suspects).sum::<u32>() > self.bounds.suspects {
            return Err(Stop::Beyond);
        }
        Ok(next)
    }

    fn compute(&mut self, (local, event): (u32, usize)) {
        let before = *self.locals.get(local);
        let step = if event == REBOOT {
            self.reboot(before)
        } else if let Some((changed, input)) = self.input(before, event) {
            self.take(before, changed, input).unwrap_or_else(Step::from)
        } else {
            Step::Nothing
        };
        let tried = &mut self.steps[local as usize];
        if tried.len() <= event {
            tried.resize(event + 1, Step::Untried);
        }
        tried[event] = step;
    }

    /// No two nodes are leaders of one term, in anything sent or believed.
    fn check(&self, state: &State<N>) -> Result<(), &'static str> {
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

    fn describe(&self, state: &State<N>, (node, event): (usize, usize)) -> Described {
        let sent = match self.step(state.nodes[node], event) {
            Step::To { sent, .. } => sent,
            Step::Untried | Step::Nothing | Step::Beyond | Step::Wrong(_) => 0,
        };
        let to = |bit: u32| (self.messages.get(bit).1, bit);
        let sent = (0..u128::BITS).filter(|bit| sent >> bit & 1 == 1).map(to).collect();
        let simple = |text: String| (None, text.clone(), format!("{node} {text}"));
        let (received, text, detail) = match event.checked_sub(Self::EVENTS) {
            Some(bit) => {
                let (from, to, message) = self.messages.get(bit as u32);
                let detail = format!("{to} receives {message:?} from {from}");
                (Some((*from, bit as u32)), format!("{} from {from}", message.name()), detail)
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
