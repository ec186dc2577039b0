//! A picture of a network that had time to settle.

use crate::machine::Machine;
use crate::queue::Micros;
use crate::topology::Link;
use crate::watch::Watch;
use crate::world::{Life, World};
use protocol::NodeId;
use protocol::capacity::{Capacity, Standing};
use protocol::clock::Term;
use protocol::mandate::Mode;

/// One node that is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettledNode {
    /// Its name.
    pub name: u32,
    /// What it is worth; `None` where it cannot lead.
    pub standing: Option<Standing>,
    /// Whom it follows, and under which term.
    pub leader: Option<(u32, Term)>,
    /// Whether it has led since before the last disturbance: then the incumbent's margin is its due.
    pub incumbent: bool,
    /// Whether it was asked to let another lead: then it need not lead, however good it is.
    pub yielded: bool,
    /// Whether it started without its records: it was kept out of elections for a while.
    pub blank: bool,
    /// Which part of the network it is in, by links on which every frame arrives.
    pub part: u32,
    /// Which part it is in by all links, the poorest too. Two parts of one region may or may not find each other.
    pub region: u32,
}

impl SettledNode {
    /// Whether it leads.
    #[must_use]
    pub fn leads(&self) -> bool {
        self.leader.is_some_and(|(leader, _)| leader == self.name)
    }
}

/// Somebody who wants a lock and does not get it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanting {
    /// Its name.
    pub node: u32,
    /// Which lock, by its place in the scenario.
    pub lock: u8,
    /// Since when.
    pub since: Micros,
}

/// All nodes that are up.
#[derive(Clone, Debug, PartialEq)]
pub struct Settled {
    /// When the picture was taken.
    pub at: Micros,
    /// When the network was last disturbed.
    pub disturbed_at: Micros,
    /// How long nothing must have happened before the network has to agree.
    pub calm: Micros,
    /// By how much measured capacities are off, at most.
    pub noise: f64,
    /// How many nodes a leader needs behind it, itself included; 1 where none but itself.
    pub quorum: u32,
    /// The nodes, by name, rising.
    pub nodes: Vec<SettledNode>,
    /// Who wants a lock and does not get it.
    pub wanting: Vec<Wanting>,
}

impl Settled {
    /// Takes the picture.
    #[must_use]
    pub fn of<M: Machine>(world: &World<M>, watch: &Watch) -> Self {
        let (sure, any) = (world.components(Link::SURE), world.components(1));
        let up = (0..world.nodes()).filter_map(|name| {
            let view = world.node(name);
            let standing = view
                .capacity
                .filter(|_| view.may_lead)
                .map(|worth| Standing { capacity: Capacity::new(worth), id: NodeId(name) });
            (view.life == Life::Up).then(|| SettledNode {
                name,
                standing,
                leader: view.leader,
                incumbent: watch.is_incumbent(name),
                yielded: watch.has_yielded(name),
                blank: watch.is_blank(name),
                part: sure.of(name),
                region: any.of(name),
            })
        });
        let quorum = match world.scenario().mode {
            Mode::Available => 1,
            Mode::Quorum => world.nodes() / 2 + 1,
        };
        let wanting = world.wanting().map(|(node, lock, since)| Wanting { node, lock, since });
        Self {
            at: world.now(),
            disturbed_at: world.disturbed_at(),
            calm: world.scenario().calm,
            noise: world.scenario().capacity.noise,
            quorum,
            nodes: up.collect(),
            wanting: wanting.collect(),
        }
    }

    /// Whether a region can be led: somebody in it can lead, and enough are there to be led.
    #[must_use]
    pub fn can_be_led(&self, region: u32) -> bool {
        let nodes = || self.nodes.iter().filter(|node| node.region == region);
        nodes().any(|node| node.standing.is_some()) && nodes().count() >= self.quorum as usize
    }

    /// The node called `name`, if it is up.
    #[must_use]
    pub fn node(&self, name: u32) -> Option<&SettledNode> {
        self.nodes.binary_search_by_key(&name, |node| node.name).ok().map(|index| &self.nodes[index])
    }

    /// The nodes of each part, the parts in the order of their lowest node.
    #[must_use]
    pub fn parts(&self) -> Vec<Vec<&SettledNode>> {
        let mut parts: Vec<Vec<&SettledNode>> = Vec::new();
        for node in &self.nodes {
            let index = node.part as usize;
            if parts.len() <= index {
                parts.resize(index + 1, Vec::new());
            }
            parts[index].push(node);
        }
        parts.retain(|part| !part.is_empty());
        parts.sort_by_key(|part| part[0].name);
        parts
    }
}

/// A settled network for tests: all in one part, everybody follows `leader`; capacities are the names.
#[cfg(test)]
pub(super) fn agreeing(nodes: u32, leader: u32) -> Settled {
    let term = Term { number: 1, by: NodeId(0) };
    let node = |name: u32| SettledNode {
        name,
        standing: Some(Standing { capacity: Capacity::new(100 + name as u16), id: NodeId(name) }),
        leader: Some((leader, term)),
        incumbent: false,
        yielded: false,
        blank: false,
        part: 0,
        region: 0,
    };
    let nodes = (0..nodes).map(node).collect();
    Settled { at: 1, disturbed_at: 0, calm: 1, noise: 0.0, quorum: 1, nodes, wanting: Vec::new() }
}
