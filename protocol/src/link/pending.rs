//! An own message until every recipient has acknowledged it or was abandoned.

use super::LinkContext;
use crate::algorithm::Scope;
use crate::base::config::{Moment, Timing};
use crate::base::ids::NodeSet;
use crate::base::lamport::LamportTime;
use crate::base::rng::jitter;
use crate::base::time::{Duration, Instant};
use crate::wire::{Destination, NEIGHBOURS_MAX, Recipients, ReliableHeader};
use heapless::Vec;

/// How often a message to a neighbour is retried: an unreachable one is no neighbour any more.
pub(super) const NEIGHBOUR_RETRIES: u8 = 6;
/// How often a message to a member of the group is retried: the failure detector is to give up first.
pub(super) const MEMBER_RETRIES: u8 = 10;
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
    pub(super) seq: u32,
    pub(super) sent_at: LamportTime,
    /// The recipients it was not sent to in this round: at its start, all.
    pub(super) unsent: NodeSet,
    /// How many rounds have started since a recipient last acknowledged it.
    pub(super) retries: u8,
    /// How many frames it took so far.
    pub(super) attempts: u8,
}

impl Retransmit {
    /// How long to wait for acknowledgements before the next round.
    fn timeout(&self, timing: &Timing, random: u32) -> Duration {
        let timeout = timing.retry.doubled(self.retries.min(DOUBLINGS_MAX));
        timeout.plus(jitter(timeout.mul_ratio(1, 2), random))
    }
}

impl<P> Pending<P> {
    /// These recipients have it, or are abandoned.
    pub(super) fn acknowledged(&mut self, set: NodeSet) {
        if let Some(retransmit) = &mut self.reliable {
            retransmit.unsent = retransmit.unsent.without(set);
            if self.to.meets(set) {
                retransmit.retries = 0; // the path works for some: the others get their full number of retries
            }
        }
        self.to = self.to.without(set);
    }

    /// How many rounds it was tried in vain.
    pub(super) fn retries(&self) -> u8 {
        self.reliable.map_or(0, |retransmit| retransmit.retries)
    }

    /// Returns whether it waits for `due`, and not for an earlier message to be acknowledged.
    pub(super) fn is_timed(&self) -> bool {
        self.reliable.is_none_or(|retransmit| retransmit.unsent != self.to)
    }

    /// Starts the next round when the timeout has passed, a bounded number of times; returns the members it abandons.
    pub(super) fn end_round(&mut self, now: Instant) -> NodeSet {
        if self.due > now || !self.is_timed() {
            return NodeSet::EMPTY;
        }
        let Some(retransmit) = &mut self.reliable else { return NodeSet::EMPTY };
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

    /// The destination of the next frame of this message, to some or all of `ready`.
    pub(super) fn send(&mut self, cx: &LinkContext<'_>, ready: NodeSet, bidirectional: NodeSet) -> Destination {
        let Some(retransmit) = &mut self.reliable else { return self.send_unreliable(cx, bidirectional) };
        let first = ready.slots().next().map_or(NodeSet::EMPTY, NodeSet::slot);
        let id = cx.roster.ids_of(first).next().unwrap_or(cx.me);
        let (recipients, hop_limit, sent) = match self.scope {
            Scope::Neighbours => (Recipients::Node(id), 1, first),
            Scope::Group | Scope::Nobody => (Recipients::Members(ready), cx.hops, ready),
        };
        let Retransmit { seq, sent_at, attempts, .. } = *retransmit;
        if retransmit.unsent == self.to {
            let Moment { now, random, timing } = cx.moment;
            self.due = now.after(retransmit.timeout(timing, random));
            retransmit.retries = retransmit.retries.saturating_add(1);
        }
        retransmit.unsent = retransmit.unsent.without(sent);
        retransmit.attempts = attempts.wrapping_add(1);
        Destination::Reliable(ReliableHeader { origin: None, seq, attempt: attempts, hop_limit, sent_at, recipients })
    }

    /// A broadcast where the message is for everybody, otherwise a frame that names as many recipients as it can.
    fn send_unreliable(&mut self, cx: &LinkContext<'_>, bidirectional: NodeSet) -> Destination {
        let everyone = match self.scope {
            Scope::Neighbours => bidirectional,
            Scope::Group | Scope::Nobody => cx.group.without(cx.myself()),
        };
        if everyone.without(self.to).is_empty() {
            self.to = NodeSet::EMPTY;
            return Destination::Broadcast;
        }
        let named =
            self.to.slots().take(NEIGHBOURS_MAX).fold(NodeSet::EMPTY, |set, slot| set.with(NodeSet::slot(slot)));
        self.to = self.to.without(named);
        let mut ids = Vec::new();
        for id in cx.roster.ids_of(named) {
            let _ = ids.push(id); // there is room: no more were taken
        }
        Destination::Neighbours(ids)
    }
}
