//! The event queue.
//!
//! Events at one moment happen in the order they were pushed, except that transmissions end first: a frame that ends
//! when another begins does not overlap it.

use crate::base::Micros;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    TransmitEnd,
    Boot,
    Wake,
    /// A transmitter has sensed whether the channel is free.
    CarrierSense,
    TransmitStart,
    Arrival,
    Fault,
    Move,
    Measure,
    LockAction,
    /// A write reaches the resource that a lock protects.
    WriteArrival,
    CompareClocks,
}

const KINDS: [Kind; 12] = [
    Kind::TransmitEnd,
    Kind::Boot,
    Kind::Wake,
    Kind::CarrierSense,
    Kind::TransmitStart,
    Kind::Arrival,
    Kind::Fault,
    Kind::Move,
    Kind::Measure,
    Kind::LockAction,
    Kind::WriteArrival,
    Kind::CompareClocks,
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) at: Micros,
    pub(crate) kind: Kind,
    /// The slot of its node, or the index of its fault.
    pub(crate) target: u32,
    /// Further data, by kind.
    pub(crate) detail: u32,
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

#[derive(Default)]
pub(crate) struct EventQueue {
    heap: BinaryHeap<Reverse<Entry>>,
    pushed: u64,
}

impl EventQueue {
    pub(crate) fn with_capacity(events: usize) -> Self {
        Self { heap: BinaryHeap::with_capacity(events), pushed: 0 }
    }
    pub(crate) fn push(&mut self, at: Micros, kind: Kind, target: u32, detail: u32) {
        let rank = if kind == Kind::TransmitEnd { 0 } else { LATER };
        let order = rank | (self.pushed << KIND_BITS) | kind as u64;
        self.pushed += 1;
        self.heap.push(Reverse(Entry { at, order, target, detail }));
    }

    pub(crate) fn pop(&mut self) -> Option<Event> {
        let Reverse(Entry { at, order, target, detail }) = self.heap.pop()?;
        let kind = KINDS[(order & ((1 << KIND_BITS) - 1)) as usize];
        Some(Event { at, kind, target, detail })
    }

    /// Returns whether there is an event at a moment. It looks at all events.
    pub(crate) fn is_due(&self, at: Micros) -> bool {
        self.heap.iter().any(|Reverse(entry)| entry.at == at)
    }

    pub(crate) fn next_at(&self) -> Option<Micros> {
        self.heap.peek().map(|Reverse(entry)| entry.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(queue: &mut EventQueue) -> Vec<(Micros, Kind, u32)> {
        std::iter::from_fn(|| queue.pop()).map(|event| (event.at, event.kind, event.target)).collect()
    }

    #[test]
    fn events_come_in_the_order_of_time_then_of_pushing() {
        let mut queue = EventQueue::default();
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
        let mut queue = EventQueue::default();
        queue.push(10, Kind::TransmitStart, 1, 0);
        queue.push(10, Kind::TransmitEnd, 2, 0);
        assert_eq!(drain(&mut queue), [(10, Kind::TransmitEnd, 2), (10, Kind::TransmitStart, 1)]);
    }

    #[test]
    fn every_kind_comes_out_as_it_went_in_and_an_entry_is_small() {
        let mut queue = EventQueue::default();
        for (at, kind) in (0..).zip(KINDS) {
            queue.push(at, kind, 0, 7);
        }
        assert!(drain(&mut queue).into_iter().map(|(_, kind, _)| kind).eq(KINDS));
        assert_eq!(size_of::<Entry>(), 24);
    }
}
