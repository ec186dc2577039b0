//! A node whose list of members changes while it runs: the protocol's node, and the state machine of the list beside it.

use super::protocol_node::{FromScenario, ProtocolNode, ProtocolPlan};
use super::{ScenarioNode, insider};
use crate::scenario::{MEMBERS_MAX, Scenario};
use crate::sim::node::{self, ListView, NodeEvent, SimNode};
use crate::trace::MessageEvent;
use crate::workload::locks::LOCK_GROUP_MAX;
use protocol::base::capacity::Capacity;
use protocol::base::records::Records;
use protocol::base::term::Term;
use protocol::election::Command;
use protocol::members::{Change, List, Members, Notice, Stored};
use protocol::mutex::{self, Fence, LockId, NoMutex};
use protocol::registry::AnyMutex;
use protocol::wire::Key;
use protocol::{Instant, NodeId};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// The settings that all nodes of a run share.
#[derive(Clone, Debug)]
pub struct ChangingPlan<L = NoMutex> {
    node: ProtocolPlan<L>,
    first: List,
    /// The key of each list that was used so far, the newest last.
    keys: Arc<Mutex<Vec<Key>>>,
}

impl<L> ChangingPlan<L> {
    /// Returns the first result for the key of a list, the newest first.
    fn of_keys<T>(&self, of: impl FnMut(&Key) -> Option<T>) -> Option<T> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner).iter().rev().find_map(of)
    }
}

/// A node of a group that changes.
pub struct ChangingNode<const ROOM: usize, L: mutex::Mutex = NoMutex> {
    plan: ChangingPlan<L>,
    boot: node::Boot,
    members: Members,
    /// None while it is no member.
    node: Option<ProtocolNode<ROOM, L>>,
    /// The epoch of the list that `node` was booted with.
    epoch: u32,
    records: Option<Records>,
    capacity: Option<Capacity>,
    events: VecDeque<NodeEvent>,
    messages: VecDeque<MessageEvent>,
}

/// A node with room for the largest group.
pub(super) type ChangingMember = ChangingNode<MEMBERS_MAX>;

/// A node with locks.
pub(super) type ChangingLockNode = ChangingNode<LOCK_GROUP_MAX, AnyMutex>;

#[expect(private_bounds, reason = "its functions are for this file alone")]
impl<const ROOM: usize, L: FromScenario> ChangingNode<ROOM, L> {
    /// Lets the node take a step, if it is a member, and looks after the list.
    fn step(&mut self, now: Instant, step: impl FnOnce(&mut ProtocolNode<ROOM, L>)) {
        if let Some(node) = &mut self.node {
            step(node);
        }
        self.look_after(now);
    }

    fn look_after(&mut self, now: Instant) {
        let acting = self.node.as_ref().and_then(|node| node.acting_term(now));
        self.members.on_leader(now, acting);
        if self.members.list().epoch() != self.epoch {
            self.succeed(now);
        }
    }

    /// Boots the node with the present list, after the one before, if there was one.
    fn succeed(&mut self, now: Instant) {
        let before = self.node.take();
        let succession = before.as_ref().and_then(|node| node.succession(now));
        if let Some(mut before) = before {
            self.messages.extend(std::iter::from_fn(|| before.poll_message()));
        }
        self.records = succession.map(|succession| succession.records()).or(self.records);
        let list = self.members.list();
        self.epoch = list.epoch();
        let bits = list.members().iter().fold(0, |bits, id| bits | 1_u64.checked_shl(id.0).unwrap_or(0));
        self.events.push_back(NodeEvent::NewList(ListView { epoch: self.epoch, members: bits }));
        if !self.members.is_member() {
            return;
        }
        let plan = self.plan.node.in_group(list.members());
        {
            let mut keys = self.plan.keys.lock().unwrap_or_else(PoisonError::into_inner);
            if !keys.contains(&plan.key()) {
                keys.push(plan.key());
            }
        }
        let seed = self.boot.seed ^ u64::from(self.epoch) << 32;
        let boot = node::Boot { records: self.records, seed, now, ..self.boot };
        let mut node = ProtocolNode::boot(&plan, boot);
        if let Some(succession) = succession {
            node.succeed(succession);
        }
        if self.capacity.is_some() {
            node.measure(now, self.capacity);
        }
        self.node = Some(node);
    }
}

impl<const ROOM: usize, L: FromScenario> ScenarioNode for ChangingNode<ROOM, L> {
    fn plan(scenario: &Scenario) -> ChangingPlan<L> {
        let node = <ProtocolNode<ROOM, L> as ScenarioNode>::plan(scenario);
        let first: Vec<NodeId> = (0..scenario.members.unwrap_or(scenario.world.nodes)).map(NodeId).collect();
        let first = List::first(&first).expect("the members of a scenario fit a list");
        ChangingPlan { node, first, keys: Arc::default() }
    }
}

impl<const ROOM: usize, L: FromScenario> SimNode for ChangingNode<ROOM, L> {
    type Plan = ChangingPlan<L>;

    fn boot(plan: &ChangingPlan<L>, boot: node::Boot) -> Self {
        Self::boot_with_log(plan, boot, None)
    }

    fn boot_with_log(plan: &ChangingPlan<L>, boot: node::Boot, log: Option<&[u8]>) -> Self {
        let never_ran = boot.records.is_some_and(|records| records.incarnation == 0);
        let stored = match log {
            Some(log) => Stored::Log(log),
            None if never_ran => Stored::Nothing,
            None => Stored::Lost,
        };
        let config = plan.node.config();
        let first = if plan.first.contains(boot.me) { plan.first.clone() } else { List::NONE };
        let seed = boot.seed.rotate_left(17);
        let members = Members::new(boot.me, &config.key, config.timing, first, stored, boot.now, seed);
        let mut node = Self {
            plan: plan.clone(),
            boot,
            members,
            node: None,
            epoch: 0,
            records: boot.records,
            capacity: None,
            events: VecDeque::new(),
            messages: VecDeque::new(),
        };
        node.look_after(boot.now);
        node
    }

    fn receive(&mut self, now: Instant, bytes: &[u8], quality: u8) {
        if Members::<Key>::is_frame(bytes) {
            self.members.on_frame(now, bytes);
            self.look_after(now);
        } else {
            self.step(now, |node| node.receive(now, bytes, quality));
        }
    }

    fn measure(&mut self, now: Instant, capacity: Option<Capacity>) {
        self.capacity = capacity;
        self.step(now, |node| node.measure(now, capacity));
    }

    fn command(&mut self, now: Instant, command: Command) {
        self.step(now, |node| node.command(now, command));
    }

    fn lock_command(&mut self, now: Instant, command: mutex::Command) {
        self.step(now, |node| node.lock_command(now, command));
    }

    fn change_list(&mut self, now: Instant, change: Change) {
        let acting = self.node.as_ref().and_then(|node| node.acting_term(now));
        self.members.change(now, acting, change);
        self.look_after(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.step(now, |node| {
            if node.deadline().is_some_and(|at| at <= now) {
                node.handle_timeout(now);
            }
        });
    }

    fn poll_persist(&mut self) -> Option<Records> {
        let records = self.node.as_mut().and_then(SimNode::poll_persist);
        self.records = records.or(self.records);
        records
    }

    fn poll_log(&mut self) -> Option<Box<[u8]>> {
        self.members.poll_log(&mut [0; Members::<Key>::LOG_MAX]).map(Box::from)
    }

    fn poll_transmit(&mut self, now: Instant, buffer: &mut [u8]) -> Option<usize> {
        if let Some(len) = self.members.poll_transmit(now, buffer).map(<[u8]>::len) {
            return Some(len);
        }
        self.node.as_mut().and_then(|node| node.poll_transmit(now, buffer))
    }

    fn poll_event(&mut self) -> Option<NodeEvent> {
        while let Some(notice) = self.members.poll_notice() {
            match notice {
                Notice::Yield => self.events.push_back(NodeEvent::Yields),
                Notice::Decided { .. } => self.events.push_back(NodeEvent::ListDecided),
                // The list itself is reported; a change that was refused is none.
                Notice::Changed { .. } | Notice::Refused { .. } | Notice::Unknown { .. } => {}
            }
        }
        self.events.pop_front().or_else(|| self.node.as_mut().and_then(SimNode::poll_event))
    }

    fn poll_message(&mut self) -> Option<MessageEvent> {
        self.messages.pop_front().or_else(|| self.node.as_mut().and_then(SimNode::poll_message))
    }

    fn deadline(&self) -> Option<Instant> {
        let node = self.node.as_ref().and_then(SimNode::deadline);
        protocol::base::time::earliest(node, self.members.deadline())
    }

    fn is_acting(&self, now: Instant) -> bool {
        self.node.as_ref().is_some_and(|node| node.is_acting(now))
    }

    fn holds(&self, lock: LockId, now: Instant) -> Option<Fence> {
        self.node.as_ref().and_then(|node| node.holds(lock, now))
    }

    fn advertise(&self, capacity: u16) -> u16 {
        self.node.as_ref().map_or(capacity, |node| node.advertise(capacity))
    }

    fn leader(&self) -> Option<(NodeId, Term)> {
        self.node.as_ref().and_then(SimNode::leader)
    }

    fn takes_part(&self) -> bool {
        self.node.is_some()
    }

    fn list(&self) -> Option<&List> {
        Some(self.members.list())
    }

    fn lie(plan: &ChangingPlan<L>, frame: &[u8], random: u64) -> Option<Box<[u8]>> {
        plan.of_keys(|key| insider::lie(key, frame, random))
    }

    fn message_name(plan: &ChangingPlan<L>, frame: &[u8]) -> &'static str {
        if Members::<Key>::is_frame(frame) {
            return Members::<Key>::message_name(&plan.node.config().key, frame).unwrap_or("unknown");
        }
        plan.of_keys(|key| protocol::registry::message_name(key, frame)).unwrap_or("unknown")
    }
}
