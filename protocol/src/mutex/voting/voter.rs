//! The voter: one vote for each lock, lent to one request at a time, and the queue of all others.
//!
//! After every event the voter updates the lock: a vote that is back is lent to the first request, a vote that a later
//! request has is inquired, and every other request is refused once.

use super::{MEMBERS_MAX, Message};
use crate::algorithm::Context;
use crate::base::config::lease_at_grantor;
use crate::base::ids::NodeSet;
use crate::base::lamport::LamportTime;
use crate::base::time::{CoarseInstant, Duration, Instant, earliest};
use crate::mutex::fence_numbers::FenceNumbers;
use crate::mutex::loopback::{LoopbackOutbox, up_with_self};
use crate::mutex::{LOCKS_MAX, LockId};
use heapless::Vec;

/// Requests that wait at one voter: [`LOCKS_MAX`] of each member. One more is refused, and not queued.
const REQUESTS_MAX: usize = MEMBERS_MAX * LOCKS_MAX;
/// Locks for which a voter lends its vote at a time. Requests for one more wait until a vote is back.
const VOTES_MAX: usize = 2 * LOCKS_MAX;

/// A request received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Request {
    pub(super) number: LamportTime,
    pub(super) lock: LockId,
    pub(super) lease: Duration,
    /// When this attempt arrived.
    pub(super) arrived: CoarseInstant,
    pub(super) attempt: u16,
    /// The slot of the requester.
    pub(super) slot: u8,
    pub(super) standing: Standing,
}

/// How far a request has come at the voter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Standing {
    /// It waits, and its refusal is to be sent.
    New,
    /// It waits, and knows.
    Refused,
    /// It waits for the vote to renew a hold by the votes of others: it comes first.
    Holds,
    /// It has the vote, which is to be sent.
    Lent,
    /// It has the vote, and knows.
    Sent,
    /// It has the vote, and was asked to return it.
    Inquired,
    /// It has the vote, and its requester has restarted: it cannot return the vote, and its hold ends with its lease.
    Restarted,
}

impl Request {
    fn requester(&self) -> NodeSet {
        NodeSet::slot(usize::from(self.slot))
    }

    /// Returns its place in the queue.
    fn priority(&self) -> (bool, LamportTime, u8) {
        (self.standing != Standing::Holds, self.number, self.slot)
    }

    fn is_of(&self, slot: u8, lock: LockId) -> bool {
        (self.slot, self.lock) == (slot, lock)
    }

    /// Returns the number and the attempt: an earlier request of the same node has a lower version.
    const fn version(&self) -> (LamportTime, u16) {
        (self.number, self.attempt)
    }
}

/// A vote that is lent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct LentVote {
    request: Request,
    /// The end of the lease.
    until: Instant,
    /// The fence number agreed to, and the highest before.
    number: LamportTime,
    before: LamportTime,
}

/// All votes and waiting requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Voter {
    waiting: Vec<Request, REQUESTS_MAX>,
    votes: Vec<LentVote, VOTES_MAX>,
    pub(super) numbers: FenceNumbers,
    /// The end of abstention: every vote lent before the start has returned by then.
    abstains_until: Instant,
    /// Whether a message is to be sent.
    outdated: bool,
}

type Out<'o> = LoopbackOutbox<'o, Message>;

impl Voter {
    /// Begins a step: a voter that has just started abstains.
    pub(super) fn begin_step(&mut self, cx: &Context<'_>) {
        let rest = lease_at_grantor(cx.timing.lock_lease).minus(cx.uptime);
        if rest > Duration::ZERO {
            self.abstains_until = cx.now.after(rest);
        }
        let abstains = self.abstains(cx);
        self.numbers.begin_step(cx, abstains);
    }

    fn abstains(&self, cx: &Context<'_>) -> bool {
        cx.now < self.abstains_until
    }

    pub(super) fn on_request(&mut self, cx: &Context<'_>, new: Request, trying: bool, out: &mut Out<'_>) {
        let Request { slot, lock, .. } = new;
        self.expire(cx, lock);
        if let Some(vote) = self.votes.iter_mut().find(|vote| vote.is_of(slot, lock)) {
            if new.version() < vote.request.version() {
                return; // out of date
            }
            if new.number == vote.request.number {
                let same = new.attempt == vote.request.attempt;
                let arrived = if same { vote.request.arrived } else { new.arrived };
                vote.request = Request { arrived, standing: Standing::Lent, ..new };
                self.update(cx, lock, out);
                return;
            }
            // A new request of the same node ends its earlier one.
            self.take_back(lock);
        }
        let before = self.waiting.iter().find(|waiting| waiting.is_of(slot, lock)).copied();
        if before.is_some_and(|waiting| new.version() < waiting.version()) {
            return; // out of date
        }
        let same = before.filter(|waiting| waiting.version() == new.version());
        self.waiting.retain(|waiting| !waiting.is_of(slot, lock));
        let new = Request { arrived: same.map_or(new.arrived, |waiting| waiting.arrived), ..new };
        let room = !trying || self.vote(lock).is_none() && !self.abstains(cx);
        if !room || self.waiting.push(new).is_err() {
            out.send(new.requester(), Message::Refuse { lock, request: new.number, ahead: self.ahead(&new) });
        }
        self.update(cx, lock, out);
        if trying {
            self.waiting.retain(|waiting| !waiting.is_of(slot, lock));
        }
    }

    /// Takes a vote back from a request that still waits.
    pub(super) fn on_relinquish(
        &mut self,
        cx: &Context<'_>,
        slot: u8,
        (lock, request, attempt): (LockId, LamportTime, u16),
        out: &mut Out<'_>,
    ) {
        let Some(vote) = self.vote_of(slot, lock, request).copied() else { return };
        if attempt <= vote.request.attempt {
            return; // of an earlier vote
        }
        self.numbers.retract(lock, vote.before);
        self.take_back(lock);
        // It knows that it waits. Where there is no room it asks again after a while.
        let arrived = CoarseInstant::of(cx.now);
        let _ = self.waiting.push(Request { attempt, arrived, standing: Standing::Refused, ..vote.request });
        self.update(cx, lock, out);
    }

    pub(super) fn on_release(
        &mut self,
        cx: &Context<'_>,
        slot: u8,
        (lock, request, held): (LockId, LamportTime, bool),
        out: &mut Out<'_>,
    ) {
        if let Some(before) = self.vote_of(slot, lock, request).map(|vote| vote.before) {
            if !held {
                self.numbers.retract(lock, before);
            }
            self.take_back(lock);
        }
        self.waiting.retain(|waiting| !waiting.is_of(slot, lock) || waiting.number != request);
        self.update(cx, lock, out);
    }

    /// Agrees to a higher fence number for the request that has the vote.
    pub(super) fn on_confirm(&mut self, slot: u8, of: (LockId, LamportTime), number: LamportTime, out: &mut Out<'_>) {
        let (lock, request) = of;
        let Some(vote) = self.vote_of(slot, lock, request) else { return };
        vote.number = vote.number.max(number);
        let (to, attempt) = (vote.request.requester(), vote.request.attempt);
        self.numbers.agree(lock, number);
        out.send(to, Message::Confirmed { lock, request, attempt, number });
    }

    /// Prolongs the vote of a holder, and lends it to a holder that has it not. There is no reply while another request
    /// has it: the vote is inquired, and the holder asks again.
    pub(super) fn on_renew(&mut self, cx: &Context<'_>, holder: Request, number: LamportTime, out: &mut Out<'_>) {
        let Request { slot, lock, number: request, lease, .. } = holder;
        self.expire(cx, lock);
        if self.vote(lock).is_none() && !self.abstains(cx) {
            let highest = self.numbers.highest(lock);
            let vote = LentVote::new(cx, Request { standing: Standing::Sent, ..holder }, highest, highest);
            let _ = self.votes.push(vote); // without room the holder asks again
        }
        let until = cx.now.after(lease_at_grantor(lease));
        if let Some(vote) = self.vote_of(slot, lock, request) {
            vote.until = vote.until.max(until);
            self.waiting.retain(|waiting| !waiting.is_of(slot, lock));
            out.send(holder.requester(), Message::Renewed { lock, number });
        } else if !self.waiting.iter().any(|waiting| waiting.is_of(slot, lock) && waiting.standing == Standing::Holds) {
            self.waiting.retain(|waiting| !waiting.is_of(slot, lock));
            let _ = self.waiting.push(Request { standing: Standing::Holds, ..holder });
            self.update(cx, lock, out);
        }
    }

    /// Takes the restart of members: they have forgotten their requests, and their holds end with their leases.
    pub(super) fn on_peer_reset(&mut self, set: NodeSet) {
        self.waiting.retain(|waiting| !set.meets(waiting.requester()));
        for vote in self.votes.iter_mut().filter(|vote| set.meets(vote.request.requester())) {
            vote.request.standing = Standing::Restarted;
        }
        self.outdated = true;
    }

    /// Takes the return of members: they may have missed messages.
    pub(super) fn on_peer_up(&mut self, set: NodeSet) {
        for waiting in self.waiting.iter_mut().filter(|waiting| set.meets(waiting.requester())) {
            if waiting.standing == Standing::Refused {
                waiting.standing = Standing::New;
            }
        }
        for vote in self.votes.iter_mut().filter(|vote| set.meets(vote.request.requester())) {
            if vote.request.standing != Standing::Restarted {
                vote.request.standing = Standing::Lent;
            }
        }
        self.outdated = true;
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let expiry = self.votes.iter().map(|vote| vote.until).min();
        let unlent = |waiting: &Request| self.vote(waiting.lock).is_none();
        let start = self.waiting.iter().any(unlent).then_some(self.abstains_until).filter(|_| self.outdated);
        let send = self.outdated.then_some(Instant::ZERO).filter(|_| start.is_none());
        earliest(expiry, earliest(start, send))
    }

    /// Does due work, a little at a time.
    pub(super) fn run_due(&mut self, cx: &Context<'_>, out: &mut Out<'_>) {
        if let Some(lock) = self.votes.iter().find(|vote| vote.until <= cx.now).map(|vote| vote.request.lock) {
            self.expire(cx, lock);
            self.update(cx, lock, out);
            return;
        }
        if !core::mem::take(&mut self.outdated) {
            return;
        }
        let mut index = 0;
        while let Some(lock) = self.votes.get(index).map(|vote| vote.request.lock) {
            self.update(cx, lock, out);
            index = index.saturating_add(1);
        }
        let mut index = 0;
        while let Some(lock) = self.waiting.get(index).map(|waiting| waiting.lock) {
            let before = self.waiting.len();
            self.update(cx, lock, out);
            if self.waiting.len() == before {
                index = index.saturating_add(1); // otherwise another is at this index
            }
        }
    }

    /// Lends the vote for `lock`, and sends what the requesters do not know yet.
    fn update(&mut self, cx: &Context<'_>, lock: LockId, out: &mut Out<'_>) {
        let up = up_with_self(cx);
        if self.abstains(cx) {
            let waits = self.waiting.iter().any(|waiting| waiting.lock == lock);
            self.outdated |= waits && self.vote(lock).is_none();
        } else {
            self.lend(cx, lock, up);
        }
        let first = self.first(lock, up).map(Request::priority);
        let vote = self.votes.iter_mut().find(|vote| vote.request.lock == lock);
        if let Some(vote) =
            vote.filter(|vote| up.meets(vote.request.requester()) && vote.request.standing != Standing::Restarted)
        {
            let ((request, attempt), number) = (vote.request.version(), vote.number);
            if vote.request.standing == Standing::Lent {
                if out.is_full() {
                    self.outdated = true;
                    return;
                }
                vote.request.standing = Standing::Sent;
                vote.until = vote.until.max(cx.now.after(lease_at_grantor(vote.request.lease)));
                // The clock of arrivals counts milliseconds: so much less has surely passed.
                let waited = vote.request.arrived.elapsed(cx.now).minus(Duration::from_millis(1));
                out.send(vote.request.requester(), Message::Vote { lock, request, attempt, number, waited });
            }
            if vote.request.standing == Standing::Sent && first.is_some_and(|first| first < vote.request.priority()) {
                if out.is_full() {
                    self.outdated = true;
                    return;
                }
                vote.request.standing = Standing::Inquired;
                out.send(vote.request.requester(), Message::Inquire { lock, request, attempt });
            }
        }
        self.refuse_waiting(lock, up, out);
    }

    /// Lends the vote to the first request, if it is not lent.
    fn lend(&mut self, cx: &Context<'_>, lock: LockId, up: NodeSet) {
        let Some(&request) = self.first(lock, up).filter(|_| self.vote(lock).is_none()) else {
            return;
        };
        let (before, number) = (self.numbers.highest(lock), self.numbers.proposal(lock, request.number));
        if self.votes.push(LentVote::new(cx, Request { standing: Standing::Lent, ..request }, number, before)).is_ok() {
            self.numbers.agree(lock, number);
            self.waiting.retain(|waiting| *waiting != request);
        }
    }

    /// Sends a refusal to the requests that wait for `lock` and do not know it.
    fn refuse_waiting(&mut self, lock: LockId, up: NodeSet, out: &mut Out<'_>) {
        for index in 0..self.waiting.len() {
            let Some(&request) = self.waiting.get(index) else { return };
            if request.lock != lock || request.standing != Standing::New || !up.meets(request.requester()) {
                continue;
            }
            if out.is_full() {
                self.outdated = true;
                return;
            }
            let ahead = self.ahead(&request);
            out.send(request.requester(), Message::Refuse { lock, request: request.number, ahead });
            if let Some(waiting) = self.waiting.get_mut(index) {
                waiting.standing = Standing::Refused;
            }
        }
    }

    /// Returns how many requests come before this one, that with the vote included.
    fn ahead(&self, request: &Request) -> u8 {
        let before = |other: &&Request| other.lock == request.lock && other.priority() < request.priority();
        u8::try_from(self.waiting.iter().filter(before).count()).unwrap_or(u8::MAX).saturating_add(1)
    }

    /// Takes back the vote for `lock` if its lease has ended.
    fn expire(&mut self, cx: &Context<'_>, lock: LockId) {
        if self.vote(lock).is_some_and(|vote| vote.until <= cx.now) {
            self.take_back(lock);
        }
    }

    /// Takes back the vote for `lock`; requests for another lock may have waited for its room.
    fn take_back(&mut self, lock: LockId) {
        self.outdated |= self.votes.is_full();
        self.votes.retain(|vote| vote.request.lock != lock);
    }

    fn vote(&self, lock: LockId) -> Option<&LentVote> {
        self.votes.iter().find(|vote| vote.request.lock == lock)
    }

    /// Returns the vote for `lock`, if this request has it.
    fn vote_of(&mut self, slot: u8, lock: LockId, request: LamportTime) -> Option<&mut LentVote> {
        let mut votes = self.votes.iter_mut();
        votes.find(|vote| vote.is_of(slot, lock) && vote.request.number == request)
    }

    /// Returns the first request for `lock` of a member that is up: a vote is not lent to one that is down.
    fn first(&self, lock: LockId, up: NodeSet) -> Option<&Request> {
        let here = |waiting: &&Request| waiting.lock == lock && up.meets(waiting.requester());
        self.waiting.iter().filter(here).min_by_key(|waiting| waiting.priority())
    }
}

impl LentVote {
    fn new(cx: &Context<'_>, request: Request, number: LamportTime, before: LamportTime) -> Self {
        let until = cx.now.after(lease_at_grantor(request.lease));
        Self { request, until, number, before }
    }

    /// Returns whether it is lent to this node, which has not restarted since.
    fn is_of(&self, slot: u8, lock: LockId) -> bool {
        self.request.is_of(slot, lock) && self.request.standing != Standing::Restarted
    }
}
