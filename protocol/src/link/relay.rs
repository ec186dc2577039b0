//! Frames of other nodes, on their way.
//!
//! A node that a frame names as a relay passes it on at once, to those recipients that it is on the way to, and names the
//! next relays. Then it listens: the next relays send it too, or its recipients acknowledge it. For whoever is not
//! overheard the node repeats the frame, a few times; a frame to many recipients once, as it is the origin that knows who
//! is missing. So a loss is repaired on the hop where it happens, and the origin's retransmissions, which cost the whole
//! path, stay rare. The origin watches its own frames in the same way.

use super::{HOLD_JITTERS, LinkContext, RELIABLE_MAX};
use crate::base::config::Moment;
use crate::base::ids::NodeSet;
use crate::base::rng::jitter;
use crate::base::time::{Duration, Instant};
use crate::wire::{Destination, Kind, Origin, Recipients, ReliableHeader};
use heapless::Vec;

/// How many frames of other nodes wait to be relayed or overheard.
pub(crate) const RELAYS_MAX: usize = 6;
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
pub(super) struct RelayQueue {
    queue: Vec<Queued, RELAYS_MAX, u8>,
    seen: [u32; SEEN_MAX],
    next: usize,
}

impl RelayQueue {
    pub(super) const fn new() -> Self {
        Self { queue: Vec::new(), seen: [0; SEEN_MAX], next: 0 }
    }

    /// Remembers a message that is to be relayed; returns whether it is new and there is room. Where there is none, the
    /// origin's next attempt may find some.
    pub(super) fn begin(&mut self, digest: u32) -> bool {
        if self.seen.contains(&digest) {
            return false;
        }
        if self.queue.is_full()
            && let Some(sent) = self.queue.iter().position(|queued| queued.sent > 0)
        {
            self.take(sent);
        }
        if self.queue.is_full() {
            return false;
        }
        if let Some(oldest) = self.seen.get_mut(self.next) {
            *oldest = digest;
        }
        self.next = self.next.wrapping_add(1).checked_rem(SEEN_MAX).unwrap_or(0);
        true
    }

    /// Queues a frame.
    pub(super) fn submit<const N: usize>(&mut self, cx: &LinkContext<'_, N>, relay: Relay) {
        let _ = self.queue.push(Queued { relay, due: cx.moment.now, sent: 0 }); // the next attempt may find room
    }

    /// Watches an own frame that was just sent: while its relay is not overheard, it is repeated.
    pub(super) fn watch<const N: usize>(&mut self, cx: &LinkContext<'_, N>, relay: Relay) {
        let due = cx.moment.now.after(pause(&cx.moment, &relay));
        let _ = self.queue.push(Queued { relay, due, sent: 1 }); // without room, the next attempt has to do
    }

    /// Removes the frame at an index; the last one moves there.
    fn take(&mut self, at: usize) -> Option<Queued> {
        let last = self.queue.pop()?;
        match self.queue.get_mut(at) {
            Some(queued) => Some(core::mem::replace(queued, last)),
            None => Some(last), // it was the last itself
        }
    }

    /// Another node sent a frame to these members: where its hop limit is less than here, it has taken them over.
    pub(super) fn overhear(&mut self, digest: u32, hop_limit: u8, set: NodeSet) {
        self.forget(set, |queued| {
            queued.sent > 0 && queued.relay.digest == digest && hop_limit < queued.relay.hop_limit
        });
    }

    /// These members have acknowledged a message.
    pub(super) fn acknowledged(&mut self, origin: Origin, me: Origin, seq: u32, by: NodeSet) {
        self.forget(by, |queued| match &queued.relay.destination {
            Destination::Reliable(header) => header.attempt.seq == seq && header.origin.unwrap_or(me) == origin,
            Destination::Broadcast | Destination::Neighbours(_) => false,
        });
    }

    /// Takes these members out of the frames to which `which` applies.
    fn forget(&mut self, members: NodeSet, which: impl Fn(&Queued) -> bool) {
        self.queue.retain_mut(|queued| {
            if !which(queued) {
                return true;
            }
            let Destination::Reliable(header) = &mut queued.relay.destination else { return true };
            let Recipients::Members { set, boots, .. } = &mut header.recipients else { return true };
            let mut slots = set.slots();
            boots.retain(|_| !slots.next().is_some_and(|slot| members.meets(NodeSet::slot(slot))));
            *set = set.without(members);
            !set.is_empty()
        });
    }

    /// The next frame that is due.
    pub(super) fn poll<const N: usize>(&mut self, cx: &LinkContext<'_, N>) -> Option<Relay> {
        let Moment { now, timing, .. } = cx.moment;
        let at = self.queue.iter().position(|queued| queued.due <= now)?;
        let queued = self.queue.get_mut(at)?;
        queued.sent = queued.sent.saturating_add(1);
        if queued.sent > if recipients(&queued.relay) > 1 { 1 } else { timing.reflood_count } {
            return self.take(at).map(|queued| queued.relay);
        }
        queued.due = now.after(pause(&cx.moment, &queued.relay));
        Some(queued.relay.clone())
    }

    /// When to poll again.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.queue.iter().map(|queued| queued.due).min()
    }
}

/// How long to listen for the next hop before a frame is repeated: it relays soon, and recipients acknowledge one after the
/// other.
fn pause(moment: &Moment<'_>, relay: &Relay) -> Duration {
    let Moment { random, timing, .. } = *moment;
    let spread =
        timing.jitter.times(recipients(relay).saturating_sub(1).saturating_mul(2).saturating_add(HOLD_JITTERS));
    timing.retry.plus(spread).plus(jitter(timing.retry, random))
}

/// How many recipients a frame still has to reach.
const fn recipients(relay: &Relay) -> u32 {
    match &relay.destination {
        Destination::Reliable(ReliableHeader { recipients: Recipients::Members { set, .. }, .. }) => set.len(),
        Destination::Reliable(_) | Destination::Broadcast | Destination::Neighbours(_) => 1,
    }
}
