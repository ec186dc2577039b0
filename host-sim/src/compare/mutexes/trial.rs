//! One trial of a lock: nodes request, hold and release it, and every message is counted.

use super::{Cable, Case};
use crate::base::Micros;
use crate::base::rng::Probability;
use crate::check::Checkers;
use crate::compare::{HOP, MessageCount, MessageCounter, lan_scenario};
use crate::nodes::protocol_node::LockNode;
use crate::nodes::world;
use crate::scenario::Scenario;
use crate::sim::fault_plan::{FaultAction, FaultTarget, StoredRecords};
use crate::sim::medium::MediumPlan;
use crate::sim::world::World;
use crate::trace::{EventKind, LockEvent, Observer, TraceEvent};
use crate::workload::locks::LockPlan;
use protocol::base::quorum::Mode;
use protocol::mutex::{Command, LockId};
use protocol::wire::Stage;
use protocol::{Duration, Timing};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

const LOCK_NAME: &str = "door";

/// The lease that is requested.
const LEASE: Duration = Duration::from_secs(1);

/// The longest lease possible: for so long a node that booted grants nothing.
const LOCK_LEASE: Duration = Duration::from_secs(2);

/// How long nodes are up before a trial: a node leads, and has led long enough to grant.
const WARM_UP: Micros = 10_000_000;

const HOLD: Micros = 20 * HOP;

/// How long the run goes on after the last release: messages in flight are counted.
const QUIET: Micros = 200 * HOP;

/// The pause between requests without contention: by then the leader has spread the last requester's Lamport time to
/// all nodes. Frames sent in the pause do not count.
const PAUSE: Micros = 3_000_000;

/// How long nodes contend before the crash, how long the crashed node is down, and how long contention goes on after
/// it.
const BEFORE: Micros = 500_000;
const DOWN: Micros = 4_000_000;
const AFTER: Micros = 4_000_000;

const LIMIT: Micros = 30_000_000;

#[derive(Clone, Copy, Debug)]
pub(super) struct Trial {
    pub(crate) algorithm: &'static str,
    pub(crate) nodes: u32,
    pub(crate) case: Case,
    pub(crate) cable: Cable,
    pub(crate) seed: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct TrialResult {
    pub(crate) sent: MessageCount,
    /// The time from each request to its grant.
    pub(crate) waits: Vec<Micros>,
    /// The time from each release to the next grant, if that one was requested before.
    pub(crate) handovers: Vec<Micros>,
    pub(crate) violations: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Request,
    Release,
}

/// Counts messages, runs the checkers, and records the events of the lock.
struct Witness {
    counter: MessageCounter,
    checkers: Checkers,
    events: Vec<(Micros, u32, LockEvent)>,
}

impl Observer for Witness {
    fn observe(&mut self, event: &TraceEvent) {
        self.checkers.observe(event);
        if let (EventKind::Lock { event: lock_event, .. }, Some(node)) = (event.kind, event.node) {
            self.events.push((event.at, node, lock_event));
        }
    }

    fn on_frame(&mut self, frame: &[u8]) {
        self.counter.read(frame);
    }
}

struct TrialRun {
    world: World<LockNode>,
    witness: Witness,
    /// The next steps of the nodes, by time.
    plan: BTreeSet<(Micros, u32, Step)>,
    /// When each waiting node requested the lock.
    requested: BTreeMap<u32, Micros>,
    holder: Option<u32>,
    released: Option<Micros>,
    /// Whether nodes request again after a release.
    eager: bool,
    result: TrialResult,
}

impl Trial {
    pub(super) fn run(&self) -> TrialResult {
        let scenario = self.scenario();
        let mut world = world::<LockNode>(&scenario, self.seed);
        let counter = MessageCounter::new(world.node_plan().key(), Stage::Mutex);
        let mut witness = Witness { counter, checkers: Checkers::default(), events: Vec::new() };
        world.run_until(WARM_UP, &mut witness);
        let mut run = TrialRun {
            world,
            witness,
            plan: BTreeSet::new(),
            requested: BTreeMap::new(),
            holder: None,
            released: None,
            eager: false,
            result: TrialResult::default(),
        };
        // Capacities are equal, so the last node leads.
        let leader = self.nodes - 1;
        match self.case {
            Case::Uncontended => {
                for node in 0..leader {
                    run.run(run.world.now() + PAUSE);
                    run.measure(node..node + 1);
                }
            }
            Case::Contended => run.measure(0..leader),
            Case::HolderCrash => run.crash(0..leader, None, self.seed),
            Case::CoordinatorCrash => run.crash(0..leader, Some(leader), self.seed),
            Case::BystanderCrash => run.crash(0..leader - 1, Some(leader - 1), self.seed),
        }
        run.result.violations += run.witness.checkers.findings().len();
        run.result
    }

    fn scenario(&self) -> Scenario {
        let mut scenario = lan_scenario("bully", self.nodes);
        scenario.world.mode = Mode::Quorum;
        if let MediumPlan::Lan(lan) = &mut scenario.world.medium {
            lan.shared = self.cable == Cable::Shared;
        }
        scenario.timing = Timing { lock_lease: LOCK_LEASE, jitter: Duration::ZERO, ..Timing::LAN };
        scenario.world.locks = Some(LockPlan {
            mutex: self.algorithm.to_owned(),
            names: vec![LOCK_NAME.to_owned()],
            contenders: Vec::new(), // the trial itself requests
            think: (0, 0),
            hold: (0, 0),
            lease: (0, 0),
            write: (0, 0),
            timeout: None,
            try_only: Probability::NEVER,
            cancel: Probability::NEVER,
            renew: Probability::NEVER,
            fencing: true,
        });
        scenario
    }
}

impl TrialRun {
    fn request(&mut self, nodes: Range<u32>) {
        let now = self.world.now();
        self.plan.extend(nodes.map(|node| (now, node, Step::Request)));
    }

    /// Has these nodes request the lock now, and counts messages until all have released it.
    fn measure(&mut self, nodes: Range<u32>) {
        self.witness.counter.begin();
        self.request(nodes);
        self.finish();
        self.result.sent.add(&self.witness.counter.count);
    }

    /// Has these nodes contend again and again. After a while the victim, or the holder, crashes; later it restarts,
    /// and in the end every request must have been granted.
    fn crash(&mut self, contenders: Range<u32>, victim: Option<u32>, index: u64) {
        self.eager = true;
        self.witness.counter.begin();
        self.request(contenders.clone());
        self.run(self.world.now() + BEFORE + index * HOLD * 2 / 3);
        while victim.is_none() && self.holder.is_none() && self.step(self.world.now() + LIMIT) {}
        let victim = victim.or(self.holder).unwrap_or(0);
        self.world.inject(FaultAction::Crash(FaultTarget::Nodes(vec![victim])), &mut self.witness);
        self.requested.remove(&victim);
        self.plan.retain(|&(_, node, _)| node != victim);
        self.holder = self.holder.filter(|&holder| holder != victim);
        self.run(self.world.now() + DOWN);
        self.world.inject(
            FaultAction::Restart { target: FaultTarget::Nodes(vec![victim]), records: StoredRecords::Kept },
            &mut self.witness,
        );
        if contenders.contains(&victim) {
            self.request(victim..victim + 1);
        }
        self.run(self.world.now() + AFTER);
        self.eager = false;
        self.finish();
        self.result.sent.add(&self.witness.counter.count);
    }

    /// Runs until every request was granted and released, and no message is in flight.
    fn finish(&mut self) {
        let limit = self.world.now() + LIMIT;
        while (!self.plan.is_empty() || !self.requested.is_empty() || self.holder.is_some()) && self.step(limit) {}
        self.result.violations += self.requested.len();
        self.requested.clear();
        self.run(self.world.now() + QUIET);
    }

    fn run(&mut self, until: Micros) {
        while self.step(until) {}
        self.world.run_until(until, &mut self.witness);
    }

    /// Runs the next step or event, if it is not after `until`.
    fn step(&mut self, until: Micros) -> bool {
        let planned = self.plan.first().copied().filter(|&(at, ..)| at <= until);
        let next = self.world.next_at().filter(|&at| at <= until);
        match (planned, next) {
            (Some((at, node, step)), next) if next.is_none_or(|next| at <= next) => {
                self.plan.pop_first();
                self.world.run_until(at, &mut self.witness);
                let lock = LockId::from_name(LOCK_NAME);
                let command = match step {
                    Step::Request => Command::Acquire { lock, lease: LEASE },
                    Step::Release => Command::Release { lock },
                };
                self.world.lock_command(node, command, &mut self.witness);
            }
            (_, Some(_)) => _ = self.world.step(&mut self.witness),
            (_, None) => return false,
        }
        for (at, node, lock_event) in std::mem::take(&mut self.witness.events) {
            self.on_lock_event(at, node, lock_event);
        }
        true
    }

    fn on_lock_event(&mut self, at: Micros, node: u32, lock_event: LockEvent) {
        match lock_event {
            LockEvent::Requests { .. } => _ = self.requested.entry(node).or_insert(at),
            LockEvent::Acquired { .. } => {
                let requested = self.requested.remove(&node).unwrap_or(at);
                self.result.waits.push(at - requested);
                let before = self.released.take().filter(|&released| requested < released);
                self.result.handovers.extend(before.map(|released| at - released));
                self.holder = Some(node);
                self.plan.insert((at + HOLD, node, Step::Release));
            }
            LockEvent::Released | LockEvent::Lost => {
                self.released = (lock_event == LockEvent::Released).then_some(at);
                self.holder = self.holder.filter(|&holder| holder != node);
                if self.eager {
                    self.plan.insert((at + HOP, node, Step::Request));
                }
            }
            // The request stands: a node that has just booted, say, is not yet a member of the view.
            LockEvent::Refused { .. } if self.requested.contains_key(&node) => {
                _ = self.plan.insert((at + HOLD, node, Step::Request));
            }
            _ => {} // no request begins or ends
        }
    }
}
