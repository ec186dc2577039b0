//! Sending: the queue of own messages, and the next one that is due.

use super::pending::{HeaderRoom, Pending, Retransmit};
use super::session::Stream;
use super::{Full, Link, LinkContext, Outgoing, STALLED_RETRIES};
use crate::algorithm::Scope;
use crate::base::config::Moment;
use crate::base::ids::NodeSet;
use crate::base::membership::{Membership, Queue};
use crate::base::rng::jitter;
use crate::base::time::{CoarseInstant, earliest};
use crate::wire::{Delivery, Destination, Kind, Payload, Recipients, Stage};
use core::num::NonZeroU32;

/// Which messages leave first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Precedence {
    /// Elections and leases.
    Leadership,
    /// Locks.
    Locks,
    /// Applications.
    Applications,
}

impl Precedence {
    /// The precedence of messages of a kind. A node without a group has neither locks nor applications.
    pub(super) fn of<G: Membership>(kind: Kind) -> Self {
        match kind.stage() {
            Some(Stage::Mutex) if G::GROUPED => Self::Locks,
            Some(Stage::Service) if G::GROUPED => Self::Applications,
            Some(_) | None => Self::Leadership,
        }
    }
}

impl<P: Payload, const N: usize, G: Membership> Link<P, N, G> {
    /// Queues a message.
    ///
    /// # Errors
    /// [`Full`] where there is no room for it.
    pub(crate) fn submit(&mut self, cx: &LinkContext<'_, N>, message: P, outgoing: Outgoing) -> Result<(), Full> {
        let Outgoing { scope, mut to, sent_at } = outgoing;
        let delivery = message.delivery();
        if scope == Scope::Neighbours && matches!(delivery, Delivery::Reliable | Delivery::ReliableLatest) {
            to = to.without(cx.peers.hosts()); // they keep no session for this node
            if to.is_empty() {
                return Ok(());
            }
        }
        let Moment { now, random, timing } = cx.moment;
        let key = |message: &P| (message.kind(), message.name(), message.topic());
        let same = |old: &Pending<P>| key(&old.message) == key(&message);
        let (due, reliable) = match delivery {
            Delivery::Unreliable => (now, None),
            Delivery::Jittered => {
                self.queue.list_mut().retain(|old| !(same(old) && old.to.without(to).is_empty()));
                (now.after(jitter(timing.contention_window(cx.crowd), random)), None)
            }
            Delivery::Reliable | Delivery::ReliableLatest => {
                if delivery == Delivery::ReliableLatest {
                    self.queue.list_mut().iter_mut().filter(|old| same(old)).for_each(|old| old.acknowledged(to));
                    self.remove_completed();
                }
                // What went before and is not acknowledged must not keep this back for long.
                let stream = Stream::of::<G>(message.kind());
                let before = |earlier: &&mut Pending<P>| {
                    G::GROUPED
                        && earlier.scope == Scope::Group
                        && earlier.to.meets(to)
                        && earlier.stream::<G>() == stream
                };
                let turn =
                    Some(self.turn).filter(|&(origin, _)| G::GROUPED && origin == to && stream == Stream::Others);
                let mut due = turn.map_or(now, |(_, turn)| turn.max(now));
                for earlier in self.queue.list_mut().iter_mut().filter(before) {
                    let wait = cx.patience(earlier.to, self.trips.as_ref());
                    earlier.hurry(now, wait);
                    if to.len() > 1 {
                        // One frame for all recipients, once they have acknowledged what went before.
                        due = due.max(if earlier.is_timed() { earlier.due } else { now.after(wait) });
                    }
                }
                let seq = NonZeroU32::MIN.saturating_add(self.seq);
                self.seq = seq.get();
                (
                    due,
                    Some(Retransmit {
                        seq,
                        sent_at,
                        unsent: to,
                        retries: 0,
                        asked: 0,
                        silent: 0,
                        attempts: 0,
                        started: CoarseInstant::ZERO,
                        alone: to.len() == 1,
                    }),
                )
            }
        };
        if delivery == Delivery::Reliable && self.queue.list().is_full() && !self.make_room() {
            if scope != Scope::Group {
                return Err(Full);
            }
            self.unreachable = self.unreachable.with(to);
            return Ok(());
        }
        self.queue.list_mut().push(Pending { message, scope, to, due, reliable }).map_err(|_| Full)
    }

    /// Drops a message that may be lost, or the one that has gone unacknowledged longest; returns whether there is room
    /// now.
    fn make_room(&mut self) -> bool {
        let droppable = |old: &Pending<P>| old.message.delivery() != Delivery::Reliable;
        let stalled = |old: &&Pending<P>| old.scope == Scope::Group && old.retries() >= STALLED_RETRIES;
        let most = self.queue.list().iter().filter(stalled).map(Pending::retries).max();
        let longest = |old: &Pending<P>| old.scope == Scope::Group && Some(old.retries()) == most;
        let at = self.queue.list().iter().position(droppable).or_else(|| self.queue.list().iter().position(longest));
        let (mut index, mut abandoned) = (0_usize, NodeSet::EMPTY);
        self.queue.list_mut().retain(|old| {
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

    /// The next own message that is due, and its destination; of the given precedence or above.
    pub(crate) fn poll_message(
        &mut self,
        cx: &LinkContext<'_, N>,
        bidirectional: NodeSet,
        lowest: Precedence,
    ) -> Option<(Destination, P)> {
        for pending in self.queue.list_mut().iter_mut() {
            self.unreachable = self.unreachable.with(pending.end_round::<G>(cx.moment.now, &mut self.pace));
        }
        self.remove_completed();
        let wait = Some(self.pace.next()).filter(|&next| G::GROUPED && next > cx.moment.now);
        self.paced_until = None;
        let mut next: Option<(Precedence, usize)> = None;
        for (at, pending) in self.queue.list().iter().enumerate() {
            let precedence = Precedence::of::<G>(pending.message.kind());
            if precedence > lowest {
                continue;
            }
            let ready = self.ready(cx, at);
            if ready.is_empty() {
                continue;
            }
            if let Some(due) = pending.held::<G>(ready, cx.moment.now) {
                self.paced_until = earliest(self.paced_until, Some(due));
                continue;
            }
            if wait.is_some() && precedence > Precedence::Leadership && pending.reliable.is_some() {
                self.paced_until = earliest(self.paced_until, wait);
            } else if next.is_none_or(|(first, _)| precedence < first) {
                next = Some((precedence, at));
            }
        }
        let (precedence, at) = next?;
        if G::GROUPED && precedence > Precedence::Leadership {
            self.pace.send(&cx.moment);
        }
        let to = self.ready(cx, at);
        let pending = self.queue.list_mut().get_mut(at)?;
        let stream = pending.stream::<G>();
        let open = self.streams.of(stream).outgoing();
        let mut destination = pending.send::<N, G>(cx, to, open, bidirectional, self.trips.as_ref());
        if G::GROUPED
            && let Destination::Reliable(header) = &mut destination
            && let Recipients::Members { set, .. } = header.recipients
            && set.len() == 1
            && HeaderRoom::beside(&pending.message).acknowledges()
        {
            let sessions = self.streams.of(stream);
            header.ack = set.and(sessions.owed()).slots().next().map(|slot| sessions.pay(slot));
        }
        let message = pending.message.clone();
        self.remove_completed();
        Some((destination, message))
    }

    /// The recipients that the message at `at` may be sent to now: those that have acknowledged every earlier one, and to
    /// which a way is known.
    fn ready(&self, cx: &LinkContext<'_, N>, at: usize) -> NodeSet {
        let Some(pending) = self.queue.list().get(at) else { return NodeSet::EMPTY };
        match pending.reliable {
            None if pending.due <= cx.moment.now => pending.to,
            None => NodeSet::EMPTY,
            Some(retransmit) => {
                let before = self.queue.list().iter().take(at);
                let before =
                    before.filter(|other| other.reliable.is_some() && other.stream::<G>() == pending.stream::<G>());
                let ready = before.map(|other| other.to).fold(retransmit.unsent, NodeSet::without);
                if G::GROUPED && pending.scope == Scope::Group { cx.reachable(ready) } else { ready }
            }
        }
    }
}
