//! Capacities of nodes: how they are assigned and measured.

use crate::base::Micros;
use crate::base::rng::{Rng, Stream, derive_seed};
use protocol::base::capacity::Capacity;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CapacityPlan {
    pub(crate) rule: CapacityRule,
    /// The largest relative error of a measured capacity, either way.
    pub(crate) noise: f64,
    /// The time between two measurements of a node.
    pub(crate) period: Micros,
    /// The ids of nodes that may never lead.
    pub(crate) ineligible: Vec<u32>,
}

/// How capacities are assigned.
#[derive(Clone, Debug, PartialEq)]
pub enum CapacityRule {
    /// Drawn, distinct while there are enough numbers.
    Random,
    /// The same for all.
    Equal(u16),
    /// Rising with the node's id.
    Rising,
    /// Falling with it.
    Falling,
    /// By id.
    Values(Vec<u16>),
}

impl CapacityPlan {
    /// Returns the capacity of each node, by id.
    pub(crate) fn assign(&self, nodes: u32, seed: u64) -> Vec<u16> {
        let (nodes, max) = (nodes as usize, Capacity::MAX.get());
        let ramp = |rank: usize| 1 + (rank as u64 * u64::from(max - 1) / nodes.max(2) as u64) as u16;
        match &self.rule {
            CapacityRule::Random => {
                let mut rng = Rng::new(derive_seed(seed, Stream::Placement, 1), Stream::Placement);
                let numbers = (0..nodes.max(usize::from(max))).map(|n| 1 + (n % usize::from(max)) as u16);
                let mut capacities: Vec<u16> = numbers.collect();
                rng.shuffle(&mut capacities);
                capacities.truncate(nodes);
                capacities
            }
            CapacityRule::Equal(capacity) => vec![*capacity; nodes],
            CapacityRule::Rising => (0..nodes).map(ramp).collect(),
            CapacityRule::Falling => (0..nodes).rev().map(ramp).collect(),
            CapacityRule::Values(capacities) => capacities.clone(),
        }
    }
}
