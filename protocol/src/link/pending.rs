//! An own message until every recipient has acknowledged it or was abandoned.

use super::pace::Pace;
use super::round_trip::{RoundTrip, WAIT_MAX};
use super::session::Stream;
use super::{LinkContext, RELIABLE_MAX};
use crate::algorithm::Scope;
use crate::base::config::Moment;
use crate::base::ids::NodeSet;
use crate::base::lamport::LamportTime;
use crate::base::membership::Membership;
use crate::base::rng::jitter;
use crate::base::time::{CoarseInstant, Duration, Instant};
use crate::wire::{
    Attempt, BOOTS_MAX, Boots, Destination, NEIGHBOURS_MAX, Origin, Payload, Recipients, ReliableHeader,
};
use core::num::NonZeroU32;
use heapless::Vec;

/// How often a message to a neighbour is retried: an unreachable one is no neighbour any more.
pub(super) const NEIGHBOUR_RETRIES: u8 = 6;
/// How often a message to a member of the group is retried: the failure detector is to give up first.
pub(super) const MEMBER_RETRIES: u8 = 16;
/// How many bytes the name of a boot takes at most.
const BOOT_BYTES_MAX: usize = 5;
/// How many bytes the acknowledgement that a message takes along takes at most.
const ACK_BYTES_MAX: usize = 5;
/// How often the retransmission timeout doubles.
pub(super) const DOUBLINGS_MAX: u8 = 5;

/// A message that waits to be sent or acknowledged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending<P> {
    pub(super) message: P,
    pub(super) scope: Scope,
    /// The recipients that it still has to reach.
    pub(super) to: NodeSet,
    /// When it is sent; once a reliable message was sent, when it is retransmitted.
    pub(super) due: Instant,
    pub(super) reliable: Option<Retransmit>,
}

/// The state of a reliable message. A round sends it once to every recipient that has not acknowledged it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Retransmit {
    pub(super) seq: NonZeroU32,
    pub(super) sent_at: LamportTime,
    /// The recipients it was not sent to in this round: at its start, all.
    pub(super) unsent: NodeSet,
    /// How many rounds have started.
    pub(super) retries: u8,
    /// To how many recipients this round goes.
    pub(super) asked: u8,
    /// How many of them have started since a recipient last acknowledged it.
    pub(super) silent: u8,
    /// How many frames it took so far.
    pub(super) attempts: u8,
    /// When this round started.
    pub(super) started: CoarseInstant,
    /// Whether it has one recipient.
    pub(super) alone: bool,
}

impl Retransmit {
    /// How long its recipient took to acknowledge it, if it has one and was sent once.
    pub(super) fn took(&self, to: NodeSet, now: Instant) -> Option<Duration> {
        (self.retries == 1 && self.alone && to.len() == 1).then(|| self.started.elapsed(now))
    }
}

impl<P: Payload> Pending<P> {
    /// The stream it belongs to.
    pub(super) fn stream<G: Membership>(&self) -> Stream {
        Stream::of::<G>(self.message.kind())
    }

    /// These recipients have it, or are abandoned.
    pub(super) fn acknowledged(&mut self, set: NodeSet) {
        if let Some(retransmit) = &mut self.reliable {
            retransmit.unsent = retransmit.unsent.without(set);
            if self.to.meets(set) {
                retransmit.silent = 0;
            }
        }
        self.to = self.to.without(set);
    }

    /// These recipients refused it, as it was for another boot: it is sent to them again at once.
    pub(super) fn refused(&mut self, set: NodeSet) {
        if let Some(retransmit) = &mut self.reliable {
            retransmit.unsent = retransmit.unsent.with(set.and(self.to));
        }
    }

    /// Ends its round after the usual wait, however often it was doubled.
    pub(super) fn hurry(&mut self, now: Instant, wait: Duration) {
        if let Some(retransmit) = &self.reliable {
            self.due = self.due.min(now.after(wait.minus(retransmit.started.elapsed(now))));
        }
    }

    /// How many rounds it was tried in vain.
    pub(super) fn retries(&self) -> u8 {
        self.reliable.map_or(0, |retransmit| retransmit.retries)
    }

    /// Returns whether it waits for `due`, and not for an earlier message to be acknowledged.
    pub(super) fn is_timed(&self) -> bool {
        self.reliable.is_none_or(|retransmit| retransmit.unsent != self.to)
    }

    /// Until when it is held back, though these recipients are ready: others are not yet, and one frame may reach all.
    pub(super) fn held<G: Membership>(&self, ready: NodeSet, now: Instant) -> Option<Instant> {
        let retransmit = self.reliable.filter(|_| G::GROUPED && self.stream::<G>() == Stream::Others)?;
        let first = retransmit.alone && retransmit.retries == 0;
        Some(self.due).filter(|&due| due > now && (first || ready != retransmit.unsent))
    }

    /// Starts the next round when the timeout has passed, a bounded number of times; returns the members it abandons.
    pub(super) fn end_round<G: Membership>(&mut self, now: Instant, pace: &mut Pace) -> NodeSet {
        if self.due > now || !self.is_timed() {
            return NodeSet::EMPTY;
        }
        let Some(retransmit) = &mut self.reliable else { return NodeSet::EMPTY };
        // One loss is weather, two in a row are a crowd.
        if G::GROUPED && retransmit.retries > 1 && self.to.len().saturating_mul(2) > u32::from(retransmit.asked) {
            pace.fail();
        }
        retransmit.unsent = self.to;
        match self.scope {
            Scope::Neighbours if retransmit.retries >= NEIGHBOUR_RETRIES => {
                self.to = NodeSet::EMPTY;
                NodeSet::EMPTY
            }
            Scope::Group if retransmit.retries >= MEMBER_RETRIES => core::mem::take(&mut self.to),
            Scope::Neighbours | Scope::Group | Scope::Nobody => NodeSet::EMPTY,
        }
    }

    /// The destination of the next frame of this message, to some or all of `ready`; `open`: the recipients with an open
    /// session.
    pub(super) fn send<const N: usize, G: Membership>(
        &mut self,
        cx: &LinkContext<'_, N>,
        ready: NodeSet,
        open: NodeSet,
        bidirectional: NodeSet,
        trips: &[RoundTrip],
    ) -> Destination
    where
        P: Payload,
    {
        let Some(retransmit) = &mut self.reliable else { return self.send_unreliable(cx, bidirectional) };
        let (recipients, hop_limit, sent) = if !G::GROUPED || self.scope == Scope::Neighbours {
            let slot = ready.slots().next().unwrap_or(N);
            let (id, incarnation) = (cx.roster().id_of(slot).unwrap_or(cx.me), cx.peers.boot_of(slot));
            (Recipients::Node(Origin { id, incarnation }), 1, NodeSet::slot(slot))
        } else if ready.meets(open) {
            let (set, relays) = cx.route(ready.and(open), HeaderRoom::beside(&self.message));
            (Recipients::Members { set, boots: Boots::new(), relays }, cx.hops, set)
        } else {
            let (mut set, mut boots) = (NodeSet::EMPTY, Boots::new());
            let room = HeaderRoom::beside(&self.message);
            let (ready, relays) = cx.route(ready, room);
            for slot in ready.slots().take(room.boots()) {
                if boots.push(cx.peers.boot_of(slot)).is_ok() {
                    set = set.with(NodeSet::slot(slot));
                }
            }
            (Recipients::Members { set, boots, relays }, cx.hops, set)
        };
        let Retransmit { seq, sent_at, attempts: number, .. } = *retransmit;
        if retransmit.unsent == self.to {
            let Moment { now, random, .. } = cx.moment;
            let wait = if !G::GROUPED || self.scope == Scope::Neighbours {
                cx.moment.timing.retry
            } else {
                cx.patience(self.to, trips)
            };
            // One loss is weather: the wait of locks and applications doubles from the second on.
            let patient = u8::from(G::GROUPED && Stream::of::<G>(self.message.kind()) == Stream::Others);
            let doublings = retransmit.silent.saturating_sub(patient).min(DOUBLINGS_MAX);
            let wait = wait.doubled(doublings).min(WAIT_MAX.max(wait));
            self.due = now.after(wait.plus(jitter(wait.mul_ratio(1, 2), random)));
            retransmit.started = CoarseInstant::of(now);
            retransmit.asked = u8::try_from(self.to.len()).unwrap_or(u8::MAX);
            retransmit.retries = retransmit.retries.saturating_add(1);
            retransmit.silent = retransmit.silent.saturating_add(1);
        }
        retransmit.unsent = retransmit.unsent.without(sent);
        retransmit.attempts = number.wrapping_add(1);
        let attempt = Attempt { seq: seq.get(), number, hop_limit, sent_at };
        Destination::Reliable(ReliableHeader { origin: None, attempt, recipients, ack: None })
    }

    /// A broadcast where the message is for everybody, otherwise a frame that names as many recipients as it can.
    fn send_unreliable<const N: usize>(&mut self, cx: &LinkContext<'_, N>, bidirectional: NodeSet) -> Destination {
        let everyone = match self.scope {
            Scope::Neighbours => bidirectional,
            Scope::Group | Scope::Nobody => cx.group().without(cx.myself()),
        };
        if everyone.without(self.to).is_empty() {
            self.to = NodeSet::EMPTY;
            return Destination::Broadcast;
        }
        let named =
            self.to.slots().take(NEIGHBOURS_MAX).fold(NodeSet::EMPTY, |set, slot| set.with(NodeSet::slot(slot)));
        self.to = self.to.without(named);
        let mut ids = Vec::new();
        for id in cx.roster().ids_of(named) {
            let _ = ids.push(id); // there is room: no more were taken
        }
        Destination::Neighbours(ids)
    }
}

/// How many bytes the body of a message leaves to the header, beyond what every message does: the name of a boot and of a
/// relay.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeaderRoom(usize);

impl HeaderRoom {
    /// Beside a body of this length.
    pub(super) const fn beside_body(len: usize) -> Self {
        Self(RELIABLE_MAX.saturating_sub(len))
    }

    /// Beside this message.
    pub(super) fn beside(message: &impl Payload) -> Self {
        Self::beside_body(message.encode(&mut [0; RELIABLE_MAX]).unwrap_or(RELIABLE_MAX))
    }

    /// Whether a second relay can be named.
    pub(super) const fn names_two(self) -> bool {
        self.0 >= 1
    }

    /// Whether an acknowledgement can be taken along.
    pub(super) const fn acknowledges(self) -> bool {
        self.0 > ACK_BYTES_MAX
    }

    /// How many boots can be named.
    fn boots(self) -> usize {
        let more = self.0.saturating_sub(ACK_BYTES_MAX).saturating_sub(1).checked_div(BOOT_BYTES_MAX).unwrap_or(0);
        more.saturating_add(1).min(BOOTS_MAX)
    }
}
