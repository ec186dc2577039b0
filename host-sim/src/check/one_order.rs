//! Always: all members deliver the messages of the sequencer in one order. Every number has one message and every message
//! one number; a member delivers number after number, unless it says that it missed some; messages of one boot of a member
//! keep their order; nothing is delivered that was not submitted.

use super::Always;
use crate::trace::{AppEvent, EventKind, TraceEvent};
use std::collections::{BTreeMap, BTreeSet};

/// A place in the order: history and count.
type Place = (u32, u32);
/// A message: origin, boot and number.
type Message = (u32, u32, u32);

#[derive(Default)]
pub(super) struct Checker {
    submitted: BTreeSet<Message>,
    messages: BTreeMap<Place, Message>,
    places: BTreeMap<Message, Place>,
    /// The last message of each boot in the order.
    newest: BTreeMap<(u32, u32), u32>,
    /// What each member delivered last.
    delivered: BTreeMap<u32, Place>,
}

impl Checker {
    fn deliver(&mut self, node: u32, place: Place, message: Message) -> Option<String> {
        let last = self.delivered.insert(node, place).unwrap_or_default();
        let (origin, boot, number) = message;
        if place != (last.0, last.1 + 1) {
            return Some(format!("node {node} delivers number {place:?} after {last:?}"));
        }
        if !self.submitted.contains(&message) {
            return Some(format!("node {node} delivers message {number} of node {origin}, which was never submitted"));
        }
        if let Some(other) = self.messages.insert(place, message).filter(|&other| other != message) {
            return Some(format!("number {place:?} is {message:?} at node {node}, and {other:?} at another"));
        }
        match self.places.insert(message, place) {
            Some(before) if before != place => {
                Some(format!("message {number} of node {origin} is delivered as {place:?} and as {before:?}"))
            }
            Some(_) => None,
            None => {
                let newest = self.newest.insert((origin, boot), number).filter(|&newest| newest > number)?;
                Some(format!("message {number} of node {origin} is ordered after its message {newest}"))
            }
        }
    }
}

impl Always for Checker {
    const NAME: &'static str = "one-order";

    fn observe(&mut self, event: &TraceEvent) -> Option<String> {
        let node = event.node?;
        match event.kind {
            EventKind::Crash => _ = self.delivered.remove(&node),
            EventKind::App { event: AppEvent::Submits { boot, number } } => {
                self.submitted.insert((node, boot, number));
            }
            EventKind::App { event: AppEvent::Missed { era, count } } => {
                let last = self.delivered.insert(node, (era, count)).unwrap_or_default();
                return (last >= (era, count)).then(|| format!("node {node} misses what it has delivered: {last:?}"));
            }
            EventKind::App { event: AppEvent::Delivers { era, count, origin, boot, number } } => {
                return self.deliver(node, (era, count), (origin, boot, number));
            }
            _ => {} // not part of the order
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{NOTHING, app, event, findings};
    use super::*;

    fn submits(node: u32, number: u32) -> TraceEvent {
        app(node, AppEvent::Submits { boot: 1, number })
    }

    fn delivers(node: u32, count: u32, origin: u32, number: u32) -> TraceEvent {
        app(node, AppEvent::Delivers { era: 0, count, origin, boot: 1, number })
    }

    #[test]
    fn one_order_with_a_member_that_was_away_and_one_that_rebooted_is_accepted() {
        let events = [
            submits(0, 1),
            submits(1, 1),
            submits(0, 2),
            delivers(0, 1, 1, 1),
            delivers(0, 2, 0, 1),
            delivers(1, 1, 1, 1),
            event(0, EventKind::Crash),
            delivers(0, 1, 1, 1),
            app(2, AppEvent::Missed { era: 0, count: 2 }),
            delivers(2, 3, 0, 2),
        ];
        assert_eq!(findings::<Checker>(&events), NOTHING);
    }

    #[test]
    fn every_other_order_is_reported() {
        let base = [submits(0, 1), submits(1, 1), submits(0, 2), delivers(0, 1, 0, 1)];
        let cases = [
            (delivers(1, 1, 1, 1), "number (0, 1) is (1, 1, 1) at node 1, and (0, 1, 1) at another"),
            (delivers(0, 3, 1, 1), "node 0 delivers number (0, 3) after (0, 1)"),
            (delivers(0, 1, 0, 1), "node 0 delivers number (0, 1) after (0, 1)"),
            (delivers(0, 2, 0, 1), "message 1 of node 0 is delivered as (0, 2) and as (0, 1)"),
            (delivers(0, 2, 2, 1), "node 0 delivers message 1 of node 2, which was never submitted"),
            (app(0, AppEvent::Missed { era: 0, count: 1 }), "node 0 misses what it has delivered: (0, 1)"),
        ];
        for (wrong, text) in cases {
            let events: Vec<_> = base.iter().copied().chain([wrong]).collect();
            assert_eq!(findings::<Checker>(&events), [text]);
        }
        let swapped = [submits(0, 1), submits(0, 2), delivers(0, 1, 0, 2), delivers(0, 2, 0, 1)];
        assert_eq!(findings::<Checker>(&swapped), ["message 1 of node 0 is ordered after its message 2"]);
    }
}
