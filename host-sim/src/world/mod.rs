//! The world: virtual time, the nodes in their seats, the medium between them, and what goes wrong.
//!
//! One call of [`World::step`] is one event. The same scenario and seed give the same events, to the last bit.

mod act;
mod actors;
mod air;
mod build;
mod host;
mod locks;
mod seat;
#[cfg(test)]
mod tests;

pub use seat::Life;

use crate::app::Ledger;
use crate::contest::Contest;
use crate::frames::ROOM;
use crate::machine::Machine;
use crate::mobility::Walkers;
use crate::network::{Carrier, Ether, Tally};
use crate::queue::{Event, Kind, Micros};
use crate::random::Random;
use crate::scenario::Scenario;
use crate::topology::{Components, Link, Links, OneWay, Point};
use crate::trace::{Observer, TraceEvent, TraceHash, What};
use protocol::clock::Term;
use seat::Seat;

/// A run under way.
pub struct World<M: Machine> {
    scenario: Scenario,
    seed: u64,
    plan: M::Plan,
    ether: Ether,
    carrier: Carrier,
    machines: Vec<Option<M>>,
    lives: Vec<Life>,
    seats: Vec<Seat>,
    /// The name of the node at each place, and the place of each node by name.
    names: Vec<u32>,
    places: Vec<u32>,
    points: Vec<Point>,
    one_way: OneWay,
    walkers: Option<Walkers>,
    /// What applications do with locks, where there are any.
    contest: Option<Contest>,
    /// What applications have said to each other and not heard yet.
    ledger: Ledger,
    hash: TraceHash,
    fault_random: Random,
    noise_random: Random,
    /// Whom each step of the fault plan hit, by place.
    hits: Vec<Vec<u32>>,
    last_hit: Vec<u32>,
    boots_pending: u32,
    /// Changes whenever who hangs together with whom may have changed.
    version: u64,
    disturbed_at: Micros,
    events: u64,
    /// Where nodes write their frames.
    buffer: [u8; ROOM],
}

/// A node as one sees it from outside, by name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodeView {
    /// Where it stands.
    pub point: Point,
    /// Whether it hears and speaks.
    pub life: Life,
    /// What it is worth; `None` is unfit to lead.
    pub capacity: Option<u16>,
    /// Whether it may ever lead.
    pub may_lead: bool,
    /// Whom it believes to lead, and under which term.
    pub leader: Option<(u32, Term)>,
}

impl<M: Machine> World<M> {
    /// Lets one event happen; `false` when the run is over.
    pub fn step(&mut self, observer: &mut impl Observer) -> bool {
        if self.next_at().is_none() {
            self.ether.now = self.scenario.duration;
            return false;
        }
        let Some(event) = self.ether.queue.pop() else { return false };
        self.ether.now = event.at;
        self.events += 1;
        self.dispatch(event, observer);
        true
    }

    /// Lets everything happen up to and including `until`.
    pub fn run_until(&mut self, until: Micros, observer: &mut impl Observer) {
        while self.next_at().is_some_and(|at| at <= until) && self.step(observer) {}
        self.ether.now = self.ether.now.max(until.min(self.scenario.duration));
    }

    fn dispatch(&mut self, event: Event, observer: &mut impl Observer) {
        let Event { at, kind, target, detail } = event;
        match kind {
            Kind::AirEnd => self.air_end(target, detail, observer),
            Kind::Boot => self.boot(target, false, observer),
            Kind::Wake => self.wake(target, at, observer),
            Kind::Sense => self.sense(target, detail, observer),
            Kind::AirStart => self.air_start(target, detail, observer),
            Kind::Arrive => self.arrive(target, detail, observer),
            Kind::Fault => self.act(target, observer),
            Kind::Move => self.walk(observer),
            Kind::Measure => self.measure_again(target, observer),
            Kind::Turn => self.turn(event, observer),
            Kind::Write => self.write_arrives(event, observer),
            Kind::Compare => self.compare_clocks(observer),
        }
    }

    fn tell(&mut self, place: u32, what: What, observer: &mut impl Observer) {
        let node = Some(self.names[place as usize]);
        self.tell_of(node, what, observer);
    }

    fn tell_of(&mut self, node: Option<u32>, what: What, observer: &mut impl Observer) {
        let event = TraceEvent { at: self.ether.now, node, what };
        self.hash.event(&event);
        observer.see(&event);
    }

    /// Notes that something happened after which the network may have to agree anew.
    fn disturb(&mut self) {
        self.version += 1;
        self.disturbed_at = self.ether.now;
    }

    /// When the next event is, if there is one before the end of the run.
    #[must_use]
    pub fn next_at(&self) -> Option<Micros> {
        self.ether.queue.next_at().filter(|&at| at <= self.scenario.duration)
    }

    /// The time, in microseconds since the run began.
    #[must_use]
    pub fn now(&self) -> Micros {
        self.ether.now
    }

    /// The run's seed.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// What is being run.
    #[must_use]
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// What all its nodes share.
    #[must_use]
    pub fn plan(&self) -> &M::Plan {
        &self.plan
    }

    /// The hash of everything that happened so far.
    #[must_use]
    pub fn hash(&self) -> u64 {
        self.hash.value()
    }

    /// What was sent, heard and lost so far.
    #[must_use]
    pub fn tally(&self) -> &Tally {
        &self.ether.tally
    }

    /// How many events happened so far.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events
    }

    /// How many nodes there are.
    #[must_use]
    pub fn nodes(&self) -> u32 {
        self.scenario.nodes
    }

    /// How many nodes have yet to start for the first time.
    #[must_use]
    pub fn boots_pending(&self) -> u32 {
        self.boots_pending
    }

    /// A number that changes whenever who hangs together with whom may have changed.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// When the network was last disturbed: a boot, a fault, a step of somebody walking.
    #[must_use]
    pub fn disturbed_at(&self) -> Micros {
        self.disturbed_at
    }

    /// The node called `name`.
    #[must_use]
    pub fn node(&self, name: u32) -> NodeView {
        let place = self.places[name as usize] as usize;
        let seat = &self.seats[place];
        NodeView {
            point: self.points[place],
            life: self.lives[place],
            capacity: seat.capacity,
            may_lead: seat.may_lead,
            leader: self.machines[place].as_ref().and_then(M::leader).map(|(leader, term)| (leader.0, term)),
        }
    }

    /// The machine of the node called `name`, while it is not down.
    #[must_use]
    pub fn machine(&self, name: u32) -> Option<&M> {
        self.machines[self.places[name as usize] as usize].as_ref()
    }

    /// Who can hear the node called `name` at present, by name, and how well (0 to 255).
    pub fn hearers(&self, name: u32) -> impl Iterator<Item = (u32, u8)> {
        let place = self.places[name as usize];
        let open = move |link: &&Link| self.ether.faults.open(place, link.hearer());
        self.ether.links.of(place).iter().filter(open).map(|link| (self.names[link.hearer() as usize], link.quality()))
    }

    /// Which nodes that are up hang together by links of at least `quality` both ways, asked by name.
    #[must_use]
    pub fn components(&self, quality: u8) -> Parts<'_> {
        let up = |place| self.is_up(place);
        let found = Components::find(&self.ether.links, quality, up, |a, b| self.ether.faults.open(a, b));
        Parts { found, places: &self.places }
    }

    /// How many hops the farthest node of its component is from the node called `name`.
    #[must_use]
    pub fn depth(&self, name: u32) -> u32 {
        let up = |place| self.is_up(place);
        let usable = |a, b| up(b) && self.ether.faults.open(a, b) && self.links().quality(b, a) > 0;
        let hops = crate::topology::hops_from(&self.ether.links, self.places[name as usize], usable);
        hops.into_iter().flatten().max().unwrap_or(0)
    }

    fn is_up(&self, place: u32) -> bool {
        self.lives[place as usize] == Life::Up
    }

    fn links(&self) -> &Links {
        &self.ether.links
    }
}

/// The components of a world, asked by node name.
pub struct Parts<'a> {
    found: Components,
    places: &'a [u32],
}

impl Parts<'_> {
    /// Which component a node is in; [`crate::topology::NOWHERE`] if it is not up.
    #[must_use]
    pub fn of(&self, name: u32) -> u32 {
        self.found.of(self.places[name as usize])
    }

    /// How many components there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.found.count()
    }

    /// How many nodes a component has.
    #[must_use]
    pub fn size(&self, component: u32) -> u32 {
        self.found.size(component)
    }
}
