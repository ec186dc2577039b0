//! Every order of events around the leader lease of a group of three.
//!
//! The election is an adversary: it may name either of two nodes to any node at any moment, and a node that is named to
//! itself may send a heartbeat at any moment. The network is a set: any message and any heartbeat ever sent may arrive at
//! any later moment, twice or never. A node may miss any deadline. One node may crash and come back without memory. No two
//! nodes may act at one moment.
//!
//! The bounds: time advances in steps of half a heartbeat up to an end, the election names a leader so many times, a node
//! sends so many heartbeats, and clocks all run alike (in the simulator they differ).

use super::Outcome;
use super::context::{context, id, roster};
use super::interned::{Fingerprints, Interned};
use super::schedule::Course;
use super::search::{Described, Figures, Model, Stop, Violation, explore};
use protocol::algorithm::{Algorithm, Context, Fact, Input, Outbox, Output};
use protocol::base::ids::Roster;
use protocol::base::lamport::LamportTime;
use protocol::base::quorum::Mode;
use protocol::base::term::Term;
use protocol::lease::{Heartbeat, LeaderLease, Message};
use protocol::wire;
use protocol::{Duration, Instant, NodeSet, Timing};
use std::collections::{BTreeSet, HashMap};

const NODES: usize = 3;
/// How many nodes may be elected.
const CANDIDATES: usize = 2;
const TICK: Duration = Duration::from_millis(500);

/// A heartbeat of a second, and a lease of little more than one.
const TIMING: Timing = Timing {
    heartbeat: Duration::from_secs(1),
    heartbeat_max: Duration::from_secs(1),
    heartbeats_missed_max: 1,
    ..Timing::RADIO
};

/// The same, and half a heartbeat more from heartbeat `FIRST_LONG` on.
const LONGER: Timing = Timing { heartbeat_max: Duration::from_millis(1_500), ..TIMING };
const FIRST_LONG: u32 = 4;

/// A node at some moment: its lease, and in which tick it started (0: long ago).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Local {
    node: usize,
    lease: LeaderLease,
    born: u32,
}

/// A set of messages.
type Sent = [u64; 2];

const MESSAGES_MAX: usize = 128;

/// A moment of all nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State {
    ticks: u32,
    nodes: [u32; NODES],
    /// The interned messages that were ever sent, as bits.
    sent: Sent,
    /// Whom the election has named to each node.
    elected: [Option<u8>; NODES],
    /// How many heartbeats each candidate has sent.
    heartbeats: [u8; CANDIDATES],
    /// How often the election has named a leader to a node.
    named: u32,
    crashed: bool,
}

/// What can happen to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// Its deadline has passed.
    Timeout,
    /// The election names a leader.
    Elected(usize),
    /// A heartbeat of a leader is sent or arrives.
    Heartbeat(usize, u8),
    /// A message arrives.
    Receive(u32),
    /// It comes back without memory.
    Restart,
}

/// One way on from a state.
#[derive(Clone, Copy, Debug)]
pub enum Move {
    /// An event at a node.
    At(usize, Event),
    /// Time advances for all.
    Tick,
}

/// Whether a leader acts while its lease lasts, or as long as no other is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Belief {
    /// It asks its lease before it acts.
    Checked,
    /// It acts as long as it was named last.
    Stale,
}

/// How far the search follows.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The last half of a heartbeat.
    pub end: u32,
    /// How often the election names a leader to a node.
    pub named_max: u32,
    /// How many heartbeats each candidate sends.
    pub heartbeats_max: [u8; CANDIDATES],
    /// Whether one node crashes and comes back without memory.
    pub crashes: bool,
    /// Whether the second heartbeat of a candidate asks for a longer lease than the first.
    pub longer: bool,
    /// What a leader asks before it acts.
    pub belief: Belief,
    /// A change to the time by which a grantor counts its leases, or a holder; for planted bugs.
    pub skew: Skew,
}

/// Whose clock is wrong: a planted bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skew {
    /// Nobody's.
    None,
    /// A holder asks its lease about a moment that is a heartbeat in the past.
    Late,
    /// A node that restarts takes part in grants at once, as if it had been up for long.
    Hasty,
    /// A grantor counts every promise like a short one.
    Short,
}

/// The leases of three nodes.
pub struct LeaseModel {
    roster: Roster<NODES>,
    bounds: Bounds,
    locals: Interned<Local>,
    messages: Interned<(usize, usize, Message)>,
    steps: HashMap<(u32, u32, Event), (u32, Sent), Fingerprints>,
    /// The nodes that acted in any state.
    acted: BTreeSet<usize>,
}

/// Time since the host's zero; the run begins a minute later, so that every node has been up for long.
fn at(ticks: u32) -> Instant {
    Instant::ZERO.after(Duration::from_secs(60)).after(TICK.times(ticks))
}

impl LeaseModel {
    fn start(&mut self, node: usize, born: u32) -> u32 {
        let lease = LeaderLease::in_group(Mode::Quorum, NodeSet::first(NODES));
        let local = Local { node, lease, born };
        self.locals.number(&local, || local)
    }

    /// Takes a step of one node: the node after it, and the messages it sends as bits.
    fn take(&mut self, number: u32, ticks: u32, event: Event) -> (u32, Sent) {
        let mut local = *self.locals.get(number);
        let input = match event {
            Event::Timeout | Event::Restart => Input::Timeout,
            Event::Elected(leader) => Input::Fact(Fact::Leader { leader: id(leader), term: term(leader) }),
            Event::Heartbeat(leader, count) => {
                let parent = if leader == local.node { NodeSet::EMPTY } else { NodeSet::slot(leader) };
                let before = if self.bounds.longer { FIRST_LONG - 2 } else { 0 };
                let count = before + u32::from(count);
                Input::Command(Heartbeat { leader: id(leader), term: term(leader), count, parent })
            }
            Event::Receive(message) => {
                let (from, _, message) = *self.messages.get(message);
                Input::Message { from: id(from), sent_at: LamportTime(0), message }
            }
        };
        let long_ago = local.born == 0 || self.bounds.skew == Skew::Hasty;
        let since = if long_ago { Instant::ZERO } else { at(local.born) };
        let promises = matches!(event, Event::Heartbeat(leader, _) if leader != local.node);
        let short = promises && self.bounds.skew == Skew::Short;
        let cx = Context {
            now: at(ticks),
            uptime: at(ticks).since(since),
            lamport: LamportTime(0),
            timing: if self.bounds.longer && !short { &LONGER } else { &TIMING },
            ..context(self.roster.view(), id(local.node))
        };
        let mut out = Outbox::new();
        local.lease.handle(&cx, input, &mut out);
        assert!(!out.overflowed());
        let mut sent = Sent::default();
        for output in out {
            let Output::Send { to, message } = output else { continue };
            for to in to.slots() {
                let Some(message) = essence(local.node, to, message) else { continue };
                let sending = (local.node, to, message);
                let number = self.messages.number(&sending, || sending);
                sent[number as usize / 64] |= 1 << (number % 64);
            }
        }
        assert!(self.messages.len() <= MESSAGES_MAX, "a state has a bit for every message");
        (self.locals.number(&local, || local), sent)
    }
}

impl LeaseModel {
    /// The nodes that act.
    fn acting(&self, state: &State) -> impl Iterator<Item = usize> {
        let late = if self.bounds.skew == Skew::Late { 2 } else { 0 };
        let now = at(state.ticks.saturating_sub(late));
        (0..NODES).filter(move |&node| {
            let lease = &self.locals.get(state.nodes[node]).lease;
            match self.bounds.belief {
                Belief::Checked => lease.acting_term(now).is_some(),
                Belief::Stale => lease.leader().is_some_and(|(leader, _)| leader == id(node)),
            }
        })
    }

    fn name(&self, message: u32) -> &'static str {
        wire::Message::name(&self.messages.get(message).2)
    }
}

impl Model for LeaseModel {
    type State = State;
    type Move = Move;
    /// A node, the time, and what happens to it.
    type Missing = (u32, u32, Event);

    fn moves(&self, state: &State, moves: &mut Vec<(Move, bool)>) {
        let mut push = |step| moves.push((step, false));
        for node in 0..NODES {
            push(Move::At(node, Event::Timeout));
            if state.named < self.bounds.named_max {
                (0..CANDIDATES).for_each(|leader| push(Move::At(node, Event::Elected(leader))));
            }
            for (leader, &sent) in state.heartbeats.iter().enumerate() {
                if leader == node
                    && sent < self.bounds.heartbeats_max[node]
                    && state.elected[node] == u8::try_from(node).ok()
                {
                    push(Move::At(node, Event::Heartbeat(node, sent + 1)));
                } else if leader != node {
                    (1..=sent).for_each(|count| push(Move::At(node, Event::Heartbeat(leader, count))));
                }
            }
            if self.bounds.crashes && !state.crashed && state.ticks > 0 {
                push(Move::At(node, Event::Restart));
            }
        }
        let sent = |bit: &u32| state.sent[*bit as usize / 64] >> (bit % 64) & 1 == 1;
        for message in (0..u32::try_from(self.messages.len()).unwrap()).filter(sent) {
            push(Move::At(self.messages.get(message).1, Event::Receive(message)));
        }
        if state.ticks < self.bounds.end {
            push(Move::Tick);
        }
    }

    fn follow(&self, state: &State, step: Move) -> Result<State, Stop<(u32, u32, Event)>> {
        let Move::At(node, event) = step else { return Ok(State { ticks: state.ticks + 1, ..*state }) };
        let key = (state.nodes[node], state.ticks, event);
        let &(local, sent) = self.steps.get(&key).ok_or(Stop::Missing(key))?;
        let mut next = *state;
        next.nodes[node] = local;
        next.sent.iter_mut().zip(sent).for_each(|(all, new)| *all |= new);
        match event {
            Event::Elected(leader) => {
                next.named += 1;
                next.elected[node] = u8::try_from(leader).ok();
            }
            Event::Heartbeat(leader, count) if leader == node => next.heartbeats[node] = count,
            Event::Restart => {
                next.crashed = true;
                next.elected[node] = None;
            }
            Event::Heartbeat(..) | Event::Timeout | Event::Receive(_) => {}
        }
        Ok(next)
    }

    fn compute(&mut self, (local, ticks, event): (u32, u32, Event)) {
        let step = match event {
            Event::Restart => (self.start(self.locals.get(local).node, ticks), Sent::default()),
            _ => self.take(local, ticks, event),
        };
        self.steps.insert((local, ticks, event), step);
    }

    fn check(&self, state: &State) -> Result<(), &'static str> {
        if self.acting(state).count() > 1 { Err("two nodes act at once") } else { Ok(()) }
    }

    fn note(&mut self, state: &State) {
        let acting: Vec<usize> = self.acting(state).collect();
        self.acted.extend(acting);
    }

    fn describe(&self, state: &State, step: Move) -> Described {
        let Move::At(node, event) = step else {
            let text = "half a heartbeat passes".to_owned();
            return Described { detail: text.clone(), text, ..Described::default() };
        };
        let known = self.steps.get(&(state.nodes[node], state.ticks, event));
        let bits = known.map_or(Sent::default(), |&(_, sent)| sent);
        let to = |bit: u32| (self.messages.get(bit).1, bit);
        let is_sent = |bit: &u32| bits[*bit as usize / 64] >> (bit % 64) & 1 == 1;
        let sent = (0..MESSAGES_MAX as u32).filter(is_sent).map(to).collect();
        let text = match event {
            Event::Receive(message) => format!("{} from {}", self.name(message), self.messages.get(message).0),
            Event::Timeout => "times out".to_owned(),
            Event::Elected(leader) => format!("is told that {leader} leads"),
            Event::Heartbeat(leader, count) => format!("heartbeat {count} of {leader}"),
            Event::Restart => "restarts without memory".to_owned(),
        };
        let (received, detail) = match event {
            Event::Receive(message) => {
                let (from, _, body) = self.messages.get(message);
                (Some((*from, message)), format!("{node} receives {body:?} from {from}"))
            }
            event => (None, format!("{node}: {event:?}")),
        };
        Described { node: Some(node), received, sent, text, detail }
    }
}

/// What a message can change about who acts: grants matter to the node they are for. That node hears of a grant from
/// whoever made it, at any moment; that others join it to theirs adds nothing. Views matter to applications alone.
fn essence(from: usize, to: usize, message: Message) -> Option<Message> {
    match message {
        Message::Grant { term, count, granted, .. } if term.by == id(to) => {
            let granted = granted.map(|set| set.and(NodeSet::slot(from)));
            let news = granted.iter().any(|set| !set.is_empty());
            news.then_some(Message::Grant { term, depth: 1, asks: true, view_number: 0, count, granted })
        }
        Message::Grant { .. } | Message::View { .. } => None,
        Message::Release { .. } => Some(message),
    }
}

/// The term of a candidate.
fn term(leader: usize) -> Term {
    Term { number: 1, by: id(leader) }
}

/// Explores the leases of three nodes; returns the figures, and which of them acted in any state.
///
/// # Errors
///
/// If two nodes act at one moment.
pub fn explore_leases<'a>(
    bounds: Bounds,
    course: impl Into<Course<'a>>,
) -> Result<(Figures, BTreeSet<usize>), Box<Violation>> {
    let mut model = LeaseModel {
        roster: roster(NODES),
        bounds,
        locals: Interned::new(),
        messages: Interned::new(),
        steps: HashMap::default(),
        acted: BTreeSet::new(),
    };
    let nodes = [0, 1, 2].map(|node| model.start(node, 0));
    let first = State {
        ticks: 0,
        nodes,
        sent: Sent::default(),
        elected: [None; NODES],
        heartbeats: [0; CANDIDATES],
        named: 0,
        crashed: false,
    };
    let figures = explore(&mut model, first, course)?;
    Ok((figures, model.acted))
}

/// Two candidates that are named four times, and send one heartbeat each.
pub const NAMED: Bounds = Bounds {
    end: 4,
    named_max: 4,
    heartbeats_max: [1, 1],
    crashes: false,
    longer: false,
    belief: Belief::Checked,
    skew: Skew::None,
};

/// One of them sends two heartbeats.
pub const TWO_HEARTBEATS: Bounds = Bounds { end: 3, heartbeats_max: [2, 1], ..NAMED };
/// How often a leader is named where the search is to end: with four, ten million states are not all.
const NAMED_OF_TWO: u32 = 3;

/// The second heartbeat asks for a longer lease.
pub const LONGER_LEASES: Bounds = Bounds { longer: true, ..TWO_HEARTBEATS };

/// The searches of the lease, by name.
pub const SEARCHES: [(&str, Bounds); 4] = [
    ("named four times", NAMED),
    ("two heartbeats", Bounds { named_max: NAMED_OF_TWO, ..TWO_HEARTBEATS }),
    ("longer leases", Bounds { named_max: NAMED_OF_TWO, ..LONGER_LEASES }),
    ("reboot without memory", Bounds { end: 3, crashes: true, ..NAMED }),
];

/// Explores the leases. Both candidates must act in some state: a search in which nobody acts proves nothing.
#[must_use]
pub fn judge<'a>(bounds: Bounds, course: impl Into<Course<'a>>) -> Outcome {
    let mut acted = BTreeSet::new();
    let found = explore_leases(bounds, course).map(|(figures, nodes)| {
        acted = nodes;
        figures
    });
    let both = (0..CANDIDATES).all(|candidate| acted.contains(&candidate));
    Outcome::new(found, if both { Ok(()) } else { Err("a candidate never acts") })
}
