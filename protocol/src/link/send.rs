//! Sending: the queue of own messages, and the next one that is due.

use super::pending::{Pending, Retransmit};
use super::{Full, Link, LinkContext, Outgoing, STALLED_RETRIES};
use crate::algorithm::Scope;
use crate::base::config::Moment;
use crate::base::ids::NodeSet;
use crate::base::rng::jitter;
use crate::base::time::Instant;
use crate::wire::{Delivery, Destination, Payload};
use core::num::NonZeroU32;

impl<P: Payload, const N: usize> Link<P, N> {
    /// Queues a message.
    ///
    /// # Errors
    /// [`Full`] where there is no room for it.
    pub(crate) fn submit(&mut self, cx: &LinkContext<'_, N>, message: P, outgoing: Outgoing) -> Result<(), Full> {
        let Outgoing { scope, to, sent_at } = outgoing;
        let delivery = message.delivery();
        let Moment { now, random, timing } = cx.moment;
        let key = |message: &P| (message.kind(), message.name(), message.topic());
        let same = |old: &Pending<P>| key(&old.message) == key(&message);
        let (due, reliable) = match delivery {
            Delivery::Unreliable => (now, None),
            Delivery::Jittered => {
                self.queue.retain(|old| !(same(old) && old.to.without(to).is_empty()));
                (now.after(jitter(timing.contention_window(cx.crowd), random)), None)
            }
            Delivery::Reliable | Delivery::ReliableLatest => {
                if delivery == Delivery::ReliableLatest {
                    self.queue.iter_mut().filter(|old| same(old)).for_each(|old| old.acknowledged(to));
                    self.remove_completed();
                }
                let seq = NonZeroU32::MIN.saturating_add(self.seq);
                self.seq = seq.get();
                (now, Some(Retransmit { seq, sent_at, unsent: to, retries: 0, attempts: 0 }))
            }
        };
        if delivery == Delivery::Reliable && self.queue.is_full() && !self.make_room() {
            if scope != Scope::Group {
                return Err(Full);
            }
            self.unreachable = self.unreachable.with(to);
            return Ok(());
        }
        self.queue.push(Pending { message, scope, to, due, reliable }).map_err(|_| Full)
    }

    /// Drops a message that may be lost, or the one that has gone unacknowledged longest; returns whether there is room
    /// now.
    fn make_room(&mut self) -> bool {
        let droppable = |old: &Pending<P>| old.message.delivery() != Delivery::Reliable;
        let stalled = |old: &&Pending<P>| old.scope == Scope::Group && old.retries() >= STALLED_RETRIES;
        let most = self.queue.iter().filter(stalled).map(Pending::retries).max();
        let longest = |old: &Pending<P>| old.scope == Scope::Group && Some(old.retries()) == most;
        let at = self.queue.iter().position(droppable).or_else(|| self.queue.iter().position(longest));
        let (mut index, mut abandoned) = (0_usize, NodeSet::EMPTY);
        self.queue.retain(|old| {
            let stays = at != Some(index);
            index = index.saturating_add(1);
            if !stays && !droppable(old) {
                abandoned = old.to;
            }
            stays
        });
        self.unreachable = self.unreachable.with(abandoned);
        at.is_some()
    }

    /// The next own message that is due, and its destination.
    pub(crate) fn poll_message(&mut self, cx: &LinkContext<'_, N>, bidirectional: NodeSet) -> Option<(Destination, P)> {
        for pending in &mut self.queue {
            self.unreachable = self.unreachable.with(pending.end_round(cx.moment.now));
        }
        self.remove_completed();
        let (at, to) = (0..self.queue.len()).find_map(|at| {
            let to = self.ready(at, cx.moment.now);
            (!to.is_empty()).then_some((at, to))
        })?;
        let pending = self.queue.get_mut(at)?;
        let destination = pending.send(cx, to, self.sessions.outgoing(), bidirectional);
        let message = pending.message.clone();
        self.remove_completed();
        Some((destination, message))
    }

    /// The recipients that the message at `at` may be sent to now: those that have acknowledged every earlier one.
    fn ready(&self, at: usize, now: Instant) -> NodeSet {
        let Some(pending) = self.queue.get(at) else { return NodeSet::EMPTY };
        match pending.reliable {
            None if pending.due <= now => pending.to,
            None => NodeSet::EMPTY,
            Some(retransmit) => {
                let before = self.queue.iter().take(at).filter(|other| other.reliable.is_some());
                before.map(|other| other.to).fold(retransmit.unsent, NodeSet::without)
            }
        }
    }
}
