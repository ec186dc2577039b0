//! Injection of faults.

use super::World;
use super::node_state::PowerState;
use crate::base::Micros;
use crate::sim::event_queue::Kind;
use crate::sim::fault_plan::{FaultAction, FaultStep, FaultTarget, PartitionCut, PauseClock};
use crate::sim::medium::MediumPlan;
use crate::sim::node::SimNode;
use crate::sim::topology::Shape;
use crate::trace::{EventKind, Observer};
use protocol::NodeId;
use protocol::election::Command;
use protocol::members::Change;

/// How many members a group keeps of which random ones are removed.
const MEMBERS_KEPT: usize = 3;

impl<M: SimNode> World<M> {
    /// Injects a fault that is not in the plan.
    pub(crate) fn inject(&mut self, action: FaultAction, observer: &mut impl Observer) {
        self.run_action(action, u32::MAX, observer);
    }

    /// Adds a step to the plan of this run. A run whose plan had it from the beginning has the same events, if the step
    /// is at a moment that [`World::free_moment`] returned: there it comes before all that happens by then.
    pub(crate) fn add_fault(&mut self, step: FaultStep) {
        self.medium.queue.push(step.at, Kind::Fault, self.plan.faults.len() as u32, 0);
        self.plan.faults.push(step);
    }

    /// Returns the next moment at which nothing is due yet; `None` at the end of the run.
    pub(crate) fn free_moment(&self) -> Option<Micros> {
        let mut moments = self.medium.now + 1..self.plan.duration;
        moments.find(|&at| !self.medium.queue.is_due(at))
    }

    pub(super) fn run_action(&mut self, action: FaultAction, number: u32, observer: &mut impl Observer) {
        let (up, down) = (|power| power != PowerState::Down, |power| power == PowerState::Down);
        match action {
            FaultAction::Crash(target) => {
                self.each(&target, number, up, |world, slot| world.crash(slot, observer));
            }
            FaultAction::Restart { target, records } => {
                self.each(&target, number, down, |world, slot| world.restart(slot, records, observer));
            }
            FaultAction::Pause { target, clock } => {
                let stops = clock == PauseClock::Stops;
                self.each(&target, number, up, |world, slot| world.pause(slot, stops, observer));
            }
            FaultAction::Resume(target) => {
                let paused = |power| power == PowerState::Paused;
                self.each(&target, number, paused, |world, slot| world.resume(slot, observer));
            }
            FaultAction::Partition(cut) => {
                let sides = self.sides(&cut);
                self.medium.faults.partition(|slot| sides[slot as usize]);
                self.disturb();
                self.emit_event(None, EventKind::Partition, observer);
            }
            FaultAction::Heal => {
                self.medium.faults.heal();
                self.disturb();
                self.emit_event(None, EventKind::Heal, observer);
            }
            FaultAction::Link(fault) => {
                let slots = &self.slots;
                self.medium.faults.apply(&fault, self.medium.now, |id| slots[id as usize]);
                self.disturb();
                self.emit_event(None, EventKind::LinkFault { fault: fault.name() }, observer);
            }
            FaultAction::Move { target, to } => {
                self.each(&target, number, |_| true, |world, slot| world.points[slot as usize] = to);
                self.moved(observer);
            }
            FaultAction::Capacity { target, capacity } => {
                self.disturb();
                self.emit_event(None, EventKind::CapacityFault, observer);
                self.each(&target, number, up, |world, slot| {
                    let state = &mut world.states[slot as usize];
                    state.capacity = capacity;
                    state.measure_due = world.power[slot as usize] == PowerState::Paused;
                    world.measure(slot, observer);
                });
            }
            FaultAction::Appoint(target) => {
                self.each(&target, number, up, |world, slot| world.appoint(slot, true, observer));
            }
            FaultAction::Release(target) => {
                self.each(&target, number, up, |world, slot| world.appoint(slot, false, observer));
            }
            FaultAction::Yield(target) => {
                self.each(&target, number, up, |world, slot| world.command(slot, Command::Yield, observer));
            }
            FaultAction::Request { target, request } => {
                self.each(&target, number, up, |world, slot| world.app_request(slot, request, observer));
            }
            FaultAction::ChangeList { target, add } => self.change_list(&target, number, add, observer),
            FaultAction::Call(target) => {
                self.each(&target, number, up, |world, slot| world.command(slot, Command::Call, observer));
            }
        }
    }

    /// Lets the acting leader add nodes to the list of members, or remove them: of random ones one that is up and no
    /// member, or a member that is not the leader, as long as three are left. Without an acting leader nothing happens.
    fn change_list(&mut self, target: &FaultTarget, number: u32, add: bool, observer: &mut impl Observer) {
        let acting = (0..self.node_count()).find(|&slot| self.is_up(slot) && self.is_acting(self.ids[slot as usize]));
        let Some(leader) = acting else { return };
        let Some(list) = self.nodes[leader as usize].as_ref().and_then(M::list).cloned() else { return };
        let listed = |slot: u32| list.contains(NodeId(self.ids[slot as usize]));
        let slots = if *target == FaultTarget::Random {
            let spare = add || list.members().len() > MEMBERS_KEPT;
            let able =
                |&slot: &u32| spare && listed(slot) != add && if add { self.is_up(slot) } else { slot != leader };
            let able: Vec<u32> = (0..self.node_count()).filter(able).collect();
            let draw = self.fault_rng.below(able.len().max(1) as u64) as usize;
            able.get(draw).copied().into_iter().collect()
        } else {
            self.resolve(target, |_| true)
        };
        for &slot in &slots {
            let id = NodeId(self.ids[slot as usize]);
            let change = if add { Change::Add(id) } else { Change::Remove(id) };
            let command = if add { "add-member" } else { "remove-member" };
            self.emit(leader, EventKind::Command { command }, observer);
            self.hand_in(leader, observer, |node, now| node.change_list(now, change));
        }
        if let Some(hits) = self.hits.get_mut(number as usize) {
            hits.clone_from(&slots);
        }
        self.last_hit = slots;
    }

    /// Applies `hit` to every node that a fault hits, and records which it hit.
    fn each(
        &mut self,
        target: &FaultTarget,
        number: u32,
        able: impl Fn(PowerState) -> bool,
        mut hit: impl FnMut(&mut Self, u32),
    ) {
        let slots = self.resolve(target, able);
        for &slot in &slots {
            hit(self, slot);
        }
        if let Some(hits) = self.hits.get_mut(number as usize) {
            hits.clone_from(&slots);
        }
        self.last_hit = slots;
    }

    /// Returns the slots of the nodes that a fault hits.
    fn resolve(&mut self, target: &FaultTarget, able: impl Fn(PowerState) -> bool) -> Vec<u32> {
        match target {
            FaultTarget::Nodes(ids) => ids.iter().map(|&id| self.slot(id)).collect(),
            FaultTarget::Leader => self.leader().map(|id| self.slot(id)).into_iter().collect(),
            FaultTarget::Holder => self.holders().take(1).collect(),
            FaultTarget::Random => {
                let able: Vec<u32> = (0..self.node_count()).filter(|&slot| able(self.power[slot as usize])).collect();
                let draw = self.fault_rng.below(able.len() as u64) as usize;
                able.get(draw).copied().into_iter().collect()
            }
            FaultTarget::Last => self.last_hit.clone(),
            FaultTarget::All => (0..self.node_count()).collect(),
            FaultTarget::HitBy(number) => self.hits.get(*number as usize).cloned().unwrap_or_default(),
        }
    }

    /// Returns the id of the node that most nodes follow; of several the lowest.
    pub(crate) fn leader(&self) -> Option<u32> {
        let mut followed: Vec<u32> = self.states.iter().filter_map(|state| Some(state.leader?.0)).collect();
        followed.sort_unstable();
        let runs = followed.chunk_by(|a, b| a == b);
        runs.max_by_key(|run| (run.len(), u32::MAX - run[0])).map(|run| run[0])
    }

    /// Returns the side of a partition of each node, by slot.
    fn sides(&mut self, cut: &PartitionCut) -> Vec<u16> {
        let mut sides = vec![0; self.states.len()];
        let halve = |sides: &mut Vec<u16>, coordinate: &dyn Fn(usize) -> f64| {
            let mut order: Vec<usize> = (0..sides.len()).collect();
            order.sort_by(|&a, &b| coordinate(a).total_cmp(&coordinate(b)).then(a.cmp(&b)));
            for &slot in &order[sides.len() / 2..] {
                sides[slot] = 1;
            }
        };
        match cut {
            PartitionCut::Listed(sets) => {
                for (side, set) in (1..).zip(sets) {
                    for &id in set {
                        sides[self.slots[id as usize] as usize] = side;
                    }
                }
            }
            PartitionCut::Random => sides.iter_mut().for_each(|side| *side = self.fault_rng.below(2) as u16),
            PartitionCut::LeftRight => halve(&mut sides, &|slot| self.points[slot].x),
            PartitionCut::TopBottom => halve(&mut sides, &|slot| self.points[slot].y),
        }
        sides
    }

    pub(super) fn move_all(&mut self, observer: &mut impl Observer) {
        let Some(movement) = &mut self.movement else { return };
        let (plan, now) = (movement.plan, self.medium.now);
        if now > plan.until {
            return;
        }
        movement.step(now, &mut self.points);
        self.medium.queue.push(now + plan.tick, Kind::Move, 0, 0);
        self.moved(observer);
    }

    /// Computes the links again after a movement.
    fn moved(&mut self, observer: &mut impl Observer) {
        // In a ring, a star and a complete network, links do not follow from distances.
        let ruled = matches!(self.plan.shape, Shape::Ring { .. } | Shape::Star { .. } | Shape::Complete);
        if matches!(self.plan.medium, MediumPlan::Radio(_)) && !ruled {
            self.medium.links.rebuild(&self.points, self.plan.medium.reach(), &self.one_way);
        }
        self.disturb();
        self.emit_event(None, EventKind::Moved, observer);
    }
}
