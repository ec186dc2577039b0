//! Services: the last stage of a node, which runs an application and observes it.
//!
//! A node has at most one service, because its parts need one order of events: the markers of a snapshot and the
//! messages of the application share one stream, and a message is recorded before the application receives it.
//! [`app_service::AppService`] runs an [`application::Application`], one of this crate or one's own, with the observers
//! chosen for it: snapshots, termination detection, the shared clock. [`NoService`] costs nothing.
//!
//! The link reserves room for the reliable messages with which a lock replies to one. It reserves none for a service:
//! the node polls the service for its next reliable message ([`Service::poll_send`]) while the link has room. So no
//! application, however busy, blocks elections and locks.

pub mod app_service;
pub mod application;
pub mod clock_sync;
pub mod commit;
pub mod demo;
pub mod observer;
pub mod requests;
pub mod sequencer;
pub mod snapshot;
pub mod termination;
pub mod uplink;

pub use app_service::AppService;
pub use application::Application;
pub use commit::Commit;
pub use sequencer::Sequencer;

#[cfg(doc)]
use crate::algorithm::Fact;
use crate::algorithm::{Algorithm, Context, Input, OUTPUTS_MAX, Outbox, Scope};
use crate::base::ids::NodeId;
use crate::base::time::Instant;
use crate::wire::{self, NoMessage};
use core::convert::Infallible;
use heapless::Deque;
use serde::{Deserialize, Serialize};

/// Unacknowledged reliable messages in the link from which on the service is not polled for more.
pub(crate) const SERVICE_UNACKED_MAX: usize = 4;

/// Notices of a service that the host has not polled yet; the host polls them after every input.
pub type NoticeQueue<N> = Deque<N, { OUTPUTS_MAX + 4 }>;

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
    fn is_same_or_after(self, other: Self) -> bool {
        (self.initiator, self.incarnation) == (other.initiator, other.incarnation) && self.number >= other.number
    }
}

/// The last stage of a node.
///
/// [`Algorithm::handle`] sends no message of [`wire::Delivery::Reliable`]: these are left to [`Service::poll_send`].
pub trait Service: Algorithm<Message: wire::Payload, Notice: Clone> {
    /// Whether the node has a service.
    const PRESENT: bool = true;

    /// Whether it sends to neighbours on the way to the leader, and is to know which one is next ([`Fact::Parent`]).
    const ROUTED: bool = false;

    /// Whether it works only in mode *quorum*.
    const NEEDS_QUORUM: bool = false;

    /// Returns the neighbour on the way to the leader of the last `Fact::Leader`.
    fn parent(&self) -> Option<NodeId> {
        None
    }

    /// Starts in this incarnation of the node.
    fn resume(&mut self, _incarnation: u32) {}

    /// Takes over the log that an earlier boot wrote; the host calls it before it boots the node.
    fn restore(&mut self, _log: &[u8]) {}

    /// Returns whether its log changed and has to be written before anything is sent.
    fn log_due(&self) -> bool {
        false
    }

    /// Encodes the log into `buffer` and returns its length, if it has to be written: see
    /// [`Node::poll_log`](crate::Node::poll_log).
    fn poll_log(&mut self, _buffer: &mut [u8]) -> Option<usize> {
        None
    }

    /// Returns the shared time at local time `now`; `None` without a shared clock, or before it was set.
    fn time(&self, _now: Instant) -> Option<Instant> {
        None
    }

    /// Returns the queue of its notices; `None` for a service that has none.
    fn notices(&mut self) -> Option<&mut NoticeQueue<Self::Notice>>;

    /// Sends the next reliable message, if any; returns whether it did. Messages leave in the order of these calls.
    fn poll_send(&mut self, cx: &Context<'_>, out: &mut Outbox<Self::Message, Self::Notice>) -> bool;
}

/// The service of a node without one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct NoService;

impl Algorithm for NoService {
    type Message = NoMessage;
    type Command = Infallible;
    type Notice = Infallible;

    fn scope(&self) -> Scope {
        Scope::Nobody
    }

    fn handle(&mut self, _: &Context<'_>, _: Input<NoMessage, Infallible>, _: &mut Outbox<NoMessage, Infallible>) {}

    fn deadline(&self) -> Option<Instant> {
        None
    }
}

impl Service for NoService {
    const PRESENT: bool = false;

    fn notices(&mut self) -> Option<&mut NoticeQueue<Infallible>> {
        None
    }

    fn poll_send(&mut self, _: &Context<'_>, _: &mut Outbox<NoMessage, Infallible>) -> bool {
        false
    }
}
