//! The world: virtual time, the nodes, the medium between them, and the faults.
//!
//! One call of [`World::step`] is one event. The same plan and seed give the same events, to the last bit.

mod apps;
mod build;
mod frames;
mod host;
mod inject;
mod locks;
mod node_state;
mod plan;
#[cfg(test)]
mod tests;

pub(crate) use node_state::PowerState;
pub(crate) use plan::WorldPlan;

use crate::base::Micros;
use crate::base::rng::Rng;
use crate::sim::event_queue::{Event, Kind};
use crate::sim::flash::Flash;
use crate::sim::frame_pool::FRAME_CAPACITY;
use crate::sim::medium::{Channel, FrameStats, Medium};
use crate::sim::mobility::RandomWaypoint;
use crate::sim::node::SimNode;
use crate::sim::topology::{Components, Link, OneWay, Point, hops_from, nodes_within};
use crate::trace::{EventKind, Observer, TraceEvent, TraceHash};
use crate::workload::apps::InFlight;
use crate::workload::locks::LockWorkload;
use node_state::NodeState;
use protocol::Instant;
use protocol::base::term::Term;
use protocol::election::appointment::Appointment;
use std::collections::BTreeMap;

/// A run in progress. Vectors are indexed by slot unless noted.
pub struct World<M: SimNode> {
    plan: WorldPlan,
    seed: u64,
    node_plan: M::Plan,
    medium: Medium,
    channel: Channel,
    nodes: Vec<Option<M>>,
    power: Vec<PowerState>,
    states: Vec<NodeState>,
    /// The flash of nodes whose records were torn, by slot; of others the records are enough.
    flashes: BTreeMap<u32, Flash>,
    /// The logs that nodes have stored, by slot.
    logs: BTreeMap<u32, Box<[u8]>>,
    /// The id of the node in each slot.
    ids: Vec<u32>,
    /// The slot of each node, by id.
    slots: Vec<u32>,
    points: Vec<Point>,
    one_way: OneWay,
    movement: Option<RandomWaypoint>,
    locks: Option<LockWorkload>,
    /// Events of the lock workload that fell due while their node was paused.
    deferred: Vec<Event>,
    /// Messages of applications that were sent and not received yet.
    in_flight: InFlight,
    hash: TraceHash,
    fault_rng: Rng,
    noise_rng: Rng,
    /// The slots that each step of the fault plan hit, by the step's number.
    hits: Vec<Vec<u32>>,
    last_hit: Vec<u32>,
    boots_pending: u32,
    topology_version: u64,
    disturbed_at: Micros,
    buffer: [u8; FRAME_CAPACITY],
}

/// A node as an observer sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodeView {
    pub(crate) position: Point,
    /// That of a node outside of the group is down: it takes no part.
    pub(crate) power: PowerState,
    /// Whether it runs, and is not on the list of members.
    pub(crate) outside: bool,
    /// Its capacity; `None` is unfit to lead.
    pub(crate) capacity: Option<u16>,
    /// The part of it that the node advertises.
    pub(crate) advertised: Option<u16>,
    pub(crate) may_lead: bool,
    /// How long its flaps let it wait before it leads nobody but itself.
    pub(crate) hold: Micros,
    /// Whether it was appointed to lead.
    pub(crate) appointment: Appointment,
    /// The id and term of the leader it follows.
    pub leader: Option<(u32, Term)>,
    /// The chief it knows among the super-peers.
    pub chief: Option<u32>,
}

impl<M: SimNode> World<M> {
    /// Processes one event; returns `false` when the run is over.
    pub fn step(&mut self, observer: &mut impl Observer) -> bool {
        if self.next_at().is_none() {
            self.medium.now = self.plan.duration;
            return false;
        }
        let Some(event) = self.medium.queue.pop() else { return false };
        self.medium.now = event.at;
        self.dispatch(event, observer);
        true
    }

    /// Processes all events up to and including `until`.
    pub fn run_until(&mut self, until: Micros, observer: &mut impl Observer) {
        while self.next_at().is_some_and(|at| at <= until) && self.step(observer) {}
        self.medium.now = self.medium.now.max(until.min(self.plan.duration));
    }

    fn dispatch(&mut self, event: Event, observer: &mut impl Observer) {
        let Event { at, kind, target, detail } = event;
        match kind {
            Kind::TransmitEnd => self.transmit_end(target, detail, observer),
            Kind::Boot => self.boot(target, false, observer),
            Kind::Wake => self.wake(target, at, observer),
            Kind::CarrierSense => self.carrier_sense(target, detail, observer),
            Kind::TransmitStart => self.transmit_start(target, detail, observer),
            Kind::Arrival => self.arrive(target, detail, observer),
            Kind::Fault => {
                let step = self.plan.faults[target as usize].clone();
                self.run_action(step.action, step.number, observer);
            }
            Kind::Move => self.move_all(observer),
            Kind::Measure => {
                self.measure(target, observer);
                self.medium.queue.push(at + self.plan.capacity.period, Kind::Measure, target, 0);
            }
            Kind::LockAction => self.lock_action(event, observer),
            Kind::WriteArrival => self.write_arrival(event, observer),
            Kind::CompareClocks => self.compare_clocks(observer),
        }
    }

    fn emit(&mut self, slot: u32, kind: EventKind, observer: &mut impl Observer) {
        let node = Some(self.ids[slot as usize]);
        self.emit_event(node, kind, observer);
    }

    fn emit_event(&mut self, node: Option<u32>, kind: EventKind, observer: &mut impl Observer) {
        let event = TraceEvent { at: self.medium.now, node, kind };
        self.hash.write_event(&event);
        observer.observe(&event);
    }

    /// Records a disturbance, after which the network may have to agree again.
    fn disturb(&mut self) {
        self.topology_version += 1;
        self.disturbed_at = self.medium.now;
    }

    /// Returns the moment of the next event, if there is one before the end of the run.
    pub(crate) fn next_at(&self) -> Option<Micros> {
        self.medium.queue.next_at().filter(|&at| at <= self.plan.duration)
    }

    /// Returns the present moment.
    #[must_use]
    pub fn now(&self) -> Micros {
        self.medium.now
    }

    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns the plan; each fault has the moment that this run drew for it.
    pub(crate) fn plan(&self) -> &WorldPlan {
        &self.plan
    }

    pub(crate) fn node_plan(&self) -> &M::Plan {
        &self.node_plan
    }

    pub(crate) fn trace_hash(&self) -> u64 {
        self.hash.value()
    }

    /// Returns the counts of frames so far.
    #[must_use]
    pub fn frame_stats(&self) -> &FrameStats {
        &self.medium.stats
    }

    /// Returns how many nodes there are.
    #[must_use]
    pub fn node_count(&self) -> u32 {
        self.plan.nodes
    }

    /// Returns how many nodes have yet to boot for the first time.
    pub(crate) fn boots_pending(&self) -> u32 {
        self.boots_pending
    }

    /// Returns a number that changes whenever the components may have changed.
    pub(crate) fn topology_version(&self) -> u64 {
        self.topology_version
    }

    /// Returns the moment of the last disturbance: a boot, a fault, a movement.
    pub(crate) fn disturbed_at(&self) -> Micros {
        self.disturbed_at
    }

    /// Returns the observable state of node `id`.
    #[must_use]
    pub fn view(&self, id: u32) -> NodeView {
        let slot = self.slot(id) as usize;
        let state = &self.states[slot];
        let outside = !self.takes_part(slot as u32);
        NodeView {
            position: self.points[slot],
            power: if outside { PowerState::Down } else { self.power[slot] },
            outside,
            capacity: state.capacity,
            advertised: state.capacity.map(|all| self.nodes[slot].as_ref().map_or(all, |node| node.advertise(all))),
            may_lead: state.may_lead,
            hold: state.records.map_or(0, |records| records.hold().as_micros().into()),
            appointment: state.appointment,
            leader: self.nodes[slot].as_ref().and_then(M::leader).map(|(leader, term)| (leader.0, term)),
            chief: self.nodes[slot].as_ref().and_then(M::chief).map(|(chief, _)| chief.0),
        }
    }

    /// Returns whether node `id` may act as leader now.
    pub(crate) fn is_acting(&self, id: u32) -> bool {
        let slot = self.slot(id);
        self.nodes[slot as usize].as_ref().is_some_and(|node| node.is_acting(self.local_time(slot)))
    }

    /// Returns node `id`, unless it is down.
    #[must_use]
    pub fn node(&self, id: u32) -> Option<&M> {
        self.nodes[self.slot(id) as usize].as_ref()
    }

    /// Hands an input to node `id`, if it is up: `input` is given the node and the time of its clock.
    pub fn hand_to(&mut self, id: u32, observer: &mut impl Observer, input: impl FnOnce(&mut M, Instant)) {
        self.hand_in(self.slot(id), observer, input);
    }

    /// Returns the ids of the nodes that frames of node `id` can reach at present, with the quality of each link.
    pub fn receivers(&self, id: u32) -> impl Iterator<Item = (u32, u8)> {
        let slot = self.slot(id);
        let open = move |link: &&Link| self.medium.faults.connects(slot, link.receiver());
        let links = self.medium.links.of(slot).iter().filter(open);
        links.map(|link| (self.ids[link.receiver() as usize], link.quality()))
    }

    /// Returns the components of the nodes that are up, by id, with links of at least `quality` in both directions.
    #[must_use]
    pub fn components(&self, quality: u8) -> Components {
        let up = |slot| self.is_up(slot) && self.takes_part(slot);
        let open = |a, b| self.medium.faults.connects(a, b);
        Components::find(&self.medium.links, quality, up, open).renumbered(&self.slots)
    }

    /// Returns the nodes within so many hops of node `id`, itself first, over links of at least `quality` in both directions.
    pub(crate) fn within(&self, id: u32, hops: u8, quality: u8) -> Vec<u32> {
        let (links, faults) = (&self.medium.links, &self.medium.faults);
        let usable = |a: u32, link: &Link| {
            let b = link.receiver();
            let joined = link.quality() >= quality && links.quality(b, a) >= quality;
            joined && self.is_up(b) && faults.connects(a, b) && faults.connects(b, a)
        };
        let found = nodes_within(links, self.slot(id), hops, usable);
        found.into_iter().map(|slot| self.ids[slot as usize]).collect()
    }

    /// Returns how many hops the farthest node of its component is from node `id`.
    pub(crate) fn eccentricity(&self, id: u32) -> u32 {
        let links = &self.medium.links;
        let usable = |a, b| self.is_up(b) && self.medium.faults.connects(a, b) && links.quality(b, a) > 0;
        hops_from(links, self.slot(id), usable).into_iter().flatten().max().unwrap_or(0)
    }

    /// Returns how many members the last list has that any node knows; all nodes, where lists do not change.
    pub(crate) fn group_size(&self) -> u32 {
        let lists = self.nodes.iter().flatten().filter_map(M::list);
        let last = lists.max_by_key(|list| list.epoch());
        last.map_or(self.plan.nodes, |list| list.members().len() as u32)
    }

    /// Returns whether a node is a member of its group, or down.
    fn takes_part(&self, slot: u32) -> bool {
        self.nodes[slot as usize].as_ref().is_none_or(M::takes_part)
    }

    fn slot(&self, id: u32) -> u32 {
        self.slots[id as usize]
    }

    fn is_up(&self, slot: u32) -> bool {
        self.power[slot as usize] == PowerState::Up
    }
}
