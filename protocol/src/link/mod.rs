//! The link: both halves of reliable delivery, relaying, and when a message leaves.
//!
//! Outgoing messages queue here until due. An unreliable message is sent once. A reliable message is retransmitted until
//! every recipient has acknowledged it ([`Ack`]), and is delivered in order and exactly once per pair of boots
//! (`session`). It may take several hops: nodes in between relay messages and acknowledgements.
//!
//! Order needs no window: a reliable message to a node is not sent before that node has acknowledged the one before it,
//! so the reader keeps one sequence number per origin. A control message is worth a round trip.
//!
//! # Limits
//! `QUEUE_MAX` own messages are queued, `RELAYS_MAX` of other nodes. An unreliable message that finds no room, or
//! whose room a reliable one needs, is dropped. So that replies find room, the link accepts no reliable message while
//! there is room for fewer than [`REPLIES_MAX`] of its own: it does not acknowledge, and the origin retransmits. Nodes
//! that all wait for each other's acknowledgements like this would deadlock; so a link whose messages stay unacknowledged
//! for `STALLED_RETRIES` retries accepts all the same. If the queue is then still full, the link drops the message that
//! has gone unacknowledged longest and reports its recipients as unreachable; if there is none, it reports the recipients
//! of the new message. Only a reliable message to a neighbour that finds no room stops the node: nothing reports
//! unreachable neighbours to the stages.
//!
//! A message is abandoned after some retries, or when its recipient is suspected (`Link::abandon`): messages to a
//! crashed node must not fill the queue. The stages learn who is unreachable, not which message was lost.

use crate::algorithm::Scope;
use crate::base::config::Moment;
use crate::base::ids::{NodeId, NodeSet, RosterView};
use crate::base::lamport::LamportTime;
use crate::base::time::{Instant, earliest};
use crate::peers::table::PeerTable;
use crate::wire::{FRAME_MAX, Payload, Recipients};
use heapless::Vec;
use pending::{MEMBER_RETRIES, Pending};
use relay::Relays;
use serde::{Deserialize, Serialize};
use session::Sessions;

mod pending;
mod receive;
mod relay;
mod send;
mod session;

/// How many own messages are queued.
pub(crate) const QUEUE_MAX: usize = 10;
/// How many reliable messages a node may send in reply to one.
pub const REPLIES_MAX: usize = 4;
/// How many own reliable messages may be unacknowledged where one more is accepted.
pub(crate) const UNACKED_MAX: usize = QUEUE_MAX - REPLIES_MAX;
const _: () = assert!(UNACKED_MAX > 0, "a node that waits for no acknowledgement must accept messages");
/// How many acknowledgements are queued.
const ACKS_MAX: usize = 4;
/// The longest body of a reliable message: a frame less the longest header, which names one boot.
pub const RELIABLE_MAX: usize = FRAME_MAX - 65;
/// After how many retries without an acknowledgement a link takes its peers to be stalled like itself.
const STALLED_RETRIES: u8 = 4;
const _: () = assert!(STALLED_RETRIES < MEMBER_RETRIES, "it accepts messages again before it abandons a recipient");

/// The acknowledgement of a reliable message, or its refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ack {
    /// The origin of the message.
    pub origin: NodeId,
    /// The origin's incarnation.
    pub incarnation: u32,
    /// The message's sequence number.
    pub seq: u32,
    /// Which attempt arrived.
    pub attempt: u8,
    /// The recipient that acknowledges.
    pub by: NodeId,
    /// Its incarnation.
    pub boot: u32,
    /// Whether it has the message: it refuses one for another boot.
    pub accepted: bool,
    /// How many hops the acknowledgement may still take.
    pub hop_limit: u8,
}

/// What the link knows of the node it serves.
#[derive(Clone, Copy)]
pub(crate) struct LinkContext<'a, const N: usize> {
    /// This node.
    pub me: NodeId,
    /// This boot.
    pub incarnation: u32,
    /// How many hops a reliable message may take.
    pub hops: u8,
    /// Its peers.
    pub peers: &'a PeerTable<N>,
    /// How many others contend for the air when this node sends.
    pub crowd: u32,
    /// Time, timing and a random number.
    pub moment: Moment<'a>,
}

impl<'a, const N: usize> LinkContext<'a, N> {
    fn roster(&self) -> RosterView<'a> {
        self.peers.roster()
    }

    /// The members of the group.
    fn group(&self) -> NodeSet {
        self.peers.group().all()
    }

    /// This node in its group.
    fn myself(&self) -> NodeSet {
        self.peers.group().set_of(self.me)
    }

    pub(crate) fn is_for_me(&self, recipients: &Recipients) -> bool {
        match recipients {
            Recipients::Node(node) => node.id == self.me,
            Recipients::Members { set, .. } => set.meets(self.myself()),
        }
    }

    fn is_for_others(&self, recipients: &Recipients) -> bool {
        match recipients {
            Recipients::Node(node) => node.id != self.me,
            Recipients::Members { set, .. } => !set.without(self.myself()).is_empty(),
        }
    }

    /// Returns whether a message names the present boot of this node.
    fn names_me(&self, recipients: &Recipients) -> bool {
        match recipients {
            Recipients::Node(node) => node.id == self.me && node.incarnation == self.incarnation,
            Recipients::Members { set, boots } => {
                let me = self.myself();
                set.slots().zip(boots).any(|(slot, &boot)| NodeSet::slot(slot) == me && boot == self.incarnation)
            }
        }
    }
}

/// The queue was full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full;

/// Where a message goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outgoing {
    /// The roster that `to` is a set of.
    pub scope: Scope,
    /// The recipients.
    pub to: NodeSet,
    /// The Lamport time of the step that sent it.
    pub sent_at: LamportTime,
}

/// The link of one node with room for `N` peers.
#[derive(Clone, Debug)]
pub(crate) struct Link<P, const N: usize> {
    queue: Vec<Pending<P>, QUEUE_MAX, u8>,
    relays: Relays,
    acks: Vec<Ack, ACKS_MAX, u8>,
    /// The sequence number of the last own reliable message.
    seq: u32,
    sessions: Sessions<N>,
    /// Members that became unreachable since last asked.
    unreachable: NodeSet,
}

impl<P: Payload, const N: usize> Link<P, N> {
    /// A link on which nothing was ever sent.
    #[must_use]
    pub(crate) const fn new() -> Self {
        Self {
            queue: Vec::new(),
            relays: Relays::new(),
            acks: Vec::new(),
            seq: 0,
            sessions: Sessions::new(),
            unreachable: NodeSet::EMPTY,
        }
    }

    /// Returns whether there is room for the replies to one more reliable message.
    #[must_use]
    pub(crate) fn has_room(&self) -> bool {
        self.unacked() <= UNACKED_MAX || self.queue.iter().any(|pending| pending.retries() >= STALLED_RETRIES)
    }

    /// How many own reliable messages wait for acknowledgements.
    #[must_use]
    pub(crate) fn unacked(&self) -> usize {
        self.queue.iter().filter(|pending| pending.reliable.is_some()).count()
    }

    /// Returns whether members became unreachable since [`Link::take_unreachable`].
    #[must_use]
    pub(crate) const fn has_unreachable(&self) -> bool {
        !self.unreachable.is_empty()
    }

    /// The members that became unreachable since the last call.
    pub(crate) fn take_unreachable(&mut self) -> NodeSet {
        core::mem::take(&mut self.unreachable)
    }

    /// Ends the sessions with these peers: they are in another boot now.
    pub(crate) fn end_sessions(&mut self, set: NodeSet) {
        self.sessions.end(set);
    }

    /// Abandons what is queued for these nodes of `scope`.
    pub(crate) fn abandon(&mut self, scope: Scope, set: NodeSet) {
        for pending in &mut self.queue {
            if pending.scope == scope {
                pending.acknowledged(set);
            }
        }
        self.remove_completed();
    }

    /// Removes the messages that every recipient has acknowledged or that were abandoned.
    fn remove_completed(&mut self) {
        self.queue.retain(|pending| !pending.to.is_empty());
    }

    /// When to poll again.
    #[must_use]
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let own = self.queue.iter().filter(|pending| pending.is_timed()).map(|pending| pending.due).min();
        earliest(own, self.relays.deadline())
    }
}

impl<P: Payload, const N: usize> Default for Link<P, N> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests;
