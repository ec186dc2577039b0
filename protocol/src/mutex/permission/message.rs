//! Messages that all permission-based locks share.

use super::MEMBERS_MAX;
use crate::base::ids::NodeSet;
use crate::base::lamport::LamportTime;
use crate::base::time::Duration;
use crate::mutex::LockId;
use crate::wire::encoded_bytes;
use heapless::Vec;
use serde::{Deserialize, Serialize};

/// A request for permission, on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PermissionRequest {
    /// The requested lock.
    pub lock: LockId,
    /// The number of the request, by which requests are ordered.
    pub request: LamportTime,
    /// The round of the requester: a reply names it.
    pub round: Round,
    /// The length of the permission.
    pub lease: Duration,
    /// The members that are asked: a permission is valid in this view only.
    pub view: NodeSet,
}

/// A round of a requester: the lowest 32 bits of the Lamport time at which it began. Lamport times do not fall back at a
/// reboot, so that no boot repeats the rounds of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Round(pub u32);

/// The rounds a message replies to, each with the slot of its requester: one message replies to all that waited for the
/// same event, as far as there is room.
pub type RepliedRounds = Vec<(u8, Round), MEMBERS_MAX>;

/// Most bytes that the rounds of one reply may take, so that any reply fits a reliable message.
const REPLIED_BYTES_MAX: usize = 32;

/// Adds a round to a reply; returns whether there was room.
pub(super) fn add_reply(rounds: &mut RepliedRounds, slot: u8, round: Round) -> bool {
    let bytes = |&(_, round): &(u8, Round)| encoded_bytes(round.0).saturating_add(1);
    let used = rounds.iter().map(bytes).fold(bytes(&(slot, round)), usize::saturating_add);
    used <= REPLIED_BYTES_MAX && rounds.push((slot, round)).is_ok()
}

/// A message about a request. A reply names the `round` it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are the lock and the round")]
pub enum PermissionMessage {
    /// Asks for permission.
    Request(PermissionRequest),
    /// Asks for permission now or not at all.
    Try(PermissionRequest),
    /// Asks for permission again: the first request, or the reply to it, may be lost.
    Repeat(PermissionRequest),
    /// Reply: a later request may have been granted in the requester's absence. It has to make a new one.
    Outdated { lock: LockId, round: Round },
    /// Reply: no room for the request.
    Full { lock: LockId, round: Round },
}

impl PermissionMessage {
    pub(crate) const fn lock(&self) -> LockId {
        match *self {
            Self::Request(PermissionRequest { lock, .. })
            | Self::Try(PermissionRequest { lock, .. })
            | Self::Repeat(PermissionRequest { lock, .. })
            | Self::Outdated { lock, .. }
            | Self::Full { lock, .. } => lock,
        }
    }

    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Request(_) => "request",
            Self::Try(_) => "try",
            Self::Repeat(_) => "repeat",
            Self::Outdated { .. } => "outdated",
            Self::Full { .. } => "full",
        }
    }
}
