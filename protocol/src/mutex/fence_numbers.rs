//! Fence numbers by agreement of voters, where no leader gives them out.
//!
//! Every voter of a grant agrees to its fence. A voter agrees to no number twice, and to none below one it has agreed
//! to; any two holders have a voter in common; so the later holder has the higher fence. A voter proposes the request's
//! own Lamport time, or the next number it has not agreed to. The requester takes the highest proposal, and every voter
//! that proposed less must confirm it before the requester enters. Lamport times grow with every message, so that is
//! rare.

use super::LockId;
use crate::algorithm::Context;
use crate::base::ids::NodeSet;
use crate::base::lamport::LamportTime;
use core::cmp::Ordering;
use heapless::Vec;

/// Locks whose number is remembered; all others share the highest number that was evicted.
const NUMBERS_MAX: usize = super::LOCKS_MAX;

/// The fence of a request: the highest number proposed, and the voters that agreed to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct FenceProposal {
    pub(super) number: LamportTime,
    pub(super) agreed: NodeSet,
}

impl FenceProposal {
    /// Starts with the request's own number.
    pub(super) const fn new(request: LamportTime) -> Self {
        Self { number: request, agreed: NodeSet::EMPTY }
    }

    /// Takes the proposal of `from`, which has agreed to `number`.
    pub(super) fn propose(&mut self, from: NodeSet, number: LamportTime) {
        match number.cmp(&self.number) {
            Ordering::Greater => *self = Self { number, agreed: from },
            Ordering::Equal => self.agreed = self.agreed.with(from),
            Ordering::Less => self.agreed = self.agreed.without(from),
        }
    }
}

/// The highest number a voter has agreed to, by lock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct FenceNumbers {
    known: Vec<(LockId, LamportTime), NUMBERS_MAX>,
    /// The number of every other lock.
    rest: LamportTime,
    /// Whether agreements from before a restart may still matter.
    abstaining: bool,
}

impl FenceNumbers {
    /// Resumes after a reboot before which nothing above `floor` was agreed to.
    pub(super) fn resume(&mut self, floor: LamportTime) {
        self.rest = self.rest.max(floor);
    }

    /// Begins a step. While the voter abstains after a restart, its agreements may be lost: every number up to the
    /// Lamport time it has received meanwhile counts as agreed to.
    pub(super) fn begin_step(&mut self, cx: &Context<'_>, abstains: bool) {
        if !abstains && !self.abstaining {
            return;
        }
        self.abstaining = abstains;
        let received = LamportTime(cx.lamport.0.saturating_sub(1));
        self.resume(received);
        for (_, number) in &mut self.known {
            *number = (*number).max(received);
        }
    }

    /// Returns the highest number agreed to for `lock`, or a higher one.
    pub(super) fn highest(&self, lock: LockId) -> LamportTime {
        self.known.iter().find(|(known, _)| *known == lock).map_or(self.rest, |&(_, number)| number)
    }

    pub(super) fn proposal(&self, lock: LockId, request: LamportTime) -> LamportTime {
        request.max(LamportTime(self.highest(lock).0.saturating_add(1)))
    }

    /// Returns the highest number agreed to for any lock.
    pub(super) fn floor(&self) -> LamportTime {
        self.known.iter().fold(self.rest, |highest, &(_, number)| highest.max(number))
    }

    pub(super) fn agree(&mut self, lock: LockId, number: LamportTime) {
        let number = number.max(self.highest(lock));
        self.set(lock, number);
    }

    /// Retracts every agreement above `before`: no request has entered under one. What counts as agreed to while the voter
    /// abstains is not retracted.
    pub(super) fn retract(&mut self, lock: LockId, before: LamportTime) {
        self.set(lock, if self.abstaining { before.max(self.rest) } else { before });
    }

    fn set(&mut self, lock: LockId, number: LamportTime) {
        self.known.retain(|(known, _)| *known != lock);
        let Err(entry) = self.known.push((lock, number)) else { return };
        let lowest = self.known.iter_mut().min_by_key(|(_, number)| *number);
        if let Some(lowest) = lowest {
            let (_, evicted) = core::mem::replace(lowest, entry);
            self.rest = self.rest.max(evicted);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; NUMBERS_MAX + 1] = ["a", "b", "c", "d", "e"];

    #[test]
    fn a_number_is_never_proposed_twice_even_for_an_evicted_lock() {
        let mut numbers = FenceNumbers::default();
        let mut proposed = LamportTime(0);
        for round in 0..3 {
            for (index, name) in NAMES.iter().enumerate() {
                let lock = LockId::from_name(name);
                let before = numbers.highest(lock);
                let number = numbers.proposal(lock, LamportTime(index as u64));
                assert!(number > before, "round {round}");
                numbers.agree(lock, number);
                assert_eq!(numbers.highest(lock), number);
                proposed = proposed.max(number);
                assert_eq!(numbers.floor(), proposed);
            }
        }
    }

    #[test]
    fn what_counts_as_agreed_to_after_a_restart_is_not_retracted() {
        let lock = LockId::from_name("door");
        for (abstaining, left) in [(true, LamportTime(5)), (false, LamportTime(2))] {
            let mut numbers = FenceNumbers { known: Vec::new(), rest: LamportTime(5), abstaining };
            numbers.agree(lock, LamportTime(9));
            numbers.retract(lock, LamportTime(2));
            assert_eq!(numbers.highest(lock), left);
        }
    }

    #[test]
    fn a_request_s_own_number_is_proposed_unless_a_higher_one_was_agreed_to() {
        let mut numbers = FenceNumbers::default();
        numbers.resume(LamportTime(7));
        let lock = LockId::from_name("door");
        assert_eq!(numbers.proposal(lock, LamportTime(9)), LamportTime(9));
        assert_eq!(numbers.proposal(lock, LamportTime(7)), LamportTime(8));
        numbers.agree(lock, LamportTime(9));
        numbers.agree(lock, LamportTime(8));
        assert_eq!(numbers.highest(lock), LamportTime(9));
        numbers.retract(lock, LamportTime(7));
        assert_eq!(numbers.proposal(lock, LamportTime(8)), LamportTime(8));
    }
}
