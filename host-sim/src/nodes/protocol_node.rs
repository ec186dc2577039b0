//! The protocol's node in the simulator.

use super::traced_stage::{MessageLog, TracedStage};
use super::{ScenarioNode, insider};
use crate::scenario::{MEMBERS_MAX, Scenario};
use crate::sim::node::{self, NodeEvent, SUPERSEDED, SimNode};
use crate::trace::{AppRequest, MessageEvent};
use crate::workload::apps::{APP_GROUP_MAX, AppAdapter, CommitApp, OrderedApp, SimulatedApp};
use crate::workload::locks::LOCK_GROUP_MAX;
use crate::workload::requests::{RequestLoad, RequestPlan};
use protocol::base::capacity::Capacity;
use protocol::base::membership::Group;
use protocol::base::records::Records;
use protocol::base::term::Term;
use protocol::election::Command;
use protocol::lease;
use protocol::mutex::{self, Fence, LockId, Mutex, NoMutex};
use protocol::node::{Boot, Halt, Input, Notice, Stages, Succession};
use protocol::registry::{self, AnyElection, AnyMutex};
use protocol::service::{Commit, NoService};
use protocol::wire::{self, Cipher, Key, Payload};
use protocol::{Config, Instant, Node, NodeId};

/// The neighbours on a radio that a node has room for.
pub(crate) const NEIGHBOURS_MAX: usize = 32;

type TracedNode<const ROOM: usize, L, U> =
    Node<TracedStage<AnyElection>, TracedStage<L>, ROOM, TracedStage<U>, Option<Group>>;

/// A node of the protocol.
pub struct ProtocolNode<const ROOM: usize = NEIGHBOURS_MAX, L: Mutex = NoMutex, U: AppAdapter = NoService> {
    node: TracedNode<ROOM, L, U>,
    messages: MessageLog,
}

/// A node with room for the largest group.
pub type Member = ProtocolNode<MEMBERS_MAX>;

/// A node with locks.
pub type LockNode = ProtocolNode<LOCK_GROUP_MAX, AnyMutex>;

/// A node with an application.
pub type AppNode = ProtocolNode<APP_GROUP_MAX, NoMutex, SimulatedApp>;

/// A node that makes requests to its super-peer, and answers those of others.
pub type ServiceNode = ProtocolNode<NEIGHBOURS_MAX, NoMutex, RequestLoad>;
/// A member of the sequencer.
pub type OrderedNode = ProtocolNode<APP_GROUP_MAX, NoMutex, OrderedApp>;
/// A member of transactions.
pub type CommitNode = ProtocolNode<APP_GROUP_MAX, NoMutex, CommitApp>;

/// The longest log of any service.
const LOG_MAX: usize = Commit::LOG_MAX;

/// A mutex that a scenario can choose.
pub(crate) trait FromScenario: Mutex + Clone {
    fn from_scenario(scenario: &Scenario) -> Self;
}

impl FromScenario for NoMutex {
    fn from_scenario(_: &Scenario) -> Self {
        Self
    }
}

impl FromScenario for AnyMutex {
    fn from_scenario(scenario: &Scenario) -> Self {
        let name = scenario.world.locks.as_ref().map_or(Self::NAMES[0], |locks| &locks.mutex);
        Self::by_name(name).expect("a scenario names a known mutex")
    }
}

/// The settings that all nodes of a run share.
#[derive(Clone, Debug)]
pub struct ProtocolPlan<L = NoMutex, U = NoService> {
    config: Config,
    election: AnyElection,
    mutex: L,
    service: U,
    group: Option<Group>,
    key: Key,
}

impl<L, U> ProtocolPlan<L, U> {
    /// Returns the key of its frames.
    #[must_use]
    pub fn key(&self) -> Key {
        self.key.clone()
    }

    /// Returns the settings of a node that chooses its group itself.
    pub(super) fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the same settings for another group.
    pub(super) fn in_group(&self, members: &[NodeId]) -> Self
    where
        L: Clone,
        U: Clone,
    {
        Self { group: Group::of(members).ok(), key: self.config.key.for_group(members), ..self.clone() }
    }
}

impl<const ROOM: usize, L: Mutex, U: AppAdapter> ProtocolNode<ROOM, L, U> {
    /// Returns the service.
    #[must_use]
    pub fn service(&self) -> &U {
        &self.node.service().stage
    }

    /// Hands a command to the service.
    pub fn service_command(&mut self, now: Instant, command: U::Command) {
        self.step(now, |node| node.handle(now, Input::Service(command)));
    }

    /// Returns the term in which the node may act as leader now.
    pub(super) fn acting_term(&self, now: Instant) -> Option<Term> {
        self.node.acting_term(now)
    }

    /// Returns what the node hands on to one with another list of members.
    pub(super) fn succession(&self, now: Instant) -> Option<Succession> {
        self.node.succession(now)
    }

    /// Stands by what the node before it has promised.
    pub(super) fn succeed(&mut self, succession: Succession) {
        self.node.succeed(succession);
    }

    /// Runs one input, and logs what the service did.
    fn step(&mut self, now: Instant, step: impl FnOnce(&mut TracedNode<ROOM, L, U>)) {
        self.service().observe(now);
        step(&mut self.node);
        self.service().observe(now);
    }
}

fn halt_name(halt: Halt) -> &'static str {
    match halt {
        Halt::Outbox => "outbox",
        Halt::Queue => "queue",
        Halt::Notices => "notices",
        Halt::Frame => "frame",
        Halt::Sequence => "sequence",
        Halt::Numbers => "numbers",
        Halt::Superseded => SUPERSEDED,
    }
}

/// Returns the members of a scenario's group, at first where they change; none where it has no group.
fn members_of(scenario: &Scenario) -> Vec<NodeId> {
    let members = if scenario.is_group() { scenario.members.unwrap_or(scenario.world.nodes) } else { 0 };
    (0..members).map(NodeId).collect()
}

/// Returns the key that the frames of a scenario are sealed with.
pub(crate) fn key_of(scenario: &Scenario) -> Key {
    let (key, members) = (Key::from_name(&scenario.name), members_of(scenario));
    if Group::of(&members).is_ok() { key.for_group(&members) } else { key }
}

impl<const ROOM: usize, L: FromScenario, U: AppAdapter> ScenarioNode for ProtocolNode<ROOM, L, U> {
    fn plan(scenario: &Scenario) -> ProtocolPlan<L, U> {
        let config = Config {
            me: NodeId(0),
            key: Key::from_name(&scenario.name),
            hops: scenario.hops,
            may_lead: true,
            mode: scenario.world.mode,
            timing: scenario.timing,
        };
        let election = AnyElection::by_name(&scenario.election).expect("a scenario names a known election");
        let requests = scenario.world.requests.map(|plan| RequestPlan { reach: scenario.horizon(), ..plan });
        ProtocolPlan {
            config,
            election,
            mutex: L::from_scenario(scenario),
            service: U::from_plan(scenario.world.app.as_ref(), requests.as_ref()),
            group: Group::of(&members_of(scenario)).ok(),
            key: key_of(scenario),
        }
    }
}

impl<const ROOM: usize, L: FromScenario, U: AppAdapter> SimNode for ProtocolNode<ROOM, L, U> {
    type Plan = ProtocolPlan<L, U>;

    fn boot(plan: &ProtocolPlan<L, U>, boot: node::Boot) -> Self {
        Self::boot_with_log(plan, boot, None)
    }

    fn boot_with_log(plan: &ProtocolPlan<L, U>, boot: node::Boot, log: Option<&[u8]>) -> Self {
        let node::Boot { me, records, seed, may_lead, now } = boot;
        let config = Config { me, may_lead, ..plan.config.clone() };
        let messages = MessageLog::default();
        let mut service = plan.service.clone();
        if let Some(log) = log {
            service.restore(log);
        }
        let stages = Stages {
            election: TracedStage::new(plan.election, &messages),
            mutex: TracedStage::new(plan.mutex.clone(), &messages),
            service: TracedStage::new(service, &messages),
        };
        let node = Node::new(config, &plan.group, Boot { records, capacity: None, seed }, now, stages);
        let node = node.expect("a scenario's timing and group were checked when it was read");
        Self { node, messages }
    }

    fn receive(&mut self, now: Instant, bytes: &[u8], quality: u8) {
        self.step(now, |node| node.handle(now, Input::Frame { bytes, quality }));
    }

    fn measure(&mut self, now: Instant, capacity: Option<Capacity>) {
        self.step(now, |node| node.handle(now, Input::Capacity(capacity)));
    }

    fn command(&mut self, now: Instant, command: Command) {
        self.step(now, |node| node.handle(now, Input::Election(command)));
    }

    fn lock_command(&mut self, now: Instant, command: mutex::Command) {
        self.step(now, |node| node.handle(now, Input::Mutex(command)));
    }

    fn app_request(&mut self, now: Instant, request: AppRequest) {
        if let Some(command) = U::command(request) {
            self.step(now, |node| node.handle(now, Input::Service(command)));
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.step(now, |node| node.handle(now, Input::Timeout));
    }

    fn poll_persist(&mut self) -> Option<Records> {
        self.node.poll_persist()
    }

    fn poll_log(&mut self) -> Option<Box<[u8]>> {
        self.node.poll_log(&mut [0; LOG_MAX]).map(Box::from)
    }

    fn poll_transmit(&mut self, now: Instant, buffer: &mut [u8]) -> Option<usize> {
        self.node.poll_transmit(now, buffer).map(<[u8]>::len)
    }

    fn poll_event(&mut self) -> Option<NodeEvent> {
        while let Some(notice) = self.node.poll_notice() {
            return Some(match notice {
                Notice::Role(lease::Notice::Gained { term }) => NodeEvent::Leads(term),
                Notice::Role(lease::Notice::LeaderChanged { leader, term }) => NodeEvent::Follows(leader, term),
                Notice::Role(lease::Notice::Leaderless) => NodeEvent::Leaderless,
                // The leader is the same, or the next notice names it.
                Notice::Role(lease::Notice::Lost | lease::Notice::Losing { .. } | lease::Notice::Degraded) => {
                    continue;
                }
                Notice::Mutex(notice) => NodeEvent::Lock(notice),
                Notice::Service(notice) => {
                    self.service().on_notice(notice);
                    continue;
                }
                // The leader that follows is traced; a second node of one id is a fault, which has checkers of its own.
                Notice::Reorganising { .. } | Notice::SameId => continue,
                Notice::Halted(halt) => NodeEvent::Halted(halt_name(halt)),
            });
        }
        self.service().next_action().map(NodeEvent::App)
    }

    fn poll_message(&mut self) -> Option<MessageEvent> {
        self.messages.pop()
    }

    fn deadline(&self) -> Option<Instant> {
        self.node.deadline()
    }

    fn is_acting(&self, now: Instant) -> bool {
        self.node.acting_term(now).is_some()
    }

    fn holds(&self, lock: LockId, now: Instant) -> Option<Fence> {
        self.node.holds(lock, now)
    }

    fn shared_time(&self, now: Instant) -> Option<Instant> {
        self.service().time(now)
    }

    fn advertise(&self, capacity: u16) -> u16 {
        self.node.advertise(Capacity::new(capacity)).get()
    }

    fn leader(&self) -> Option<(NodeId, Term)> {
        self.node.leader()
    }

    fn chief(&self) -> Option<(NodeId, Term)> {
        self.node.chief()
    }

    fn lie(plan: &ProtocolPlan<L, U>, frame: &[u8], random: u64) -> Option<Box<[u8]>> {
        insider::lie(&plan.key, frame, random)
    }

    fn message_name(plan: &ProtocolPlan<L, U>, frame: &[u8]) -> &'static str {
        let own = || {
            let mut buffer = [0; wire::FRAME_MAX];
            let packet = wire::open(&plan.key, frame, &mut buffer).ok()?;
            U::Message::decode(packet.kind, packet.body).map(|message| message.name())
        };
        registry::message_name(&plan.key, frame).or_else(own).unwrap_or("unknown")
    }
}
