//! Every order of events around the leader lease of a group of three.
//!
//! The election is an adversary: it may name either of two nodes to any node at any moment, and a node that is named to
//! itself may send a heartbeat at any moment. The network is a set: any message and any heartbeat ever sent may arrive at
//! any later moment, twice or never. A node may miss any deadline. One node may crash and come back without memory. No two
//! nodes may act at one moment.
//!
//! The bounds: time advances in steps of half a heartbeat up to an end, the election names a leader so many times, a node
//! sends so many heartbeats, and clocks all run alike (in the simulator they differ).

use crate::context::{context, id, roster};
use crate::explorer::{Figures, Fingerprints, Interned, Model, NODES, Violation, explore};
use protocol::algorithm::{Algorithm, Context, Fact, Input, Outbox, Output};
use protocol::base::ids::Roster;
use protocol::base::lamport::LamportTime;
use protocol::base::quorum::Mode;
use protocol::base::term::Term;
use protocol::lease::{Heartbeat, LeaderLease, Message};
use protocol::{Duration, Instant, NodeSet, Timing};
use std::collections::{BTreeSet, HashMap};

/// How many nodes may be elected.
const CANDIDATES: usize = 2;
const TICK: Duration = Duration::from_millis(500);

/// A heartbeat of a second, and a lease of little more than one.
const TIMING: Timing = Timing { heartbeat: Duration::from_secs(1), heartbeats_missed_max: 1, ..Timing::RADIO };

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

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct State {
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Event {
    Timeout,
    Elected(usize),
    Heartbeat(usize, u8),
    Receive(u32),
}

#[derive(Clone, Copy, Debug)]
enum Move {
    At(usize, Event),
    Tick,
    Restart(usize),
}

/// Whether a leader acts while its lease lasts, or as long as no other is named.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Belief {
    Checked,
    Stale,
}

struct LeaseModel {
    roster: Roster<NODES>,
    end: u32,
    named_max: u32,
    heartbeats_max: u8,
    crashes: bool,
    belief: Belief,
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

    /// The node after an event, and the messages it sends as bits; computed once.
    fn step(&mut self, number: u32, ticks: u32, event: Event) -> (u32, Sent) {
        if let Some(&step) = self.steps.get(&(number, ticks, event)) {
            return step;
        }
        let mut local = *self.locals.get(number);
        let input = match event {
            Event::Timeout => Input::Timeout,
            Event::Elected(leader) => Input::Fact(Fact::Leader { leader: id(leader), term: term(leader) }),
            Event::Heartbeat(leader, count) => {
                let parent = if leader == local.node { NodeSet::EMPTY } else { NodeSet::slot(leader) };
                Input::Command(Heartbeat { leader: id(leader), term: term(leader), count: count.into(), parent })
            }
            Event::Receive(message) => {
                let (from, _, message) = *self.messages.get(message);
                Input::Message { from: id(from), sent_at: LamportTime(0), message }
            }
        };
        let since = if local.born == 0 { Instant::ZERO } else { at(local.born) };
        let cx = Context {
            now: at(ticks),
            uptime: at(ticks).since(since),
            lamport: LamportTime(0),
            timing: &TIMING,
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
        let step = (self.locals.number(&local, || local), sent);
        self.steps.insert((number, ticks, event), step);
        step
    }
}

impl Model for LeaseModel {
    type State = State;
    type Move = Move;

    fn moves(&self, state: &State, moves: &mut Vec<(Move, bool)>) {
        let mut push = |step| moves.push((step, false));
        for node in 0..NODES {
            push(Move::At(node, Event::Timeout));
            if state.named < self.named_max {
                (0..CANDIDATES).for_each(|leader| push(Move::At(node, Event::Elected(leader))));
            }
            for (leader, &sent) in state.heartbeats.iter().enumerate() {
                if leader == node && sent < self.heartbeats_max && state.elected[node] == u8::try_from(node).ok() {
                    push(Move::At(node, Event::Heartbeat(node, sent + 1)));
                } else if leader != node {
                    (1..=sent).for_each(|count| push(Move::At(node, Event::Heartbeat(leader, count))));
                }
            }
            if self.crashes && !state.crashed && state.ticks > 0 {
                push(Move::Restart(node));
            }
        }
        let sent = |bit: &u32| state.sent[*bit as usize / 64] >> (bit % 64) & 1 == 1;
        for message in (0..u32::try_from(self.messages.len()).unwrap()).filter(sent) {
            push(Move::At(self.messages.get(message).1, Event::Receive(message)));
        }
        if state.ticks < self.end {
            push(Move::Tick);
        }
    }

    fn follow(&mut self, state: &State, step: Move) -> Result<Option<State>, &'static str> {
        let mut next = *state;
        match step {
            Move::At(node, event) => {
                let (local, sent) = self.step(state.nodes[node], state.ticks, event);
                next.nodes[node] = local;
                next.sent.iter_mut().zip(sent).for_each(|(all, new)| *all |= new);
                match event {
                    Event::Elected(leader) => {
                        next.named += 1;
                        next.elected[node] = u8::try_from(leader).ok();
                    }
                    Event::Heartbeat(leader, count) if leader == node => next.heartbeats[node] = count,
                    Event::Heartbeat(..) | Event::Timeout | Event::Receive(_) => {}
                }
            }
            Move::Tick => next.ticks += 1,
            Move::Restart(node) => {
                next.crashed = true;
                next.elected[node] = None;
                next.nodes[node] = self.start(node, state.ticks);
            }
        }
        Ok(Some(next))
    }

    fn check(&mut self, state: &State) -> Result<(), &'static str> {
        let acts = |&node: &usize| {
            let lease = &self.locals.get(state.nodes[node]).lease;
            match self.belief {
                Belief::Checked => lease.acting_term(at(state.ticks)).is_some(),
                Belief::Stale => lease.leader().is_some_and(|(leader, _)| leader == id(node)),
            }
        };
        let acting: Vec<usize> = (0..NODES).filter(acts).collect();
        self.acted.extend(&acting);
        if acting.len() > 1 { Err("two nodes act at once") } else { Ok(()) }
    }

    fn describe(&self, step: Move) -> String {
        match step {
            Move::At(node, Event::Receive(message)) => format!("{node} receives {:?}", self.messages.get(message)),
            step => format!("{step:?}"),
        }
    }
}

/// What a message can change about who acts: grants matter to the node they are for. That node hears of a grant from
/// whoever made it, at any moment; that others join it to theirs adds nothing. Views matter to applications alone.
fn essence(from: usize, to: usize, message: Message) -> Option<Message> {
    match message {
        Message::Grant { term, count, granted, .. } if term.by == id(to) => {
            let granted = granted.map(|set| set.and(NodeSet::slot(from)));
            let news = granted.iter().any(|set| !set.is_empty());
            news.then_some(Message::Grant { term, to: id(to), view_number: 0, count, granted })
        }
        Message::Grant { .. } | Message::View { .. } => None,
        Message::Release { .. } => Some(message),
    }
}

/// The term of a candidate.
fn term(leader: usize) -> Term {
    Term { number: 1, by: id(leader) }
}

/// Explores the leases of three nodes; which of them acted in any state.
fn leases(
    end: u32,
    named_max: u32,
    heartbeats_max: u8,
    crashes: bool,
    belief: Belief,
) -> Result<BTreeSet<usize>, Violation> {
    let mut model = LeaseModel {
        roster: roster(1..=3),
        end,
        named_max,
        heartbeats_max,
        crashes,
        belief,
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
    let Figures { states, .. } = explore(&mut model, first)?;
    println!("{end} ticks, {named_max} times named, {heartbeats_max} heartbeats, crash {crashes}: {states} states");
    Ok(model.acted)
}

#[test]
fn no_two_nodes_act_at_once_whoever_the_election_names() {
    for (named_max, heartbeats_max) in [(4, 1), (3, 2)] {
        let acted = leases(4, named_max, heartbeats_max, false, Belief::Checked).expect("nothing goes wrong");
        assert_eq!(acted, BTreeSet::from([0, 1]), "both can come to act");
    }
}

#[test]
fn no_two_nodes_act_at_once_where_one_of_them_restarts_without_memory() {
    let acted = leases(3, 4, 1, true, Belief::Checked).expect("nothing goes wrong");
    assert_eq!(acted, BTreeSet::from([0, 1]), "both can come to act");
}

#[test]
fn a_node_that_acts_as_long_as_no_other_is_named_is_found_out() {
    let violation = leases(4, 4, 1, false, Belief::Stale).unwrap_err();
    assert_eq!(violation.why, "two nodes act at once");
}
