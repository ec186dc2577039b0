//! The fault plan, carried out.

use super::World;
use super::seat::Life;
use crate::machine::Machine;
use crate::queue::Kind;
use crate::scenario::{Action, Medium, PauseClock, Sets, Who};
use crate::topology::{Point, Shape};
use crate::trace::{Observer, What};
use protocol::election::Command;

impl<M: Machine> World<M> {
    /// Carries out the step of the plan at `index`.
    pub(super) fn act(&mut self, index: u32, observer: &mut impl Observer) {
        let step = self.scenario.faults[index as usize].clone();
        self.carry_out(step.action, step.number, observer);
    }

    /// Lets something go wrong that is not in the plan.
    pub fn apply(&mut self, action: Action, observer: &mut impl Observer) {
        self.carry_out(action, u32::MAX, observer);
    }

    /// Puts a node somewhere else.
    pub fn put(&mut self, name: u32, point: Point, observer: &mut impl Observer) {
        self.points[self.places[name as usize] as usize] = point;
        self.moved(observer);
    }

    fn carry_out(&mut self, action: Action, number: u32, observer: &mut impl Observer) {
        let (up, down) = (|life| life != Life::Down, |life| life == Life::Down);
        match action {
            Action::Crash(who) => {
                self.each(&who, number, up, |world, place| world.crash(place, observer));
            }
            Action::Restart { who, blank } => {
                self.each(&who, number, down, |world, place| world.boot(place, blank, observer));
            }
            Action::Pause { who, clock } => {
                let freezes = clock == PauseClock::Stops;
                self.each(&who, number, up, |world, place| world.pause(place, freezes, observer));
            }
            Action::Resume(who) => {
                let paused = |life| life == Life::Paused;
                self.each(&who, number, paused, |world, place| world.resume(place, observer));
            }
            Action::Partition(sets) => {
                let sides = self.sides(&sets);
                self.ether.faults.partition(|place| sides[place as usize]);
                self.disturb();
                self.tell_of(None, What::Partition, observer);
            }
            Action::Heal => {
                self.ether.faults.heal();
                self.disturb();
                self.tell_of(None, What::Heal, observer);
            }
            Action::Loss(loss) => {
                self.ether.faults.set_loss(loss);
                self.weather("loss", observer);
            }
            Action::Burst(burst) => {
                self.ether.faults.set_burst(burst, self.ether.now);
                self.weather("burst", observer);
            }
            Action::Duplicate(chance) => {
                self.ether.faults.set_duplicate(chance);
                self.weather("duplicate", observer);
            }
            Action::Reorder(chance, longest) => {
                self.ether.faults.set_reorder(chance, longest);
                self.weather("reorder", observer);
            }
            Action::Delay(least, most) => {
                self.ether.faults.set_delay(least, most);
                self.weather("delay", observer);
            }
            Action::Corrupt(chance) => {
                self.ether.faults.set_corrupt(chance);
                self.weather("corrupt", observer);
            }
            Action::OneWay { from, to } => {
                for &speaker in &from {
                    for &hearer in &to {
                        self.ether.faults.cut(self.places[speaker as usize], self.places[hearer as usize]);
                    }
                }
                self.weather("one-way", observer);
            }
            Action::BothWays => {
                self.ether.faults.mend();
                self.weather("both-ways", observer);
            }
            Action::Capacity { who, capacity } => {
                self.weather("capacity", observer);
                self.each(&who, number, up, |world, place| {
                    world.seats[place as usize].capacity = capacity;
                    world.measure(place, observer);
                });
            }
            Action::Yield(who) => {
                self.each(&who, number, up, |world, place| world.command(place, Command::Yield, observer));
            }
            Action::Request { who, request } => {
                self.each(&who, number, up, |world, place| world.request(place, request, observer));
            }
            Action::Call(who) => {
                self.each(&who, number, up, |world, place| world.command(place, Command::Call, observer));
            }
        }
    }

    fn weather(&mut self, fault: &'static str, observer: &mut impl Observer) {
        self.disturb();
        self.tell_of(None, What::Weather { fault }, observer);
    }

    /// Does something to everybody a fault hits, and remembers whom it hit.
    fn each(&mut self, who: &Who, number: u32, can: impl Fn(Life) -> bool, mut hit: impl FnMut(&mut Self, u32)) {
        let places = self.resolve(who, can);
        for &place in &places {
            hit(self, place);
        }
        if let Some(hits) = self.hits.get_mut(number as usize) {
            hits.clone_from(&places);
        }
        self.last_hit = places;
    }

    /// The places of those a fault hits.
    fn resolve(&mut self, who: &Who, can: impl Fn(Life) -> bool) -> Vec<u32> {
        match who {
            Who::Nodes(names) => names.iter().map(|&name| self.places[name as usize]).collect(),
            Who::Leader => self.leader().map(|name| self.places[name as usize]).into_iter().collect(),
            Who::Holder => self.holders().take(1).collect(),
            Who::Random => {
                let able: Vec<u32> = (0..self.nodes()).filter(|&place| can(self.lives[place as usize])).collect();
                let draw = self.fault_random.below(able.len() as u64) as usize;
                able.get(draw).copied().into_iter().collect()
            }
            Who::Last => self.last_hit.clone(),
            Who::All => (0..self.nodes()).collect(),
            Who::HitBy(number) => self.hits.get(*number as usize).cloned().unwrap_or_default(),
        }
    }

    /// The node most nodes follow, by name; of several the lowest.
    #[must_use]
    pub fn leader(&self) -> Option<u32> {
        let mut followed: Vec<u32> = self.seats.iter().filter_map(|seat| Some(seat.belief?.0)).collect();
        followed.sort_unstable();
        let runs = followed.chunk_by(|a, b| a == b);
        runs.max_by_key(|run| (run.len(), u32::MAX - run[0])).map(|run| run[0])
    }

    /// The set of a partition each node is in, by place.
    fn sides(&mut self, sets: &Sets) -> Vec<u16> {
        let mut sides = vec![0; self.seats.len()];
        let half = |sides: &mut Vec<u16>, coordinate: &dyn Fn(usize) -> f64| {
            let mut order: Vec<usize> = (0..sides.len()).collect();
            order.sort_by(|&a, &b| coordinate(a).total_cmp(&coordinate(b)).then(a.cmp(&b)));
            for &place in &order[sides.len() / 2..] {
                sides[place] = 1;
            }
        };
        match sets {
            Sets::Listed(sets) => {
                for (side, set) in (1..).zip(sets) {
                    for &name in set {
                        sides[self.places[name as usize] as usize] = side;
                    }
                }
            }
            Sets::Random => sides.iter_mut().for_each(|side| *side = self.fault_random.below(2) as u16),
            Sets::LeftRight => half(&mut sides, &|place| self.points[place].x),
            Sets::TopBottom => half(&mut sides, &|place| self.points[place].y),
        }
        sides
    }

    /// Everybody walks on.
    pub(super) fn walk(&mut self, observer: &mut impl Observer) {
        let Some(walkers) = &mut self.walkers else { return };
        let plan = *walkers.plan();
        let now = self.ether.now;
        if now > plan.until {
            return;
        }
        walkers.step(now, &mut self.points);
        self.ether.queue.push(now + plan.tick, Kind::Move, 0, 0);
        self.moved(observer);
    }

    /// Works out who hears whom from where nodes stand now.
    fn moved(&mut self, observer: &mut impl Observer) {
        if self.links_follow_distance() {
            self.ether.links.rebuild(&self.points, self.scenario.reach(), &self.one_way);
        }
        self.disturb();
        self.tell_of(None, What::Moved, observer);
    }

    /// Whether who hears whom follows from where nodes stand; in a ring and where everybody hears everybody it does not.
    fn links_follow_distance(&self) -> bool {
        match (&self.scenario.medium, &self.scenario.shape) {
            (Medium::Lan(_), _) | (_, Shape::Ring { .. } | Shape::Complete) => false,
            (
                Medium::Radio(_),
                Shape::Line { .. } | Shape::Grid { .. } | Shape::Geometric { .. } | Shape::Positions(_),
            ) => true,
        }
    }
}
