//! The real protocol in a seat of the simulator.

use crate::app::{ACTORS_MAX, Scene, Stage};
use crate::machine::{Birth, Machine, News, Request};
use crate::scenario::Scenario;
use protocol::algorithm::{Algorithm, Scope};
use protocol::capacity::Capacity;
use protocol::clock::Term;
use protocol::election::{AnyElection, Command};
use protocol::group::SLOTS_MAX;
use protocol::mandate;
use protocol::mutex::{self, AnyMutex, Fence, LockId, Mutex, NoMutex};
use protocol::node::{Boot, Counters, Halt, Input, Notice};
use protocol::records::Records;
use protocol::termination::AnyDetection;
use protocol::upper::Nothing;
use protocol::wire::Key;
use protocol::{Config, Instant, Node, NodeId};

/// The words for the elections a scenario can choose.
pub const ELECTIONS: &[&str] = AnyElection::NAMES;

/// How many others a node has room for: neighbours on a radio.
pub const NEIGHBOURS_MAX: usize = 32;

/// How many it has room for as a member of a group.
pub const MEMBERS_MAX: usize = SLOTS_MAX;

/// The words for the locks a scenario can choose.
pub const MUTEXES: &[&str] = AnyMutex::NAMES;

/// The words for the termination detections a scenario can choose.
pub const DETECTIONS: &[&str] = AnyDetection::<ACTORS_MAX>::NAMES;

/// How many it has room for as a member of a group with locks.
pub const LOCKERS_MAX: usize = 16;

/// One node.
pub struct Peer<const ROOM: usize = NEIGHBOURS_MAX, L: Mutex = NoMutex, U: Stage = Nothing>(
    Node<AnyElection, L, ROOM, U>,
);

/// A node with room for the largest group.
pub type Member = Peer<MEMBERS_MAX>;

/// A node that locks.
pub type Locker = Peer<LOCKERS_MAX, AnyMutex>;

/// A node with an application.
pub type Actor = Peer<ACTORS_MAX, NoMutex, Scene>;

/// A lock that a scenario can choose.
pub trait Chosen: Mutex + Clone {
    /// The lock of a scenario.
    fn chosen(scenario: &Scenario) -> Self;
}

impl Chosen for NoMutex {
    fn chosen(_: &Scenario) -> Self {
        Self
    }
}

impl Chosen for AnyMutex {
    fn chosen(scenario: &Scenario) -> Self {
        let name = scenario.locks.as_ref().map_or(MUTEXES[0], |locks| &locks.mutex);
        Self::by_name(name).expect("a scenario names a lock there is")
    }
}

/// Whether the election called `name` works in a group.
#[must_use]
pub fn needs_group(name: &str) -> bool {
    AnyElection::by_name(name).is_some_and(|election| election.scope() == Scope::Group)
}

/// What the nodes of a run share.
#[derive(Clone, Debug)]
pub struct PeerPlan<L = NoMutex, U = Nothing> {
    config: Config,
    election: AnyElection,
    mutex: L,
    stage: U,
    group: Vec<NodeId>,
    /// What frames are sealed with.
    key: Key,
}

impl<L, U> PeerPlan<L, U> {
    /// What frames are sealed with.
    #[must_use]
    pub fn key(&self) -> Key {
        self.key
    }
}

impl<const ROOM: usize, L: Mutex, U: Stage> Peer<ROOM, L, U> {
    /// What it dropped, and why.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        self.0.counters()
    }

    /// Lets it do something, and looks what that came to.
    fn step(&mut self, now: Instant, step: impl FnOnce(&mut Node<AnyElection, L, ROOM, U>)) {
        self.0.upper().look(now);
        step(&mut self.0);
        self.0.upper().look(now);
    }
}

/// Why a node stopped, in a word.
fn word(halt: Halt) -> &'static str {
    match halt {
        Halt::Outbox => "outbox",
        Halt::Letters => "letters",
        Halt::Notices => "notices",
        Halt::Frame => "frame",
        Halt::Sequence => "sequence",
    }
}

impl<const ROOM: usize, L: Chosen, U: Stage> Machine for Peer<ROOM, L, U> {
    type Plan = PeerPlan<L, U>;

    fn plan(scenario: &Scenario) -> PeerPlan<L, U> {
        let config = Config {
            me: NodeId(0),
            key: Key::from_name(&scenario.name),
            hops: scenario.hops,
            may_lead: true,
            mode: scenario.mode,
            timing: scenario.timing,
        };
        let election = AnyElection::by_name(&scenario.election).expect("a scenario names an election there is");
        let members = if scenario.is_group() { scenario.nodes } else { 0 };
        let group: Vec<NodeId> = (0..members).map(NodeId).collect();
        let key = if group.is_empty() { config.key } else { config.key.for_group(&group) };
        PeerPlan { config, election, mutex: L::chosen(scenario), stage: U::chosen(scenario), group, key }
    }

    fn boot(plan: &PeerPlan<L, U>, birth: Birth) -> Self {
        let Birth { me, records, seed, may_lead, now } = birth;
        let config = Config { me, may_lead, ..plan.config };
        let (boot, mutex, stage) = (Boot { records, seed }, plan.mutex.clone(), plan.stage.clone());
        let mut node = Node::with_upper(config, boot, now, plan.election, mutex, stage);
        if !plan.group.is_empty() {
            node = node.and_then(|node| node.in_group(&plan.group));
        }
        Self(node.expect("a scenario's timing and group were checked when it was read"))
    }

    fn hear(&mut self, now: Instant, bytes: &[u8], quality: u8) {
        self.step(now, |node| node.handle(now, Input::Frame { bytes, quality }));
    }

    fn measure(&mut self, now: Instant, capacity: Option<Capacity>) {
        self.step(now, |node| node.handle(now, Input::Capacity(capacity)));
    }

    fn command(&mut self, now: Instant, command: Command) {
        self.step(now, |node| node.handle(now, Input::Election(command)));
    }

    fn ask(&mut self, now: Instant, command: mutex::Command) {
        self.step(now, |node| node.handle(now, Input::Mutex(command)));
    }

    fn request(&mut self, now: Instant, request: Request) {
        if let Some(command) = U::command(request) {
            self.step(now, |node| node.ask(now, command));
        }
    }

    fn wake(&mut self, now: Instant) {
        self.step(now, |node| node.handle(now, Input::Timeout));
    }

    fn poll_persist(&mut self) -> Option<Records> {
        self.0.poll_persist()
    }

    fn poll_transmit(&mut self, now: Instant, buffer: &mut [u8]) -> Option<usize> {
        self.0.poll_transmit(now, buffer).map(<[u8]>::len)
    }

    fn poll_news(&mut self) -> Option<News> {
        while let Some(notice) = self.0.poll_notice() {
            return Some(match notice {
                Notice::Role(mandate::Notice::Gained { term }) => News::Leads(term),
                Notice::Role(mandate::Notice::LeaderChanged { leader, term }) => News::Follows(leader, term),
                Notice::Role(mandate::Notice::Leaderless) => News::Leaderless,
                // It leads, or follows, as before, or the next notice says more.
                Notice::Role(mandate::Notice::Lost | mandate::Notice::Losing { .. } | mandate::Notice::Degraded) => {
                    continue;
                }
                Notice::Mutex(notice) => News::Lock(notice),
                Notice::Halted(halt) => News::Halted(word(halt)),
            });
        }
        while let Some(told) = self.0.poll_told() {
            self.0.upper().told(told);
        }
        self.0.upper().next().map(News::App)
    }

    fn deadline(&self) -> Option<Instant> {
        self.0.deadline()
    }

    fn acts(&self, now: Instant) -> bool {
        self.0.acts(now).is_some()
    }

    fn holds(&self, lock: LockId, now: Instant) -> Option<Fence> {
        self.0.holds(lock, now)
    }

    fn reads(&self, now: Instant) -> Option<Instant> {
        self.0.upper().time(now)
    }

    fn leader(&self) -> Option<(NodeId, Term)> {
        self.0.leader()
    }

    fn describe(plan: &PeerPlan<L, U>, frame: &[u8]) -> &'static str {
        protocol::describe::describe(&plan.key, frame).unwrap_or("unknown")
    }
}
