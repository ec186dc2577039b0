//! A world at its beginning.

use super::World;
use super::seat::{Life, NEVER, Seat};
use crate::app::Ledger;
use crate::clock::Clock;
use crate::contest::Contest;
use crate::fault::Faults;
use crate::frames::{Frames, ROOM};
use crate::machine::Machine;
use crate::mobility::Walkers;
use crate::network::{Carrier, Ether, Lan, Radio, Tally};
use crate::queue::{Kind, Micros, Queue};
use crate::random::{Chance, Random, Stream, derive};
use crate::scenario::{AppPlan, CapacityRule, Medium, Scenario, Step};
use crate::topology::{Links, OneWay, Point, Shape, along_the_curve, place};
use crate::trace::TraceHash;
use protocol::capacity::Capacity;
use protocol::records::Records;

impl<M: Machine> World<M> {
    /// A world in which nothing has happened yet.
    #[must_use]
    pub fn new(scenario: &Scenario, seed: u64) -> Self {
        let nodes = scenario.nodes;
        let by_name = place(&scenario.shape, nodes, scenario.reach(), seed);
        let names = along_the_curve(&by_name);
        let mut places = vec![0; nodes as usize];
        for (place, &name) in (0..).zip(&names) {
            places[name as usize] = place;
        }
        let points: Vec<Point> = names.iter().map(|&name| by_name[name as usize]).collect();
        let (carrier, loss, share) = match scenario.medium {
            Medium::Radio(plan) => {
                let radio = Radio::new(nodes, plan);
                let radio = if M::BACKS_OFF { radio.with_one_look() } else { radio };
                (Carrier::Radio(radio), plan.loss, plan.one_way)
            }
            Medium::Lan(plan) => (Carrier::Lan(Lan::new(plan)), plan.loss, Chance::NEVER),
        };
        let one_way = OneWay { share, seed: derive(seed, Stream::OneWay, 0) };
        let plan = M::plan(scenario);
        let drawn = Scenario { faults: moments(&scenario.faults, scenario.duration, seed), ..scenario.clone() };
        let mut world = Self {
            scenario: drawn,
            seed,
            plan,
            ether: Ether {
                now: 0,
                queue: Queue::with_capacity(4 * nodes as usize),
                frames: Frames::default(),
                links: links(scenario, &points, &names, &places, &one_way),
                faults: Faults::new(nodes, loss),
                random: Random::new(seed, Stream::Network),
                tally: Tally::default(),
            },
            carrier,
            machines: std::iter::repeat_with(|| None).take(nodes as usize).collect(),
            lives: vec![Life::Down; nodes as usize],
            seats: seats(scenario, seed, &names),
            walkers: scenario.mobility.map(|plan| Walkers::new(plan, &points, seed)),
            ledger: Ledger::default(),
            contest: scenario.locks.as_ref().map(|plan| Contest::new(plan, seed, &names)),
            names,
            places,
            points,
            one_way,
            hash: TraceHash::default(),
            fault_random: Random::new(seed, Stream::Faults),
            noise_random: Random::new(seed, Stream::Noise),
            hits: vec![Vec::new(); scenario.faults.len()],
            last_hit: Vec::new(),
            boots_pending: nodes,
            version: 0,
            disturbed_at: 0,
            events: 0,
            buffer: [0; ROOM],
        };
        world.schedule_all();
        world
    }

    /// Everything that is known from the beginning to happen.
    fn schedule_all(&mut self) {
        let Self { scenario, ether, names, .. } = self;
        let mut random = Random::new(self.seed, Stream::Placement);
        for &name in names.iter() {
            // A node's boot depends on its name, not on where it stands.
            let draw = derive(self.seed, Stream::Node, u64::from(name) | 1 << 40);
            let at = ((u128::from(draw) * u128::from(scenario.boot_spread)) >> 64) as u64;
            let place = self.places[name as usize];
            ether.queue.push(at, Kind::Boot, place, 0);
            if scenario.capacity.noise > 0.0 {
                let first = at + 1 + random.below(scenario.capacity.period);
                ether.queue.push(first, Kind::Measure, place, 0);
            }
        }
        for (index, step) in (0..).zip(&scenario.faults) {
            ether.queue.push(step.at, Kind::Fault, index, 0);
        }
        if scenario.app.as_ref().is_some_and(AppPlan::has_clock) {
            ether.queue.push(super::actors::COMPARED_EVERY, Kind::Compare, 0, 0);
        }
        if let Some(plan) = &scenario.mobility {
            ether.queue.push(plan.tick, Kind::Move, 0, 0);
        }
    }
}

/// The steps of a plan in the order of the moments this run draws for them.
fn moments(steps: &[Step], duration: Micros, seed: u64) -> Vec<Step> {
    let drawn = steps.iter().map(|step| {
        let draw = u128::from(derive(seed, Stream::Faults, u64::from(step.draw) | 1 << 40));
        let late = ((draw * (u128::from(step.spread) + 1)) >> 64) as Micros;
        Step { at: step.at + late, spread: 0, ..step.clone() }
    });
    let mut steps: Vec<Step> = drawn.filter(|step| step.at < duration).collect();
    steps.sort_by_key(|step| step.at);
    steps
}

fn links(scenario: &Scenario, points: &[Point], names: &[u32], places: &[u32], one_way: &OneWay) -> Links {
    let nodes = scenario.nodes;
    let everybody = || Links::by_rule(nodes, one_way, |place| (0..nodes).filter(move |&other| other != place));
    match (&scenario.medium, &scenario.shape) {
        (Medium::Lan(_), _) | (_, Shape::Complete) => everybody(),
        (Medium::Radio(_), Shape::Ring { .. }) => Links::by_rule(nodes, one_way, |place| {
            let name = names[place as usize];
            let mut beside = vec![(name + 1) % nodes, (name + nodes - 1) % nodes];
            beside.dedup(); // in a ring of two, both sides are the same node
            beside.into_iter().filter(move |&other| other != name).map(|other| places[other as usize])
        }),
        (Medium::Radio(radio), _) => Links::by_distance(points, radio.reach, one_way),
    }
}

fn seats(scenario: &Scenario, seed: u64, names: &[u32]) -> Vec<Seat> {
    let capacities = capacities(scenario, seed);
    let drift = scenario.drift_ppm;
    let mut may_lead = vec![true; names.len()];
    for &name in &scenario.capacity.never {
        may_lead[name as usize] = false;
    }
    let seat = |&name: &u32| {
        let draw = derive(seed, Stream::Node, u64::from(name) | 1 << 41);
        let ppm = (draw % (2 * u64::from(drift) + 1)) as i32 - drift as i32;
        Seat {
            clock: Clock::new(0, ppm),
            ppm,
            wake_at: NEVER,
            frozen_since: None,
            records: Some(Records::FACTORY),
            boots: 0,
            capacity: Some(capacities[name as usize]),
            may_lead: may_lead[name as usize],
            belief: None,
        }
    };
    names.iter().map(seat).collect()
}

/// What each node is worth, by name.
fn capacities(scenario: &Scenario, seed: u64) -> Vec<u16> {
    let (nodes, most) = (scenario.nodes as usize, Capacity::MAX.get());
    let ramp = |rank: usize| 1 + (rank as u64 * u64::from(most - 1) / nodes.max(2) as u64) as u16;
    match &scenario.capacity.rule {
        CapacityRule::Random => {
            let mut random = Random::new(derive(seed, Stream::Placement, 1), Stream::Placement);
            let mut worths: Vec<u16> =
                (0..nodes.max(usize::from(most))).map(|n| 1 + (n % usize::from(most)) as u16).collect();
            random.shuffle(&mut worths);
            worths.truncate(nodes);
            worths
        }
        CapacityRule::Equal(worth) => vec![*worth; nodes],
        CapacityRule::Rising => (0..nodes).map(ramp).collect(),
        CapacityRule::Falling => (0..nodes).rev().map(ramp).collect(),
        CapacityRule::Values(worths) => worths.clone(),
    }
}
