//! The real protocol in a seat of the simulator.

use crate::machine::{Birth, Machine, News};
use crate::scenario::Scenario;
use protocol::capacity::Capacity;
use protocol::clock::Term;
use protocol::election::{AnyElection, Command};
use protocol::mandate::{self, Mode};
use protocol::mutex::NoMutex;
use protocol::node::{Boot, Counters, Halt, Input, Notice};
use protocol::records::Records;
use protocol::wire::Key;
use protocol::{Config, Instant, Node, NodeId};

/// The words for the elections a scenario can choose.
pub const ELECTIONS: &[&str] = AnyElection::NAMES;

/// How many neighbours a node has room for.
pub const NEIGHBOURS_MAX: usize = 32;

/// One node.
#[derive(Clone, Debug)]
pub struct Peer(Node<AnyElection, NoMutex, NEIGHBOURS_MAX>);

/// What the nodes of a run share.
#[derive(Clone, Debug)]
pub struct PeerPlan {
    config: Config,
    election: AnyElection,
}

impl Peer {
    /// What it dropped, and why.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        self.0.counters()
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

impl Machine for Peer {
    type Plan = PeerPlan;

    fn plan(scenario: &Scenario) -> PeerPlan {
        let config = Config {
            me: NodeId(0),
            key: Key::from_name(&scenario.name),
            hops: scenario.hops,
            may_lead: true,
            mode: Mode::Available,
            timing: scenario.timing,
        };
        let election = AnyElection::by_name(&scenario.election).expect("a scenario names an election there is");
        PeerPlan { config, election }
    }

    fn boot(plan: &PeerPlan, birth: Birth) -> Self {
        let Birth { me, records, seed, may_lead, now } = birth;
        let config = Config { me, may_lead, ..plan.config };
        let node = Node::new(config, Boot { records, seed }, now, plan.election, NoMutex);
        Self(node.expect("a scenario's timing was checked when it was read"))
    }

    fn hear(&mut self, now: Instant, bytes: &[u8], quality: u8) {
        self.0.handle(now, Input::Frame { bytes, quality });
    }

    fn measure(&mut self, now: Instant, capacity: Option<Capacity>) {
        self.0.handle(now, Input::Capacity(capacity));
    }

    fn command(&mut self, now: Instant, command: Command) {
        self.0.handle(now, Input::Election(command));
    }

    fn wake(&mut self, now: Instant) {
        self.0.handle(now, Input::Timeout);
    }

    fn poll_persist(&mut self) -> Option<Records> {
        self.0.poll_persist()
    }

    fn poll_transmit(&mut self, now: Instant, buffer: &mut [u8]) -> Option<usize> {
        self.0.poll_transmit(now, buffer).map(<[u8]>::len)
    }

    fn poll_news(&mut self) -> Option<News> {
        loop {
            return Some(match self.0.poll_notice()? {
                Notice::Role(mandate::Notice::Gained { term }) => News::Leads(term),
                Notice::Role(mandate::Notice::LeaderChanged { leader, term }) => News::Follows(leader, term),
                Notice::Role(mandate::Notice::Leaderless) => News::Leaderless,
                // It leads, or follows, as before, or the next notice says more; a node without locks asks for none.
                Notice::Role(mandate::Notice::Lost | mandate::Notice::Losing { .. } | mandate::Notice::Degraded)
                | Notice::Mutex(_) => continue,
                Notice::Halted(halt) => News::Halted(word(halt)),
            });
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.0.deadline()
    }

    fn leader(&self) -> Option<(NodeId, Term)> {
        self.0.leader()
    }

    fn describe(plan: &PeerPlan, frame: &[u8]) -> &'static str {
        protocol::describe::describe(&plan.config.key, frame).unwrap_or("unknown")
    }
}
