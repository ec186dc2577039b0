//! Messages of applications in flight: sent and not received yet.
//!
//! Messages carry no numbers of their own: a received message is the oldest equal one of the same pair, of those that
//! are certain to arrive if there is one.

use protocol::registry::AnyApplicationMessage;
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default)]
pub(crate) struct InFlight {
    /// By sender and receiver, the oldest first.
    messages: BTreeMap<(u32, u32), Vec<Message>>,
    sent: u32,
}

#[derive(Clone, Copy, Debug)]
struct Message {
    /// Its number in this run.
    number: u32,
    content: AnyApplicationMessage,
    /// Whether it may never arrive.
    uncertain: bool,
}

impl InFlight {
    /// Adds a message; returns its number.
    pub(crate) fn sent(&mut self, from: u32, to: u32, message: AnyApplicationMessage) -> u32 {
        let number = self.sent;
        self.sent += 1;
        self.messages.entry((from, to)).or_default().push(Message { number, content: message, uncertain: false });
        number
    }

    /// Removes a message that was received; returns its number, if it was sent.
    pub(crate) fn received(&mut self, from: u32, to: u32, message: AnyApplicationMessage) -> Option<u32> {
        let messages = self.messages.get_mut(&(from, to))?;
        let equal = messages.iter().enumerate().filter(|(_, sent)| sent.content == message);
        let index = equal.min_by_key(|(index, sent)| (sent.uncertain, *index))?.0;
        Some(messages.remove(index).number)
    }

    /// Marks all messages from `from` to `to` as uncertain: they are not sent again.
    pub(crate) fn mark_uncertain(&mut self, from: u32, to: u32) {
        for message in self.messages.get_mut(&(from, to)).into_iter().flatten() {
            message.uncertain = true;
        }
    }

    /// Marks all messages to and from a node that stopped as uncertain.
    pub(crate) fn node_stopped(&mut self, node: u32) {
        let of_node = self.messages.iter_mut().filter(|((from, to), _)| *from == node || *to == node);
        of_node.flat_map(|(_, messages)| messages).for_each(|message| message.uncertain = true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::service::demo::diffusing::Work;

    fn work(units: u32) -> AnyApplicationMessage {
        AnyApplicationMessage::Diffusing(Work { job: 1, units })
    }

    #[test]
    fn a_message_is_received_once_and_the_oldest_of_equal_ones_first() {
        let mut in_flight = InFlight::default();
        let numbers =
            [(0, 1, 5), (0, 1, 5), (1, 0, 5), (0, 1, 7)].map(|(from, to, units)| in_flight.sent(from, to, work(units)));
        assert_eq!(numbers, [0, 1, 2, 3]);
        assert_eq!(in_flight.received(0, 1, work(7)), Some(3));
        assert_eq!(in_flight.received(0, 1, work(5)), Some(0));
        assert_eq!(in_flight.received(0, 1, work(5)), Some(1));
        assert_eq!(in_flight.received(0, 1, work(5)), None, "no third one was sent");
        in_flight.sent(0, 1, work(5));
        in_flight.mark_uncertain(0, 1);
        let certain = in_flight.sent(0, 1, work(5));
        assert_eq!(in_flight.received(0, 1, work(5)), Some(certain), "it is more likely than an uncertain one");
        assert_eq!(in_flight.received(0, 1, work(5)), Some(4), "which may arrive all the same");
        in_flight.node_stopped(1);
        let later = in_flight.sent(1, 0, work(5));
        assert_eq!(in_flight.received(1, 0, work(5)), Some(later), "its sender has booted again");
        assert_eq!(in_flight.received(1, 0, work(5)), Some(2), "but may have been received before");
    }
}
