//! Convergence: whether the network agrees on its leaders, followed event by event.
//!
//! The network agrees when in every component (nodes connected by sure links) all nodes follow the same node, which
//! leads and can be reached; a component without a candidate agrees when no node follows any. Where the election makes
//! clusters, it agrees when every node follows a super-peer within the horizon, or has no candidate there. A run is divided into
//! *phases*, each begun by an event that may end the agreement. The time from the start of a phase until the network
//! agrees for the rest of it is what `time_to_leader_us`, `failover_us` and the like measure.

use crate::base::Micros;
use crate::sim::node::SimNode;
use crate::sim::topology::{Link, NO_COMPONENT};
use crate::sim::world::{PowerState, World};
use crate::trace::{EventKind, Observer, TraceEvent};
use served::Served;

mod served;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default)]
struct Component {
    size: u32,
    /// A leader that some of its nodes follow, and how many do.
    leader: Option<u32>,
    followers: u32,
    member: u32,
    /// Whether it has a candidate.
    can_lead: bool,
}

/// A measurement in progress: from its start until the network agrees and stays so until the next phase begins.
#[derive(Clone, Copy, Debug)]
struct Pending {
    measure: &'static str,
    start: Micros,
    /// Whether the network has disagreed since; if not, there is nothing to measure.
    broken: bool,
}

/// How long a node was up, followed a node that was up, and followed one that it could reach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LeaderTime {
    pub(crate) up: Micros,
    pub(crate) led: Micros,
    pub(crate) reached: Micros,
}

/// One node, by the events so far.
#[expect(clippy::struct_excessive_bools, reason = "facts about a node that have nothing to do with each other")]
#[derive(Clone, Copy, Debug, Default)]
struct NodeStatus {
    up: bool,
    boots: u32,
    fit: bool,
    /// Whether it was asked to yield.
    yielded: bool,
    /// Whether it booted without its records.
    blank: bool,
    follows: Option<u32>,
    leads_since: Micros,
    /// Its component by sure links, and by all links.
    component: u32,
    region: u32,
    leader_time: LeaderTime,
    accrued_until: Micros,
}

/// The observer of a run.
#[derive(Default)]
pub struct Convergence {
    now: Micros,
    nodes: Vec<NodeStatus>,
    components: Vec<Component>,
    unanimous: usize,
    /// Which nodes are served, where the election makes clusters.
    served: Option<Served>,
    version: Option<u64>,
    agreed_since: Option<Micros>,
    phase_start: Option<Micros>,
    pending: Vec<Pending>,
    /// Whether the first agreement ends a measurement: where nodes move, agreement comes and goes.
    first_agreement_counts: bool,
    samples: Vec<(&'static str, Micros)>,
    /// Measurements that had not ended with the run, and how long they had lasted.
    unfinished: Vec<(&'static str, Micros)>,
    has_agreed: bool,
    changes: u64,
    initiator: Option<u32>,
}

impl Convergence {
    /// Creates the observer of a world that has not begun.
    #[must_use]
    pub fn new<M: SimNode>(world: &World<M>) -> Self {
        let unknown = NodeStatus { component: NO_COMPONENT, region: NO_COMPONENT, ..NodeStatus::default() };
        Self {
            nodes: vec![unknown; world.node_count() as usize],
            first_agreement_counts: world.plan().mobility.is_some(),
            ..Self::default()
        }
    }

    /// Returns the observer of an election that makes clusters of this horizon, if it does.
    #[must_use]
    pub fn of_clusters(mut self, horizon: Option<u8>) -> Self {
        self.served = horizon.map(|horizon| Served::new(horizon, self.nodes.len()));
        self
    }

    /// Finds the components again, if they may have changed. To be called after every step.
    pub fn refresh<M: SimNode>(&mut self, world: &World<M>) {
        // Until all nodes have booted, no agreement can last.
        if world.boots_pending() > 0 {
            return;
        }
        if self.version != Some(world.topology_version()) {
            self.find_components(world);
        }
        self.find_served(world);
    }

    fn find_components<M: SimNode>(&mut self, world: &World<M>) {
        self.version = Some(world.topology_version());
        let (sure, any) = (world.components(Link::QUALITY_MAX), world.components(1));
        self.components.clear();
        self.components.resize(sure.count(), Component::default());
        // The time so far counts by the old components.
        for node in 0..world.node_count() {
            self.accrue(node);
        }
        for node in 0..world.node_count() {
            let view = world.view(node);
            let status = &mut self.nodes[node as usize];
            status.up = view.power == PowerState::Up;
            status.fit = view.may_lead && view.capacity.is_some();
            (status.component, status.region) = (sure.of(node), any.of(node));
            if let Some(component) = self.components.get_mut(status.component as usize) {
                component.can_lead |= status.fit;
                if component.size == 0 {
                    (component.leader, component.member) = (status.follows, node);
                }
                component.size += 1;
                component.followers += u32::from(status.follows == component.leader);
            }
        }
        self.unanimous = self.components.iter().filter(|component| component.followers == component.size).count();
        if let Some(served) = &mut self.served {
            served.doubt_all();
        } else {
            self.update_agreement();
        }
    }

    /// Finds again who is served, where that may have changed.
    fn find_served<M: SimNode>(&mut self, world: &World<M>) {
        let Some(mut served) = self.served.take() else { return };
        let doubtful = served.take_doubtful();
        let any = !doubtful.is_empty();
        for node in doubtful {
            self.accrue_by(node, served.is(node));
            served.set(node, self.is_served(world, served.horizon, node));
        }
        self.served = Some(served);
        if any {
            self.update_agreement();
        }
    }

    /// Returns whether a node follows a super-peer within the horizon, or is down, or has no candidate there.
    fn is_served<M: SimNode>(&self, world: &World<M>, horizon: u8, node: u32) -> bool {
        let status = &self.nodes[node as usize];
        if !status.up {
            return true;
        }
        match status.follows {
            None => !world.within(node, horizon, Link::QUALITY_MAX).iter().any(|&other| self.nodes[other as usize].fit),
            Some(leader) => {
                let serves = |leader: &NodeStatus| leader.up && leader.fit && leader.follows == status.follows;
                self.nodes.get(leader as usize).is_some_and(serves) && world.within(node, horizon, 1).contains(&leader)
            }
        }
    }

    /// Ends the run.
    pub fn finish(&mut self, now: Micros) {
        self.now = now;
        self.close_phase();
        let unfinished = self.pending.drain(..).filter(|pending| pending.broken);
        self.unfinished = unfinished.map(|pending| (pending.measure, now - pending.start)).collect();
        for node in 0..self.nodes.len() as u32 {
            self.accrue(node);
        }
    }

    /// Returns whether the network agrees.
    #[must_use]
    pub fn agrees(&self) -> bool {
        self.agreed_since.is_some()
    }

    /// Returns the measured times, by name.
    #[must_use]
    pub fn samples(&self) -> &[(&'static str, Micros)] {
        &self.samples
    }

    /// Returns the measurements that had not ended with the run, by name, and how long they had lasted.
    pub(crate) fn unfinished(&self) -> impl Iterator<Item = (&'static str, Micros)> {
        self.unfinished.iter().copied()
    }

    /// Returns how often a node began to lead after the network had first agreed.
    pub(crate) fn leader_changes(&self) -> u64 {
        self.changes
    }

    /// Returns the node that started the first election.
    pub(crate) fn initiator(&self) -> Option<u32> {
        self.initiator
    }

    /// Returns whether the node has led since before the phase began.
    pub(crate) fn is_incumbent(&self, node: u32) -> bool {
        let status = &self.nodes[node as usize];
        status.follows == Some(node) && self.phase_start.is_some_and(|start| status.leads_since < start)
    }

    pub(crate) fn is_blank(&self, node: u32) -> bool {
        self.nodes[node as usize].blank
    }

    pub(crate) fn has_yielded(&self, node: u32) -> bool {
        self.nodes[node as usize].yielded
    }

    pub(crate) fn leader_times(&self) -> impl Iterator<Item = LeaderTime> {
        self.nodes.iter().map(|status| status.leader_time)
    }

    /// Adds the time since the last call to the node's totals.
    fn accrue(&mut self, node: u32) {
        let served = self.served.as_ref().is_none_or(|served| served.is(node));
        self.accrue_by(node, served);
    }

    fn accrue_by(&mut self, node: u32, served: bool) {
        let status = self.nodes[node as usize];
        let leader =
            status.follows.and_then(|leader| self.nodes.get(leader as usize).copied()).filter(|leader| leader.up);
        let passed = self.now - status.accrued_until;
        let time = &mut self.nodes[node as usize].leader_time;
        if status.up {
            time.up += passed;
            time.led += leader.map_or(0, |_| passed);
            let reaches = |leader: &NodeStatus| served && leader.region == status.region;
            time.reached += leader.filter(reaches).map_or(0, |_| passed);
        }
        self.nodes[node as usize].accrued_until = self.now;
    }

    fn set_leader(&mut self, node: u32, leader: Option<u32>) {
        self.accrue(node);
        let status = &mut self.nodes[node as usize];
        let before = std::mem::replace(&mut status.follows, leader);
        if leader == Some(node) && before != leader {
            status.leads_since = self.now;
            self.changes += u64::from(self.has_agreed);
        }
        let index = status.component as usize;
        if let Some(served) = &mut self.served {
            served.on_follows(node, before, leader);
            return;
        }
        if before == leader || index >= self.components.len() {
            return;
        }
        let component = &mut self.components[index];
        let was_unanimous = component.followers == component.size;
        component.followers -= u32::from(before == component.leader);
        component.followers += u32::from(leader == component.leader);
        // No follower of the counted leader is left: count those of the new one.
        if component.followers == 0 {
            component.leader = leader;
            let follow = |status: &&NodeStatus| status.component == index as u32 && status.follows == leader;
            component.followers = self.nodes.iter().filter(follow).count() as u32;
        }
        let component = &self.components[index];
        self.unanimous =
            self.unanimous + usize::from(component.followers == component.size) - usize::from(was_unanimous);
        self.update_agreement();
    }

    fn update_agreement(&mut self) {
        let agrees = match &self.served {
            Some(served) => served.all(),
            None => {
                self.unanimous == self.components.len()
                    && self.components.iter().all(|component| self.is_agreed(component))
            }
        };
        match (agrees, self.agreed_since) {
            (true, None) => {
                self.agreed_since = Some(self.now);
                self.has_agreed = true;
                if self.first_agreement_counts {
                    self.close_phase();
                }
            }
            (false, Some(_)) => self.agreed_since = None,
            (true, Some(_)) | (false, None) => {}
        }
        if !agrees {
            for pending in &mut self.pending {
                pending.broken = true;
            }
        }
    }

    /// Returns whether the leader of a unanimous component leads it and can be reached.
    fn is_agreed(&self, component: &Component) -> bool {
        let Some(leader) = component.leader else { return !component.can_lead };
        let region = self.nodes[component.member as usize].region;
        let status = self.nodes.get(leader as usize);
        status
            .is_some_and(|status| status.up && status.fit && status.region == region && status.follows == Some(leader))
    }

    /// Begins a phase, and a measurement if it has a name.
    fn open_phase(&mut self, measure: Option<&'static str>) {
        if self.phase_start != Some(self.now) {
            self.close_phase();
            self.phase_start = Some(self.now);
        }
        // Several faults of one kind at one moment are one.
        let is_open = |pending: &Pending| Some(pending.measure) == measure && pending.start == self.now;
        if let Some(measure) = measure
            && !self.pending.iter().any(is_open)
        {
            self.pending.push(Pending { measure, start: self.now, broken: !self.agrees() });
        }
    }

    /// Ends the measurements in progress, if the network agrees; otherwise they go on.
    fn close_phase(&mut self) {
        let Some(since) = self.agreed_since else { return };
        for pending in self.pending.drain(..).filter(|pending| pending.broken) {
            self.samples.push((pending.measure, since.saturating_sub(pending.start)));
        }
    }
}

impl Observer for Convergence {
    fn observe(&mut self, event: &TraceEvent) {
        self.now = event.at;
        match (event.kind, event.node) {
            (EventKind::Leads { .. }, Some(node)) => self.set_leader(node, Some(node)),
            (EventKind::Follows { leader, .. }, Some(node)) => self.set_leader(node, Some(leader)),
            (EventKind::Leaderless | EventKind::Halted { .. } | EventKind::NewList { .. }, Some(node)) => {
                self.set_leader(node, None);
            }
            (EventKind::Boot { blank }, Some(node)) => {
                self.accrue(node);
                let status = &mut self.nodes[node as usize];
                status.up = true;
                status.yielded = false;
                status.blank = blank;
                status.boots += 1;
                if status.boots > 1 {
                    self.open_phase(Some("rejoin_us"));
                } else if self.phase_start.is_none() {
                    self.open_phase(Some("time_to_leader_us"));
                }
            }
            (EventKind::Crash | EventKind::Pause, Some(node)) => {
                let led = self.nodes[node as usize].follows == Some(node);
                self.open_phase(led.then_some("failover_us"));
                if event.kind == EventKind::Crash {
                    self.set_leader(node, None);
                }
                self.accrue(node);
            }
            (EventKind::Resume, _) => self.open_phase(Some("rejoin_us")),
            (EventKind::Partition, _) => self.open_phase(Some("split_us")),
            (EventKind::Heal, _) => self.open_phase(Some("merge_us")),
            (EventKind::Command { command: "call" }, node) => {
                self.initiator = self.initiator.or(node);
                self.open_phase(Some("election_us"));
            }
            (EventKind::Command { command: "add-member" | "remove-member" }, _) => {
                self.open_phase(Some("list_change_us"));
            }
            (EventKind::Command { .. }, node) => {
                if let Some(status) = node.and_then(|node| self.nodes.get_mut(node as usize)) {
                    status.yielded = true;
                }
                self.open_phase(Some("handover_us"));
            }
            (EventKind::CapacityFault, _) => self.open_phase(Some("capacity_change_us")),
            (EventKind::LinkFault { .. } | EventKind::Steady { .. }, _) => self.open_phase(None),
            (EventKind::Sent { kind: "election", .. }, node) if self.initiator.is_none() => self.initiator = node,
            _ => {} // neither a belief nor a link changes
        }
    }
}

#[cfg(test)]
mod tests;
