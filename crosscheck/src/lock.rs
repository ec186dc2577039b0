//! Two of three nodes ask for a lock, twice each, on a network that keeps the link's promise; no time passes.

use crate::{NODES, context, id, roster};
use protocol::algorithm::{Context, Fact, Input, Outbox, Output};
use protocol::base::lamport::{LamportClock, LamportTime};
use protocol::base::term::Term;
use protocol::mutex::{Command, Fence, LockId, Mutex, Notice};
use protocol::wire::{Delivery, FRAME_MAX, Kind, Payload};
use protocol::{Duration, Instant, Timing};
use stateright::{Model, Property};
use std::fmt::Debug;
use std::hash::Hash;
use std::marker::PhantomData;

const LOCK: LockId = LockId::from_name("door");
const LEASE: Duration = Duration::from_secs(5);
const NOW: Instant = Instant::from_micros(600_000_000);
const LEADER: usize = 2;
const ASKERS: usize = 2;
const ROUNDS: u8 = 2;
const TIMING: Timing =
    Timing { lock_lease: LEASE, heartbeat: Duration::from_millis(800), heartbeats_missed_max: 3, ..Timing::ZERO };

/// A member: its lock, its clock and its application.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Member<L> {
    lock: L,
    clock: LamportClock,
    waits: bool,
    asked: u8,
}

/// A message in flight: the Lamport time of its step, its kind, its body.
type Sent = (u64, Kind, Vec<u8>);

/// A moment of all nodes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State<L> {
    members: Vec<Member<L>>,
    /// What is in flight, by sender and receiver, oldest first.
    channels: Vec<Vec<Vec<Sent>>>,
    highest: Fence,
    /// What went wrong, if anything did.
    broken: Option<&'static str>,
}

/// One way on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// The deadline of a member has passed.
    Timeout(usize),
    /// A member asks.
    Ask(usize),
    /// A holder releases.
    Release(usize),
    /// The oldest message from one member to another arrives.
    Deliver(usize, usize),
}

/// The lock `L` among three nodes.
pub struct Locks<L>(PhantomData<fn() -> L>);

impl<L> Default for Locks<L> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<L: Mutex<Message: Debug> + Clone + Default + Eq + Hash + Debug> Locks<L> {
    fn step(state: &mut State<L>, node: usize, input: Input<L::Message, Command>) {
        let roster = roster();
        let member = &mut state.members[node];
        let held = member.lock.holds(LOCK, NOW);
        let time = { member.clock }.tick();
        let cx = Context {
            now: NOW,
            uptime: NOW.since(Instant::ZERO),
            lamport: time,
            ..context(roster.view(), node, &TIMING)
        };
        let is_command = matches!(input, Input::Command(_));
        let mut out = Outbox::new();
        member.lock.handle(&cx, input, &mut out);
        if is_command || out.outputs().iter().any(|output| matches!(output, Output::Send { .. })) {
            member.clock.observe(time);
        }
        member.clock.observe(member.lock.floor());
        for output in out {
            match output {
                Output::Send { to, message } => {
                    for to in to.and(cx.peers).slots() {
                        send(&mut state.channels[node][to], time, &message);
                    }
                }
                Output::Notify(Notice::Acquired { .. }) => member.waits = false,
                Output::Notify(_) => {}
            }
        }
        let holds = member.lock.holds(LOCK, NOW);
        if let Some(fence) = holds.filter(|_| holds != held) {
            if fence <= state.highest {
                state.broken = Some("a fence does not grow");
            }
            state.highest = fence;
        }
        let holders = state.members.iter().filter(|member| member.lock.holds(LOCK, NOW).is_some()).count();
        if holders > 1 {
            state.broken = Some("two hold the lock");
        }
    }
}

/// Puts a message in flight; of messages of which only the latest counts, it replaces the one before.
fn send<M: Payload>(queue: &mut Vec<Sent>, time: LamportTime, message: &M) {
    if message.delivery() == Delivery::ReliableLatest {
        let same = |(_, kind, body): &Sent| {
            M::decode(*kind, body).is_some_and(|old| (old.name(), old.topic()) == (message.name(), message.topic()))
        };
        queue.retain(|old| !same(old));
    }
    let mut body = [0; FRAME_MAX];
    let len = message.encode(&mut body).expect("a message has room in a frame");
    queue.push((time.0, message.kind(), body[..len].to_vec()));
}

impl<L> Model for Locks<L>
where
    L: Mutex<Message: Debug> + Clone + Default + Eq + Hash + Debug + 'static,
{
    type State = State<L>;
    type Action = Action;

    fn init_states(&self) -> Vec<State<L>> {
        let member = Member { lock: L::default(), clock: LamportClock::default(), waits: false, asked: 0 };
        let mut state = State {
            members: vec![member; NODES],
            channels: vec![vec![Vec::new(); NODES]; NODES],
            highest: Fence::ZERO,
            broken: None,
        };
        let leader = Fact::Leader { leader: id(LEADER), term: Term { number: 1, by: id(LEADER) } };
        for node in 0..NODES {
            Self::step(&mut state, node, Input::Fact(leader));
            if node != LEADER {
                Self::step(&mut state, node, Input::Fact(Fact::Parent(id(node + 1))));
            }
        }
        vec![state]
    }

    fn actions(&self, state: &State<L>, actions: &mut Vec<Action>) {
        for (node, member) in state.members.iter().enumerate() {
            let holds = member.lock.holds(LOCK, NOW).is_some();
            if member.lock.deadline().is_some_and(|at| at <= NOW) {
                actions.push(Action::Timeout(node));
            }
            if node < ASKERS && !member.waits && !holds && member.asked < ROUNDS {
                actions.push(Action::Ask(node));
            }
            if holds {
                actions.push(Action::Release(node));
            }
        }
        for (from, queues) in state.channels.iter().enumerate() {
            let waiting = queues.iter().enumerate().filter(|(_, queue)| !queue.is_empty());
            actions.extend(waiting.map(|(to, _)| Action::Deliver(from, to)));
        }
    }

    fn next_state(&self, state: &State<L>, action: Action) -> Option<State<L>> {
        let mut next = state.clone();
        match action {
            Action::Timeout(node) => Self::step(&mut next, node, Input::Timeout),
            Action::Ask(node) => {
                next.members[node].waits = true;
                next.members[node].asked += 1;
                Self::step(&mut next, node, Input::Command(Command::Acquire { lock: LOCK, lease: LEASE }));
            }
            Action::Release(node) => Self::step(&mut next, node, Input::Command(Command::Release { lock: LOCK })),
            Action::Deliver(from, to) => {
                let (time, kind, body) = next.channels[from][to].remove(0);
                let message = L::Message::decode(kind, &body)?;
                let sent_at = LamportTime(time);
                next.members[to].clock.observe(sent_at);
                Self::step(&mut next, to, Input::Message { from: id(from), sent_at, message });
            }
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("one holds, and fences grow", |_, state: &State<L>| state.broken.is_none()),
            Property::sometimes("everybody is served", |_, state: &State<L>| {
                let served = |member: &Member<L>| member.asked == ROUNDS && !member.waits;
                state.members.iter().take(ASKERS).all(served)
            }),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assert_counted;
    use protocol::mutex::{Central, Lamport, Raymond, RicartAgrawala, SuzukiKasami, TokenRing};

    #[test]
    fn stateright_counts_the_states_of_six_locks_that_the_explorer_counts() {
        assert_counted("central, two ask twice", Locks::<Central>::default());
        assert_counted("token-ring, two ask twice", Locks::<TokenRing>::default());
        assert_counted("lamport, two ask twice", Locks::<Lamport>::default());
        assert_counted("ricart-agrawala, two ask twice", Locks::<RicartAgrawala>::default());
        assert_counted("raymond, two ask twice", Locks::<Raymond>::default());
        assert_counted("suzuki-kasami, two ask twice", Locks::<SuzukiKasami>::default());
    }
}
