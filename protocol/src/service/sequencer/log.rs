//! The part of the order that one member keeps: numbered messages, a bounded count of them.

use heapless::{Deque, Vec};
use serde::{Deserialize, Serialize};

/// Longest message, in bytes.
pub const PAYLOAD_MAX: usize = 16;
/// How many ordered messages a member keeps.
pub const LOG_MAX: usize = 16;

/// What a message says.
pub type Payload = Vec<u8, PAYLOAD_MAX>;

/// The place of a message in the order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Number {
    /// The history: the number of the term in which it began; 0 for the first.
    pub era: u32,
    /// The place in that history, counted from 1 without gaps, over any number of leaders.
    pub count: u32,
}

/// A message in the order.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Entry {
    /// The slot of the member that submitted it.
    pub origin: u8,
    /// The boot of that member.
    pub incarnation: u32,
    /// Its number among the messages of that boot.
    pub number: u32,
    /// What it says.
    pub payload: Payload,
}

impl Entry {
    /// Returns whether both are the same message.
    pub(super) fn is(&self, other: &Self) -> bool {
        (self.origin, self.incarnation, self.number) == (other.origin, other.incarnation, other.number)
    }
}

/// The messages above `base`, of one history.
#[derive(Clone, Debug, Default)]
pub(super) struct Log {
    pub(super) era: u32,
    /// Everything up to here was delivered, and is not kept.
    base: u32,
    /// Everything up to here is at a majority.
    pub(super) commit: u32,
    /// Everything up to here was delivered.
    pub(super) delivered: u32,
    entries: Deque<Entry, LOG_MAX>,
}

impl Log {
    pub(super) const fn base(&self) -> u32 {
        self.base
    }

    pub(super) fn last(&self) -> u32 {
        self.base.saturating_add(u32::try_from(self.entries.len()).unwrap_or(u32::MAX))
    }

    pub(super) const fn number(&self, count: u32) -> Number {
        Number { era: self.era, count }
    }

    pub(super) fn get(&self, count: u32) -> Option<&Entry> {
        let index = count.checked_sub(self.base)?.checked_sub(1)?;
        self.entries.iter().nth(usize::try_from(index).ok()?)
    }

    pub(super) fn contains(&self, message: &Entry) -> bool {
        self.entries.iter().any(|entry| entry.is(message))
    }

    /// Forgets what is above `count`.
    pub(super) fn truncate(&mut self, count: u32) {
        while self.last() > count.max(self.delivered) && self.entries.pop_back().is_some() {}
    }

    /// Makes room for one more; returns whether there is. Only what was delivered, up to `stable`, is forgotten.
    pub(super) fn make_room(&mut self, stable: u32) -> bool {
        if self.entries.is_full() && self.base < stable.min(self.delivered) {
            self.entries.pop_front();
            self.base = self.base.saturating_add(1);
        }
        !self.entries.is_full()
    }

    /// Puts a message at `count`, in place of another one and of all above that; returns whether there was room. Every
    /// number up to `count` must be known.
    pub(super) fn put(&mut self, count: u32, entry: &Entry) -> bool {
        if count <= self.delivered || self.get(count).is_some_and(|known| known.is(entry)) {
            return true;
        }
        self.truncate(count.saturating_sub(1));
        count == self.last().saturating_add(1) && self.append(entry, self.delivered)
    }

    /// Appends a message; returns whether there was room.
    pub(super) fn append(&mut self, entry: &Entry, stable: u32) -> bool {
        self.make_room(stable) && self.entries.push_back(entry.clone()).is_ok()
    }

    /// Continues after `number`, whatever was before; returns whether messages were missed by that.
    pub(super) fn skip(&mut self, number: Number) -> bool {
        if number <= self.number(self.commit) {
            return false;
        }
        if number.era != self.era || number.count > self.last() {
            self.entries.clear();
        } else {
            while self.base < number.count && self.entries.pop_front().is_some() {
                self.base = self.base.saturating_add(1);
            }
        }
        (self.era, self.base) = (number.era, number.count);
        (self.commit, self.delivered) = (number.count, number.count);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(number: u32) -> Entry {
        Entry { origin: 1, incarnation: 1, number, payload: Payload::new() }
    }

    #[test]
    fn a_full_log_forgets_only_what_everybody_has() {
        let mut log = Log::default();
        for number in 1..=16 {
            assert!(log.append(&entry(number), 0));
        }
        (log.commit, log.delivered) = (9, 9);
        assert!(!log.append(&entry(17), 0), "some member lacks the first");
        assert!(log.append(&entry(17), 1));
        assert_eq!((log.base(), log.last()), (1, 17));
        assert!(log.get(1).is_none() && log.get(2) == Some(&entry(2)) && log.get(17) == Some(&entry(17)));
    }

    #[test]
    fn another_message_in_the_same_place_takes_the_later_ones_with_it() {
        let mut log = Log::default();
        assert!([1, 2, 3].iter().all(|&number| log.append(&entry(number), 0)));
        assert!(log.put(2, &entry(2)));
        assert_eq!(log.last(), 3, "the same message changes nothing");
        assert!(log.put(2, &entry(7)));
        assert_eq!((log.last(), log.get(2)), (2, Some(&entry(7))));
        assert!(!log.put(9, &entry(9)), "what is before it is unknown");
        log.delivered = 2;
        assert!(log.put(1, &entry(9)));
        assert_eq!(log.get(1), Some(&entry(1)), "what was delivered stays");
    }

    #[test]
    fn a_log_that_skips_goes_on_behind_the_gap() {
        let mut log = Log::default();
        assert!([1, 2, 3].iter().all(|&number| log.append(&entry(number), 0)));
        assert!(log.skip(Number { era: 0, count: 2 }));
        assert_eq!((log.base(), log.last(), log.delivered), (2, 3, 2));
        assert!(!log.skip(Number { era: 0, count: 1 }));
        assert!(log.skip(Number { era: 4, count: 0 }), "a history that began later");
        assert_eq!((log.era, log.base(), log.last()), (4, 0, 0));
    }
}
