//! The initial state of a world.

use super::node_state::{NEVER, NodeState, PowerState};
use super::{World, WorldPlan};
use crate::base::Micros;
use crate::base::rng::{Probability, Rng, Stream, derive_seed, mix};
use crate::sim::clock::Clock;
use crate::sim::event_queue::{EventQueue, Kind};
use crate::sim::fault_plan::FaultStep;
use crate::sim::frame_pool::{FRAME_CAPACITY, FramePool};
use crate::sim::link_fault::LinkFaults;
use crate::sim::medium::{Channel, FrameStats, Lan, Medium, MediumPlan, Radio};
use crate::sim::mobility::RandomWaypoint;
use crate::sim::node::SimNode;
use crate::sim::topology::{Links, OneWay, Point, Shape, hilbert_order, positions};
use crate::trace::TraceHash;
use crate::workload::apps::{AppPlan, InFlight};
use crate::workload::locks::LockWorkload;
use protocol::base::records::Records;
use protocol::election::appointment::Appointment;
use std::collections::BTreeMap;

impl<M: SimNode> World<M> {
    /// Creates a world before its first event, whose nodes share the settings `node_plan`.
    pub(crate) fn new(plan: &WorldPlan, node_plan: M::Plan, seed: u64) -> Self {
        let nodes = plan.nodes;
        let by_id = positions(&plan.shape, nodes, plan.medium.reach(), seed);
        let ids = hilbert_order(&by_id);
        let mut slots = vec![0; nodes as usize];
        for (slot, &id) in (0..).zip(&ids) {
            slots[id as usize] = slot;
        }
        let points: Vec<Point> = ids.iter().map(|&id| by_id[id as usize]).collect();
        let (channel, loss, one_way) = match plan.medium {
            MediumPlan::Radio(radio) => {
                let channel = Radio::new(nodes, radio);
                let channel = if M::BACKS_OFF { channel.with_node_backoff() } else { channel };
                (Channel::Radio(channel), radio.loss, radio.one_way)
            }
            MediumPlan::Lan(lan) => (Channel::Lan(Lan::new(lan)), lan.loss, Probability::NEVER),
        };
        let one_way = OneWay { probability: one_way, seed: derive_seed(seed, Stream::OneWay, 0) };
        let mut world = Self {
            plan: WorldPlan { faults: draw_moments(&plan.faults, plan.duration, seed), ..plan.clone() },
            seed,
            node_plan,
            medium: Medium {
                now: 0,
                queue: EventQueue::with_capacity(4 * nodes as usize),
                frames: FramePool::default(),
                links: links(plan, &points, &ids, &slots, &one_way),
                faults: LinkFaults::new(nodes, loss),
                rng: Rng::new(seed, Stream::Network),
                stats: FrameStats::default(),
            },
            channel,
            nodes: std::iter::repeat_with(|| None).take(nodes as usize).collect(),
            power: vec![PowerState::Down; nodes as usize],
            states: states(plan, seed, &ids),
            flashes: BTreeMap::new(),
            logs: BTreeMap::new(),
            movement: plan.mobility.map(|mobility| RandomWaypoint::new(mobility, &points, seed)),
            in_flight: InFlight::default(),
            locks: plan.locks.as_ref().map(|locks| LockWorkload::new(locks, seed, &ids)),
            deferred: Vec::new(),
            ids,
            slots,
            points,
            one_way,
            hash: TraceHash::default(),
            fault_rng: Rng::new(seed, Stream::Faults),
            noise_rng: Rng::new(seed, Stream::Noise),
            hits: vec![Vec::new(); plan.faults.iter().map(|step| step.number as usize + 1).max().unwrap_or(0)],
            last_hit: Vec::new(),
            boots_pending: nodes,
            topology_version: 0,
            disturbed_at: 0,
            buffer: [0; FRAME_CAPACITY],
        };
        world.schedule_all();
        world
    }

    /// Schedules all events that are known from the beginning.
    fn schedule_all(&mut self) {
        let Self { plan, medium, ids, .. } = self;
        let mut rng = Rng::new(self.seed, Stream::Placement);
        for &id in ids.iter() {
            // A node's boot depends on its id, not on its position.
            let draw = derive_seed(self.seed, Stream::Node, u64::from(id) | 1 << 40);
            let at = ((u128::from(draw) * u128::from(plan.boot_spread)) >> 64) as u64;
            let slot = self.slots[id as usize];
            medium.queue.push(at, Kind::Boot, slot, 0);
            if plan.capacity.noise > 0.0 {
                let first = at + 1 + rng.below(plan.capacity.period);
                medium.queue.push(first, Kind::Measure, slot, 0);
            }
        }
        for (index, step) in (0..).zip(&plan.faults) {
            medium.queue.push(step.at, Kind::Fault, index, 0);
        }
        if plan.app.as_ref().is_some_and(AppPlan::is_clock) {
            medium.queue.push(super::apps::CLOCK_COMPARISON_PERIOD, Kind::CompareClocks, 0, 0);
        }
        if let Some(mobility) = &plan.mobility {
            medium.queue.push(mobility.tick, Kind::Move, 0, 0);
        }
    }
}

/// Returns the steps of a plan in the order of the moments that this run draws for them.
fn draw_moments(steps: &[FaultStep], duration: Micros, seed: u64) -> Vec<FaultStep> {
    let drawn = steps.iter().map(|step| {
        let draw = u128::from(derive_seed(seed, Stream::Faults, u64::from(step.draw) | 1 << 40));
        let offset = ((draw * (u128::from(step.spread) + 1)) >> 64) as Micros;
        let lasts = draw_length(step.lasts, derive_seed(seed, Stream::Faults, u64::from(step.draw) | 1 << 41));
        FaultStep { at: step.at + offset + lasts, spread: 0, lasts: (0, 0), ..step.clone() }
    });
    let mut steps: Vec<FaultStep> = drawn.filter(|step| step.at < duration).collect();
    steps.sort_by_key(|step| step.at);
    steps
}

/// Returns a time from `low` to `high`: a doubling of `low`, then a time within it.
fn draw_length((low, high): (Micros, Micros), draw: u64) -> Micros {
    if low >= high {
        return low; // there is nothing to draw
    }
    let shortest = low.max(1);
    let doublings = u64::from(high.div_ceil(shortest).next_power_of_two().ilog2()).max(1);
    let start = shortest << ((draw >> 32) % doublings);
    start + mix(draw) % ((2 * start).min(high) - start + 1)
}

fn links(plan: &WorldPlan, points: &[Point], ids: &[u32], slots: &[u32], one_way: &OneWay) -> Links {
    let nodes = plan.nodes;
    match (&plan.medium, &plan.shape) {
        (MediumPlan::Lan(_), _) | (_, Shape::Complete) => {
            let all = Links::by_rule(nodes, one_way, |slot| (0..nodes).filter(move |&other| other != slot));
            all.with_strengths(points, plan.medium.reach())
        }
        (MediumPlan::Radio(radio), Shape::Ring { .. }) => Links::by_rule(nodes, one_way, |slot| {
            let id = ids[slot as usize];
            let mut neighbours = vec![(id + 1) % nodes, (id + nodes - 1) % nodes];
            neighbours.dedup(); // in a ring of two, both neighbours are the same node
            neighbours.into_iter().filter(move |&other| other != id).map(|other| slots[other as usize])
        })
        .with_strengths(points, radio.reach),
        (MediumPlan::Radio(radio), Shape::Star { .. }) => Links::by_rule(nodes, one_way, |slot| {
            let leaves = if ids[slot as usize] == 0 { 1..nodes } else { 0..1 };
            leaves.map(|id| slots[id as usize])
        })
        .with_strengths(points, radio.reach),
        (MediumPlan::Radio(radio), _) => Links::by_distance(points, radio.reach, one_way),
    }
}

fn states(plan: &WorldPlan, seed: u64, ids: &[u32]) -> Vec<NodeState> {
    let capacities = plan.capacity.assign(plan.nodes, seed);
    let drift = plan.drift_ppm;
    let mut may_lead = vec![true; ids.len()];
    for &id in &plan.capacity.ineligible {
        may_lead[id as usize] = false;
    }
    let state = |&id: &u32| {
        let draw = derive_seed(seed, Stream::Node, u64::from(id) | 1 << 41);
        let ppm = (draw % (2 * u64::from(drift) + 1)) as i32 - drift as i32;
        NodeState {
            clock: Clock::new(0, ppm),
            ppm,
            wake_at: NEVER,
            frozen_since: None,
            records: Some(Records::FACTORY),
            boots: 0,
            capacity: Some(capacities[id as usize]),
            appointment: Appointment::default(),
            measure_due: false,
            may_lead: may_lead[id as usize],
            leader: None,
        }
    };
    ids.iter().map(state).collect()
}
