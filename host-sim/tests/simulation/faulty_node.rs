//! Nodes with planted faults.

use host_sim::Scenario;
use host_sim::nodes::ScenarioNode;
use host_sim::sim::node::{Boot, NodeEvent, SimNode};
use host_sim::trace::MessageEvent;
use protocol::base::capacity::Capacity;
use protocol::base::records::Records;
use protocol::base::term::Term;
use protocol::election::Command;
use protocol::members::{Change, List};
use protocol::mutex::{self, Fence, LockId};
use protocol::{Instant, NodeId};

/// A fault, as far as it differs from the correct node.
pub(crate) trait Fault: Default {
    type Node: ScenarioNode;

    /// Observes, and may change, an event of the node.
    fn on_event(&mut self, _me: NodeId, event: NodeEvent) -> NodeEvent {
        event
    }

    /// Observes, and may change, a reliable message of the node.
    fn on_message(&mut self, event: MessageEvent) -> MessageEvent {
        event
    }

    fn is_acting(&self, node: &Self::Node, now: Instant) -> bool {
        node.is_acting(now)
    }

    fn holds(&self, node: &Self::Node, lock: LockId, now: Instant) -> Option<Fence> {
        node.holds(lock, now)
    }
}

/// A node with a fault.
pub(crate) struct Faulty<F: Fault> {
    me: NodeId,
    node: F::Node,
    fault: F,
}

impl<F: Fault> ScenarioNode for Faulty<F> {
    fn plan(scenario: &Scenario) -> Self::Plan {
        F::Node::plan(scenario)
    }
}

impl<F: Fault> SimNode for Faulty<F> {
    type Plan = <F::Node as SimNode>::Plan;

    fn boot(plan: &Self::Plan, boot: Boot) -> Self {
        Self { me: boot.me, node: F::Node::boot(plan, boot), fault: F::default() }
    }

    fn boot_with_log(plan: &Self::Plan, boot: Boot, log: Option<&[u8]>) -> Self {
        Self { me: boot.me, node: F::Node::boot_with_log(plan, boot, log), fault: F::default() }
    }

    fn receive(&mut self, now: Instant, bytes: &[u8], quality: u8) {
        self.node.receive(now, bytes, quality);
    }

    fn measure(&mut self, now: Instant, capacity: Option<Capacity>) {
        self.node.measure(now, capacity);
    }

    fn command(&mut self, now: Instant, command: Command) {
        self.node.command(now, command);
    }

    fn lock_command(&mut self, now: Instant, command: mutex::Command) {
        self.node.lock_command(now, command);
    }

    fn change_list(&mut self, now: Instant, change: Change) {
        self.node.change_list(now, change);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.node.handle_timeout(now);
    }

    fn poll_persist(&mut self) -> Option<Records> {
        self.node.poll_persist()
    }

    fn poll_log(&mut self) -> Option<Box<[u8]>> {
        self.node.poll_log()
    }

    fn poll_transmit(&mut self, now: Instant, buffer: &mut [u8]) -> Option<usize> {
        self.node.poll_transmit(now, buffer)
    }

    fn poll_event(&mut self) -> Option<NodeEvent> {
        self.node.poll_event().map(|event| self.fault.on_event(self.me, event))
    }

    fn poll_message(&mut self) -> Option<MessageEvent> {
        self.node.poll_message().map(|event| self.fault.on_message(event))
    }

    fn deadline(&self) -> Option<Instant> {
        self.node.deadline()
    }

    fn is_acting(&self, now: Instant) -> bool {
        self.fault.is_acting(&self.node, now)
    }

    fn holds(&self, lock: LockId, now: Instant) -> Option<Fence> {
        self.fault.holds(&self.node, lock, now)
    }

    fn leader(&self) -> Option<(NodeId, Term)> {
        self.node.leader()
    }

    fn advertise(&self, capacity: u16) -> u16 {
        self.node.advertise(capacity)
    }

    fn takes_part(&self) -> bool {
        self.node.takes_part()
    }

    fn list(&self) -> Option<&List> {
        self.node.list()
    }

    fn lie(plan: &Self::Plan, frame: &[u8], random: u64) -> Option<Box<[u8]>> {
        F::Node::lie(plan, frame, random)
    }

    fn message_name(plan: &Self::Plan, frame: &[u8]) -> &'static str {
        F::Node::message_name(plan, frame)
    }
}
