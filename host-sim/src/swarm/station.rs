//! A device in a seat of the simulator: the world runs it as it runs a simulated node, and does not know better.
//!
//! A station has no deadlines of its own: the device keeps its own time. It is looked at every [`LOOK_PERIOD`] for what
//! the device has said since.

use super::rack::Rack;
use super::slot::Slot;
use crate::machine::{Birth, Machine, News};
use crate::scenario::Scenario;
use protocol::capacity::Capacity;
use protocol::clock::Term;
use protocol::election::Command;
use protocol::records::Records;
use protocol::wire::Key;
use protocol::{Instant, NodeId, Span};
use std::cell::RefCell;
use std::rc::Rc;

/// How often a device is looked at: well below what a frame takes on the air.
const LOOK_PERIOD: Span = Span::from_millis(1);

thread_local! {
    /// The rack that the next world of this thread is made with: a world makes its plan from a scenario alone.
    static LENT: RefCell<Option<Rc<Rack>>> = const { RefCell::new(None) };
}

/// What the stations of a swarm share.
pub struct Plan {
    rack: Rc<Rack>,
    key: Key,
}

/// One device.
pub struct Station {
    rack: Rc<Rack>,
    node: u32,
    look_at: Instant,
}

/// Makes something with the devices of `rack`.
pub(super) fn lend<R>(rack: &Rc<Rack>, make: impl FnOnce() -> R) -> R {
    LENT.set(Some(rack.clone()));
    let result = make();
    LENT.set(None);
    result
}

impl Machine for Station {
    type Plan = Plan;

    fn plan(_: &Scenario) -> Plan {
        let rack = LENT.take().expect("a world of stations is made with a rack lent");
        let key = rack.group().key();
        Plan { rack, key }
    }

    fn boot(plan: &Plan, birth: Birth) -> Self {
        let Birth { me, records, seed, now, .. } = birth;
        plan.rack.switch_on(me.0, records.is_none(), seed);
        Self { rack: plan.rack.clone(), node: me.0, look_at: now }
    }

    fn hear(&mut self, _: Instant, bytes: &[u8], _: u8) {
        self.rack.hear(self.node, bytes);
    }

    fn measure(&mut self, _: Instant, _: Option<Capacity>) {
        // A device was told what it is worth when it was made, and a scenario that changes it is refused.
    }

    fn command(&mut self, _: Instant, _: Command) {
        // A scenario with commands is refused.
    }

    fn wake(&mut self, now: Instant) {
        self.look_at = now.after(LOOK_PERIOD);
    }

    fn poll_persist(&mut self) -> Option<Records> {
        self.rack.with(self.node, Slot::poll_persist)
    }

    fn poll_transmit(&mut self, _: Instant, buffer: &mut [u8]) -> Option<usize> {
        let frame = self.rack.with(self.node, Slot::poll_transmit)?;
        let len = frame.len().min(buffer.len());
        buffer[..len].copy_from_slice(&frame[..len]);
        Some(len)
    }

    fn poll_news(&mut self) -> Option<News> {
        self.rack.with(self.node, Slot::poll_news)
    }

    fn deadline(&self) -> Option<Instant> {
        Some(self.look_at)
    }

    fn acts(&self, _: Instant) -> bool {
        false // a board's log tells who leads, not until when
    }

    fn leader(&self) -> Option<(NodeId, Term)> {
        self.rack.with(self.node, |slot| slot.leader())
    }

    fn describe(plan: &Plan, frame: &[u8]) -> &'static str {
        protocol::describe::describe(&plan.key, frame).unwrap_or("unknown")
    }
}

impl Drop for Station {
    fn drop(&mut self) {
        self.rack.switch_off(self.node);
    }
}
