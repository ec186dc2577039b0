//! Every order of events around a list of members that changes, among four nodes of which three or four are members.
//!
//! The network is a set: whatever was ever said may arrive at any later moment, twice or never. A message is taken apart into
//! what each node has contributed, and whoever might hear that a change is decided may hear so at once: what nodes know of a
//! round joins in any order, so no node can come to know anything else. What a leader asks arrives as long as it acts: a later
//! promise to it only keeps others from storing something.
//!
//! Leases are an adversary that keeps their promise: a member of a list acts once a majority of that list has promised it a
//! lease, until any moment; who has promised one promises no other meanwhile, in no list, and not after a reboot. A leader
//! whose node goes on with the next list acts no more.
//!
//! Properties: one list an epoch; no two nodes act at once; a leader comes to know what becomes of a change, without luck.
//!
//! The bounds: how many nodes are elected and which, how many changes a leader is told to make and which, how many nodes
//! reboot, with their logs or without, and how often a leader gives up asking.

use super::Outcome;
use super::context::id;
use super::interned::{Fingerprints, Interned, Queues};
use super::schedule::Course;
use super::search::{Described, Model, Stop, explore};
use protocol::base::term::Term;
use protocol::members::{Ballot, Change, List, Members, Message, Notice, Phase, Round, Stored};
use protocol::wire::Key;
use protocol::{Duration, Instant, NodeSet, Timing};
use std::collections::HashMap;
use std::hash::{Hash, Hasher};

const NODES: usize = 4;
/// More lists than there are in any search.
const EPOCHS_MAX: usize = 6;
const LOG_MAX: usize = Members::<Key>::LOG_MAX;

/// What is wrong with nodes or network: a planted bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// A host stores a log only where that begins with another list: votes are lost over a reboot.
    VotesNotStored,
    /// A promise does not say what its voter has stored in an earlier round.
    BestIgnored,
    /// One vote decides.
    LoneVote,
    /// A node that lost its log boots as one that has never run.
    LostIsNew,
    /// A node that goes on with another list has forgotten its promise of a lease.
    PromiseForgotten,
    /// Nobody but the leader says that it has stored a change.
    VotesNotSent,
}

/// How far the search follows.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// How many of the four nodes are on the first list.
    pub members: usize,
    /// Who may be elected.
    pub leaders: &'static [usize],
    /// How often one is.
    pub terms_max: u8,
    /// The changes that a leader may be told to make: a node, and whether it is added.
    pub changes: &'static [(usize, bool)],
    /// How often one is told.
    pub told_max: u8,
    /// Who may reboot.
    pub victims: &'static [usize],
    /// How many reboots there are with the log.
    pub reboots_max: u8,
    /// How many there are without.
    pub losses_max: u8,
    /// How often a leader gives up asking.
    pub vain_max: u8,
    /// The epoch that some run must reach.
    pub target: u32,
    /// The planted bug.
    pub fault: Fault,
}

/// A node at some moment, and the log it has stored.
#[derive(Clone)]
struct Local {
    node: usize,
    members: Members,
    log: Vec<u8>,
    /// Until when it was asked what it says.
    polled: Instant,
}

impl Hash for Local {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.members, &self.log).hash(state);
    }
}

/// A moment of all nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State {
    nodes: [u32; NODES],
    /// What was said and still matters, as the number of an interned set.
    sent: u32,
    /// The list of each epoch, as the number of what says it, plus one.
    lists: [u32; EPOCHS_MAX],
    /// Who acts, and in which term.
    acting: Option<(u8, u8)>,
    /// Who has promised it a lease.
    granted: u8,
    terms: u8,
    told: u8,
    /// Who was told to make a change and does not know what became of it.
    pending: u8,
    reboots: u8,
    losses: u8,
    vain: u8,
}

/// What can happen to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// Its host says in which term it acts.
    Lead(Option<u8>),
    /// It is told to make a change.
    Tell(u8, Change),
    /// Nobody has answered for too long.
    Vain(u8),
    /// A contribution arrives.
    Receive(u32),
    /// It hears all there is to know of a round.
    Conclude(Round),
    /// It reboots.
    Reboot,
    /// It reboots, and its log is lost.
    Lose,
}

/// One way on from a state.
#[derive(Clone, Copy, Debug)]
pub enum Move {
    /// An event at a node.
    At(usize, Event),
    /// A node gets a lease of these members.
    Elect(usize, u8),
    /// The lease of the acting leader ends.
    End,
}

/// What was not computed yet.
#[derive(Debug)]
pub enum Missing {
    /// A step of a node.
    Step(u32, Event),
    /// A set of what was said.
    Sent(Vec<u32>),
}

/// What a step leads to.
struct Step {
    local: u32,
    sent: Vec<u32>,
    /// Whether the node knows now what became of a change.
    answered: bool,
    /// What it says of the list it adopted.
    list: Option<u32>,
}

/// The list of members at four nodes.
pub struct MembersModel {
    bounds: Bounds,
    locals: Interned<Local>,
    /// Who has contributed what.
    said: Interned<(usize, Message)>,
    sets: Queues,
    steps: HashMap<(u32, Event), Step, Fingerprints>,
    /// The highest epoch that any node reached.
    reached: u32,
}

fn now() -> Instant {
    Instant::ZERO.after(Duration::from_secs(60))
}

fn first_list(members: usize) -> List {
    List::first(&(0..members).map(id).collect::<Vec<_>>()).expect("a short list")
}

fn term(number: u8, node: usize) -> Term {
    Term { number: number.into(), by: id(node) }
}

fn bits(set: u8) -> impl Iterator<Item = usize> {
    (0..NODES).filter(move |node| set >> node & 1 == 1)
}

/// What a node has contributed to what it says.
fn contributions(node: usize, list: &List, message: Message) -> Vec<Message> {
    let Message::Round(round) = message else { return vec![message] };
    let slot = list.members().iter().position(|&member| member == id(node));
    let added = |change| if change == Change::Add(id(node)) { Some(list.members().len()) } else { None };
    let phases = match round.phase {
        Phase::Asking { wanted, boot, promised, best } => {
            let own = slot.map_or(NodeSet::EMPTY, NodeSet::slot);
            // A leader takes what it has stored itself from its log.
            let best = best.filter(|_| round.ballot.term.by != id(node));
            let promise = promised.meets(own).then_some(Phase::Asking { wanted, boot: 0, promised: own, best });
            let answers = boot > 0 && wanted == Change::Add(id(node));
            let answer = answers.then_some(Phase::Asking { wanted, boot, promised: NodeSet::EMPTY, best: None });
            [promise, answer]
        }
        Phase::Storing { change, boot, stored } => {
            let own = slot.or(added(change)).map_or(NodeSet::EMPTY, NodeSet::slot);
            [stored.meets(own).then_some(Phase::Storing { change, boot, stored: own }), None]
        }
    };
    phases.into_iter().flatten().map(|phase| Message::Round(Round { phase, ..round })).collect()
}

impl MembersModel {
    fn new(bounds: Bounds) -> Self {
        let (locals, said) = (Interned::new(), Interned::new());
        Self { bounds, locals, said, sets: Queues::new(), steps: HashMap::default(), reached: 0 }
    }

    fn boot(&self, node: usize, stored: Stored<'_>) -> Members {
        let first = first_list(self.bounds.members);
        let listed = if node < self.bounds.members { first } else { List::NONE };
        Members::new(id(node), &Key::new([3; 16]), Timing::LAN, listed, stored, now(), node as u64)
    }

    /// The first state: everybody has heard the first list.
    fn first(&mut self) -> State {
        let list = Message::List(first_list(self.bounds.members));
        let nodes = [0, 1, 2, 3].map(|node| {
            let mut members = self.boot(node, Stored::Nothing);
            members.on_message(now(), list.clone());
            let local = Local { node, members, log: Vec::new(), polled: now() };
            self.settle(local, 0).local
        });
        let number = self.said.number(&(0, list.clone()), || (0, list));
        let mut lists = [0; EPOCHS_MAX];
        lists[1] = number + 1;
        let (acting, granted, terms, told, pending) = (None, 0, 0, 0, 0);
        State { nodes, sent: 0, lists, acting, granted, terms, told, pending, reboots: 0, losses: 0, vain: 0 }
    }

    /// What the host does after each step of a node that had the list of the epoch `before`.
    fn settle(&mut self, mut local: Local, before: u32) -> Step {
        let Local { node, members, log, polled } = &mut local;
        let mut buffer = [0; LOG_MAX];
        let list = members.list().clone();
        if let Some(bytes) = members.poll_log(&mut buffer)
            && (self.bounds.fault != Fault::VotesNotStored || list.epoch() != before)
        {
            *log = bytes.to_vec();
        }
        let notices: Vec<Notice> = std::iter::from_fn(|| members.poll_notice()).collect();
        let answers = |notice: &Notice| {
            matches!(notice, Notice::Decided { .. } | Notice::Refused { .. } | Notice::Unknown { .. })
        };
        let answered = notices.iter().any(answers);
        *polled = polled.after(Duration::from_secs(1_000));
        let messages = std::iter::from_fn(|| members.poll_message(*polled)).collect::<Vec<_>>();
        let (node, mut sent) = (*node, Vec::new());
        for message in messages.into_iter().flat_map(|message| contributions(node, &list, message)) {
            // Lists of one epoch are equal, whoever says them.
            let from = if matches!(message, Message::List(_)) { 0 } else { node };
            if let Some(message) = self.through_faults(from, message) {
                sent.push(self.said.number(&(from, message.clone()), || (from, message)));
            }
        }
        sent.sort_unstable();
        sent.dedup();
        let says = Message::List(list.clone());
        let adopted = (list.epoch() != before).then(|| self.said.number(&(0, says.clone()), || (0, says)));
        Step { local: self.locals.number(&local.clone(), || local), sent, answered, list: adopted }
    }

    fn through_faults(&self, from: usize, message: Message) -> Option<Message> {
        let Message::Round(mut round) = message else { return Some(message) };
        let by_other = round.ballot.term.by != id(from);
        match (self.bounds.fault, &mut round.phase) {
            (Fault::BestIgnored, Phase::Asking { best, .. }) => *best = None,
            (Fault::VotesNotSent, Phase::Storing { .. }) if by_other => return None,
            _ => {}
        }
        Some(Message::Round(round))
    }

    /// Takes a step of one node.
    fn take(&mut self, number: u32, event: Event) -> Step {
        let mut local = self.locals.get(number).clone();
        let (node, before) = (local.node, local.members.list().epoch());
        let as_term = |number| term(number, node);
        match event {
            Event::Lead(acting) => local.members.on_leader(now(), acting.map(as_term)),
            Event::Tell(acting, change) => local.members.change(now(), Some(as_term(acting)), change),
            Event::Vain(acting) => {
                local.members.on_leader(now().after(Duration::from_secs(100)), Some(as_term(acting)));
            }
            Event::Receive(message) => local.members.on_message(now(), self.said.get(message).1.clone()),
            Event::Conclude(round) => local.members.on_message(now(), Message::Round(round)),
            Event::Reboot => local.members = self.boot(node, Stored::Log(&local.log)),
            Event::Lose => {
                let stored = if self.bounds.fault == Fault::LostIsNew { Stored::Nothing } else { Stored::Lost };
                local.members = self.boot(node, stored);
            }
        }
        self.settle(local, before)
    }

    fn members(&self, state: &State, node: usize) -> &Members {
        &self.locals.get(state.nodes[node]).members
    }

    fn epoch(&self, state: &State, node: usize) -> u32 {
        self.members(state, node).list().epoch()
    }

    /// The members of a node's list that could promise it a lease now, if it is one of them.
    fn grantors(&self, state: &State, node: usize) -> u8 {
        let of = self.members(state, node);
        let grants = |&other: &usize| {
            let members = self.members(state, other);
            members.is_member() && members.list() == of.list() && state.granted >> other & 1 == 0
        };
        let all = (0..NODES).filter(grants).fold(0, |all, other| all | 1 << other);
        if all >> node & 1 == 1 { all } else { 0 }
    }

    fn is_majority(&self, state: &State, node: usize, set: u8) -> bool {
        set.count_ones() as usize * 2 > self.members(state, node).list().members().len()
    }

    /// All there is to know of a round, if somebody has stored its change.
    fn known(&self, sent: &[u32], of: &Round) -> Round {
        let mut all = *of;
        for &other in sent {
            if let (_, Message::Round(Round { epoch, ballot, phase: Phase::Storing { stored: more, .. } })) =
                self.said.get(other)
                && (*epoch, *ballot) == (of.epoch, of.ballot)
                && let Phase::Storing { stored, .. } = &mut all.phase
            {
                *stored = stored.with(*more);
            }
        }
        if self.bounds.fault == Fault::LoneVote
            && let Phase::Storing { stored, .. } = &mut all.phase
        {
            *stored = NodeSet::first(NODES);
        }
        all
    }

    /// Whether something that was said can still change anything.
    fn matters(&self, state: &State, message: u32) -> bool {
        let oldest = (0..NODES).map(|node| self.epoch(state, node)).min().unwrap_or(0);
        match &self.said.get(message).1 {
            Message::List(list) => list.epoch() > oldest,
            Message::Round(Round { epoch, ballot: Ballot { term: of, .. }, phase }) => {
                let asked_now = state.acting.is_some_and(|(node, number)| *of == term(number, node.into()));
                *epoch >= oldest && (asked_now || matches!(phase, Phase::Storing { .. }))
            }
        }
    }

    /// Lists what can arrive.
    fn arrivals(&self, state: &State, moves: &mut Vec<(Move, bool)>) {
        let sent = self.sets.get(state.sent);
        for &message in sent {
            let (from, said) = self.said.get(message);
            let with_epoch = |wanted: u32| (0..NODES).filter(move |&node| self.epoch(state, node) == wanted);
            let mut arrives = |node| moves.push((Move::At(node, Event::Receive(message)), true));
            match said {
                Message::List(list) => {
                    (0..NODES).filter(|&node| self.epoch(state, node) < list.epoch()).for_each(arrives);
                }
                Message::Round(round) if round.ballot.term.by == id(*from) => {
                    with_epoch(round.epoch).filter(|node| node != from).for_each(&mut arrives);
                    if matches!(round.phase, Phase::Storing { .. }) {
                        let all = self.known(sent, round);
                        let concludes = |node| (Move::At(node, Event::Conclude(all)), true);
                        moves.extend(with_epoch(round.epoch).map(concludes));
                    }
                }
                Message::Round(Round { epoch, ballot, phase: Phase::Asking { .. } }) => {
                    with_epoch(*epoch).filter(|&node| ballot.term.by == id(node)).for_each(arrives);
                }
                Message::Round(_) => {} // a part of what concludes
            }
        }
    }
}

impl Model for MembersModel {
    type State = State;
    type Move = Move;
    type Missing = Missing;

    fn moves(&self, state: &State, moves: &mut Vec<(Move, bool)>) {
        let Bounds { leaders, changes, told_max, victims, reboots_max, losses_max, vain_max, .. } = self.bounds;
        self.arrivals(state, moves);
        let mut push = |step| moves.push((step, false));
        for &node in leaders {
            let all = self.grantors(state, node);
            let smallest = |&set: &u8| {
                let more = bits(set).any(|one| self.is_majority(state, node, set & !(1 << one)));
                set & !all == 0 && set >> node & 1 == 1 && self.is_majority(state, node, set) && !more
            };
            (0..1 << NODES).filter(smallest).for_each(|set| push(Move::Elect(node, set)));
        }
        if let Some((node, number)) = state.acting {
            let (node, members) = (usize::from(node), self.members(state, node.into()));
            push(Move::End);
            let can = |change: &Change| members.open().is_none() && members.list().after(*change).is_some();
            if state.told < told_max && state.pending == 0 {
                let named = |&(other, added)| if added { Change::Add(id(other)) } else { Change::Remove(id(other)) };
                let told = changes.iter().map(named).filter(can);
                told.for_each(|change| push(Move::At(node, Event::Tell(number, change))));
            }
            moves.push((Move::At(node, Event::Lead(Some(number))), true));
            if state.vain < vain_max && (state.pending != 0 || members.open().is_some()) {
                moves.push((Move::At(node, Event::Vain(number)), true));
            }
        }
        for &node in victims {
            if state.reboots < reboots_max {
                moves.push((Move::At(node, Event::Reboot), false));
            }
            if state.losses < losses_max {
                moves.push((Move::At(node, Event::Lose), false));
            }
        }
    }

    fn follow(&self, state: &State, step: Move) -> Result<State, Stop<Missing>> {
        let mut next = *state;
        let (node, event) = match step {
            Move::Elect(..) if state.acting.is_some() => return Err(Stop::Wrong("two nodes act at once")),
            Move::Elect(..) if state.terms == self.bounds.terms_max => return Err(Stop::Beyond),
            Move::Elect(node, granted) => {
                next.terms += 1;
                (next.acting, next.granted) = (Some((node as u8, next.terms)), granted);
                return Ok(next);
            }
            Move::End => (state.acting.map_or(0, |(node, _)| node.into()), Event::Lead(None)),
            Move::At(node, event) => (node, event),
        };
        let key = (state.nodes[node], event);
        let Step { local, sent, answered, list } =
            self.steps.get(&key).ok_or(Stop::Missing(Missing::Step(key.0, event)))?;
        if matches!(event, Event::Conclude(_)) && list.is_none() {
            return Ok(*state); // its vote is another move
        }
        next.nodes[node] = *local;
        next.pending &= !(u8::from(*answered) << node);
        match event {
            Event::Tell(..) => {
                next.told += 1;
                next.pending |= u8::from(!answered) << node;
            }
            Event::Vain(_) => next.vain += 1,
            Event::Reboot => next.reboots += 1,
            Event::Lose => next.losses += 1,
            Event::Lead(_) | Event::Receive(_) | Event::Conclude(_) => {}
        }
        let rebooted = matches!(event, Event::Reboot | Event::Lose);
        if rebooted {
            next.pending &= !(1 << node);
        }
        if let Some(list) = list.filter(|_| !rebooted) {
            let known = &mut next.lists[self.locals.get(*local).members.list().epoch() as usize];
            if *known != 0 && *known != list + 1 {
                return Err(Stop::Wrong("two lists of one epoch"));
            }
            *known = list + 1;
            if self.bounds.fault == Fault::PromiseForgotten {
                next.granted &= !(1 << node);
            }
        }
        let ends = matches!(event, Event::Lead(None)) || rebooted || list.is_some();
        if ends && state.acting.is_some_and(|(leader, _)| usize::from(leader) == node) {
            (next.acting, next.granted) = (None, 0);
        }
        let set = |all: &mut Vec<u32>| {
            all.extend(sent);
            all.sort_unstable();
            all.dedup();
            all.retain(|&message| self.matters(&next, message));
        };
        let mut number = next.sent;
        self.sets.edit(&mut number, set).map_err(|set| Stop::Missing(Missing::Sent(set)))?;
        Ok(State { sent: number, ..next })
    }

    fn compute(&mut self, missing: Missing) {
        match missing {
            Missing::Step(local, event) => {
                let step = self.take(local, event);
                self.steps.insert((local, event), step);
            }
            Missing::Sent(set) => self.sets.add(set),
        }
    }

    fn waiting(&self, state: &State) -> u8 {
        let finishes = |(node, _): (u8, u8)| {
            let open = self.members(state, node.into()).open();
            u8::from(open.is_some_and(|open| open != Change::Remove(id(node.into())))) << node
        };
        state.pending | state.acting.map_or(0, finishes)
    }

    fn note(&mut self, state: &State) {
        let reached = (0..NODES).map(|node| self.epoch(state, node)).max().unwrap_or(0);
        self.reached = self.reached.max(reached);
    }

    fn describe(&self, state: &State, step: Move) -> Described {
        let (node, event) = match step {
            Move::At(node, event) => (node, event),
            Move::Elect(node, granted) => {
                let from: Vec<usize> = bits(granted).collect();
                let text = format!("gets a lease of {from:?}");
                return Described { node: Some(node), detail: format!("{node} {text}"), text, ..Described::default() };
            }
            Move::End => (state.acting.map_or(0, |(node, _)| node.into()), Event::Lead(None)),
        };
        let known = self.steps.get(&(state.nodes[node], event));
        let others = |&message: &u32| (0..NODES).filter(move |&other| other != node).map(move |other| (other, message));
        let sent = known.map_or(Vec::new(), |step| step.sent.iter().flat_map(others).collect());
        let text = match event {
            Event::Lead(None) => "acts no more".to_owned(),
            Event::Lead(Some(_)) => "goes on as the leader".to_owned(),
            Event::Tell(_, change) => format!("is told: {change:?}"),
            Event::Vain(_) => "gives up asking".to_owned(),
            Event::Receive(message) => self.name(message),
            Event::Conclude(round) => format!("hears all of {:?}", round.ballot),
            Event::Reboot => "reboots".to_owned(),
            Event::Lose => "reboots without its log".to_owned(),
        };
        let (received, detail) = match event {
            Event::Receive(message) => {
                let (from, body) = self.said.get(message);
                (Some((*from, message)), format!("{node} receives {body:?} of {from}"))
            }
            event => (None, format!("{node}: {event:?}")),
        };
        Described { node: Some(node), received, sent, text, detail }
    }
}

impl MembersModel {
    fn name(&self, message: u32) -> String {
        let (from, body) = self.said.get(message);
        format!("{} of {from}", protocol::wire::Message::name(body))
    }
}

/// Three members, to whom a fourth is added, or of whom one is removed.
pub const CHANGED: Bounds = Bounds {
    members: 3,
    leaders: &[0, 1],
    terms_max: 2,
    changes: &[(3, true), (2, false)],
    told_max: 2,
    victims: &[0, 1, 2, 3],
    reboots_max: 0,
    losses_max: 0,
    vain_max: 0,
    target: 3,
    fault: Fault::None,
};

/// The fourth is added, and removed again.
const AND_BACK: Bounds = Bounds { changes: &[(3, true), (3, false)], ..CHANGED };

/// The searches of the list of members, by name.
pub const SEARCHES: [(&str, Bounds); 7] = [
    ("add or remove, reboot", Bounds { reboots_max: 1, ..CHANGED }),
    ("add or remove, no answer", Bounds { vain_max: 1, ..CHANGED }),
    ("from three to four and back", Bounds { terms_max: 3, ..AND_BACK }),
    ("the added one leads, reboot", Bounds { leaders: &[0, 1, 3], reboots_max: 1, ..AND_BACK }),
    ("add, reboot without log", Bounds { losses_max: 1, ..AND_BACK }),
    ("added again without log", Bounds { changes: &[(2, false), (2, true)], victims: &[2], losses_max: 1, ..CHANGED }),
    ("two of four, reboot", Bounds { members: 4, changes: &[(3, false), (2, false)], reboots_max: 1, ..CHANGED }),
];

/// Explores the list of members. Some run must reach the last list: a search in which no list changes proves nothing.
#[must_use]
pub fn judge<'a>(bounds: Bounds, course: impl Into<Course<'a>>) -> Outcome {
    let mut model = MembersModel::new(bounds);
    let first = model.first();
    let found = explore(&mut model, first, course);
    let reached = if model.reached >= bounds.target { Ok(()) } else { Err("the list never changes") };
    Outcome::new(found, reached)
}
