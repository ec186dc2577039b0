//! One election, from its start until all nodes follow the best.

use crate::base::Micros;
use crate::base::rng::Probability;
use crate::compare::{MessageCount, MessageCounter, WARM_UP, lan_scenario};
use crate::nodes::protocol_node::Member;
use crate::nodes::world;
use crate::sim::capacity::CapacityRule;
use crate::sim::fault_plan::{FaultAction, FaultTarget};
use crate::sim::link_fault::LinkFault;
use crate::sim::node::SimNode;
use crate::sim::world::{PowerState, World};
use crate::trace::{EventKind, Observer, TraceEvent};
use protocol::wire::Stage;

/// How long the run goes on after all nodes agree: messages in flight are counted, and the agreement must last.
const QUIET: Micros = 500_000;

/// How long a leader leads before it crashes, in trials that begin with a crashed leader.
const LEADER_UPTIME: Micros = 500_000;

const LIMIT: Micros = 60_000_000;

/// Which nodes start an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    One(u32),
    /// All nodes, at the same moment.
    All,
}

#[derive(Clone, Debug)]
pub(super) struct Trial {
    pub(crate) algorithm: &'static str,
    /// The number of nodes, with a crashed leader if there is one.
    pub(crate) nodes: u32,
    /// Whether the best of them has led and has just crashed.
    pub(crate) leader_crashed: bool,
    pub(crate) start: Start,
    pub(crate) capacity: CapacityRule,
    /// The loss of frames from the start on.
    pub(crate) loss: Probability,
    /// How long after the start the node that would win crashes.
    pub(crate) crash: Option<Micros>,
    pub(crate) seed: u64,
}

#[derive(Clone, Debug)]
pub(super) struct TrialResult {
    pub(crate) sent: MessageCount,
    /// The time from the start until all nodes followed the best that was up; `None` if they never did.
    pub(crate) time: Option<Micros>,
}

/// Counts messages, and notices when a node's leader may have changed.
struct Witness {
    counter: MessageCounter,
    changed: bool,
}

impl Observer for Witness {
    fn observe(&mut self, event: &TraceEvent) {
        self.changed |= matches!(
            event.kind,
            EventKind::Leads { .. }
                | EventKind::Follows { .. }
                | EventKind::Leaderless
                | EventKind::Halted { .. }
                | EventKind::Crash
        );
    }

    fn on_frame(&mut self, frame: &[u8]) {
        self.counter.read(frame);
    }
}

impl Trial {
    pub(super) fn run(&self) -> TrialResult {
        let mut scenario = lan_scenario(self.algorithm, self.nodes);
        scenario.world.capacity.rule = self.capacity.clone();
        let mut world = world::<Member>(&scenario, self.seed);
        let mut witness =
            Witness { counter: MessageCounter::new(world.node_plan().key(), Stage::Election), changed: false };
        world.run_until(WARM_UP, &mut witness);
        if self.leader_crashed {
            let leader = best(&world);
            world.inject(FaultAction::Call(FaultTarget::Nodes(leader.clone())), &mut witness);
            world.run_until(WARM_UP + LEADER_UPTIME, &mut witness);
            world.inject(FaultAction::Crash(FaultTarget::Nodes(leader)), &mut witness);
        }
        world.inject(FaultAction::Link(LinkFault::Loss(Some(self.loss))), &mut witness);
        witness.counter.begin();
        let started = world.now();
        let starters = match self.start {
            Start::One(node) => FaultTarget::Nodes(vec![node]),
            Start::All => FaultTarget::All,
        };
        world.inject(FaultAction::Call(starters), &mut witness);
        if let Some(after) = self.crash {
            world.run_until(started + after, &mut witness);
            world.inject(FaultAction::Crash(FaultTarget::Nodes(best(&world))), &mut witness);
        }
        let agreed = run_to_agreement(&mut world, started + LIMIT, &mut witness);
        TrialResult { sent: witness.counter.count, time: agreed.map(|at| at - started) }
    }
}

/// Runs until the network agrees on its best node, and returns since when it has.
fn run_to_agreement<M: SimNode>(world: &mut World<M>, limit: Micros, witness: &mut Witness) -> Option<Micros> {
    let mut since = agrees(world).then_some(world.now());
    while world.next_at().is_some_and(|at| at <= since.map_or(limit, |since| since + QUIET)) {
        witness.changed = false;
        world.step(witness);
        if witness.changed {
            since = if agrees(world) { since.or(Some(world.now())) } else { None };
        }
    }
    since
}

/// Returns the best node that is up, as a list for a fault's target.
fn best<M: SimNode>(world: &World<M>) -> Vec<u32> {
    let up = (0..world.node_count()).filter(|&node| world.view(node).power == PowerState::Up);
    up.max_by_key(|&node| (world.view(node).capacity, node)).into_iter().collect()
}

/// Returns whether every node that is up follows the best of them.
fn agrees<M: SimNode>(world: &World<M>) -> bool {
    let best = best(world);
    let up = (0..world.node_count()).map(|node| world.view(node)).filter(|node| node.power == PowerState::Up);
    up.map(|node| node.leader.map(|(leader, _)| leader))
        .all(|leader| leader.is_some() && leader == best.first().copied())
}
