//! Three nodes with an application and the algorithms that observe it, on a network that delivers exactly once, in order
//! or not.
//!
//! A state is the number of each node, the number of each queue between two of them, and what the checker remembers. Time
//! stands still, and a node whose deadline has come may time out at any moment.

use super::context::{context, id, roster};
use super::interned::{Channels, Fingerprints, Interned, Queues};
use super::search::{Described, Model, Stop, computed};
use protocol::algorithm::{Context, Input, Outbox, Output};
use protocol::base::ids::Roster;
use protocol::base::lamport::LamportTime;
use protocol::service::Service;
use protocol::service::app_service::{self, Notice, ObservedApp};
use protocol::service::application::{Recordable, Terminating};
use protocol::service::snapshot::{self, Fragment};
use protocol::service::termination::{self, Detection};
use protocol::wire::Payload;
use protocol::{Duration, Instant, Timing};
use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt::Debug;

/// How many nodes there are.
pub const NODES: usize = 3;

/// Long after every node started.
const NOW: Instant = Instant::from_micros(60_000_000);

/// Waves follow each other without a pause; no timeout ends.
const TIMING: Timing = Timing { probe: Duration::ZERO, ..Timing::RADIO };

/// How many waves are followed.
const WAVES_MAX: u32 = 3;

/// An application and what observes it.
pub trait Explored:
    Service<Message: Debug + Send + Sync, Command: Copy + Send + Sync, Notice = Notice> + Clone + Debug + Send + Sync
{
    /// Returns whether its application works.
    fn is_busy(&self) -> bool;
    /// Returns whether a message is of the application.
    fn is_work(message: &Self::Message) -> bool;
    /// Returns whether it is not followed any further.
    fn is_beyond(&self) -> bool;
}

impl<A, D, const N: usize> Explored for ObservedApp<A, D, N>
where
    A: Recordable<Message: Debug + Send + Sync, Command: Copy + Send + Sync, Notice = Infallible>
        + Terminating
        + Clone
        + Debug
        + Send
        + Sync,
    D: Detection<Message: Debug + Send + Sync> + Waves + Clone + Debug + Send + Sync,
{
    fn is_busy(&self) -> bool {
        self.application().is_busy()
    }

    fn is_work(message: &Self::Message) -> bool {
        matches!(message, app_service::Message::Application(_))
    }

    fn is_beyond(&self) -> bool {
        self.detection().waves() > WAVES_MAX
    }
}

/// A termination detection, and how many waves it has sent.
pub trait Waves {
    /// Returns how many waves it has sent.
    fn waves(&self) -> u32 {
        0
    }
}

/// How far the search follows, and what the network does.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Nodes that get the command, at any moment, once.
    pub askers: &'static [usize],
    /// How many messages the applications send.
    pub sends: u8,
    /// Whether a node sends at once what it has to send, or at any moment.
    pub eager: bool,
    /// Whether channels are FIFO.
    pub in_order: bool,
    /// Random numbers of an application: the lowest bit for a step, the others for sending.
    pub draws: &'static [u32],
    /// What all applications have together, if that never changes.
    pub sum: Option<u32>,
}

/// What can happen to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// Its deadline has passed.
    Timeout,
    /// It may send one message.
    Send,
    /// It gets the command.
    Ask,
    /// A message arrives.
    Receive(u32),
}

/// A message, from whom to whom.
type Sent<M> = (usize, usize, M);

/// The result of an event at a node.
#[derive(Clone)]
struct Step {
    local: u32,
    sent: Vec<u32>,
    notices: Vec<Notice>,
}

/// A snapshot of one initiator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Taking {
    /// The sum of all its parts.
    sum: u32,
    taken: bool,
}

/// What the checker remembers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Past {
    sends: u8,
    asked: [bool; NODES],
    snapshots: [Taking; NODES],
    /// Nodes that know of the termination.
    terminated: [bool; NODES],
}

/// A moment of all nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State {
    nodes: [u32; NODES],
    channels: Channels<NODES>,
    past: u32,
}

/// What was not computed yet.
#[derive(Clone, Debug)]
pub enum Missing {
    /// The result of an event at a node, with a random number.
    Step(u32, Event, u32),
    /// A queue of messages.
    Queue(Vec<u32>),
    /// What the checker remembers.
    Past(Past),
}

/// Three nodes with an application.
pub struct AppModel<S: Explored> {
    bounds: Bounds,
    command: S::Command,
    roster: Roster<NODES>,
    /// Which node each is, and its service.
    locals: Interned<(usize, S)>,
    messages: Interned<Sent<S::Message>>,
    steps: HashMap<(u32, Event, u32), Step, Fingerprints>,
    queues: Queues,
    pasts: Interned<Past>,
    /// In how many states nothing is left to do; in how many of those every snapshot was taken, or every node knows of
    /// the termination.
    last: usize,
    complete: usize,
}

/// The random number with which an application sends: one bit for the receiver, one for the amount.
fn sending(draw: u32) -> u32 {
    (draw >> 1 & 1) | (draw >> 2 & 1) << 8
}

impl<S: Explored> AppModel<S> {
    /// Nodes of which the askers get `command`.
    pub fn new(bounds: Bounds, command: S::Command) -> Self {
        Self {
            bounds,
            command,
            roster: roster(NODES),
            locals: Interned::new(),
            messages: Interned::new(),
            steps: HashMap::default(),
            queues: Queues::new(),
            pasts: Interned::new(),
            last: 0,
            complete: 0,
        }
    }

    /// Returns in how many states nothing is left to do, and in how many of those everything was done.
    #[must_use]
    pub fn ends(&self) -> (usize, usize) {
        (self.last, self.complete)
    }

    /// Returns the state in which every node has started and heard of every other, and the first got the command `begin`.
    ///
    /// # Panics
    ///
    /// If a service is wrong before anything has happened.
    pub fn first(&mut self, make: impl Fn(usize) -> S, begin: Option<S::Command>) -> State {
        let nodes = std::array::from_fn(|node| {
            let mut service = make(node);
            service.resume(1);
            self.number(node, service)
        });
        let past = self.pasts.number(&Past::default(), Past::default);
        let mut state = State { nodes, channels: Queues::empty(), past };
        let mut moves = Vec::new();
        loop {
            let mut next = state;
            for node in 0..NODES {
                next = computed(self, &next, (node, Event::Send, 0)).expect("a beginning");
            }
            loop {
                moves.clear();
                self.moves(&next, &mut moves);
                let receive = moves.iter().map(|(step, _)| *step).find(|step| matches!(step.1, Event::Receive(_)));
                let Some((node, event, _)) = receive else { break };
                next = computed(self, &next, (node, event, 0)).expect("a beginning");
            }
            if next == state {
                break;
            }
            state = next;
        }
        if let Some(command) = begin {
            let (mut service, mut out) = (self.locals.get(state.nodes[0]).1.clone(), Outbox::new());
            service.handle(&self.context(0, 0), Input::Command(command), &mut out);
            assert!(out.outputs().is_empty(), "it only begins");
            state.nodes[0] = self.number(0, service);
        }
        state
    }

    fn context(&self, node: usize, random: u32) -> Context<'_> {
        let cx = context(self.roster.view(), id(node));
        Context { now: NOW, lamport: LamportTime(0), random, timing: &TIMING, ..cx }
    }

    fn number(&mut self, node: usize, service: S) -> u32 {
        self.locals.number(&(node, format!("{service:?}")), || (node, service))
    }

    /// Takes a step of one node.
    fn take(&mut self, local: u32, event: Event, draw: u32) -> Step {
        let (node, mut service) = self.locals.get(local).clone();
        let mut outputs = Vec::new();
        let mut take = |out: Outbox<S::Message, Notice>| {
            assert!(!out.overflowed(), "a step asks for no more than it may");
            outputs.extend(out);
        };
        let send = |service: &mut S, cx: &Context<'_>| {
            let mut out = Outbox::new();
            (service.poll_send(cx, &mut out), out)
        };
        let sending = self.context(node, sending(draw));
        let input = match event {
            Event::Send => None,
            Event::Timeout => Some(Input::Timeout),
            Event::Ask => Some(Input::Command(self.command)),
            Event::Receive(number) => {
                let (from, _, message) = self.messages.get(number).clone();
                Some(Input::Message { from: id(from), sent_at: LamportTime(0), message })
            }
        };
        let mut more = true;
        if let Some(input) = input {
            let mut out = Outbox::new();
            service.handle(&self.context(node, draw & 1), input, &mut out);
            take(out);
        } else {
            let (has_sent, out) = send(&mut service, &sending);
            more = has_sent;
            take(out);
        }
        while self.bounds.eager && more {
            let (has_sent, out) = send(&mut service, &sending);
            more = has_sent;
            take(out);
        }
        let mut step = Step { local: self.number(node, service), sent: Vec::new(), notices: Vec::new() };
        for output in outputs {
            match output {
                Output::Send { to, message } => step.sent.extend(to.slots().map(|to| {
                    self.messages.number(&(node, to, format!("{message:?}")), || (node, to, message.clone()))
                })),
                Output::Notify(notice) => step.notices.push(notice),
            }
        }
        step
    }

    /// Checks a notice against what every node does and every channel carries.
    fn check_notice(&self, state: &State, past: &mut Past, node: usize, notice: &Notice) -> Result<(), &'static str> {
        match notice {
            Notice::Snapshot(snapshot::Notice::Fragment { fragment, .. }) => {
                let (Fragment::State { bytes, .. } | Fragment::Message { bytes, .. }) = fragment;
                past.snapshots[node].sum += postcard::from_bytes::<u32>(bytes).expect("an amount is recorded");
            }
            Notice::Snapshot(snapshot::Notice::Taken { .. }) => {
                past.snapshots[node].taken = true;
                if self.bounds.sum != Some(past.snapshots[node].sum) {
                    return Err("the sum is not conserved");
                }
            }
            Notice::Snapshot(snapshot::Notice::Aborted { .. }) if self.bounds.in_order => {
                return Err("a snapshot is aborted");
            }
            Notice::Termination(termination::Notice::Terminated { .. }) => {
                past.terminated[node] = true;
                if state.nodes.iter().any(|&number| self.locals.get(number).1.is_busy()) {
                    return Err("termination is announced while a node works");
                }
                let mut in_flight = state.channels.iter().flatten().flat_map(|&queue| self.queues.get(queue));
                if in_flight.any(|&message| S::is_work(&self.messages.get(message).2)) {
                    return Err("termination is announced while work is in flight");
                }
            }
            Notice::Termination(termination::Notice::Aborted { .. }) => return Err("detection is aborted"),
            Notice::Snapshot(snapshot::Notice::Recorded { .. } | snapshot::Notice::Aborted { .. })
            | Notice::Clock(_) => {}
            Notice::Application(never) => match *never {},
        }
        Ok(())
    }
}

impl<S: Explored> Model for AppModel<S> {
    type State = State;
    /// An event at a node, with a random number.
    type Move = (usize, Event, u32);
    type Missing = Missing;

    fn moves(&self, state: &State, moves: &mut Vec<(Self::Move, bool)>) {
        let mut may = |node: usize, event: Event| {
            moves.extend(self.bounds.draws.iter().map(|&draw| ((node, event, draw), false)));
        };
        let past = self.pasts.get(state.past);
        for (node, &number) in state.nodes.iter().enumerate() {
            if self.locals.get(number).1.deadline().is_some_and(|at| at <= NOW) {
                may(node, Event::Timeout);
            }
            if !self.bounds.eager {
                may(node, Event::Send);
            }
            if self.bounds.askers.contains(&node) && !past.asked[node] {
                may(node, Event::Ask);
            }
        }
        for (to, &queue) in state.channels.iter().flat_map(|queues| queues.iter().enumerate()) {
            let messages = self.queues.get(queue);
            let next = if self.bounds.in_order { &messages[..messages.len().min(1)] } else { messages };
            for &message in next {
                may(to, Event::Receive(message));
            }
        }
    }

    fn follow(&self, state: &State, (node, event, draw): Self::Move) -> Result<State, Stop<Missing>> {
        let key = (state.nodes[node], event, draw);
        let step = self.steps.get(&key).ok_or(Stop::Missing(Missing::Step(key.0, event, draw)))?;
        let mut next = *state;
        let mut past = *self.pasts.get(state.past);
        let missing = |queue| Stop::Missing(Missing::Queue(queue));
        if let Event::Receive(message) = event {
            let from = self.messages.get(message).0;
            self.queues.remove(&mut next.channels[from][node], message).map_err(missing)?;
        }
        past.asked[node] |= event == Event::Ask;
        next.nodes[node] = step.local;
        for &number in &step.sent {
            let (from, to, message) = self.messages.get(number);
            past.sends = past.sends.saturating_add(u8::from(S::is_work(message)));
            let add = |messages: &mut Vec<u32>| {
                messages.push(number);
                if !self.bounds.in_order {
                    messages.sort_unstable();
                }
            };
            self.queues.edit(&mut next.channels[*from][*to], add).map_err(missing)?;
        }
        if past.sends > self.bounds.sends {
            return Ok(*state); // it sends no more
        }
        if self.locals.get(step.local).1.is_beyond() {
            return Err(Stop::Beyond);
        }
        for notice in &step.notices {
            self.check_notice(&next, &mut past, node, notice).map_err(Stop::Wrong)?;
        }
        next.past = self.pasts.find(&past).ok_or(Stop::Missing(Missing::Past(past)))?;
        Ok(next)
    }

    fn compute(&mut self, missing: Missing) {
        match missing {
            Missing::Step(local, event, draw) => {
                let step = self.take(local, event, draw);
                self.steps.insert((local, event, draw), step);
            }
            Missing::Queue(queue) => self.queues.add(queue),
            Missing::Past(past) => _ = self.pasts.number(&past, || past),
        }
    }

    fn end(&mut self, state: &State) {
        let past = self.pasts.get(state.past);
        let complete = match self.bounds.sum {
            Some(_) => (0..NODES).all(|node| !past.asked[node] || past.snapshots[node].taken),
            None => past.terminated == [true; NODES],
        };
        self.last += 1;
        self.complete += usize::from(complete);
    }

    fn describe(&self, state: &State, (node, event, draw): Self::Move) -> Described {
        let to = |&number: &u32| (self.messages.get(number).1, number);
        let known = self.steps.get(&(state.nodes[node], event, draw));
        let sent = known.map(|step| step.sent.iter().map(to).collect()).unwrap_or_default();
        let (received, text, detail) = match event {
            Event::Receive(number) => {
                let (from, to, message) = self.messages.get(number);
                let name = Payload::name(message);
                let detail = format!("{to} receives {message:?} from {from}");
                (Some((*from, number)), format!("{name} from {from}"), detail)
            }
            Event::Timeout => (None, "times out".to_owned(), format!("{node} times out")),
            Event::Send => (None, "may send".to_owned(), format!("{node} may send")),
            Event::Ask => (None, "gets the command".to_owned(), format!("{node} gets the command")),
        };
        // What a node draws tells two moves apart that are alike otherwise.
        let detail = format!("{detail}, draws {draw}");
        Described { node: Some(node), received, sent, text, detail }
    }
}
