//! The heartbeat message of the failure detector.

use crate::base::capacity::{Candidate, Capacity};
use crate::base::ids::{NodeSet, SLOTS_MAX};
use crate::base::lamport::LamportTime;
use crate::wire::FRAME_MAX;
use heapless::Vec;
use serde::{Deserialize, Serialize};

/// How many other members' capacities one [`Heartbeat`] relays.
pub(super) const RELAYED_MAX: usize = 2;

/// How many members one [`Heartbeat`] names.
const NAMED_MAX: usize = 16;

/// Bytes for naming one member at most, and for all of a frame but its counters and names, with no capacities relayed.
const NAME_BYTES_MAX: usize = 6;
const LAMPORT_BYTES_MAX: usize = 6;
const OTHER_BYTES_MAX: usize = 43;
const _: () = assert!(OTHER_BYTES_MAX + SLOTS_MAX + NAME_BYTES_MAX <= FRAME_MAX, "any heartbeat can name a member");

/// Shows that its sender is up.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Heartbeat {
    /// The sender's capacity.
    pub advertised: AdvertisedCapacity,
    /// The lowest byte of each member's heartbeat counter, in the group's order; empty where all members are in range
    /// of each other.
    pub counts: Vec<u8, SLOTS_MAX>,
    /// Capacities of some other members, by slot.
    pub relayed: Vec<(u8, AdvertisedCapacity), RELAYED_MAX>,
    /// The sender's Lamport time where all members are in range of each other, so that their clocks stay close and voters
    /// propose the same fence; otherwise zero.
    pub lamport: LamportTime,
    /// Members in range that have not named the sender's present boot.
    pub unconfirmed: NodeSet,
    /// Members that wait to be named, by slot, and the boot each was received in.
    pub named: Vec<(u8, u32), NAMED_MAX>,
}

impl Heartbeat {
    /// How many members it can name, instead of relaying capacities.
    pub(super) fn names_max(&self) -> usize {
        let lamport = if self.counts.is_empty() { LAMPORT_BYTES_MAX } else { 0 };
        let room = FRAME_MAX.saturating_sub(OTHER_BYTES_MAX).saturating_sub(self.counts.len()).saturating_sub(lamport);
        room.checked_div(NAME_BYTES_MAX).unwrap_or(0).min(NAMED_MAX)
    }
}

/// A member's capacity as it is sent: unknown, unfit to lead, or a [`Capacity`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "u16")]
pub struct AdvertisedCapacity(pub(super) u16);

impl TryFrom<u16> for AdvertisedCapacity {
    type Error = &'static str;

    fn try_from(value: u16) -> Result<Self, &'static str> {
        let known = Self(value).capacity();
        if known.is_none_or(|known| Self::of_capacity(known) == Self(value)) {
            Ok(Self(value))
        } else {
            Err("above the highest capacity")
        }
    }
}

impl AdvertisedCapacity {
    /// Not received yet.
    pub const UNKNOWN: Self = Self(0);
    /// Unfit to lead.
    pub const UNFIT: Self = Self(1);

    /// Returns the form in which a node advertises itself as a candidate, or as none.
    #[must_use]
    pub fn of(candidate: Option<Candidate>) -> Self {
        candidate.map_or(Self::UNFIT, |candidate| Self::of_capacity(candidate.capacity))
    }

    fn of_capacity(capacity: Capacity) -> Self {
        Self(capacity.get().saturating_add(2))
    }

    /// Returns the capacity, if it is known and fit to lead.
    #[must_use]
    pub fn capacity(self) -> Option<Capacity> {
        self.0.checked_sub(2).map(Capacity::new)
    }
}
