//! The link: both halves of reliable delivery, routes, relaying, and when a message leaves.
//!
//! Outgoing messages queue here until due. An unreliable message is sent once. A reliable message is retransmitted until
//! every recipient has acknowledged it ([`Ack`]), and is delivered in order and exactly once per pair of boots
//! (`session`). It may take several hops: it names the members that relay it (`relay`), and acknowledgements return the
//! same way, joined (`ack`).
//!
//! Order needs no window: a reliable message to a node is not sent before that node has acknowledged the one before it,
//! so the reader keeps one sequence number per origin and stream. A control message is worth a round trip. Elections and
//! leases are a stream of their own, and leave first: they do not wait for a lock.
//!
//! # Routes
//! The next hop to a member is the neighbour from which the newest word of that member's heartbeats came first
//! (`PeerTable::next_hop`), after B.A.T.M.A.N. (D. Johnson, N. Ntlatlapa, C. Aichele: Simple pragmatic approach to
//! mesh routing using BATMAN, 2008). Counts only grow, so the next hops to one member form no loop while counts are
//! equal; the hop limit ends what goes round meanwhile. A message to a member without a known way waits for one: its
//! heartbeats bring it, or it is suspected and the message abandoned.
//!
//! # Congestion
//! The wait for an acknowledgement follows the round trips (`round_trip`) and doubles while nobody answers: for locks and
//! applications from the second silent round on. Their messages to many wait a round for the recipients that have not
//! acknowledged the one before, so that one frame serves all; in a crowd its recipients reply one after the other, and one that is
//! sent a message again sends the reply that it has for the origin again, with the acknowledgement. In one range a frame
//! of acknowledgements repeats those of a short while before. Where messages of locks and applications go unacknowledged
//! again and again, their pace falls (`pace`).
//!
//! # Limits
//! A member queues 24 own messages, a node without a group 10 ([`Membership::Queue`]); `RELAYS_MAX` of other nodes. An
//! unreliable message that finds no room, or whose room a reliable one needs, is dropped. So that replies find room, the
//! link accepts no reliable message while there is room for fewer than [`REPLIES_MAX`] of its own: it does not
//! acknowledge, and the origin retransmits. Nodes that all wait for each other's acknowledgements like this would
//! deadlock; so a link whose messages stay unacknowledged for `STALLED_RETRIES` retries accepts all the same. If the
//! queue is then still full, the link drops the message that has gone unacknowledged longest and reports its recipients
//! as unreachable; if there is none, it reports the recipients of the new message. Only a reliable message to a
//! neighbour that finds no room stops the node: nothing reports unreachable neighbours to the stages.
//!
//! A message is abandoned after some retries, or when its recipient is suspected (`Link::abandon`): messages to a
//! crashed node must not fill the queue. The stages learn who is unreachable, not which message was lost.

use crate::algorithm::Scope;
use crate::base::config::Moment;
use crate::base::ids::{NodeId, NodeSet, RosterView};
use crate::base::lamport::LamportTime;
use crate::base::membership::{Membership, Queue};
use crate::base::time::{Duration, Instant, earliest};
use crate::peers::table::PeerTable;
use crate::wire::{FRAME_MAX, Payload, Recipients, Relays};
use ack::Carrier;
pub use ack::{Ack, Acks, Refusal};
use pace::Pace;
use pending::{HeaderRoom, MEMBER_RETRIES, Pending};
use relay::RelayQueue;
use round_trip::RoundTrip;
pub(crate) use send::Precedence;
pub(crate) use session::Stream;
use session::Streams;

mod ack;
mod pace;
mod pending;
mod receive;
mod relay;
mod round_trip;
mod send;
mod session;

/// How many reliable messages a node may send in reply to one.
pub const REPLIES_MAX: usize = 4;
/// The longest body of a reliable message: a frame less the longest header, which names one boot and one relay.
pub const RELIABLE_MAX: usize = FRAME_MAX - 65;
/// How many hops the first wait for an acknowledgement allows for.
const HOPS_TIMED: u8 = 4;
/// How long an acknowledgement waits to be taken along, in units of jitter.
const HOLD_JITTERS: u32 = 3;
/// After how many retries without an acknowledgement a link takes its peers to be stalled like itself.
const STALLED_RETRIES: u8 = 4;
const _: () = assert!(STALLED_RETRIES < MEMBER_RETRIES, "it accepts messages again before it abandons a recipient");

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

    /// The members to which a way is known.
    fn reachable(&self, set: NodeSet) -> NodeSet {
        let reachable = |slot: &usize| self.hops <= 1 || self.peers.next_hop(Some(*slot)).is_some();
        set.slots().filter(reachable).fold(NodeSet::EMPTY, |set, slot| set.with(NodeSet::slot(slot)))
    }

    /// As many of these as one frame can name the relays of, and those relays; the others take another frame.
    fn route(&self, set: NodeSet, room: HeaderRoom) -> (NodeSet, Relays) {
        if self.hops <= 1 {
            return (set, Relays::Nobody);
        }
        let (mut routed, mut relays) = (NodeSet::EMPTY, Relays::Nobody);
        for slot in set.slots() {
            let next = self.peers.next_hop(Some(slot)).unwrap_or(slot);
            let more = if next == slot { Some(relays) } else { relays.with(next) };
            let fits = |relays: &Relays| room.names_two() || !matches!(relays, Relays::Two(..));
            if let Some(more) = more.filter(fits) {
                (routed, relays) = (routed.with(NodeSet::slot(slot)), more);
            }
        }
        (routed, relays)
    }

    /// The member that carries acknowledgements to a node; `None` where the node is in range, or no way is known.
    fn via(&self, id: NodeId) -> Option<u8> {
        let slot = self.peers.group().slot_of(id).filter(|_| self.hops > 1);
        let next = self.peers.next_hop(slot).filter(|&next| Some(next) != slot)?;
        u8::try_from(next).ok()
    }

    /// How long to wait until these have acknowledged a message.
    fn patience(&self, set: NodeSet, trips: &[RoundTrip]) -> Duration {
        let timing = self.moment.timing;
        let hop = timing.reflood_interval.times(u32::from(self.hops.saturating_sub(1).min(HOPS_TIMED)));
        let first = timing.retry.plus(timing.jitter.times(HOLD_JITTERS.saturating_mul(2))).plus(hop);
        let waits = set.slots().filter_map(|slot| trips.get(slot)).map(|trip| trip.wait(timing.retry, first));
        let others = set.len().saturating_sub(1).min(self.crowd);
        waits.max().unwrap_or(first).plus(timing.jitter.times(others.saturating_mul(2)))
    }

    /// Returns whether a message names the present boot of this node.
    fn names_me(&self, recipients: &Recipients) -> bool {
        match recipients {
            Recipients::Node(node) => node.id == self.me && node.incarnation == self.incarnation,
            Recipients::Members { set, boots, .. } => {
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
#[derive(Clone)]
pub(crate) struct Link<P: Payload, const N: usize, G: Membership> {
    queue: G::Queue<Pending<P>>,
    /// The sequence number of the last own reliable message.
    seq: u32,
    streams: Streams<N>,
    /// When to send the acknowledgements that are owed.
    acks_at: Option<Instant>,
    /// What it relays for others, and how long they take to acknowledge: only in a group.
    relays: G::PerMember<RelayQueue, 1>,
    carrier: G::PerMember<Carrier, 1>,
    trips: G::PerMember<RoundTrip, N>,
    refusal: Option<Refusal>,
    /// The origin of the last message to many, and when it is this node's turn to reply to it, in a crowd.
    turn: (NodeSet, Instant),
    pace: Pace,
    /// When a message may leave that waits for nothing but the pace, or for one frame to serve all its recipients.
    paced_until: Option<Instant>,
    /// Members that became unreachable since last asked.
    unreachable: NodeSet,
}

impl<P: Payload, const N: usize, G: Membership> Link<P, N, G> {
    /// A link on which nothing was ever sent.
    #[must_use]
    pub(crate) fn new() -> Self {
        Self {
            queue: G::Queue::EMPTY,
            seq: 0,
            streams: Streams::new(),
            acks_at: None,
            relays: G::per_member(RelayQueue::new()),
            carrier: G::per_member(Carrier::EMPTY),
            trips: G::per_member(RoundTrip::UNKNOWN),
            refusal: None,
            turn: (NodeSet::EMPTY, Instant::ZERO),
            pace: Pace::FIRST,
            paced_until: None,
            unreachable: NodeSet::EMPTY,
        }
    }

    /// Returns whether there is room for the replies to one more reliable message.
    #[must_use]
    pub(crate) fn has_room(&self) -> bool {
        let queue = self.queue.list();
        self.unacked() <= queue.capacity().saturating_sub(REPLIES_MAX)
            || queue.iter().any(|pending| pending.retries() >= STALLED_RETRIES)
    }

    /// The sequence number of the last own reliable message.
    pub(crate) const fn last_seq(&self) -> u32 {
        self.seq
    }

    /// How many own reliable messages wait for acknowledgements.
    #[must_use]
    pub(crate) fn unacked(&self) -> usize {
        self.queue.list().iter().filter(|pending| pending.reliable.is_some()).count()
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
        self.streams.end(set);
    }

    /// Holds back own messages of locks and applications until then.
    pub(crate) fn hold(&mut self, until: Instant) {
        self.pace.hold(until);
    }

    /// Abandons what is queued for these nodes of `scope`.
    pub(crate) fn abandon(&mut self, scope: Scope, set: NodeSet) {
        for pending in self.queue.list_mut().iter_mut() {
            if pending.scope == scope {
                pending.acknowledged(set);
            }
        }
        self.remove_completed();
    }

    /// Removes the messages that every recipient has acknowledged or that were abandoned.
    fn remove_completed(&mut self) {
        self.queue.list_mut().retain(|pending| !pending.to.is_empty());
    }

    /// When to poll again.
    #[must_use]
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let own = self.queue.list().iter().filter(|pending| pending.is_timed()).map(|pending| pending.due).min();
        let own = earliest(own, self.paced_until);
        let relays = self.relays.as_ref().first().and_then(RelayQueue::deadline);
        let carried = self.carrier.as_ref().first().and_then(Carrier::deadline);
        earliest(earliest(own, self.acks_at), earliest(relays, carried))
    }
}

impl<P: Payload, const N: usize, G: Membership> core::fmt::Debug for Link<P, N, G> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let (seq, unacked) = (self.seq, self.unacked());
        f.debug_struct("Link").field("seq", &seq).field("unacked", &unacked).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
