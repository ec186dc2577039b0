//! What is done about a lock.

use super::hash::word_of;
use crate::random::mix;
use protocol::mutex::Fence;
use serde::{Serialize, Serializer};

/// What a node does about a lock, or is told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "deed", rename_all = "kebab-case")]
pub enum Deed {
    /// The application asks for it.
    Asks {
        /// Whether it would rather be refused than wait.
        trying: bool,
    },
    /// The application asks for a longer hold.
    Renews,
    /// The application gives it back.
    Releases,
    /// The application wants it no more.
    Cancels,
    /// Others come first.
    Waits {
        /// How many.
        ahead: u8,
    },
    /// It is granted.
    Acquired {
        /// Under which fence.
        #[serde(serialize_with = "term_and_count")]
        fence: Fence,
    },
    /// A longer hold is granted.
    Renewed {
        /// Under which fence it is held.
        #[serde(serialize_with = "term_and_count")]
        fence: Fence,
    },
    /// The node holds it, and so does another at this very moment.
    Shared {
        /// Which.
        other: u32,
    },
    /// Its hold will end soon.
    Expiring,
    /// Its hold has ended.
    Lost,
    /// It is given back.
    Released,
    /// It is not granted, and not waited for.
    Refused {
        /// Why.
        why: &'static str,
    },
    /// A write of the node reaches the thing that the lock protects.
    Wrote {
        /// Under which fence.
        #[serde(serialize_with = "term_and_count")]
        fence: Fence,
        /// Whether it was let through.
        accepted: bool,
    },
}

/// The same of what is done about a lock; the second word has room for another byte.
pub(super) fn digest(deed: &Deed) -> (u64, u64, u64) {
    let word =
        |fence: &Fence| mix(fence.count.0 ^ mix(u64::from(fence.term.number) << 32 | u64::from(fence.term.by.0)));
    match deed {
        Deed::Asks { trying } => (0, u64::from(*trying), 0),
        Deed::Renews => (1, 0, 0),
        Deed::Releases => (2, 0, 0),
        Deed::Cancels => (3, 0, 0),
        Deed::Waits { ahead } => (4, u64::from(*ahead), 0),
        Deed::Acquired { fence } => (5, word(fence), 0),
        Deed::Renewed { fence } => (6, word(fence), 0),
        Deed::Shared { other } => (7, u64::from(*other), 0),
        Deed::Expiring => (8, 0, 0),
        Deed::Lost => (9, 0, 0),
        Deed::Released => (10, 0, 0),
        Deed::Refused { why } => (11, word_of(why), 0),
        Deed::Wrote { fence, accepted } => (12, word(fence), u64::from(*accepted)),
    }
}

fn term_and_count<S: Serializer>(fence: &Fence, serializer: S) -> Result<S::Ok, S::Error> {
    let Fence { term, count } = fence;
    serializer.collect_str(&format_args!("{}.{}:{}", term.number, term.by.0, count.0))
}
