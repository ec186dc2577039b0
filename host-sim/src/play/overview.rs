//! What a page asks of a world as a whole.

use crate::sim::node::SimNode;
use crate::sim::topology::NO_COMPONENT;
use crate::sim::world::{PowerState, World};

/// Returns every link, from and to, with its quality.
pub(super) fn links<M: SimNode>(world: &World<M>) -> Vec<(u32, u32, u8)> {
    let of = |id| world.receivers(id).map(move |(to, quality)| (id, to, quality));
    (0..world.node_count()).flat_map(of).collect()
}

/// Returns the component of each node; `None` for a node that is not up.
pub(super) fn components<M: SimNode>(world: &World<M>) -> Vec<Option<u32>> {
    let components = world.components(1);
    let of = |id| Some(components.of(id)).filter(|&component| component != NO_COMPONENT);
    (0..world.node_count()).map(of).collect()
}

/// Returns whether each node is up and follows a super-peer within the horizon.
pub(super) fn served<M: SimNode>(world: &World<M>, horizon: u8) -> Vec<bool> {
    let up = |id: u32| world.view(id).power == PowerState::Up;
    let leader = |id: u32| world.view(id).leader.map(|(leader, _)| leader);
    let leads = |id: u32| id < world.node_count() && up(id) && leader(id) == Some(id);
    let near = |id: u32, leader: u32| leader == id || world.within(id, horizon, 1).contains(&leader);
    let served = |id| up(id) && leader(id).is_some_and(|leader| leads(leader) && near(id, leader));
    (0..world.node_count()).map(served).collect()
}

/// Returns the share of the nodes that are up which follow one leader with their whole component; in a network of clusters,
/// which follow a super-peer within its horizon.
pub(super) fn agreement<M: SimNode>(world: &World<M>, horizon: Option<u8>) -> f64 {
    let up: Vec<u32> = (0..world.node_count()).filter(|&id| world.view(id).power == PowerState::Up).collect();
    let agreeing = match horizon {
        Some(horizon) => served(world, horizon).into_iter().filter(|&served| served).count(),
        None => in_agreement(world, &up),
    };
    if up.is_empty() { 0.0 } else { agreeing as f64 / up.len() as f64 }
}

/// Counts the nodes of components in which all follow one of them.
fn in_agreement<M: SimNode>(world: &World<M>, up: &[u32]) -> usize {
    let components = components(world);
    let mut leaders: Vec<_> = up.iter().map(|&id| (components[id as usize], world.view(id).leader)).collect();
    leaders.sort_unstable_by_key(|&(component, leader)| (component, leader.map(|(id, _)| id)));
    let agrees = |group: &&[_]| {
        let group: &[(Option<u32>, Option<(u32, _)>)] = group;
        let follows = |at: usize| group[at].1.map(|(id, _)| id);
        let leader = follows(0);
        let own = leader.and_then(|id| *components.get(id as usize)?);
        leader.is_some() && leader == follows(group.len() - 1) && own == group[0].0
    };
    leaders.chunk_by(|a, b| a.0 == b.0).filter(agrees).map(<[_]>::len).sum()
}
