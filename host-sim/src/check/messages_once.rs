//! Always: no client receives a message of its super-peer twice in one boot, nor one that nobody sent.

use super::Always;
use crate::trace::{AppEvent, EventKind, RequestStep, TraceEvent};
use std::collections::BTreeSet;

/// A message by sender, its boot and its number.
type Id = (u32, u8, u16);

#[derive(Default)]
pub(super) struct Checker {
    sent: BTreeSet<Id>,
    /// What each node has received since it booted.
    received: BTreeSet<(u32, Id)>,
}

impl Always for Checker {
    const NAME: &'static str = "messages-once";

    fn observe(&mut self, event: &TraceEvent) -> Option<String> {
        match (event.kind, event.node) {
            (EventKind::App { event: AppEvent::Service { step, origin, boot, number, .. } }, Some(node)) => {
                let id = (origin, boot, number);
                match step {
                    RequestStep::Sent => _ = self.sent.insert(id),
                    RequestStep::Received if !self.sent.contains(&id) => {
                        return Some(format!("node {node} receives message {number} of node {origin}, which nobody sent"));
                    }
                    RequestStep::Received if !self.received.insert((node, id)) => {
                        return Some(format!("node {node} receives message {number} of node {origin} twice"));
                    }
                    RequestStep::Received
                    | RequestStep::Made
                    | RequestStep::Handled
                    | RequestStep::Answered
                    | RequestStep::Refused
                    | RequestStep::TimedOut
                    | RequestStep::Delivered
                    | RequestStep::Undelivered => {}
                }
                None
            }
            // What a node has received is forgotten with it.
            (EventKind::Crash, Some(node)) => {
                self.received.retain(|(client, _)| *client != node);
                None
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{NOTHING, app, event, findings};
    use super::*;

    fn step(node: u32, step: RequestStep) -> TraceEvent {
        app(node, AppEvent::Service { step, origin: 7, boot: 1, number: 3, repeatable: false })
    }

    #[test]
    fn a_message_that_is_received_twice_or_was_not_sent_is_reported() {
        let [sent, received] = [step(7, RequestStep::Sent), step(1, RequestStep::Received)];
        assert_eq!(findings::<Checker>(&[sent, received, step(2, RequestStep::Received)]), NOTHING);
        assert_eq!(findings::<Checker>(&[sent, received, received]), ["node 1 receives message 3 of node 7 twice"]);
        assert_eq!(findings::<Checker>(&[received]), ["node 1 receives message 3 of node 7, which nobody sent"]);
        assert_eq!(findings::<Checker>(&[sent, received, event(1, EventKind::Crash), received]), NOTHING);
    }
}
