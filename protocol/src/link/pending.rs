//! An own message until every recipient has acknowledged it or was abandoned.

use super::{LinkContext, RELIABLE_MAX};
use crate::algorithm::Scope;
use crate::base::config::{Moment, Timing};
use crate::base::ids::NodeSet;
use crate::base::lamport::LamportTime;
use crate::base::rng::jitter;
use crate::base::time::{Duration, Instant};
use crate::wire::{
    Attempt, BOOTS_MAX, Boots, Destination, NEIGHBOURS_MAX, Origin, Payload, Recipients, ReliableHeader,
};
use core::num::NonZeroU32;
use heapless::Vec;

/// How often a message to a neighbour is retried: an unreachable one is no neighbour any more.
pub(super) const NEIGHBOUR_RETRIES: u8 = 6;
/// How often a message to a member of the group is retried: the failure detector is to give up first.
pub(super) const MEMBER_RETRIES: u8 = 10;
/// How many bytes the name of a boot takes at most.
const BOOT_BYTES_MAX: usize = 5;
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

    /// These recipients refused it, as it was for another boot: it is sent to them again at once.
    pub(super) fn refused(&mut self, set: NodeSet) {
        if let Some(retransmit) = &mut self.reliable {
            retransmit.unsent = retransmit.unsent.with(set.and(self.to));
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

    /// The destination of the next frame of this message, to some or all of `ready`; `open`: the recipients with an open
    /// session.
    pub(super) fn send<const N: usize>(
        &mut self,
        cx: &LinkContext<'_, N>,
        ready: NodeSet,
        open: NodeSet,
        bidirectional: NodeSet,
    ) -> Destination
    where
        P: Payload,
    {
        let named = boots_max(&self.message);
        let Some(retransmit) = &mut self.reliable else { return self.send_unreliable(cx, bidirectional) };
        let (recipients, hop_limit, sent) = match self.scope {
            Scope::Neighbours => {
                let slot = ready.slots().next().unwrap_or(N);
                let (id, incarnation) = (cx.roster().id_of(slot).unwrap_or(cx.me), cx.peers.boot_of(slot));
                (Recipients::Node(Origin { id, incarnation }), 1, NodeSet::slot(slot))
            }
            Scope::Group | Scope::Nobody if ready.meets(open) => {
                let set = ready.and(open);
                (Recipients::Members { set, boots: Boots::new() }, cx.hops, set)
            }
            Scope::Group | Scope::Nobody => {
                let (mut set, mut boots) = (NodeSet::EMPTY, Boots::new());
                for slot in ready.slots().take(named) {
                    if boots.push(cx.peers.boot_of(slot)).is_ok() {
                        set = set.with(NodeSet::slot(slot));
                    }
                }
                (Recipients::Members { set, boots }, cx.hops, set)
            }
        };
        let Retransmit { seq, sent_at, attempts: number, .. } = *retransmit;
        if retransmit.unsent == self.to {
            let Moment { now, random, timing } = cx.moment;
            self.due = now.after(retransmit.timeout(timing, random));
            retransmit.retries = retransmit.retries.saturating_add(1);
        }
        retransmit.unsent = retransmit.unsent.without(sent);
        retransmit.attempts = number.wrapping_add(1);
        let attempt = Attempt { seq: seq.get(), number, hop_limit, sent_at };
        Destination::Reliable(ReliableHeader { origin: None, attempt, recipients })
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

/// How many recipients a frame with this message can name by their boots: one fits with the longest message.
fn boots_max(message: &impl Payload) -> usize {
    let body = message.encode(&mut [0; RELIABLE_MAX]).unwrap_or(RELIABLE_MAX);
    let more = RELIABLE_MAX.saturating_sub(body).checked_div(BOOT_BYTES_MAX).unwrap_or(0);
    more.saturating_add(1).min(BOOTS_MAX)
}
