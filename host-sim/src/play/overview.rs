//! What a page asks of a world as a whole.

use crate::sim::node::SimNode;
use crate::sim::topology::NO_COMPONENT;
use crate::sim::world::{PowerState, World};
use serde_json::{Value, json};

/// Returns every link, from and to, with its quality.
pub(crate) fn links<M: SimNode>(world: &World<M>) -> Vec<(u32, u32, u8)> {
    let of = |id| world.receivers(id).map(move |(to, quality)| (id, to, quality));
    (0..world.node_count()).flat_map(of).collect()
}

/// Returns a row for each node: its position, power (3 where it runs and is no member), capacity, leader and term, whether it may act, its component, and in a
/// network of clusters whether a super-peer serves it.
pub(crate) fn rows<M: SimNode>(world: &World<M>, horizon: Option<u8>) -> Vec<Value> {
    let components = components(world);
    let served = horizon.map(|horizon| served(world, horizon));
    let row = |id: u32| {
        let view = world.view(id);
        let power = match view.power {
            PowerState::Down if view.outside => 3,
            PowerState::Down => 0,
            PowerState::Up => 1,
            PowerState::Paused => 2,
        };
        let (leader, term) = view.leader.map_or((-1, 0), |(leader, term)| (i64::from(leader), term.number));
        json!([
            view.position.x,
            view.position.y,
            power,
            view.capacity.map_or(-1, i32::from),
            leader,
            term,
            u8::from(world.is_acting(id)),
            components[id as usize].map_or(-1, i64::from),
            served.as_ref().map(|served| u8::from(served[id as usize])),
        ])
    };
    (0..world.node_count()).map(row).collect()
}

/// Returns the component of each node; `None` for a node that is not up.
fn components<M: SimNode>(world: &World<M>) -> Vec<Option<u32>> {
    let components = world.components(1);
    let of = |id| Some(components.of(id)).filter(|&component| component != NO_COMPONENT);
    (0..world.node_count()).map(of).collect()
}

/// Returns whether each node is up and follows a super-peer within the horizon.
fn served<M: SimNode>(world: &World<M>, horizon: u8) -> Vec<bool> {
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
