//! The consumer's side: accepts each message once, and none under a fence that was superseded.

use super::upload::{Fence, Upload};
use crate::base::ids::NodeId;
use crate::base::term::Term;
use heapless::Vec;

/// What a consumer is to do with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[expect(missing_docs, reason = "the sentence of each verdict names its fields")]
pub enum Verdict {
    /// Accept it. `missing` messages of its origin before it never came.
    Accepted { missing: u32 },
    /// Refuse it: a gateway with the higher fence `current` has claimed the uplink.
    StaleFence { current: Term },
    /// Refuse it: it was accepted before, or a later one of its origin was.
    Duplicate,
    /// Refuse it: there is no room to remember another origin or gateway.
    NoRoom,
}

/// The messages of one origin that were accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Origin {
    id: NodeId,
    boot: u8,
    /// The highest number accepted in that boot.
    number: u32,
}

/// The gateway of one scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Right {
    scope: Option<NodeId>,
    term: Term,
    /// The highest sequence number accepted under that term.
    sequence: u32,
}

/// A consumer's memory of at most `ORIGINS` nodes and as many gateways.
#[derive(Clone, Debug)]
pub struct Guard<const ORIGINS: usize> {
    rights: Vec<Right, ORIGINS>,
    origins: Vec<Origin, ORIGINS>,
}

impl<const ORIGINS: usize> Default for Guard<ORIGINS> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const ORIGINS: usize> Guard<ORIGINS> {
    /// Creates a guard that has accepted nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self { rights: Vec::new(), origins: Vec::new() }
    }

    /// Takes in a claim, in the broker's order of claims and messages.
    pub fn on_claim(&mut self, claim: Fence) {
        self.right(claim);
    }

    /// Judges a message, in the broker's order of claims and messages.
    pub fn on_upload(&mut self, upload: &Upload) -> Verdict {
        let Some(right) = self.right(upload.fence) else { return Verdict::NoRoom };
        if upload.fence.term < right.term {
            return Verdict::StaleFence { current: right.term };
        }
        if upload.sequence <= right.sequence {
            return Verdict::Duplicate; // the broker handed it out again
        }
        right.sequence = upload.sequence;
        self.on_number(upload)
    }

    /// Returns the right of a scope, raised to this fence if it is higher.
    fn right(&mut self, fence: Fence) -> Option<&mut Right> {
        let at = self.rights.iter().position(|right| right.scope == fence.scope);
        let at = at.or_else(|| {
            self.rights.push(Right { scope: fence.scope, term: fence.term, sequence: 0 }).ok()?;
            self.rights.len().checked_sub(1)
        })?;
        let right = self.rights.get_mut(at)?;
        if fence.term > right.term {
            (right.term, right.sequence) = (fence.term, 0);
        }
        Some(right)
    }

    fn on_number(&mut self, upload: &Upload) -> Verdict {
        let id = upload.id;
        let Some(origin) = self.origins.iter_mut().find(|origin| origin.id == id.origin) else {
            let origin = Origin { id: id.origin, boot: id.boot, number: id.number };
            // A consumer that starts late has missed nothing that it was promised.
            let first = Verdict::Accepted { missing: 0 };
            return if self.origins.push(origin).is_ok() { first } else { Verdict::NoRoom };
        };
        let boots_since = id.boot.wrapping_sub(origin.boot);
        let before = match boots_since {
            0 => origin.number,
            1..=127 => 0,
            128.. => return Verdict::Duplicate, // of an earlier boot
        };
        if id.number <= before {
            return Verdict::Duplicate;
        }
        (origin.boot, origin.number) = (id.boot, id.number);
        Verdict::Accepted { missing: id.number.saturating_sub(before).saturating_sub(1) }
    }
}
