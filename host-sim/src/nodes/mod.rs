//! The nodes that are simulated, and the worlds that scenarios make of them.

mod any_node;
mod changing_node;
pub(crate) mod insider;
pub mod protocol_node;
#[cfg(test)]
pub(crate) mod toy_node;
mod traced_stage;

pub use any_node::{AnyNode, AnyPlan};

use crate::scenario::Scenario;
use crate::sim::node::SimNode;
use crate::sim::world::World;

/// A node that any scenario can be run with.
pub trait ScenarioNode: SimNode {
    /// Returns the settings that all nodes of a scenario share.
    fn plan(scenario: &Scenario) -> Self::Plan;
}

/// Builds the world of a scenario, before its first event.
#[must_use]
pub fn world<M: ScenarioNode>(scenario: &Scenario, seed: u64) -> World<M> {
    World::new(&scenario.world, M::plan(scenario), seed)
}
