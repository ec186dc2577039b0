//! The id of one run of an algorithm that any node can initiate.

use crate::base::ids::NodeId;
use serde::{Deserialize, Serialize};

/// The unique id of a snapshot or a wave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct InstanceId {
    /// The node that initiated it.
    pub initiator: NodeId,
    /// The incarnation of the initiator.
    pub incarnation: u32,
    /// Its number within that incarnation.
    pub number: u32,
}

impl InstanceId {
    /// Returns whether this is `other` or a later one of the same incarnation of the same initiator.
    pub(super) fn is_same_or_after(self, other: Self) -> bool {
        (self.initiator, self.incarnation) == (other.initiator, other.incarnation) && self.number >= other.number
    }
}
