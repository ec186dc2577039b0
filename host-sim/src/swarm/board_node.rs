//! A device as a node of the simulator: the world runs it like a simulated node.
//!
//! The device keeps its own time, so the node has no deadlines of its own: it polls the device's output every
//! [`POLL_PERIOD`].

use super::board_log::BoardLog;
use super::fleet::Fleet;
use crate::nodes::insider;
use crate::sim::node::{Boot, NodeEvent, SimNode};
use protocol::base::capacity::Capacity;
use protocol::base::records::Records;
use protocol::base::term::Term;
use protocol::election::Command;
use protocol::wire::Key;
use protocol::{Duration, Instant, NodeId};
use std::rc::Rc;

/// How often a device is polled: well below the airtime of a frame.
const POLL_PERIOD: Duration = Duration::from_millis(1);

/// The settings that all devices of a swarm share.
pub(crate) struct Plan {
    fleet: Rc<Fleet>,
    key: Key,
}

pub(crate) struct BoardNode {
    fleet: Rc<Fleet>,
    node: u32,
    poll_at: Instant,
}

impl Plan {
    /// Returns the plan of a world whose nodes are the devices of `fleet`.
    pub(super) fn new(fleet: &Rc<Fleet>) -> Self {
        Self { key: fleet.group().key(), fleet: fleet.clone() }
    }
}

impl SimNode for BoardNode {
    type Plan = Plan;

    fn boot(plan: &Plan, birth: Boot) -> Self {
        let Boot { me, records, seed, now, .. } = birth;
        plan.fleet.switch_on(me.0, records.is_none(), seed);
        Self { fleet: plan.fleet.clone(), node: me.0, poll_at: now }
    }

    fn receive(&mut self, _: Instant, bytes: &[u8], _: u8) {
        self.fleet.deliver(self.node, bytes);
    }

    fn measure(&mut self, _: Instant, _: Option<Capacity>) {
        // A device has its capacity from its config page, and a scenario that changes it is refused.
    }

    fn command(&mut self, _: Instant, _: Command) {
        // A scenario with commands is refused.
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.poll_at = now.after(POLL_PERIOD);
    }

    fn poll_persist(&mut self) -> Option<Records> {
        self.fleet.with_log(self.node, BoardLog::poll_persist)
    }

    fn poll_transmit(&mut self, _: Instant, buffer: &mut [u8]) -> Option<usize> {
        let frame = self.fleet.with_log(self.node, BoardLog::poll_transmit)?;
        let len = frame.len().min(buffer.len());
        buffer[..len].copy_from_slice(&frame[..len]);
        Some(len)
    }

    fn poll_event(&mut self) -> Option<NodeEvent> {
        self.fleet.with_log(self.node, BoardLog::poll_event)
    }

    fn deadline(&self) -> Option<Instant> {
        Some(self.poll_at)
    }

    fn is_acting(&self, _: Instant) -> bool {
        false // a board's log reports its leader, but not the leader's lease
    }

    fn leader(&self) -> Option<(NodeId, Term)> {
        self.fleet.with_log(self.node, |log| log.leader)
    }

    fn advertise(&self, capacity: u16) -> u16 {
        let records = self.fleet.with_log(self.node, |log| log.records);
        records.map_or(capacity, |records| records.advertised(Capacity::new(capacity)).get())
    }

    fn lie(plan: &Plan, frame: &[u8], random: u64) -> Option<Box<[u8]>> {
        insider::lie(&plan.key, frame, random)
    }

    fn message_name(plan: &Plan, frame: &[u8]) -> &'static str {
        protocol::registry::message_name(&plan.key, frame).unwrap_or("unknown")
    }
}

impl Drop for BoardNode {
    fn drop(&mut self) {
        self.fleet.switch_off(self.node);
    }
}
