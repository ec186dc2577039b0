//! Always: a snapshot is a consistent cut. No message was sent after the cut and received before it; the recorded
//! channel states are exactly the messages sent before the cut and received after it; every recorded state is the
//! state of its node at the cut.

use super::Always;
use crate::trace::{AppEvent, EventKind, TraceEvent};
use protocol::service::snapshot;
use std::collections::BTreeMap;

/// An application message. Times are counts of events.
struct Message {
    from: u32,
    to: u32,
    sent: u64,
    /// When it was received, and the amount it then carried.
    received: Option<(u64, u32)>,
    amount: u32,
    /// Whether it may never be received; a later message then makes up for its amount.
    abandoned: bool,
}

/// A snapshot in progress.
#[derive(Default)]
struct Cut {
    /// When the cut passes each node, and the amount the node had.
    nodes: BTreeMap<u32, (u64, u32)>,
    /// The states and channel states reported to the initiator.
    states: BTreeMap<u32, u32>,
    channels: BTreeMap<(u32, u32), Vec<u32>>,
}

#[derive(Default)]
pub(super) struct Checker {
    events: u64,
    messages: BTreeMap<u32, Message>,
    cuts: BTreeMap<snapshot::Id, Cut>,
}

impl Always for Checker {
    const NAME: &'static str = "consistent-cuts";

    fn observe(&mut self, event: &TraceEvent) -> Option<String> {
        let (app_event, node) = match (event.kind, event.node) {
            (EventKind::App { event: app_event }, Some(node)) => (app_event, node),
            (EventKind::Crash, Some(node)) => {
                self.abandon(|message| message.from == node || message.to == node);
                return None;
            }
            _ => return None, // no application event
        };
        self.events += 1;
        let now = self.events;
        match app_event {
            AppEvent::Sends { to, message, amount } => {
                self.messages
                    .insert(message, Message { from: node, to, sent: now, received: None, amount, abandoned: false });
            }
            AppEvent::Receives { from, message, amount } => {
                let Some(message) = message.and_then(|message| self.messages.get_mut(&message)) else {
                    return Some(format!("node {node} received from node {from} a message that was never sent"));
                };
                message.received = Some((now, amount));
            }
            AppEvent::PeerDown { peer: to } => {
                self.abandon(|message| (message.from, message.to) == (node, to));
            }
            AppEvent::Recorded { snapshot, amount } => {
                self.cuts.entry(snapshot).or_default().nodes.insert(node, (now, amount));
            }
            AppEvent::State { snapshot, of, amount } => {
                *self.cuts.entry(snapshot).or_default().states.entry(of).or_default() += amount;
            }
            AppEvent::Channel { snapshot, from, to, amount } => {
                self.cuts.entry(snapshot).or_default().channels.entry((from, to)).or_default().push(amount);
            }
            AppEvent::Completed { snapshot, nodes } => {
                let cut = self.cuts.remove(&snapshot).unwrap_or_default();
                let violation = self.violation(&cut, nodes)?;
                return Some(format!("snapshot {} of node {}: {violation}", snapshot.number, snapshot.initiator.0));
            }
            AppEvent::Aborted { snapshot, .. } => _ = self.cuts.remove(&snapshot),
            _ => {} // not part of a cut
        }
        None
    }
}

impl Checker {
    /// Marks messages that may never be received.
    fn abandon(&mut self, such: impl Fn(&Message) -> bool) {
        self.messages.values_mut().filter(|message| such(message)).for_each(|message| message.abandoned = true);
    }

    /// Returns how a cut through this many nodes is inconsistent, if it is.
    fn violation(&self, cut: &Cut, nodes: u32) -> Option<String> {
        let had: BTreeMap<u32, u32> = cut.nodes.iter().map(|(&node, &(_, amount))| (node, amount)).collect();
        if had != cut.states || had.len() != nodes as usize {
            return Some(format!("the states {:?} were recorded, the initiator has {:?}", had, cut.states));
        }
        let mut in_flight: BTreeMap<(u32, u32), Vec<u32>> = BTreeMap::new();
        let counts = |message: &&Message| !(message.abandoned && message.received.is_none());
        for Message { from, to, sent, received, amount, .. } in self.messages.values().filter(counts) {
            let (Some((there, _)), Some((here, _))) = (cut.nodes.get(from), cut.nodes.get(to)) else { continue };
            let received_before = received.is_some_and(|(received, _)| received < *here);
            if sent > there && received_before {
                return Some(format!("node {to} had received from node {from} a message sent after the cut"));
            }
            if sent < there && !received_before {
                in_flight.entry((*from, *to)).or_default().push(received.map_or(*amount, |(_, amount)| amount));
            }
        }
        (in_flight != cut.channels).then(|| format!("in flight were {in_flight:?}, recorded were {:?}", cut.channels))
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{ID, NOTHING, app, findings};
    use super::*;

    fn sent(message: u32) -> TraceEvent {
        app(0, AppEvent::Sends { to: 1, message, amount: 3 })
    }

    fn received(message: u32) -> TraceEvent {
        app(1, AppEvent::Receives { from: 0, message: Some(message), amount: 3 })
    }

    fn recorded(node: u32) -> TraceEvent {
        app(node, AppEvent::Recorded { snapshot: ID, amount: 5 })
    }

    /// Findings when `before` is followed by the reports of both states, of this many messages, and of the end.
    fn found(before: &[TraceEvent], channel: usize) -> Vec<String> {
        let state = |of| app(0, AppEvent::State { snapshot: ID, of, amount: 5 });
        let message = app(0, AppEvent::Channel { snapshot: ID, from: 0, to: 1, amount: 3 });
        let taken = app(0, AppEvent::Completed { snapshot: ID, nodes: 2 });
        findings::<Checker>(&[before, &[state(0), state(1)], &vec![message; channel], &[taken]].concat())
    }

    #[test]
    fn s1_a_message_sent_before_the_cut_and_received_after_it_must_be_recorded() {
        let crossing = [sent(0), recorded(0), recorded(1), received(0)];
        assert_eq!(found(&crossing, 1), NOTHING);
        let expected = ["snapshot 1 of node 0: in flight were {(0, 1): [3]}, recorded were {}"];
        assert_eq!(found(&crossing, 0), expected);
    }

    #[test]
    fn a_message_that_was_abandoned_need_not_be_recorded() {
        let crash = TraceEvent { kind: EventKind::Crash, ..sent(0) };
        for reason in [app(0, AppEvent::PeerDown { peer: 1 }), crash] {
            let lost = [sent(0), reason, recorded(0), recorded(1)];
            assert_eq!(found(&lost, 0), NOTHING);
            assert_eq!(found(&lost, 1).len(), 1);
        }
    }

    #[test]
    fn a_message_on_one_side_of_the_cut_must_not_be_recorded() {
        for beside in
            [[sent(0), received(0), recorded(0), recorded(1)], [recorded(0), recorded(1), sent(0), received(0)]]
        {
            assert_eq!(found(&beside, 0), NOTHING);
            assert_eq!(found(&beside, 1).len(), 1);
        }
    }

    #[test]
    fn a_message_from_after_the_cut_into_before_it_is_reported() {
        let expected = ["snapshot 1 of node 0: node 1 had received from node 0 a message sent after the cut"];
        assert_eq!(found(&[recorded(0), sent(0), received(0), recorded(1)], 0), expected);
    }

    #[test]
    fn a_node_that_was_never_recorded_and_a_message_that_was_never_sent_are_reported() {
        assert_eq!(found(&[recorded(0)], 0).len(), 1);
        let unsent = app(1, AppEvent::Receives { from: 0, message: None, amount: 3 });
        let expected = ["node 1 received from node 0 a message that was never sent"];
        assert_eq!(found(&[unsent, recorded(0), recorded(1)], 0), expected);
    }
}
