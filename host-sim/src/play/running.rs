//! A world whose nodes are of any type.

use super::watch::Watch;
use crate::base::Micros;
use crate::nodes::protocol_node::{AppNode, LockNode, Member, ProtocolNode};
use crate::nodes::{ScenarioNode, world as world_of};
use crate::scenario::Scenario;
use crate::sim::fault_plan::FaultStep;
use crate::sim::node::SimNode;
use crate::sim::topology::NO_COMPONENT;
use crate::sim::world::{NodeView, PowerState, World};

/// What a page needs of a world.
pub(super) trait Running {
    fn step(&mut self, watch: &mut Watch) -> bool;
    fn run_until(&mut self, until: Micros, watch: &mut Watch);
    fn next_at(&self) -> Option<Micros>;
    fn now(&self) -> Micros;
    fn free_moment(&self) -> Option<Micros>;
    fn add_fault(&mut self, step: FaultStep);
    fn trace_hash(&self) -> u64;
    fn view(&self, id: u32) -> NodeView;
    fn is_acting(&self, id: u32) -> bool;
    fn topology_version(&self) -> u64;
    /// Returns every link, from and to, with its quality.
    fn links(&self) -> Vec<(u32, u32, u8)>;
    /// Returns the component of each node; `None` for a node that is not up.
    fn components(&self) -> Vec<Option<u32>>;
    /// Returns the share of the nodes that are up which follow one leader with their whole component.
    fn agreement(&self) -> f64;
}

impl<M: SimNode> Running for World<M> {
    fn step(&mut self, watch: &mut Watch) -> bool {
        World::step(self, watch)
    }

    fn run_until(&mut self, until: Micros, watch: &mut Watch) {
        World::run_until(self, until, watch);
    }

    fn next_at(&self) -> Option<Micros> {
        World::next_at(self)
    }

    fn now(&self) -> Micros {
        World::now(self)
    }

    fn free_moment(&self) -> Option<Micros> {
        World::free_moment(self)
    }

    fn add_fault(&mut self, step: FaultStep) {
        World::add_fault(self, step);
    }

    fn trace_hash(&self) -> u64 {
        World::trace_hash(self)
    }

    fn view(&self, id: u32) -> NodeView {
        World::view(self, id)
    }

    fn is_acting(&self, id: u32) -> bool {
        World::is_acting(self, id)
    }

    fn topology_version(&self) -> u64 {
        World::topology_version(self)
    }

    fn links(&self) -> Vec<(u32, u32, u8)> {
        let of = |id| self.receivers(id).map(move |(to, quality)| (id, to, quality));
        (0..self.node_count()).flat_map(of).collect()
    }

    fn components(&self) -> Vec<Option<u32>> {
        let components = World::components(self, 1);
        let of = |id| Some(components.of(id)).filter(|&component| component != NO_COMPONENT);
        (0..self.node_count()).map(of).collect()
    }

    fn agreement(&self) -> f64 {
        let components = Running::components(self);
        let up: Vec<u32> = (0..self.node_count()).filter(|&id| self.view(id).power == PowerState::Up).collect();
        let mut leaders: Vec<_> = up.iter().map(|&id| (components[id as usize], self.view(id).leader)).collect();
        leaders.sort_unstable_by_key(|&(component, leader)| (component, leader.map(|(id, _)| id)));
        // A component agrees where all of its nodes follow one of them.
        let agreeing: usize = leaders
            .chunk_by(|a, b| a.0 == b.0)
            .filter(|group| {
                let follows = |at: usize| group[at].1.map(|(id, _)| id);
                let leader = follows(0);
                let own = leader.and_then(|id| *components.get(id as usize)?);
                leader.is_some() && leader == follows(group.len() - 1) && own == group[0].0
            })
            .map(<[_]>::len)
            .sum();
        if up.is_empty() { 0.0 } else { agreeing as f64 / up.len() as f64 }
    }
}

/// Builds the world of a scenario with the type of node it needs.
pub(super) fn world(scenario: &Scenario, seed: u64) -> Box<dyn Running> {
    fn boxed<M: ScenarioNode + 'static>(scenario: &Scenario, seed: u64) -> Box<dyn Running>
    where
        M::Plan: 'static,
    {
        Box::new(world_of::<M>(scenario, seed))
    }
    if scenario.world.locks.is_some() {
        boxed::<LockNode>(scenario, seed)
    } else if scenario.world.app.is_some() {
        boxed::<AppNode>(scenario, seed)
    } else if scenario.is_group() {
        boxed::<Member>(scenario, seed)
    } else {
        boxed::<ProtocolNode>(scenario, seed)
    }
}
