//! Events of locks.

use super::hash::code;
use crate::base::rng::mix;
use protocol::mutex::Fence;
use serde::{Serialize, Serializer};

/// An event of a lock at one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "lock_event", rename_all = "kebab-case")]
pub enum LockEvent {
    /// The application requests the lock.
    Requests {
        /// Whether it prefers a refusal to waiting.
        try_only: bool,
    },
    /// The application requests a longer lease.
    Renews,
    /// The application releases the lock.
    Releases,
    /// The application cancels its request.
    Cancels,
    /// The request waits behind others.
    Waits {
        /// How many.
        ahead: u8,
    },
    /// The lock is granted.
    Acquired {
        /// The fence of the grant.
        #[serde(serialize_with = "term_and_count")]
        fence: Fence,
    },
    /// A longer lease is granted.
    Renewed {
        /// The fence of the grant.
        #[serde(serialize_with = "term_and_count")]
        fence: Fence,
    },
    /// The node holds the lock while another does.
    TwoHolders {
        /// The id of the other.
        other: u32,
    },
    /// The lease expires soon.
    Expiring,
    /// The lease has expired.
    Lost,
    /// The lock is released.
    Released,
    /// The request is refused.
    Refused {
        /// The reason.
        reason: &'static str,
    },
    /// A write of the node reaches the resource that the lock protects.
    Wrote {
        /// The fence of the write.
        #[serde(serialize_with = "term_and_count")]
        fence: Fence,
        /// Whether the resource accepted it.
        accepted: bool,
    },
}

/// Returns an event's tag and data in three words; the last has room for another byte.
pub(super) fn digest(event: &LockEvent) -> (u64, u64, u64) {
    let mixed =
        |fence: &Fence| mix(fence.count.0 ^ mix(u64::from(fence.term.number) << 32 | u64::from(fence.term.by.0)));
    match event {
        LockEvent::Requests { try_only } => (0, u64::from(*try_only), 0),
        LockEvent::Renews => (1, 0, 0),
        LockEvent::Releases => (2, 0, 0),
        LockEvent::Cancels => (3, 0, 0),
        LockEvent::Waits { ahead } => (4, u64::from(*ahead), 0),
        LockEvent::Acquired { fence } => (5, mixed(fence), 0),
        LockEvent::Renewed { fence } => (6, mixed(fence), 0),
        LockEvent::TwoHolders { other } => (7, u64::from(*other), 0),
        LockEvent::Expiring => (8, 0, 0),
        LockEvent::Lost => (9, 0, 0),
        LockEvent::Released => (10, 0, 0),
        LockEvent::Refused { reason } => (11, code(reason), 0),
        LockEvent::Wrote { fence, accepted } => (12, mixed(fence), u64::from(*accepted)),
    }
}

fn term_and_count<S: Serializer>(fence: &Fence, serializer: S) -> Result<S::Ok, S::Error> {
    let Fence { term, count } = fence;
    serializer.collect_str(&format_args!("{}.{}:{}", term.number, term.by.0, count.0))
}
