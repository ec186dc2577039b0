//! Mutual exclusion: who may touch a shared thing.
//!
//! Every lock keeps one contract, whatever algorithm is behind it. An application asks by [`Command`] for a lock by
//! name, for a time, and is told by [`Notice`]. A grant has an end, because a holder may crash; and it has a [`Fence`],
//! because a holder may sleep through that end and go on as if nothing had happened. No algorithm can prevent that: the
//! shared thing itself must refuse whoever comes with an older fence than it has seen ([`FencedResource`]). Without
//! fences a lock saves work; with them it keeps data safe.
//!
//! [`NoMutex`] is a node without any lock.

use crate::algorithm::{Algorithm, Context, Input, Outbox, Scope};
use crate::clock::Stamp;
use crate::group::NodeSet;
use crate::time::{Instant, Span};
use crate::wire::{self, Silence};

mod any;
pub mod central;
pub mod claims;
pub mod consent;
pub mod docket;
mod fence;
pub mod keeper;
pub mod lamport;
pub mod maekawa;
mod numbers;
mod post;
pub mod raymond;
pub mod ricart_agrawala;
pub mod token_ring;
pub mod voting;

pub use any::{AnyMessage, AnyMutex};
pub use central::Central;
pub use claims::{Claims, LOCKS_MAX};
pub use fence::{Fence, FencedResource, Outdated};
pub use lamport::Lamport;
pub use maekawa::Maekawa;
pub use raymond::Raymond;
pub use ricart_agrawala::RicartAgrawala;
use serde::{Deserialize, Serialize};
pub use token_ring::TokenRing;
pub use voting::Voting;

/// A lock's name, as it travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct LockId(u32);

impl LockId {
    /// The lock called `name`. Names are hashed (FNV-1a): of a thousand names two share a lock with a chance of one in
    /// ten thousand, which costs waiting, never safety.
    #[must_use]
    pub const fn from_name(name: &str) -> Self {
        let mut hash = 0x811C_9DC5_u32;
        let mut rest = name.as_bytes();
        while let [first, tail @ ..] = rest {
            #[expect(clippy::as_conversions, reason = "u32::from is not const")]
            let byte = *first as u32;
            hash = (hash ^ byte).wrapping_mul(0x0100_0193);
            rest = tail;
        }
        Self(hash)
    }

    /// The lock of this number.
    #[must_use]
    pub const fn from_number(number: u32) -> Self {
        Self(number)
    }

    /// Its number.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0
    }
}

/// What the application asks of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Command {
    /// Grant me the lock, however long it takes, for `lease`: counted by the holder from the latest moment at which it
    /// surely was not granted yet, so that a slow grant is a short one.
    Acquire {
        /// Which.
        lock: LockId,
        /// For how long; at most [`crate::Timing::lock_lease`].
        lease: Span,
    },
    /// Grant me the lock now, or refuse.
    Try {
        /// Which.
        lock: LockId,
        /// For how long.
        lease: Span,
    },
    /// Let me keep the lock for `lease` from now.
    Renew {
        /// Which.
        lock: LockId,
        /// For how long.
        lease: Span,
    },
    /// I need the lock no more.
    Release {
        /// Which.
        lock: LockId,
    },
    /// I do not want the lock any more that I asked for.
    Cancel {
        /// Which.
        lock: LockId,
    },
}

impl Command {
    /// Whether it asks for something that others must be written to about; giving up what one has, never has to wait.
    #[must_use]
    pub const fn asks(&self) -> bool {
        match self {
            Self::Acquire { .. } | Self::Try { .. } | Self::Renew { .. } => true,
            Self::Release { .. } | Self::Cancel { .. } => false,
        }
    }

    /// Which lock it is about.
    #[must_use]
    pub const fn lock(&self) -> LockId {
        match *self {
            Self::Acquire { lock, .. }
            | Self::Try { lock, .. }
            | Self::Renew { lock, .. }
            | Self::Release { lock }
            | Self::Cancel { lock } => lock,
        }
    }
}

/// What the application is told by a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Notice {
    /// This node holds the lock until then, by its own clock.
    Acquired {
        /// Which.
        lock: LockId,
        /// What to show the shared thing.
        fence: Fence,
        /// Until when.
        until: Instant,
    },
    /// Asked for and not granted yet: others come first. Whoever is told so has been heard; silence means failure.
    Waiting {
        /// Which.
        lock: LockId,
        /// How many come first, as far as is known.
        ahead: u8,
    },
    /// Not granted, and not waited for.
    Refused {
        /// Which.
        lock: LockId,
        /// Why.
        why: Refusal,
    },
    /// The lock will be lost soon: renew it or finish.
    Expiring {
        /// Which.
        lock: LockId,
        /// When.
        until: Instant,
    },
    /// The lock is lost: whatever was not finished must not be.
    Lost {
        /// Which.
        lock: LockId,
    },
    /// The lock was given back.
    Released {
        /// Which.
        lock: LockId,
    },
}

/// Why a command was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Refusal {
    /// This node has asked for it already, or holds it: a lock is not entered twice.
    Reentry,
    /// Somebody else holds it, and it was only tried.
    Busy,
    /// There is no room for another lock, or in somebody's queue.
    Full,
    /// This node does not hold it, or has not asked for it.
    NotHeld,
    /// The lease is zero, or longer than any may be.
    Lease,
    /// The application took it back.
    Cancelled,
    /// This node does not count at present: it has just started, or was left out of the view.
    Outside,
    /// This node has no locks.
    NoLocks,
}

impl Refusal {
    /// Every reason there is.
    pub const ALL: [Self; 8] = [
        Self::Reentry,
        Self::Busy,
        Self::Full,
        Self::NotHeld,
        Self::Lease,
        Self::Cancelled,
        Self::Outside,
        Self::NoLocks,
    ];

    /// It in a few words, for people.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Reentry => "it was asked for already",
            Self::Busy => "somebody else holds it",
            Self::Full => "there is no room for another",
            Self::NotHeld => "it is not held",
            Self::Lease => "no lease is that long, or that short",
            Self::Cancelled => "it is not wanted any more",
            Self::Outside => "this node does not count at present",
            Self::NoLocks => "this node has no locks",
        }
    }
}

/// An algorithm that locks.
pub trait Mutex: Algorithm<Message: wire::Message, Command = Command, Notice = Notice> {
    /// The fence under which this node holds `lock` at `now`: to be asked before every use of the shared thing.
    fn holds(&self, lock: LockId, now: Instant) -> Option<Fence>;

    /// Whether it can work in a group of these: asked when the group is built.
    fn suits(&self, _group: NodeSet) -> bool {
        true
    }

    /// Goes on after a reboot: nothing above `stamp` was agreed to before it. Nothing to do where fences come from terms.
    fn resume(&mut self, _stamp: Stamp) {}

    /// The highest number this lock has agreed to: a reboot must not fall behind it.
    fn floor(&self) -> Stamp {
        Stamp(0)
    }
}

/// No lock at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct NoMutex;

impl Algorithm for NoMutex {
    type Message = Silence;
    type Command = Command;
    type Notice = Notice;

    const GROUP: bool = false;

    fn scope(&self) -> Scope {
        Scope::Nobody
    }

    fn handle(&mut self, _: &Context<'_>, input: Input<Silence, Command>, out: &mut Outbox<Silence, Notice>) {
        match input {
            Input::Command(command) => {
                out.notify(Notice::Refused { lock: command.lock(), why: Refusal::NoLocks });
            }
            Input::Message { message, .. } => match message {},
            Input::Fact(_) | Input::Timeout => {} // nothing waits for either
        }
    }

    fn deadline(&self) -> Option<Instant> {
        None
    }
}

impl Mutex for NoMutex {
    fn holds(&self, _: LockId, _: Instant) -> Option<Fence> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m3_locks_are_told_apart_by_their_names() {
        let names = ["printer", "table:students", "", "a", "b"].map(LockId::from_name);
        for (place, name) in names.iter().enumerate() {
            assert_eq!(names.iter().position(|other| other == name), Some(place));
        }
        assert_eq!(LockId::from_name("a"), LockId(0xE40C_292C), "the hash is FNV-1a, and travels");
    }
}
