//! Acknowledgements: many in one frame, and joined on their way.
//!
//! A node owes each origin at most one acknowledgement, that of the last message it accepted: the origin sends nothing
//! more before. So what a node has to acknowledge is a set of peers, and costs no memory. Several acknowledgements leave
//! in one frame. The recipients of one message answer one after the other, in the order of the set, and not all at once.
//!
//! Over several hops an acknowledgement names the member that is to carry it on. That member joins it with those of other
//! recipients of the same message, repeats it until it overhears the next carrier, and remembers it for a while: where the
//! last hop lost it, the origin's next attempt is answered there.

use super::LinkContext;
use crate::base::config::Moment;
use crate::base::ids::{NodeId, NodeSet};
use crate::base::rng::jitter;
use crate::base::time::{Instant, earliest};
use crate::wire::{FRAME_MAX, Origin, encode};
use heapless::Vec;
use serde::{Deserialize, Serialize};

/// How many acknowledgements one frame holds at most.
const ACKS_MAX: usize = 10;
/// How many bytes of a frame they may take: all but the longest header of a broadcast, and the lengths of both lists.
const ACKS_BYTES: usize = FRAME_MAX - 28;
/// How many acknowledgements of others are carried or remembered.
const CARRIED_MAX: usize = 6;

/// The acknowledgement of a reliable message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ack {
    /// The origin of the message.
    pub origin: NodeId,
    /// The origin's incarnation.
    pub incarnation: u32,
    /// The message's sequence number.
    pub seq: u32,
    /// The member that is to carry it on, by slot; `None` where the origin is in range.
    pub via: Option<u8>,
    /// The recipients that have the message; empty for the sender of the frame.
    pub by: NodeSet,
}

/// The refusal of a reliable message that is for another boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Refusal {
    /// The origin of the message.
    pub origin: NodeId,
    /// The origin's incarnation.
    pub incarnation: u32,
    /// The message's sequence number.
    pub seq: u32,
    /// The member that is to carry it on, by slot; `None` where the origin is in range.
    pub via: Option<u8>,
    /// Who refuses it.
    pub by: NodeId,
    /// Its present incarnation.
    pub boot: u32,
}

/// The acknowledgements of one frame.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Acks {
    /// Messages that were accepted.
    pub accepted: Vec<Ack, ACKS_MAX, u8>,
    /// A message that was refused.
    pub refused: Option<Refusal>,
}

impl Acks {
    /// Adds an acknowledgement; returns whether there was room.
    pub(super) fn add(&mut self, ack: Ack) -> bool {
        let fits = self.accepted.push(ack).is_ok();
        if fits && encode(self, &mut [0; ACKS_BYTES]).is_none() {
            self.accepted.pop();
            return false;
        }
        fits
    }
}

/// An acknowledgement of another node, on its way or remembered.
#[derive(Clone, Copy, Debug)]
struct Carried {
    origin: Origin,
    seq: u32,
    by: NodeSet,
    sent: u8,
    /// When it is sent next; `None` where it is only remembered.
    due: Option<Instant>,
}

/// The acknowledgements that a node carries for others.
#[derive(Clone, Debug)]
pub(super) struct Carrier {
    carried: Vec<Carried, CARRIED_MAX, u8>,
    refusal: Option<Refusal>,
}

impl Carrier {
    pub(super) const EMPTY: Self = Self { carried: Vec::new(), refusal: None };

    fn find(&mut self, origin: Origin, seq: u32) -> Option<&mut Carried> {
        self.carried.iter_mut().find(|carried| carried.origin == origin && carried.seq == seq)
    }

    /// Takes on an acknowledgement, joined with what it has of the same message.
    pub(super) fn carry<const N: usize>(&mut self, cx: &LinkContext<'_, N>, ack: &Ack) {
        let origin = Origin { id: ack.origin, incarnation: ack.incarnation };
        let Moment { now, random, timing } = cx.moment;
        let due = Some(now.after(jitter(timing.contention_window(cx.crowd), random)));
        if let Some(carried) = self.find(origin, ack.seq) {
            carried.by = carried.by.with(ack.by);
            (carried.sent, carried.due) = (0, earliest(carried.due, due));
            return;
        }
        if self.carried.is_full() {
            let at = self.carried.iter().position(|carried| carried.due.is_none()).unwrap_or(0);
            self.carried.remove(at);
        }
        let _ = self.carried.push(Carried { origin, seq: ack.seq, by: ack.by, sent: 0, due }); // there is room now
    }

    /// Takes on a refusal, instead of one that it may have.
    pub(super) const fn carry_refusal(&mut self, refusal: Refusal) {
        self.refusal = Some(refusal);
    }

    /// Another node sent this acknowledgement: if that is the next carrier, it needs no more sending from here.
    pub(super) fn overhear<const N: usize>(&mut self, cx: &LinkContext<'_, N>, sender: NodeId, ack: &Ack) {
        let origin = Origin { id: ack.origin, incarnation: ack.incarnation };
        let next = cx.peers.next_hop(cx.peers.group().slot_of(ack.origin));
        if let Some(carried) = self.find(origin, ack.seq)
            && carried.sent > 0
            && next == cx.peers.group().slot_of(sender)
            && carried.by.without(ack.by).is_empty()
        {
            carried.due = None;
        }
    }

    /// The recipients that are remembered to have a message; they are acknowledged again.
    pub(super) fn remembered<const N: usize>(
        &mut self,
        cx: &LinkContext<'_, N>,
        origin: Origin,
        seq: u32,
        set: NodeSet,
    ) -> NodeSet {
        let now = cx.moment.now;
        let Some(carried) = self.find(origin, seq).filter(|carried| carried.by.meets(set)) else {
            return NodeSet::EMPTY;
        };
        if carried.due.is_none() {
            (carried.sent, carried.due) = (0, Some(now));
        }
        carried.by
    }

    /// Returns whether one is due.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.refusal.is_some() || self.deadline().is_some_and(|due| due <= now)
    }

    /// Adds what is due, and what has not been sent before.
    pub(super) fn poll<const N: usize>(&mut self, cx: &LinkContext<'_, N>, acks: &mut Acks) {
        let Moment { now, random, timing } = cx.moment;
        for carried in &mut self.carried {
            if carried.due.is_none_or(|due| due > now && carried.sent > 0) {
                continue;
            }
            let Carried { origin: Origin { id: origin, incarnation }, seq, by, .. } = *carried;
            let via = cx.via(origin);
            if !acks.add(Ack { origin, incarnation, seq, via, by }) {
                break;
            }
            carried.sent = carried.sent.saturating_add(1);
            // The origin itself carries nothing on that could be overheard.
            let again = via.is_some() && carried.sent <= timing.reflood_count;
            let pause = timing.reflood_interval.plus(jitter(timing.contention_window(cx.crowd), random));
            carried.due = again.then(|| now.after(pause));
        }
        if acks.refused.is_none() {
            acks.refused = self.refusal.take().map(|refusal| Refusal { via: cx.via(refusal.origin), ..refusal });
        }
    }

    /// When to poll again.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.carried.iter().filter_map(|carried| carried.due).min()
    }
}
