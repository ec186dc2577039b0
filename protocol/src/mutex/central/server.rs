//! The lock server: the holder of each lock and its lease, the queue behind it, and the takeover from the server
//! before.
//!
//! A grant of the server before may still last. So a new server grants nothing before every member has reported the
//! locks it holds, or the longest lease has passed.

use super::{Fence, LOCKS_MAX, LockId, Ticket};
use crate::algorithm::Context;
use crate::base::config::lease_at_grantor;
use crate::base::ids::{NodeId, NodeSet};
use crate::base::lamport::LamportTime;
use crate::base::term::Term;
use crate::base::time::{Duration, Instant, earliest};
use heapless::Vec;

/// Requests queued for one lock. One more is refused, as is a lock beyond [`LOCKS_MAX`] held or waited for at a time.
const WAITERS_MAX: usize = 16;

/// A request of a member, or a renewal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Request {
    pub(super) node: NodeId,
    pub(super) lock: LockId,
    /// A higher number withdraws all lower ones of the same member.
    pub(super) number: LamportTime,
    pub(super) lease: Duration,
}

/// The state of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueueStatus {
    /// Granted; the grant will be sent, again if need be.
    Held,
    /// Queued behind this many.
    Behind(u8),
    /// Refused: no room.
    Full,
    /// Withdrawn by a later request of the same member.
    Stale,
}

/// A grant to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Grant {
    pub(super) node: NodeId,
    pub(super) lock: LockId,
    pub(super) number: LamportTime,
    pub(super) fence: Fence,
    /// The time the request was queued. The holder counts its lease from its request and this long after, by its own
    /// clock: that is before the grant was made.
    pub(super) waited: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Holder {
    /// `None` after a restart of the holder: no node can release the lock any more.
    node: Option<NodeId>,
    number: LamportTime,
    fence: Fence,
    waited: Duration,
    /// The end of the lease by the slowest clock a holder may have.
    until: Instant,
    notified: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Waiter {
    node: NodeId,
    number: LamportTime,
    lease: Duration,
    since: Instant,
    ticket: Ticket,
}

/// One lock: its holder and its queue, in the order of tickets: of arrival, at this server or one before.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Entry {
    lock: LockId,
    holder: Option<Holder>,
    waiters: Vec<Waiter, WAITERS_MAX>,
}

/// All locks held or waited for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct LockServer {
    term: Term,
    /// Grants so far: no two have the same fence.
    count: u64,
    /// Tickets so far, under this term.
    tickets: u32,
    /// How much longer than its lease a lock stays taken that was not released.
    lock_delay: Duration,
    takeover: Option<Takeover>,
    entries: Vec<Entry, LOCKS_MAX>,
}

impl Default for LockServer {
    fn default() -> Self {
        Self::new(Duration::ZERO)
    }
}

impl LockServer {
    pub(super) const fn new(lock_delay: Duration) -> Self {
        Self { term: Term::ZERO, count: 0, tickets: 0, lock_delay, takeover: None, entries: Vec::new() }
    }

    /// Returns whether a lock that was not released stays taken for longer than its lease.
    pub(super) fn delays(&self) -> bool {
        self.lock_delay > Duration::ZERO
    }

    /// Takes over as the only server, under `term`. `held` are this node's own holds, granted by servers before.
    pub(super) fn take_over(&mut self, cx: &Context<'_>, term: Term, held: &[Option<LockId>]) {
        (self.term, self.tickets) = (term, 0);
        self.entries.clear();
        self.takeover = Some(Takeover::new(cx, self.lock_delay));
        self.on_report(cx, cx.me, held, (knows_own_holds(cx), LamportTime(0)));
    }

    pub(super) const fn term(&self) -> Term {
        self.term
    }

    /// Continues under another term: it has been the only server ever since it took over.
    pub(super) fn set_term(&mut self, term: Term) {
        self.term = term;
    }

    /// Returns whether the takeover is complete and a free lock is granted.
    pub(super) const fn is_open(&self) -> bool {
        self.takeover.is_none()
    }

    /// Returns the ticket of a queued request of `node`.
    pub(super) fn ticket(&self, node: NodeId, lock: LockId) -> Option<Ticket> {
        let entry = self.entries.iter().find(|entry| entry.lock == lock)?;
        entry.waiters.iter().find(|waiter| waiter.node == node).map(|waiter| waiter.ticket)
    }

    /// Takes a request, which a server has given `ticket` before. A request already granted is granted again, the same
    /// way; a queued one keeps its position.
    pub(super) fn request(&mut self, now: Instant, request: Request, ticket: Option<Ticket>) -> QueueStatus {
        let Request { node, lock, number, lease } = request;
        let (next, lock_delay) = (self.tickets.saturating_add(1), self.lock_delay);
        let ticket = ticket.unwrap_or(Ticket { term: self.term.number, number: next });
        let fence = Fence { term: self.term, count: LamportTime(self.count.saturating_add(1)) };
        let Some(entry) = self.entry(lock) else { return QueueStatus::Full };
        if let Some(holder) = entry.holder.as_mut().filter(|holder| holder.node == Some(node)) {
            if holder.number > number {
                return QueueStatus::Stale;
            }
            holder.notified = false;
            if holder.number < number {
                // The member released the lock, or never took the grant, and its release was lost.
                *holder = Holder::new(now, Waiter { node, number, lease, since: now, ticket }, fence, lock_delay);
                self.count = fence.count.0;
            }
            return QueueStatus::Held;
        }
        let held = usize::from(entry.holder.is_some());
        let behind =
            |position: usize| QueueStatus::Behind(u8::try_from(position.saturating_add(held)).unwrap_or(u8::MAX));
        let Some(position) = entry.waiters.iter().position(|waiter| waiter.node == node) else {
            let position = entry.waiters.iter().filter(|waiter| waiter.ticket <= ticket).count();
            if entry.insert(Waiter { node, number, lease, since: now, ticket }).is_err() {
                return QueueStatus::Full;
            }
            self.tickets = next;
            return behind(position);
        };
        match entry.waiters.get_mut(position) {
            Some(waiter) if waiter.number > number => return QueueStatus::Stale,
            Some(waiter) if waiter.number < number => *waiter = Waiter { number, lease, since: now, ..*waiter },
            Some(_) | None => {} // duplicate
        }
        behind(position)
    }

    /// Ends this request and every earlier one of the same member: released, cancelled or refused.
    pub(super) fn end(&mut self, node: NodeId, lock: LockId, number: LamportTime) {
        let Some(entry) = self.entries.iter_mut().find(|entry| entry.lock == lock) else { return };
        entry.holder = entry.holder.filter(|holder| holder.node != Some(node) || holder.number > number);
        entry.waiters.retain(|waiter| waiter.node != node || waiter.number > number);
        self.remove_unused();
    }

    /// Extends a hold to `lease` from now; never shortens it. Returns whether the member holds the lock.
    pub(super) fn renew(&mut self, now: Instant, renewal: Request) -> bool {
        let entry = self.entries.iter_mut().find(|entry| entry.lock == renewal.lock);
        let holder = entry.and_then(|entry| entry.holder.as_mut());
        let holds = |holder: &&mut Holder| holder.node == Some(renewal.node) && holder.number <= renewal.number;
        let Some(holder) = holder.filter(holds) else { return false };
        holder.number = renewal.number;
        holder.until = holder.until.max(now.after(lease_at_grantor(renewal.lease)).after(self.lock_delay));
        true
    }

    /// Takes a member's report of the locks it holds: it holds no others, has no requests numbered below `since`, and a
    /// hold this server did not grant is of a server before. `complete`: see [`knows_own_holds`].
    pub(super) fn on_report(
        &mut self,
        cx: &Context<'_>,
        node: NodeId,
        held: &[Option<LockId>],
        (complete, since): (bool, LamportTime),
    ) {
        let delays = self.delays();
        for entry in &mut self.entries {
            let kept = held.contains(&Some(entry.lock));
            let lost = |holder: &Holder| holder.node == Some(node) && !kept && holder.number < since;
            entry.holder = match entry.holder {
                // It was not released: nobody has it, and nobody gets it before the delay is over.
                Some(holder) if lost(&holder) && delays => Some(Holder { node: None, ..holder }),
                holder => holder.filter(|holder| !lost(holder)),
            };
            entry.waiters.retain(|waiter| waiter.node != node || waiter.number >= since);
        }
        self.remove_unused();
        let Some(Takeover { until, reported }) = self.takeover else { return };
        let holder = Holder::of_earlier_server(node, until);
        // A hold that finds no room has to be waited out.
        let mut record = |&lock: &LockId| self.entry(lock).map(|entry| entry.holder.get_or_insert(holder)).is_some();
        let recorded = held.iter().flatten().all(&mut record);
        if recorded && complete {
            self.takeover = Some(Takeover { until, reported: reported.with(cx.roster.set_of(node)) });
        }
    }

    /// Takes the restart of members: they cannot release what they held, and have forgotten what they waited for.
    pub(super) fn on_peer_reset(&mut self, cx: &Context<'_>, set: NodeSet) {
        for holder in self.entries.iter_mut().filter_map(|entry| entry.holder.as_mut()) {
            holder.node = holder.node.filter(|&node| !cx.roster.set_of(node).meets(set));
        }
        self.remove_waiters(cx, set);
    }

    pub(super) fn remove_waiters(&mut self, cx: &Context<'_>, set: NodeSet) {
        for entry in &mut self.entries {
            entry.waiters.retain(|waiter| !cx.roster.set_of(waiter.node).meets(set));
        }
        self.remove_unused();
    }

    /// Sends grants to these members again: they may have missed them.
    pub(super) fn notify_again(&mut self, cx: &Context<'_>, set: NodeSet) {
        for holder in self.entries.iter_mut().filter_map(|entry| entry.holder.as_mut()) {
            let among = holder.node.is_some_and(|node| cx.roster.set_of(node).meets(set));
            holder.notified &= !among || holder.number == LamportTime(0); // a reported hold is known to its holder only
        }
    }

    /// Ends leases, and the takeover, that are over.
    pub(super) fn expire(&mut self, cx: &Context<'_>) {
        self.takeover = self.takeover.filter(|takeover| !takeover.is_over(cx));
        for entry in &mut self.entries {
            entry.holder = entry.holder.filter(|holder| holder.until > cx.now);
        }
        self.remove_unused();
    }

    pub(super) fn next_grant(&mut self, now: Instant) -> Option<Grant> {
        let open = self.is_open();
        let entry = self.entries.iter_mut().find(|entry| entry.is_due(open))?;
        let holder = if let Some(holder) = entry.holder {
            holder
        } else {
            let first = *entry.waiters.first()?;
            entry.waiters.retain(|waiter| waiter.node != first.node);
            self.count = self.count.saturating_add(1);
            Holder::new(now, first, Fence { term: self.term, count: LamportTime(self.count) }, self.lock_delay)
        };
        entry.holder = Some(Holder { notified: true, ..holder });
        let Holder { node, number, fence, waited, .. } = holder;
        Some(Grant { node: node?, lock: entry.lock, number, fence, waited })
    }

    /// Returns when a lease ends, or a grant is to be sent.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let takeover = self.takeover.map(|takeover| takeover.until);
        self.entries.iter().fold(takeover, |soonest, entry| {
            let due = entry.is_due(self.is_open()).then_some(Instant::ZERO);
            earliest(soonest, earliest(due, entry.holder.map(|holder| holder.until)))
        })
    }

    /// Returns the entry of `lock`, inserted if there is room.
    fn entry(&mut self, lock: LockId) -> Option<&mut Entry> {
        if !self.entries.iter().any(|entry| entry.lock == lock) {
            self.entries.push(Entry { lock, holder: None, waiters: Vec::new() }).ok()?;
        }
        self.entries.iter_mut().find(|entry| entry.lock == lock)
    }

    fn remove_unused(&mut self) {
        self.entries.retain(|entry| entry.holder.is_some() || !entry.waiters.is_empty());
    }
}

impl Entry {
    /// Queues a request behind those with lower tickets.
    fn insert(&mut self, waiter: Waiter) -> Result<(), Waiter> {
        if self.waiters.is_full() {
            return Err(waiter);
        }
        let mut next = waiter;
        for queued in self.waiters.iter_mut().filter(|queued| queued.ticket > waiter.ticket) {
            core::mem::swap(queued, &mut next);
        }
        self.waiters.push(next)
    }

    fn is_due(&self, open: bool) -> bool {
        match self.holder {
            Some(holder) => !holder.notified && holder.node.is_some(),
            None => open && !self.waiters.is_empty(),
        }
    }
}

impl Holder {
    fn new(now: Instant, to: Waiter, fence: Fence, lock_delay: Duration) -> Self {
        let Waiter { node, number, lease, since, .. } = to;
        let until = now.after(lease_at_grantor(lease)).after(lock_delay);
        Self { node: Some(node), number, fence, waited: now.since(since), until, notified: false }
    }

    /// Records a hold granted by an earlier server.
    const fn of_earlier_server(node: NodeId, until: Instant) -> Self {
        let (number, fence, waited) = (LamportTime(0), Fence::ZERO, Duration::ZERO);
        Self { node: Some(node), number, fence, waited, until, notified: true }
    }
}

/// A new server's wait for grants of earlier servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Takeover {
    /// The end of every earlier lease.
    until: Instant,
    /// The members that have reported what they hold.
    reported: NodeSet,
}

impl Takeover {
    fn new(cx: &Context<'_>, lock_delay: Duration) -> Self {
        Self { until: cx.now.after(lease_at_grantor(cx.timing.lock_lease)).after(lock_delay), reported: NodeSet::EMPTY }
    }

    /// Returns whether locks may be granted. The whole group must have reported, not only the view: a member that was
    /// removed from the view may hold an earlier grant.
    fn is_over(&self, cx: &Context<'_>) -> bool {
        self.until <= cx.now || cx.roster.all().without(self.reported).is_empty()
    }
}

/// Returns whether this node knows all locks it may hold: it was up when the oldest lease was granted.
pub(super) fn knows_own_holds(cx: &Context<'_>) -> bool {
    cx.uptime >= lease_at_grantor(cx.timing.lock_lease)
}

#[cfg(test)]
mod tests;
