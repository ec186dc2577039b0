//! Fences: what keeps a holder that does not know it lost its lock from doing harm.

use crate::clock::{Stamp, Term};
use serde::{Deserialize, Serialize};

/// The number of a grant. Of two grants of one lock the later has the higher fence, over failover, reboot and
/// reconfiguration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Fence {
    /// The term of the leader that granted it, or that keeps the token; [`Term::ZERO`] where no leader takes part.
    pub term: Term,
    /// Grows within a term.
    pub count: Stamp,
}

impl Fence {
    /// Before every grant.
    pub const ZERO: Self = Self { term: Term::ZERO, count: Stamp(0) };
}

/// A use of the shared thing was refused: somebody with a higher fence has used it since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Outdated {
    /// The highest fence seen.
    pub seen: Fence,
}

/// The gate in front of a shared thing: lets nobody pass behind a later holder's back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FencedResource<T> {
    thing: T,
    seen: Fence,
}

impl<T> FencedResource<T> {
    /// A thing nobody has used yet.
    #[must_use]
    pub const fn new(thing: T) -> Self {
        Self { thing, seen: Fence::ZERO }
    }

    /// The thing, for the holder of `fence`.
    ///
    /// # Errors
    /// Where a later holder has used it already.
    pub fn access(&mut self, fence: Fence) -> Result<&mut T, Outdated> {
        if fence < self.seen {
            return Err(Outdated { seen: self.seen });
        }
        self.seen = fence;
        Ok(&mut self.thing)
    }

    /// The thing, to look at: no lock protects a look.
    pub const fn peek(&self) -> &T {
        &self.thing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::NodeId;

    fn fence(number: u32, count: u64) -> Fence {
        Fence { term: Term { number, by: NodeId(9) }, count: Stamp(count) }
    }

    #[test]
    fn a_holder_may_come_again_until_a_later_one_came() {
        let mut counter = FencedResource::new(0);
        *counter.access(fence(1, 5)).unwrap() += 1;
        *counter.access(fence(1, 5)).unwrap() += 1;
        *counter.access(fence(1, 6)).unwrap() += 1;
        assert_eq!(counter.access(fence(1, 5)), Err(Outdated { seen: fence(1, 6) }));
        assert_eq!(*counter.peek(), 3);
    }

    #[test]
    fn a_later_term_is_later_whatever_was_counted_before() {
        assert!(fence(1, 900) < fence(2, 1) && Fence::ZERO < fence(0, 1));
    }
}
