//! One election, from the call until the best is known to all.

use crate::compare::{Clerk, Mail, WARM_UP, ground};
use crate::machine::Machine;
use crate::peer::Member;
use crate::queue::Micros;
use crate::random::Chance;
use crate::scenario::{Action, CapacityRule, Who};
use crate::trace::{Observer, TraceEvent, What};
use crate::world::{Life, World};
use protocol::wire::Stage;

/// How long to look on after all know the leader: whatever is still on its way is counted, and that they agree must
/// last.
const QUIET: Micros = 500_000;

/// How long a leader is in office before it crashes, where there is to be a dead one.
const REIGN: Micros = 500_000;

/// An election that has not ended by then never does.
const LIMIT: Micros = 60_000_000;

/// Who calls an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// One node.
    One(u32),
    /// Every node, at the same moment.
    All,
}

/// An election to be held.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The election, by its word.
    pub algorithm: &'static str,
    /// How many nodes there are, with a dead leader if there is one.
    pub nodes: u32,
    /// Whether the best of them has led, and has just crashed.
    pub bereaved: bool,
    /// Who calls.
    pub start: Start,
    /// What nodes are worth.
    pub worth: CapacityRule,
    /// How many frames are lost from the call on.
    pub loss: Chance,
    /// How long after the call the one that is to win crashes.
    pub crash: Option<Micros>,
    /// The seed of all chance.
    pub seed: u64,
}

/// How it went.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// What was sent, from the call on.
    pub mail: Mail,
    /// How long it took from the call until all knew the best of those that were up; `None` if they never did.
    pub time: Option<Micros>,
}

/// Counts what is sent, and notices when somebody changes its mind.
struct Witness {
    clerk: Clerk,
    stirred: bool,
}

impl Observer for Witness {
    fn see(&mut self, event: &TraceEvent) {
        self.stirred |= matches!(
            event.what,
            What::Leads { .. } | What::Follows { .. } | What::Leaderless | What::Halted { .. } | What::Crash
        );
    }

    fn read(&mut self, frame: &[u8]) {
        self.clerk.read(frame);
    }
}

impl Trial {
    /// Holds the election.
    #[must_use]
    pub fn hold(&self) -> Verdict {
        let mut scenario = ground(self.algorithm, self.nodes);
        scenario.capacity.rule = self.worth.clone();
        let mut world = World::<Member>::new(&scenario, self.seed);
        let mut witness = Witness { clerk: Clerk::new(world.plan().key(), Stage::Election), stirred: false };
        world.run_until(WARM_UP, &mut witness);
        if self.bereaved {
            let leader = best(&world);
            world.apply(Action::Call(Who::Nodes(leader.clone())), &mut witness);
            world.run_until(WARM_UP + REIGN, &mut witness);
            world.apply(Action::Crash(Who::Nodes(leader)), &mut witness);
        }
        world.apply(Action::Loss(Some(self.loss)), &mut witness);
        witness.clerk.begin();
        let called = world.now();
        let starters = match self.start {
            Start::One(name) => Who::Nodes(vec![name]),
            Start::All => Who::All,
        };
        world.apply(Action::Call(starters), &mut witness);
        if let Some(after) = self.crash {
            world.run_until(called + after, &mut witness);
            world.apply(Action::Crash(Who::Nodes(best(&world))), &mut witness);
        }
        let agreed = settle(&mut world, called + LIMIT, &mut witness);
        Verdict { mail: witness.clerk.mail().clone(), time: agreed.map(|at| at - called) }
    }
}

/// Lets the network come to agree on its best, and returns since when it has.
fn settle<M: Machine>(world: &mut World<M>, limit: Micros, witness: &mut Witness) -> Option<Micros> {
    let mut since = agrees(world).then_some(world.now());
    while world.next_at().is_some_and(|at| at <= since.map_or(limit, |since| since + QUIET)) {
        witness.stirred = false;
        world.step(witness);
        if witness.stirred {
            since = if agrees(world) { since.or(Some(world.now())) } else { None };
        }
    }
    since
}

/// The best node that is up, by name; in a list, as faults name nodes.
fn best<M: Machine>(world: &World<M>) -> Vec<u32> {
    let up = (0..world.nodes()).filter(|&name| world.node(name).life == Life::Up);
    up.max_by_key(|&name| (world.node(name).capacity, name)).into_iter().collect()
}

/// Whether every node that is up follows the best of them.
fn agrees<M: Machine>(world: &World<M>) -> bool {
    let best = best(world);
    let up = (0..world.nodes()).map(|name| world.node(name)).filter(|node| node.life == Life::Up);
    up.map(|node| node.leader.map(|(leader, _)| leader))
        .all(|leader| leader.is_some() && leader == best.first().copied())
}
