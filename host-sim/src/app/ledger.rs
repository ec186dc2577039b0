//! The messages of applications that are on their way: who said what to whom, and has not been heard yet.
//!
//! Messages carry no numbers of their own: what is heard is the oldest message of this writer to this reader that says the
//! same, of those not given up if there is one.

use protocol::application::AnyMessage;
use std::collections::BTreeMap;

/// What is on its way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    /// By writer and reader, the oldest first.
    under_way: BTreeMap<(u32, u32), Vec<Letter>>,
    said: u32,
}

/// A message on its way.
#[derive(Clone, Copy, Debug)]
struct Letter {
    /// Its number in this run.
    number: u32,
    message: AnyMessage,
    /// Whether it may never be heard.
    given_up: bool,
}

impl Ledger {
    /// `from` says something to `to`: the number of the message.
    pub(crate) fn say(&mut self, from: u32, to: u32, message: AnyMessage) -> u32 {
        let number = self.said;
        self.said += 1;
        self.under_way.entry((from, to)).or_default().push(Letter { number, message, given_up: false });
        number
    }

    /// `to` hears something from `from`: the number of the message, if it was said.
    pub(crate) fn hear(&mut self, from: u32, to: u32, message: AnyMessage) -> Option<u32> {
        let messages = self.under_way.get_mut(&(from, to))?;
        let alike = || messages.iter().enumerate().filter(|(_, letter)| letter.message == message);
        let place = alike().min_by_key(|(place, letter)| (letter.given_up, *place))?.0;
        Some(messages.remove(place).number)
    }

    /// What `from` said to `to` and was not acknowledged is not said again.
    pub(crate) fn give_up(&mut self, from: u32, to: u32) {
        for letter in self.under_way.get_mut(&(from, to)).into_iter().flatten() {
            letter.given_up = true;
        }
    }

    /// A node stops: what was on its way to it, or from it, may or may not be heard.
    pub(crate) fn stop(&mut self, node: u32) {
        let of_node = self.under_way.iter_mut().filter(|((from, to), _)| *from == node || *to == node);
        of_node.flat_map(|(_, letters)| letters).for_each(|letter| letter.given_up = true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::application::diffusing::Work;

    fn work(units: u32) -> AnyMessage {
        AnyMessage::Diffusing(Work { job: 1, units })
    }

    #[test]
    fn a_message_is_heard_once_and_the_oldest_of_those_alike_first() {
        let mut ledger = Ledger::default();
        let numbers =
            [(0, 1, 5), (0, 1, 5), (1, 0, 5), (0, 1, 7)].map(|(from, to, units)| ledger.say(from, to, work(units)));
        assert_eq!(numbers, [0, 1, 2, 3]);
        assert_eq!(ledger.hear(0, 1, work(7)), Some(3));
        assert_eq!(ledger.hear(0, 1, work(5)), Some(0));
        assert_eq!(ledger.hear(0, 1, work(5)), Some(1));
        assert_eq!(ledger.hear(0, 1, work(5)), None, "nobody said it a third time");
        ledger.say(0, 1, work(5));
        ledger.give_up(0, 1);
        let again = ledger.say(0, 1, work(5));
        assert_eq!(ledger.hear(0, 1, work(5)), Some(again), "it is more likely than what was given up");
        assert_eq!(ledger.hear(0, 1, work(5)), Some(4), "which may be heard all the same");
        ledger.stop(1);
        let anew = ledger.say(1, 0, work(5));
        assert_eq!(ledger.hear(1, 0, work(5)), Some(anew), "its writer has started anew");
        assert_eq!(ledger.hear(1, 0, work(5)), Some(2), "but may have been heard before");
    }
}
