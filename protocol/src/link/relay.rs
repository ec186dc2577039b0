//! Frames of other nodes, on their way.
//!
//! A node relays a frame once, then listens: the next node relays it too, or its recipient acknowledges it. While neither
//! is overheard the node repeats the frame, a few times. So a loss is repaired on the hop where it happens, and the
//! origin's retransmissions, which cost the whole path, stay rare.

use super::{LinkContext, RELIABLE_MAX};
use crate::base::config::Moment;
use crate::base::ids::NodeSet;
use crate::base::rng::jitter;
use crate::base::time::Instant;
use crate::wire::{Destination, Kind, Origin, Recipients};
use heapless::Vec;

/// How many frames of other nodes wait to be relayed or overheard.
pub(crate) const RELAYS_MAX: usize = 3;
/// How many relayed frames are remembered, so that none is relayed twice.
const SEEN_MAX: usize = 16;

/// A frame of another node.
#[derive(Clone, Debug)]
pub(super) struct Relay {
    pub(super) digest: u32,
    /// How many hops it may still take.
    pub(super) hop_limit: u8,
    pub(super) kind: Kind,
    pub(super) destination: Destination,
    pub(super) body: Vec<u8, RELIABLE_MAX, u8>,
}

/// When a frame is sent next, and how often it was.
#[derive(Clone, Debug)]
struct Queued {
    relay: Relay,
    due: Instant,
    sent: u8,
}

/// The frames a node relays.
#[derive(Clone, Debug)]
pub(super) struct Relays {
    queue: Vec<Queued, RELAYS_MAX>,
    seen: [u32; SEEN_MAX],
    next: usize,
}

impl Relays {
    pub(super) const fn new() -> Self {
        Self { queue: Vec::new(), seen: [0; SEEN_MAX], next: 0 }
    }

    /// Queues a frame that was not relayed before. Where there is no room, the origin's next attempt may find some.
    pub(super) fn submit<const N: usize>(&mut self, cx: &LinkContext<'_, N>, relay: Relay) {
        let digest = relay.digest;
        if self.seen.contains(&digest) {
            return;
        }
        if self.queue.is_full()
            && let Some(sent) = self.queue.iter().position(|queued| queued.sent > 0)
        {
            self.take(sent);
        }
        let Moment { now, random, timing } = cx.moment;
        let due = now.after(jitter(timing.contention_window(cx.crowd), random));
        if self.queue.push(Queued { relay, due, sent: 0 }).is_ok() {
            if let Some(oldest) = self.seen.get_mut(self.next) {
                *oldest = digest;
            }
            self.next = self.next.wrapping_add(1).checked_rem(SEEN_MAX).unwrap_or(0);
        }
    }

    /// Removes the frame at an index; the last one moves there.
    fn take(&mut self, at: usize) -> Option<Queued> {
        let last = self.queue.pop()?;
        match self.queue.get_mut(at) {
            Some(queued) => Some(core::mem::replace(queued, last)),
            None => Some(last), // it was the last itself
        }
    }

    /// Another node sent a frame with this hop limit: if it is no more than here, the frame was relayed.
    pub(super) fn overhear(&mut self, digest: u32, hop_limit: u8) {
        self.queue
            .retain(|Queued { relay, sent, .. }| *sent == 0 || relay.digest != digest || relay.hop_limit < hop_limit);
    }

    /// These members have acknowledged a message.
    pub(super) fn acknowledged(&mut self, origin: Origin, seq: u32, by: NodeSet) {
        self.queue.retain_mut(|queued| {
            let Destination::Reliable(header) = &mut queued.relay.destination else { return true };
            if header.attempt.seq != seq || header.origin != Some(origin) {
                return true;
            }
            let Recipients::Members { set, boots } = &mut header.recipients else { return true };
            let mut members = set.slots();
            boots.retain(|_| !members.next().is_some_and(|slot| by.meets(NodeSet::slot(slot))));
            *set = set.without(by);
            !set.is_empty()
        });
    }

    /// The next frame that is due.
    pub(super) fn poll<const N: usize>(&mut self, cx: &LinkContext<'_, N>) -> Option<Relay> {
        let Moment { now, random, timing } = cx.moment;
        let at = self.queue.iter().position(|queued| queued.due <= now)?;
        let queued = self.queue.get_mut(at)?;
        queued.sent = queued.sent.saturating_add(1);
        if queued.sent > timing.reflood_count {
            return self.take(at).map(|queued| queued.relay);
        }
        queued.due = now.after(timing.reflood_interval.plus(jitter(timing.contention_window(cx.crowd), random)));
        Some(queued.relay.clone())
    }

    /// When to poll again.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.queue.iter().map(|queued| queued.due).min()
    }
}
