//! What happens next: the queue of events to come.
//!
//! Events at one moment happen in the order they were asked for, except that transmissions end first: a frame that
//! ends when another begins does not overlap it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A moment of simulated time, in microseconds since the run began.
pub type Micros = u64;

/// What an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A transmission ends.
    AirEnd,
    /// A node starts.
    Boot,
    /// A node's deadline has come.
    Wake,
    /// A transmitter has looked whether the medium is free.
    Sense,
    /// A transmission begins.
    AirStart,
    /// A frame that was delayed arrives.
    Arrive,
    /// A step of the fault plan.
    Fault,
    /// The nodes move.
    Move,
    /// A node measures itself again.
    Measure,
    /// An application turns to a lock.
    Turn,
    /// What an application wrote reaches the thing that a lock protects.
    Write,
    /// The shared clocks of all nodes are compared.
    Compare,
}

const KINDS: [Kind; 12] = [
    Kind::AirEnd,
    Kind::Boot,
    Kind::Wake,
    Kind::Sense,
    Kind::AirStart,
    Kind::Arrive,
    Kind::Fault,
    Kind::Move,
    Kind::Measure,
    Kind::Turn,
    Kind::Write,
    Kind::Compare,
];

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub at: Micros,
    /// What.
    pub kind: Kind,
    /// Which node or fault it concerns.
    pub target: u32,
    /// What else there is to know, by kind.
    pub detail: u32,
}

/// An event as it is stored: ordered by time, then by whether it ends a transmission, then by age.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    at: Micros,
    order: u64,
    target: u32,
    detail: u32,
}

const KIND_BITS: u32 = 4;
const LATER: u64 = 1 << 63;

/// The events to come.
#[derive(Default)]
pub struct Queue {
    heap: BinaryHeap<Reverse<Entry>>,
    pushed: u64,
}

impl Queue {
    /// A queue with room for `events`.
    #[must_use]
    pub fn with_capacity(events: usize) -> Self {
        Self { heap: BinaryHeap::with_capacity(events), pushed: 0 }
    }

    /// Adds an event.
    pub fn push(&mut self, at: Micros, kind: Kind, target: u32, detail: u32) {
        let rank = if kind == Kind::AirEnd { 0 } else { LATER };
        let order = rank | (self.pushed << KIND_BITS) | kind as u64;
        self.pushed += 1;
        self.heap.push(Reverse(Entry { at, order, target, detail }));
    }

    /// Takes the next event.
    pub fn pop(&mut self) -> Option<Event> {
        let Reverse(Entry { at, order, target, detail }) = self.heap.pop()?;
        let kind = KINDS[(order & ((1 << KIND_BITS) - 1)) as usize];
        Some(Event { at, kind, target, detail })
    }

    /// When the next event is.
    #[must_use]
    pub fn next_at(&self) -> Option<Micros> {
        self.heap.peek().map(|Reverse(entry)| entry.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(queue: &mut Queue) -> Vec<(Micros, Kind, u32)> {
        std::iter::from_fn(|| queue.pop()).map(|event| (event.at, event.kind, event.target)).collect()
    }

    #[test]
    fn events_come_in_the_order_of_time_then_of_asking() {
        let mut queue = Queue::default();
        queue.push(20, Kind::Wake, 1, 0);
        queue.push(10, Kind::Wake, 2, 0);
        queue.push(10, Kind::Boot, 3, 0);
        queue.push(10, Kind::Wake, 1, 0);
        assert_eq!(queue.next_at(), Some(10));
        let expected = [(10, Kind::Wake, 2), (10, Kind::Boot, 3), (10, Kind::Wake, 1), (20, Kind::Wake, 1)];
        assert_eq!(drain(&mut queue), expected);
    }

    #[test]
    fn a_transmission_that_ends_goes_before_one_that_begins() {
        let mut queue = Queue::default();
        queue.push(10, Kind::AirStart, 1, 0);
        queue.push(10, Kind::AirEnd, 2, 0);
        assert_eq!(drain(&mut queue), [(10, Kind::AirEnd, 2), (10, Kind::AirStart, 1)]);
    }

    #[test]
    fn every_kind_comes_out_as_it_went_in() {
        let mut queue = Queue::default();
        for (at, kind) in (0..).zip(KINDS) {
            queue.push(at, kind, 0, 7);
        }
        assert!(drain(&mut queue).into_iter().map(|(_, kind, _)| kind).eq(KINDS));
    }

    #[test]
    fn a_stored_event_is_small() {
        assert_eq!(size_of::<Entry>(), 24);
    }
}
