//! A minimal node for tests: every 100 ms it broadcasts the highest id it knows, and follows that node.

use super::ScenarioNode;
use crate::scenario::Scenario;
use crate::sim::node::{Boot, NodeEvent, SimNode};
use protocol::base::capacity::Capacity;
use protocol::base::records::Records;
use protocol::base::term::Term;
use protocol::election::Command;
use protocol::{Duration, Instant, NodeId};

const TICK: Duration = Duration::from_millis(100);

pub(crate) struct ToyNode {
    pub(crate) boot: Boot,
    pub(crate) highest: u32,
    pub(crate) frames: Vec<Vec<u8>>,
    event: Option<NodeEvent>,
    records: Option<Records>,
    next: Instant,
    due: bool,
    pub(crate) timeouts: Vec<Instant>,
    pub(crate) commands: u32,
    pub(crate) capacity: Option<Capacity>,
}

impl ToyNode {
    fn on_id(&mut self, id: u32) {
        if id > self.highest {
            self.highest = id;
            self.event = Some(NodeEvent::Follows(NodeId(id), Term { number: id, by: NodeId(id) }));
        }
    }
}

impl ScenarioNode for ToyNode {
    fn plan(_: &Scenario) {}
}

impl SimNode for ToyNode {
    type Plan = ();

    fn boot((): &(), boot: Boot) -> Self {
        let incarnation = boot.records.map_or(1_000, |records| records.incarnation + 1);
        let records = Records { incarnation, ..Records::FACTORY };
        Self {
            boot,
            highest: boot.me.0,
            frames: Vec::new(),
            event: Some(NodeEvent::Leads(Term { number: boot.me.0, by: boot.me })),
            records: Some(records),
            next: boot.now.after(TICK),
            due: false,
            timeouts: Vec::new(),
            commands: 0,
            capacity: None,
        }
    }

    fn receive(&mut self, _: Instant, bytes: &[u8], _: u8) {
        self.frames.push(bytes.to_vec());
        if let Ok(id) = <[u8; 4]>::try_from(bytes) {
            self.on_id(u32::from_le_bytes(id));
        }
    }

    fn measure(&mut self, _: Instant, capacity: Option<Capacity>) {
        self.capacity = capacity;
    }

    fn command(&mut self, _: Instant, _: Command) {
        self.commands += 1;
    }

    fn handle_timeout(&mut self, now: Instant) {
        assert!(now >= self.next, "no deadline expires early");
        self.timeouts.push(now);
        self.next = now.after(TICK);
        self.due = true;
    }

    fn poll_persist(&mut self) -> Option<Records> {
        self.records.take()
    }

    fn poll_transmit(&mut self, _: Instant, buffer: &mut [u8]) -> Option<usize> {
        buffer[..4].copy_from_slice(&self.highest.to_le_bytes());
        std::mem::take(&mut self.due).then_some(4)
    }

    fn poll_event(&mut self) -> Option<NodeEvent> {
        self.event.take()
    }

    fn deadline(&self) -> Option<Instant> {
        Some(self.next)
    }

    fn is_acting(&self, _: Instant) -> bool {
        false
    }

    fn leader(&self) -> Option<(NodeId, Term)> {
        Some((NodeId(self.highest), Term { number: self.highest, by: NodeId(self.highest) }))
    }

    fn message_name((): &(), _: &[u8]) -> &'static str {
        "gossip"
    }
}
