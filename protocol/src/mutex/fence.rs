//! Fencing numbers: they keep a holder that does not know that it lost its lock from doing harm.

use crate::base::lamport::LamportTime;
use crate::base::term::Term;
use serde::{Deserialize, Serialize};

/// The fencing number of a grant. Of two grants of one lock the later has the higher fence, across failover, reboot and
/// reconfiguration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Fence {
    /// The term of the leader that granted the lock or issued its token; [`Term::ZERO`] where no leader takes part.
    pub term: Term,
    /// The number within the term.
    pub count: LamportTime,
}

impl Fence {
    /// Below the fence of every grant.
    pub const ZERO: Self = Self { term: Term::ZERO, count: LamportTime(0) };
}

/// The error of an access behind a later holder's: a higher fence was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Outdated {
    /// The highest fence seen.
    pub seen: Fence,
}

/// A shared resource that refuses every access with a fence older than the highest it has seen.
///
/// ```
/// use protocol::base::lamport::LamportTime;
/// use protocol::mutex::{Fence, FencedResource};
///
/// let fence = |count| Fence { count: LamportTime(count), ..Fence::ZERO };
/// let mut valve = FencedResource::new("closed");
/// *valve.access(fence(4))? = "open";
/// *valve.access(fence(5))? = "closed"; // the next holder
/// assert!(valve.access(fence(4)).is_err(), "the one before has slept, and does no harm");
/// # Ok::<(), protocol::mutex::Outdated>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FencedResource<T> {
    resource: T,
    seen: Fence,
}

impl<T> FencedResource<T> {
    /// Guards a resource that no holder has used yet.
    #[must_use]
    pub const fn new(resource: T) -> Self {
        Self { resource, seen: Fence::ZERO }
    }

    /// Returns the resource to the holder of `fence`.
    ///
    /// # Errors
    /// [`Outdated`] if a later holder has used the resource.
    pub fn access(&mut self, fence: Fence) -> Result<&mut T, Outdated> {
        if fence < self.seen {
            return Err(Outdated { seen: self.seen });
        }
        self.seen = fence;
        Ok(&mut self.resource)
    }

    /// Returns the resource for reading, which no lock protects.
    pub const fn peek(&self) -> &T {
        &self.resource
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ids::NodeId;

    fn fence(number: u32, count: u64) -> Fence {
        Fence { term: Term { number, by: NodeId(9) }, count: LamportTime(count) }
    }

    #[test]
    fn a_holder_may_access_again_until_a_later_one_did() {
        let mut counter = FencedResource::new(0);
        *counter.access(fence(1, 5)).unwrap() += 1;
        *counter.access(fence(1, 5)).unwrap() += 1;
        *counter.access(fence(1, 6)).unwrap() += 1;
        assert_eq!(counter.access(fence(1, 5)), Err(Outdated { seen: fence(1, 6) }));
        assert_eq!(*counter.peek(), 3);
    }

    #[test]
    fn a_later_term_is_a_higher_fence_with_any_count() {
        assert!(fence(1, 900) < fence(2, 1) && Fence::ZERO < fence(0, 1));
    }
}
