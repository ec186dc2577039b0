//! Mutual exclusion: which node may use a shared resource.
//!
//! Every lock keeps one contract. The application requests a lock by name and for a time with a [`Command`] and gets
//! its answers as [`Notice`]s. A grant is a lease, because a holder may crash; and it carries a [`Fence`], because a
//! holder may sleep past the end of its lease and go on as if nothing had happened. No algorithm prevents that: the
//! shared resource must refuse every fence older than the highest it has seen ([`FencedResource`]). Without fences a
//! lock saves work; with them it keeps data safe.
//!
//! [`NoMutex`] is a node without locks.

use crate::algorithm::{Algorithm, Context, Input, Outbox, Scope};
use crate::base::ids::NodeSet;
use crate::base::lamport::LamportTime;
use crate::base::time::{Duration, Instant};
use crate::wire::{self, NoMessage};
use serde::{Deserialize, Serialize};

pub mod central;
pub mod client;
mod fence;
mod fence_numbers;
pub mod lamport;
mod loopback;
pub mod maekawa;
pub mod permission;
pub mod raymond;
mod renewal_votes;
pub mod ricart_agrawala;
pub mod suzuki_kasami;
#[cfg(test)]
pub(crate) mod test_support;
pub mod token;
pub mod token_ring;
pub mod voting;

pub use central::Central;
pub use client::{LOCKS_MAX, LockClient};
pub use fence::{Fence, FencedResource, Outdated};
pub use lamport::Lamport;
pub use maekawa::Maekawa;
pub use raymond::Raymond;
pub use ricart_agrawala::RicartAgrawala;
pub use suzuki_kasami::SuzukiKasami;
pub use token_ring::TokenRing;
pub use voting::Voting;

/// The identifier of a lock on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct LockId(u32);

impl LockId {
    /// Returns the identifier of the lock called `name`: its FNV-1a hash. Among a thousand names, two collide with a
    /// probability of one in ten thousand, which costs waiting, never safety.
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

    /// Makes an identifier of its number.
    #[must_use]
    pub const fn from_number(number: u32) -> Self {
        Self(number)
    }

    /// Returns the identifier as a number.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0
    }
}

/// A command of the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[expect(missing_docs, reason = "the fields are the lock, the length of the lease and of the wait")]
pub enum Command {
    /// Requests the lock and waits for it. `lease` is at most [`crate::Timing::lock_lease`]; the holder counts it from
    /// the latest moment at which the lock surely was not granted yet, so a slow grant is a short one.
    Acquire { lock: LockId, lease: Duration },
    /// Requests the lock and waits for it for `wait` at most: then the request is withdrawn, and refused as
    /// [`Refusal::TimedOut`].
    AcquireWithin { lock: LockId, lease: Duration, wait: Duration },
    /// Requests the lock, to be granted now or refused.
    Try { lock: LockId, lease: Duration },
    /// Requests to keep the lock for `lease` from now.
    Renew { lock: LockId, lease: Duration },
    /// Gives the lock back.
    Release { lock: LockId },
    /// Withdraws a request that waits.
    Cancel { lock: LockId },
}

impl Command {
    /// Returns whether the command needs messages to other nodes before it is answered; giving up a lock or a request
    /// never has to wait for room.
    pub(crate) const fn is_request(&self) -> bool {
        match self {
            Self::Acquire { .. } | Self::AcquireWithin { .. } | Self::Try { .. } | Self::Renew { .. } => true,
            Self::Release { .. } | Self::Cancel { .. } => false,
        }
    }

    /// Returns the lock the command is about.
    #[must_use]
    pub const fn lock(&self) -> LockId {
        match *self {
            Self::Acquire { lock, .. }
            | Self::AcquireWithin { lock, .. }
            | Self::Try { lock, .. }
            | Self::Renew { lock, .. }
            | Self::Release { lock }
            | Self::Cancel { lock } => lock,
        }
    }
}

/// A notice to the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[expect(missing_docs, reason = "the sentence of each notice names its fields")]
pub enum Notice {
    /// This node holds the lock until `until`, by its own clock. Every use of the shared resource carries `fence`.
    Acquired { lock: LockId, fence: Fence, until: Instant },
    /// The request waits; `ahead` requests come first, as far as is known. It was received: silence means failure.
    Waiting { lock: LockId, ahead: u8 },
    /// The command was refused.
    Refused { lock: LockId, reason: Refusal },
    /// The lease ends soon: renew it, or finish before `until`.
    Expiring { lock: LockId, until: Instant },
    /// The lock is lost: unfinished work must not be finished.
    Lost { lock: LockId },
    /// The lock was released.
    Released { lock: LockId },
}

/// The reason of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Refusal {
    /// This node has requested the lock already, or holds it: locks are not reentrant.
    Reentry,
    /// Another node holds the lock, and the command was [`Command::Try`].
    Busy,
    /// A table is full: this node's locks, or a peer's queue.
    Full,
    /// This node does not hold the lock, or has not requested it.
    NotHeld,
    /// The lease is zero, or longer than [`crate::Timing::lock_lease`].
    Lease,
    /// The application cancelled the request.
    Cancelled,
    /// This node is not in the view: it has just started, or was removed.
    Outside,
    /// This node has no locks.
    NoLocks,
    /// The request waited for as long as [`Command::AcquireWithin`] allows.
    TimedOut,
}

impl Refusal {
    /// All reasons.
    pub const ALL: [Self; 9] = [
        Self::Reentry,
        Self::Busy,
        Self::Full,
        Self::NotHeld,
        Self::Lease,
        Self::Cancelled,
        Self::Outside,
        Self::NoLocks,
        Self::TimedOut,
    ];

    /// Returns the reason as a clause for people.
    #[must_use]
    pub const fn description(self) -> &'static str {
        match self {
            Self::Reentry => "it was already requested",
            Self::Busy => "another node holds it",
            Self::Full => "there is no room",
            Self::NotHeld => "it is not held",
            Self::Lease => "the lease is out of range",
            Self::Cancelled => "the request was cancelled",
            Self::Outside => "this node is not in the view",
            Self::NoLocks => "this node has no locks",
            Self::TimedOut => "it was not granted in time",
        }
    }
}

/// A mutual exclusion algorithm.
pub trait Mutex: Algorithm<Message: wire::Payload, Command = Command, Notice = Notice> {
    /// Whether the node has a lock.
    const PRESENT: bool = true;

    /// Returns the fence under which this node holds `lock` at `now`: to be called before every use of the resource.
    fn holds(&self, lock: LockId, now: Instant) -> Option<Fence>;

    /// Returns whether the algorithm works in `group`: called when the group is built.
    fn supports(&self, _group: NodeSet) -> bool {
        true
    }

    /// Over how many hops its messages may go: called when the group is built. A lock that asks many members for every entry
    /// floods a network of several hops with its questions and their acknowledgements, and then serves nobody.
    fn hops_max(&self) -> u8 {
        u8::MAX
    }

    /// Resumes after a reboot before which nothing above `floor` was agreed to. A lock whose fences carry terms ignores
    /// it.
    fn resume(&mut self, _floor: LamportTime) {}

    /// Returns the highest number this lock has agreed to: a reboot must not fall behind it.
    fn floor(&self) -> LamportTime {
        LamportTime(0)
    }
}

/// A node without locks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct NoMutex;

impl Algorithm for NoMutex {
    type Message = NoMessage;
    type Command = Command;
    type Notice = Notice;

    fn scope(&self) -> Scope {
        Scope::Nobody
    }

    fn handle(&mut self, _: &Context<'_>, input: Input<NoMessage, Command>, out: &mut Outbox<NoMessage, Notice>) {
        match input {
            Input::Command(command) => {
                out.notify(Notice::Refused { lock: command.lock(), reason: Refusal::NoLocks });
            }
            Input::Message { message, .. } => match message {},
            Input::Fact(_) | Input::Timeout => {} // there is no state
        }
    }

    fn deadline(&self) -> Option<Instant> {
        None
    }
}

impl crate::base::options::Configurable for NoMutex {}

impl Mutex for NoMutex {
    const PRESENT: bool = false;

    fn holds(&self, _: LockId, _: Instant) -> Option<Fence> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m3_locks_differ_by_their_names() {
        let names = ["printer", "table:students", "", "a", "b"].map(LockId::from_name);
        for (index, name) in names.iter().enumerate() {
            assert_eq!(names.iter().position(|other| other == name), Some(index));
        }
        assert_eq!(LockId::from_name("a"), LockId(0xE40C_292C), "the hash is FNV-1a, part of the wire format");
    }
}
