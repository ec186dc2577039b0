//! The numbers a voter has agreed to: what makes fences grow where no leader gives them out.
//!
//! A fence is agreed to by everybody whose vote it needs. A voter agrees to no number twice, and to none below one it has
//! agreed to; any two holders have a voter in common; so the later holder has the higher fence. A voter proposes the
//! request's own stamp, or the next number it has not agreed to; the asker takes the highest proposal, and whoever proposed
//! less must be told of it and agree before the asker enters. Stamps grow with every letter, so that is rare.

use super::LockId;
use crate::algorithm::Context;
use crate::clock::Stamp;
use crate::group::NodeSet;
use core::cmp::Ordering;
use heapless::Vec;

/// For how many locks the last number is known apart; the others share the highest of all that were forgotten.
const NUMBERS_MAX: usize = super::LOCKS_MAX;

/// The number an asker will have for a fence: the highest that was proposed, and who has agreed to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Agreement {
    pub(super) number: Stamp,
    pub(super) by: NodeSet,
}

impl Agreement {
    /// Nobody has proposed anything above the request's own number.
    pub(super) const fn new(request: Stamp) -> Self {
        Self { number: request, by: NodeSet::EMPTY }
    }

    /// `from` agreed to `number`, and proposes it.
    pub(super) fn propose(&mut self, from: NodeSet, number: Stamp) {
        match number.cmp(&self.number) {
            Ordering::Greater => *self = Self { number, by: from },
            Ordering::Equal => self.by = self.by.with(from),
            Ordering::Less => self.by = self.by.without(from),
        }
    }
}

/// The highest number agreed to, by lock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Numbers {
    known: Vec<(LockId, Stamp), NUMBERS_MAX>,
    /// For every other lock.
    rest: Stamp,
    /// Whether whatever it agreed to before it started is over.
    awake: bool,
}

impl Numbers {
    /// Nothing above `stamp` was agreed to before.
    pub(super) fn resume(&mut self, stamp: Stamp) {
        self.rest = self.rest.max(stamp);
    }

    /// To be told before everything else in a step, and whether the voter still abstains. It may have lost what it agreed
    /// to: it takes for agreed to whatever is not later than what the others' letters have told it meanwhile.
    pub(super) fn wake(&mut self, cx: &Context<'_>, abstains: bool) {
        if self.awake {
            return;
        }
        self.awake = !abstains;
        let heard = Stamp(cx.stamp.0.saturating_sub(1));
        self.resume(heard);
        for (_, number) in &mut self.known {
            *number = (*number).max(heard);
        }
    }

    /// The highest number agreed to for `lock`, or a higher one.
    pub(super) fn highest(&self, lock: LockId) -> Stamp {
        self.known.iter().find(|(known, _)| *known == lock).map_or(self.rest, |&(_, number)| number)
    }

    /// What this voter proposes for a request.
    pub(super) fn proposal(&self, lock: LockId, request: Stamp) -> Stamp {
        request.max(Stamp(self.highest(lock).0.saturating_add(1)))
    }

    /// The highest of all.
    pub(super) fn floor(&self) -> Stamp {
        self.known.iter().fold(self.rest, |highest, &(_, number)| highest.max(number))
    }

    /// Agrees to `number`.
    pub(super) fn agree(&mut self, lock: LockId, number: Stamp) {
        let number = number.max(self.highest(lock));
        self.set(lock, number);
    }

    /// Takes back what was agreed to since `before`: nobody has entered under it.
    pub(super) fn take_back(&mut self, lock: LockId, before: Stamp) {
        self.set(lock, before);
    }

    fn set(&mut self, lock: LockId, number: Stamp) {
        self.known.retain(|(known, _)| *known != lock);
        let Err(entry) = self.known.push((lock, number)) else { return };
        let lowest = self.known.iter_mut().min_by_key(|(_, number)| *number);
        if let Some(lowest) = lowest {
            let (_, forgotten) = core::mem::replace(lowest, entry);
            self.rest = self.rest.max(forgotten);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; NUMBERS_MAX + 1] = ["a", "b", "c", "d", "e"];

    #[test]
    fn a_number_is_never_proposed_twice_even_for_a_lock_that_was_forgotten() {
        let mut numbers = Numbers::default();
        let mut proposed = Stamp(0);
        for round in 0..3 {
            for (place, name) in NAMES.iter().enumerate() {
                let lock = LockId::from_name(name);
                let before = numbers.highest(lock);
                let number = numbers.proposal(lock, Stamp(place as u64));
                assert!(number > before, "round {round}");
                numbers.agree(lock, number);
                assert_eq!(numbers.highest(lock), number);
                proposed = proposed.max(number);
                assert_eq!(numbers.floor(), proposed);
            }
        }
    }

    #[test]
    fn a_request_s_own_stamp_is_its_number_unless_a_higher_one_was_agreed_to() {
        let mut numbers = Numbers::default();
        numbers.resume(Stamp(7));
        let lock = LockId::from_name("door");
        assert_eq!(numbers.proposal(lock, Stamp(9)), Stamp(9));
        assert_eq!(numbers.proposal(lock, Stamp(7)), Stamp(8));
        numbers.agree(lock, Stamp(9));
        numbers.agree(lock, Stamp(8));
        assert_eq!(numbers.highest(lock), Stamp(9));
        numbers.take_back(lock, Stamp(7));
        assert_eq!(numbers.proposal(lock, Stamp(8)), Stamp(8));
    }
}
