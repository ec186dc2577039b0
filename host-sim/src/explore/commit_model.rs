//! Three members of two-phase commit that crash and reboot at any moment, on channels that deliver in order to the boot a
//! message is for.
//!
//! A member learns at any later moment that another crashed or rebooted; what was under way to or from an earlier boot is
//! lost. A crash before the log is written is a crash before the step. Time
//! stands still, and a member whose deadline has come may time out at any moment, unless a question of its own is under way.

use super::context::{context, id, roster};
use super::interned::{Channels, Fingerprints, Interned, Queues};
use super::search::{Described, Limits, Model, Stop, explore};
use super::{Outcome, Search};
use protocol::algorithm::{Algorithm as _, Context, Fact, Input, Outbox, Output};
use protocol::base::ids::{NodeSet, Roster};
use protocol::base::lamport::LamportTime;
use protocol::base::term::Term;
use protocol::service::Service as _;
use protocol::service::commit::{Change, Command, Commit, Message, Notice, TransactionId};
use protocol::{Instant, Timing};
use std::collections::HashMap;

/// How many members there are.
const NODES: usize = 3;

const NOW: Instant = Instant::from_micros(60_000_000);

/// How far the search follows.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The members that propose a change each, at any moment and once, as leaders of terms that grow in this order.
    pub proposers: &'static [usize],
    /// How often members crash, all together.
    pub crashes: u8,
    /// Whether the last member may vote no.
    pub may_refuse: bool,
    /// Whether members forget their logs: a fault that the search must find.
    pub forgetful: bool,
}

/// One change, and one crash at any moment.
pub const ONE: Bounds = Bounds { proposers: &[0], crashes: 1, may_refuse: true, forgetful: false };

/// The searches of two-phase commit.
const SEARCHES: [(&str, Bounds); 3] = [
    ("one crash", ONE),
    ("two crashes, all vote yes", Bounds { crashes: 2, may_refuse: false, ..ONE }),
    ("two coordinators and a crash, all vote yes", Bounds { proposers: &[0, 1], may_refuse: false, ..ONE }),
];

/// Returns the searches of two-phase commit.
pub(super) fn all() -> impl Iterator<Item = Search> {
    SEARCHES.into_iter().map(|(name, bounds)| Search {
        algorithm: "commit",
        name,
        nodes: NODES,
        is_long: false,
        is_cut: false,
        run: Box::new(move |limits| judge(bounds, limits)),
    })
}

/// Explores two-phase commit. Transactions must be committed and aborted, and members blocked, in some runs.
#[must_use]
pub fn judge(bounds: Bounds, limits: Limits) -> Outcome {
    let mut model = CommitModel::new(bounds);
    let first = model.first();
    let found = explore(&mut model, first, limits);
    let reached = if model.reached == [true; 3] { Ok(()) } else { Err("nothing is committed, aborted or in doubt") };
    Outcome::new(found, reached)
}

/// What can happen to a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// Its deadline has passed.
    Timeout,
    /// A message arrives.
    Receive(u32),
    /// It leads under the term of this number, and proposes a change.
    Propose(u32),
    /// It learns that this member is down, or up in this boot.
    Learn(usize, Option<u8>),
    /// It crashes.
    Crash,
    /// It boots again.
    Boot,
}

/// A member.
#[derive(Clone, Debug)]
struct Local {
    node: usize,
    /// How often it has booted.
    boot: u8,
    /// Its state in RAM; `None` while it is down.
    member: Option<Commit>,
    log: Option<Vec<u8>>,
    /// The boots of the others that it knows of; `None` where it believes them down.
    known: [Option<u8>; NODES],
}

/// A message, from whom to whom.
type Sent = (usize, usize, Message);

#[derive(Clone)]
struct Step {
    local: u32,
    sent: Vec<u32>,
    notices: Vec<Notice>,
}

/// What the checker remembers, of the transaction of each term.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Past {
    crashes: u8,
    proposed: u8,
    yes: [[bool; NODES]; 2],
    decided: [Option<bool>; 2],
}

/// A moment of all members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State {
    nodes: [u32; NODES],
    channels: Channels<NODES>,
    past: Past,
}

/// What was not computed yet.
#[derive(Clone, Debug)]
pub enum Missing {
    /// The result of an event at a member, which votes yes or not.
    Step(u32, Event, bool),
    /// A queue of messages.
    Queue(Vec<u32>),
}

struct CommitModel {
    bounds: Bounds,
    roster: Roster<NODES>,
    locals: Interned<Local>,
    messages: Interned<Sent>,
    steps: HashMap<(u32, Event, bool), Step, Fingerprints>,
    queues: Queues,
    /// Whether any transaction was committed, aborted, in doubt.
    reached: [bool; 3],
}

/// The place of a transaction in [`Past`].
fn place(id: TransactionId) -> usize {
    id.term.number as usize - 1
}

impl CommitModel {
    fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            roster: roster(NODES),
            locals: Interned::new(),
            messages: Interned::new(),
            steps: HashMap::default(),
            queues: Queues::new(),
            reached: [false; 3],
        }
    }

    fn first(&mut self) -> State {
        let nodes = std::array::from_fn(|node| {
            let member = Some(Commit::new());
            self.number(Local { node, boot: 1, member, log: None, known: [Some(1); NODES] })
        });
        State { nodes, channels: Queues::empty(), past: Past::default() }
    }

    fn number(&mut self, local: Local) -> u32 {
        self.locals.number(&format!("{local:?}"), || local)
    }

    fn context(&self, local: &Local) -> Context<'_> {
        let is_up = |&slot: &usize| slot != local.node && local.known[slot].is_some();
        let up = (0..NODES).filter(is_up).fold(NodeSet::EMPTY, |set, slot| set.with(NodeSet::slot(slot)));
        Context { now: NOW, up, timing: &Timing::ZERO, ..context(self.roster.view(), id(local.node)) }
    }

    /// Takes a step of one member, which votes as `yes` says.
    fn take(&mut self, number: u32, event: Event, yes: bool) -> Step {
        let mut local = self.locals.get(number).clone();
        let mut outputs = Vec::new();
        match event {
            Event::Crash => local.member = None,
            Event::Boot => {
                local.boot += 1;
                local.known = [None; NODES];
                let mut member = Commit::new();
                if let Some(log) = local.log.as_ref().filter(|_| !self.bounds.forgetful) {
                    member.restore(log);
                }
                local.member = Some(member);
            }
            Event::Timeout => self.step(&mut local, vec![Input::Timeout], yes, &mut outputs),
            Event::Receive(message) => {
                let (from, _, message) = self.messages.get(message).clone();
                let input = Input::Message { from: id(from), sent_at: LamportTime(0), message };
                self.step(&mut local, vec![input], yes, &mut outputs);
            }
            Event::Propose(term) => {
                let leader = id(local.node);
                let fact = Fact::Leader { leader, term: Term { number: term, by: leader } };
                let propose = Command::Propose(Change::new());
                self.step(&mut local, vec![Input::Fact(fact), Input::Command(propose)], yes, &mut outputs);
            }
            Event::Learn(other, boot) => {
                let (set, before) = (NodeSet::slot(other), local.known[other]);
                local.known[other] = boot;
                let facts = match (before, boot) {
                    (_, None) => vec![Fact::PeerDown(set)],
                    (None, Some(_)) => vec![Fact::PeerReset(set), Fact::PeerUp(set)],
                    (Some(_), Some(_)) => vec![Fact::PeerReset(set), Fact::PeerDown(set), Fact::PeerUp(set)],
                };
                self.step(&mut local, facts.into_iter().map(Input::Fact).collect(), yes, &mut outputs);
            }
        }
        let node = local.node;
        let mut step = Step { local: self.number(local), sent: Vec::new(), notices: Vec::new() };
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

    /// Hands in these inputs, lets the application vote, lets the member send, and writes its log.
    fn step(
        &self,
        local: &mut Local,
        mut inputs: Vec<Input<Message, Command>>,
        yes: bool,
        outputs: &mut Vec<Output<Message, Notice>>,
    ) {
        let cx = self.context(&local.clone());
        let Some(member) = &mut local.member else { return };
        inputs.reverse();
        while let Some(input) = inputs.pop() {
            let mut out = Outbox::new();
            member.handle(&cx, input, &mut out);
            let asked = member.asked().map(|transaction| transaction.id);
            inputs.extend(asked.map(|id| Input::Command(Command::Vote { id, yes })));
            outputs.extend(out);
        }
        loop {
            let mut out = Outbox::new();
            let more = member.poll_send(&cx, &mut out);
            outputs.extend(out);
            if !more {
                break;
            }
        }
        let mut buffer = [0; Commit::LOG_MAX];
        if let Some(len) = member.poll_log(&mut buffer) {
            local.log = Some(buffer[..len].to_vec());
        }
    }

    fn is_up(&self, state: &State, node: usize) -> bool {
        self.locals.get(state.nodes[node]).member.is_some()
    }

    /// Returns whether a question of this member is under way.
    fn asks(&self, state: &State, node: usize) -> bool {
        let mut sent = state.channels[node].iter().flat_map(|&queue| self.queues.get(queue));
        sent.any(|&message| matches!(self.messages.get(message).2, Message::Inquire { .. }))
    }

    fn on_notice(past: &mut Past, node: usize, notice: &Notice) -> Result<(), &'static str> {
        let (id, commit) = match notice {
            Notice::Proposed { id } => {
                past.yes[place(*id)][node] = true;
                return Ok(());
            }
            Notice::Committed { transaction } | Notice::Restored { transaction } => (transaction.id, true),
            Notice::Aborted { id, .. } => (*id, false),
            Notice::Refused { .. } | Notice::Prepare { .. } | Notice::Blocked { .. } | Notice::Completed { .. } => {
                return Ok(());
            }
        };
        if commit && past.yes[place(id)] != [true; NODES] {
            return Err("what not all have voted for is committed");
        }
        match past.decided[place(id)].replace(commit) {
            Some(before) if before != commit => Err("two members decide differently"),
            Some(_) | None => Ok(()),
        }
    }
}

impl Model for CommitModel {
    type State = State;
    /// An event at a member, which votes yes or not.
    type Move = (usize, Event, bool);
    type Missing = Missing;

    fn moves(&self, state: &State, moves: &mut Vec<(Self::Move, bool)>) {
        for node in 0..NODES {
            let local = self.locals.get(state.nodes[node]);
            let Some(member) = &local.member else {
                moves.push(((node, Event::Boot, true), true));
                continue;
            };
            if state.past.crashes < self.bounds.crashes {
                moves.push(((node, Event::Crash, true), false));
            }
            if member.deadline().is_some_and(|at| at <= NOW) && !self.asks(state, node) {
                moves.push(((node, Event::Timeout, true), true));
            }
            let due = self.bounds.proposers.get(state.past.proposed as usize);
            if due == Some(&node) {
                moves.push(((node, Event::Propose(u32::from(state.past.proposed) + 1), true), false));
            }
            for other in (0..NODES).filter(|&other| other != node) {
                let boot = Some(self.locals.get(state.nodes[other]).boot).filter(|_| self.is_up(state, other));
                if boot != local.known[other] {
                    moves.push(((node, Event::Learn(other, boot), true), true));
                }
                // Who receives from a boot that it did not know learns of it first.
                let known = local.known[other] == Some(self.locals.get(state.nodes[other]).boot);
                let next = self.queues.get(state.channels[other][node]).first();
                if let Some(&message) = next.filter(|_| known) {
                    moves.push(((node, Event::Receive(message), true), true));
                    let refuses = matches!(self.messages.get(message).2, Message::Prepare { .. });
                    if refuses && self.bounds.may_refuse && node == NODES - 1 {
                        moves.push(((node, Event::Receive(message), false), true));
                    }
                }
            }
        }
    }

    fn follow(&self, state: &State, (node, event, yes): Self::Move) -> Result<State, Stop<Missing>> {
        let key = (state.nodes[node], event, yes);
        let step = self.steps.get(&key).ok_or(Stop::Missing(Missing::Step(key.0, event, yes)))?;
        let mut next = *state;
        let missing = |queue| Stop::Missing(Missing::Queue(queue));
        match event {
            Event::Receive(message) => {
                let from = self.messages.get(message).0;
                self.queues.remove(&mut next.channels[from][node], message).map_err(missing)?;
            }
            Event::Crash => {
                next.past.crashes += 1;
                next.channels.iter_mut().for_each(|queues| queues[node] = 0); // what was sent to this boot is lost
            }
            Event::Propose(_) => next.past.proposed += 1,
            Event::Boot => next.channels[node] = [0; NODES], // nobody takes what an earlier boot sent
            Event::Learn(..) | Event::Timeout => {}
        }
        next.nodes[node] = step.local;
        for &number in &step.sent {
            let (from, to, message) = self.messages.get(number);
            if let Message::Vote { id, yes: true } = message {
                next.past.yes[place(*id)][node] = true;
            }
            let reader = self.locals.get(state.nodes[*to]);
            let knows = self.locals.get(step.local).known[*to] == Some(reader.boot) && reader.member.is_some();
            if knows {
                self.queues.edit(&mut next.channels[*from][*to], |queue| queue.push(number)).map_err(missing)?;
            }
        }
        for notice in &step.notices {
            Self::on_notice(&mut next.past, node, notice).map_err(Stop::Wrong)?;
        }
        Ok(next)
    }

    fn compute(&mut self, missing: Missing) {
        match missing {
            Missing::Step(local, event, yes) => {
                let step = self.take(local, event, yes);
                self.steps.insert((local, event, yes), step);
            }
            Missing::Queue(queue) => self.queues.add(queue),
        }
    }

    /// Who is in doubt must find out, by fair moves alone.
    fn waiting(&self, state: &State) -> u8 {
        let in_doubt = |&node: &usize| {
            let member = self.locals.get(state.nodes[node]).member.as_ref();
            member.is_some_and(|member| member.prepared().is_some())
        };
        (0..NODES).filter(in_doubt).fold(0, |bits, node| bits | 1 << node)
    }

    fn note(&mut self, state: &State) {
        self.reached[0] |= state.past.decided.contains(&Some(true));
        self.reached[1] |= state.past.decided.contains(&Some(false));
        self.reached[2] |= self.waiting(state) != 0;
    }

    fn describe(&self, state: &State, (node, event, yes): Self::Move) -> Described {
        let to = |&number: &u32| (self.messages.get(number).1, number);
        let known = self.steps.get(&(state.nodes[node], event, yes));
        let sent = known.map(|step| step.sent.iter().map(to).collect()).unwrap_or_default();
        let (received, text) = match event {
            Event::Receive(number) => {
                let (from, _, message) = self.messages.get(number);
                (Some((*from, number)), format!("{message:?} from {from}"))
            }
            event => (None, format!("{event:?}").to_lowercase()),
        };
        Described { node: Some(node), received, sent, detail: format!("{node}: {text}"), text }
    }
}
