//! The state of a network that has had time to settle.

use crate::base::Micros;
use crate::check::convergence::Convergence;
use crate::scenario::Scenario;
use crate::sim::node::SimNode;
use crate::sim::topology::Link;
use crate::sim::world::{PowerState, World};
use protocol::NodeId;
use protocol::base::capacity::{Candidate, Capacity};
use protocol::base::quorum::Mode;
use protocol::base::term::Term;
use protocol::election::Winner;
use std::collections::{BTreeMap, BTreeSet};

/// One node that is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SettledNode {
    pub(crate) id: u32,
    /// Its candidacy; `None` if it cannot lead.
    pub(crate) candidate: Option<Candidate>,
    pub(crate) leader: Option<(u32, Term)>,
    /// The chief it knows among the super-peers, where they elect one.
    pub(crate) chief: Option<u32>,
    /// Whether it has led since before the last disturbance, and so has the incumbent's margin.
    pub(crate) incumbent: bool,
    /// Whether it was asked to yield, and so need not lead.
    pub(crate) yielded: bool,
    /// Whether it booted without its records, and so was kept out of elections for a while.
    pub(crate) blank: bool,
    /// How long its flaps let it wait before it leads nobody but itself.
    pub(crate) hold: Micros,
    /// Its component by links on which every frame arrives.
    pub(crate) component: u32,
    /// Its component by all links. Two components of one region may or may not find each other.
    pub(crate) region: u32,
}

impl SettledNode {
    pub(crate) fn leads(&self) -> bool {
        self.leader.is_some_and(|(leader, _)| leader == self.id)
    }
}

/// A network whose election makes clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clusters {
    pub(crate) horizon: u8,
    /// How many clients a super-peer may have, where that is limited.
    pub(crate) clients_max: Option<u8>,
    /// Whether the super-peers elect a chief.
    pub(crate) has_chief: bool,
    /// By node, the super-peers within the horizon: over links on which every frame arrives, and over any.
    pub(super) near: BTreeMap<u32, (BTreeSet<u32>, BTreeSet<u32>)>,
    /// The nodes that follow nobody, and have a candidate within the horizon.
    pub(crate) neglected: BTreeSet<u32>,
}

impl Clusters {
    fn of<M: SimNode>(world: &World<M>, scenario: &Scenario, horizon: u8, nodes: &[SettledNode]) -> Self {
        let (clients_max, has_chief) = (scenario.clients_max(), scenario.has_chief());
        let mut clusters = Self { horizon, clients_max, has_chief, ..Self::default() };
        for node in nodes.iter().filter(|node| node.leads()) {
            for near in world.within(node.id, horizon, Link::QUALITY_MAX) {
                clusters.add(near, node.id, true);
            }
            for near in world.within(node.id, horizon, 1) {
                clusters.add(near, node.id, false);
            }
        }
        let candidates: BTreeSet<u32> =
            nodes.iter().filter(|node| node.candidate.is_some()).map(|node| node.id).collect();
        for node in nodes.iter().filter(|node| node.leader.is_none()) {
            if world.within(node.id, horizon, Link::QUALITY_MAX).iter().any(|near| candidates.contains(near)) {
                clusters.neglected.insert(node.id);
            }
        }
        clusters
    }

    /// Records that a node is within the horizon of a super-peer, over sure links or any.
    pub(crate) fn add(&mut self, node: u32, super_peer: u32, sure: bool) {
        let (surely, possibly) = self.near.entry(node).or_default();
        if sure { surely } else { possibly }.insert(super_peer);
    }

    /// Returns the super-peers surely within the horizon of a node.
    pub(crate) fn surely_near(&self, node: u32) -> impl Iterator<Item = u32> {
        self.near.get(&node).into_iter().flat_map(|(surely, _)| surely.iter().copied())
    }

    /// Returns the super-peers that may be within the horizon of a node.
    pub(crate) fn possibly_near(&self, node: u32) -> impl Iterator<Item = u32> {
        self.near.get(&node).into_iter().flat_map(|(_, possibly)| possibly.iter().copied())
    }
}

/// A request for a lock that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiter {
    pub(crate) node: u32,
    /// The lock's index in the scenario.
    pub(crate) lock: u8,
    pub(crate) since: Micros,
}

/// All nodes that are up.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Settled {
    pub(crate) at: Micros,
    pub(crate) disturbed_at: Micros,
    /// How long a network without disturbance may take to agree.
    pub(crate) settle_time: Micros,
    /// The relative error of measured capacities, at most.
    pub(crate) noise: f64,
    /// How many nodes a leader needs, itself included.
    pub(crate) quorum: u32,
    /// Which candidate must lead.
    pub(crate) winner: Winner,
    /// The nodes, by ascending id.
    pub(crate) nodes: Vec<SettledNode>,
    pub(crate) waiters: Vec<Waiter>,
    /// Where the election makes clusters: several leaders are its purpose then.
    pub(crate) clusters: Option<Clusters>,
}

impl Settled {
    /// Observes the present state of a scenario's world.
    pub(crate) fn of<M: SimNode>(world: &World<M>, convergence: &Convergence, scenario: &Scenario) -> Self {
        let (sure, any) = (world.components(Link::QUALITY_MAX), world.components(1));
        let up = (0..world.node_count()).filter_map(|id| {
            let view = world.view(id);
            let capacity = view.advertised.filter(|_| view.may_lead);
            (view.power == PowerState::Up).then(|| SettledNode {
                id,
                candidate: view
                    .appointment
                    .capacity(capacity.map(Capacity::new))
                    .map(|capacity| Candidate { capacity, id: NodeId(id) }),
                leader: view.leader,
                chief: view.chief,
                incumbent: convergence.is_incumbent(id),
                yielded: convergence.has_yielded(id),
                blank: convergence.is_blank(id),
                hold: view.hold,
                component: sure.of(id),
                region: any.of(id),
            })
        });
        let quorum = match world.plan().mode {
            Mode::Available => 1,
            Mode::Quorum => world.group_size() / 2 + 1,
        };
        let nodes: Vec<SettledNode> = up.collect();
        let clusters = scenario.horizon().map(|horizon| Clusters::of(world, scenario, horizon, &nodes));
        let waiters = world.lock_waiters().map(|(node, lock, since)| Waiter { node, lock, since });
        Self {
            at: world.now(),
            disturbed_at: world.disturbed_at(),
            settle_time: scenario.settle_time,
            noise: world.plan().capacity.noise,
            quorum,
            winner: scenario.winner(),
            nodes,
            waiters: waiters.collect(),
            clusters,
        }
    }

    /// Returns whether a region can be led: it has a candidate and a quorum, or is a node that has waited for company long
    /// enough.
    pub(crate) fn can_be_led(&self, region: u32) -> bool {
        let nodes: Vec<&SettledNode> = self.nodes.iter().filter(|node| node.region == region).collect();
        let waits = match nodes[..] {
            [alone] => self.at.saturating_sub(self.disturbed_at) < alone.hold + self.settle_time,
            _ => false, // they have company
        };
        !waits && nodes.iter().any(|node| node.candidate.is_some()) && nodes.len() >= self.quorum as usize
    }

    /// Returns the networks that have one leader each: the components, unless the election makes clusters.
    pub(crate) fn led_by_one(&self) -> Vec<Vec<&SettledNode>> {
        if self.clusters.is_some() { Vec::new() } else { self.components() }
    }

    pub(crate) fn node(&self, id: u32) -> Option<&SettledNode> {
        self.nodes.binary_search_by_key(&id, |node| node.id).ok().map(|index| &self.nodes[index])
    }

    /// Returns how many clients each super-peer has, itself not included.
    pub(crate) fn clients(&self) -> BTreeMap<u32, u32> {
        let mut clients: BTreeMap<u32, u32> =
            self.nodes.iter().filter(|node| node.leads()).map(|node| (node.id, 0)).collect();
        for (leader, _) in self.nodes.iter().filter(|node| !node.leads()).filter_map(|node| node.leader) {
            clients.entry(leader).and_modify(|count| *count += 1);
        }
        clients
    }

    /// Returns the nodes of each component, the components in the order of their lowest node.
    pub(crate) fn components(&self) -> Vec<Vec<&SettledNode>> {
        let mut components: BTreeMap<u32, Vec<&SettledNode>> = BTreeMap::new();
        for node in &self.nodes {
            components.entry(node.component).or_default().push(node);
        }
        let mut components: Vec<_> = components.into_values().collect();
        components.sort_by_key(|component| component[0].id);
        components
    }
}
