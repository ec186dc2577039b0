//! Always: a reliable message is delivered to its receiver at most once, whatever reboots in between, and only if it was
//! sent. That it is delivered at all is shown by what the stages do with it: a request that waits for ever, a job that
//! never ends.

use super::Always;
use crate::trace::{MessageEvent, ReliableMessage, TraceEvent};
use std::collections::BTreeMap;

/// How often each message was sent, less how often it was delivered. A sender that lost its records may repeat a
/// Lamport time and send an equal message again: that one may be delivered too.
#[derive(Default)]
pub(super) struct Checker {
    undelivered: BTreeMap<ReliableMessage, u32>,
}

impl Always for Checker {
    const NAME: &'static str = "exactly-once";

    fn observe(&mut self, _: &TraceEvent) -> Option<String> {
        None // only messages count
    }

    fn on_message(&mut self, event: &MessageEvent) -> Option<String> {
        let message = match event {
            MessageEvent::Sends(message) => {
                *self.undelivered.entry(*message).or_default() += 1;
                return None;
            }
            MessageEvent::Receives(message) => message,
        };
        let ReliableMessage { from, to, sent_at, name, .. } = message;
        match self.undelivered.get_mut(message) {
            Some(0) => Some(format!("node {to} receives a message \"{name}\" of node {from}, sent at {sent_at}, again")),
            Some(left) => {
                *left -= 1;
                None
            }
            None => Some(format!("node {to} receives a message \"{name}\" that node {from} never sent at {sent_at}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::NOTHING;
    use super::*;

    const MESSAGE: ReliableMessage = ReliableMessage { from: 1, to: 2, sent_at: 7, digest: 99, name: "token" };

    fn found(events: &[MessageEvent]) -> Vec<String> {
        let mut checker = Checker::default();
        events.iter().filter_map(|event| checker.on_message(event)).collect()
    }

    #[test]
    fn a_message_that_is_delivered_twice_is_reported() {
        let (sent, received) = (MessageEvent::Sends(MESSAGE), MessageEvent::Receives(MESSAGE));
        assert_eq!(found(&[sent, received]), NOTHING);
        let again = ["node 2 receives a message \"token\" of node 1, sent at 7, again"];
        assert_eq!(found(&[sent, received, received]), again);
        assert_eq!(found(&[sent, received, sent, received]), NOTHING, "its sender lost its records and sent it again");
    }

    #[test]
    fn a_message_that_nobody_sent_is_reported() {
        let received = MessageEvent::Receives(MESSAGE);
        let unsent = ["node 2 receives a message \"token\" that node 1 never sent at 7"];
        assert_eq!(found(&[received]), unsent);
        for other in [ReliableMessage { sent_at: 8, ..MESSAGE }, ReliableMessage { digest: 98, ..MESSAGE }] {
            assert_eq!(found(&[MessageEvent::Sends(other), received]), unsent);
        }
    }
}
