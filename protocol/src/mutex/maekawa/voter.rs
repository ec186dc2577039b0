//! The voter: one vote for each lock, lent to one request at a time.
//!
//! After every event the voter updates the lock: it brings its replies in line with the queue. That keeps the rule that
//! makes the algorithm live: every waiting request has got a Fail, except the one, if any, for whose sake the vote is
//! inquired.

use super::Message;
use crate::algorithm::Context;
use crate::base::config::lease_at_grantor;
use crate::base::ids::NodeSet;
use crate::base::lamport::LamportTime;
use crate::base::time::{CoarseInstant, Duration, Instant, earliest};
use crate::mutex::fence_numbers::FenceNumbers;
use crate::mutex::loopback::{LoopbackOutbox, up_with_self};
use crate::mutex::{LOCKS_MAX, LockId};
use heapless::Vec;

/// Requests at one voter: [`LOCKS_MAX`] of each of 16 members. One more is refused.
const REQUESTS_MAX: usize = 16 * LOCKS_MAX;
/// Locks requested at one voter at a time. One more is refused.
const VOTES_MAX: usize = 2 * LOCKS_MAX;

/// A request received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Request {
    pub(super) number: LamportTime,
    pub(super) lock: LockId,
    pub(super) lease: Duration,
    pub(super) attempt: u16,
    /// The slot of the requester.
    pub(super) slot: u8,
}

impl Request {
    fn requester(&self) -> NodeSet {
        NodeSet::slot(usize::from(self.slot))
    }

    fn is_before(&self, other: &Self) -> bool {
        (self.number, self.slot) < (other.number, other.slot)
    }

    fn is_of(&self, slot: u8, lock: LockId) -> bool {
        (self.slot, self.lock) == (slot, lock)
    }

    /// Returns the number and the attempt: an earlier request of the same node has a lower version.
    const fn version(&self) -> (LamportTime, u16) {
        (self.number, self.attempt)
    }
}

/// The last reply to a waiting request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum LastReply {
    None,
    /// The vote is inquired for its sake.
    Wait,
    /// Another comes first.
    Fail,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Waiting {
    request: Request,
    /// The arrival of this attempt.
    arrived: CoarseInstant,
    last_reply: LastReply,
}

/// A vote that is lent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct LentVote {
    request: Request,
    arrived: CoarseInstant,
    /// The end of the lease.
    until: Instant,
    /// The fence number agreed to, and the highest before.
    number: LamportTime,
    before: LamportTime,
    /// Whether the grant was sent.
    sent: bool,
    inquired: bool,
    /// Whether the requester has restarted: it cannot return the vote, and its hold ends with its lease.
    restarted: bool,
}

/// All votes and waiting requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Voter {
    waiting: Vec<Waiting, REQUESTS_MAX>,
    votes: Vec<LentVote, VOTES_MAX>,
    pub(super) numbers: FenceNumbers,
    /// The end of abstention: every vote lent before the start has returned by then.
    abstains_until: Instant,
    /// Whether a reply is to be sent.
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

    pub(super) fn on_request(&mut self, cx: &Context<'_>, new: Request, out: &mut Out<'_>) {
        let (slot, lock) = (new.slot, new.lock);
        let of_same = |old: &Request| old.is_of(slot, lock);
        if let Some(vote) = self.votes.iter_mut().find(|vote| of_same(&vote.request) && !vote.restarted) {
            if new.version() < vote.request.version() {
                return; // out of date
            }
            if new.number == vote.request.number {
                if new.attempt != vote.request.attempt {
                    vote.arrived = CoarseInstant::of(cx.now);
                }
                (vote.request, vote.sent) = (new, false);
            } else {
                self.votes.retain(|vote| !of_same(&vote.request) || vote.restarted); // a new request: it has left
                self.admit(cx, new, out);
            }
        } else if let Some(waiting) = self.waiting.iter_mut().find(|waiting| of_same(&waiting.request)) {
            if new.version() < waiting.request.version() {
                return; // out of date
            }
            if new.version() != waiting.request.version() {
                waiting.arrived = CoarseInstant::of(cx.now);
            }
            (waiting.request, waiting.last_reply) = (new, LastReply::None);
        } else {
            self.admit(cx, new, out);
        }
        self.update(cx, lock, out);
    }

    fn admit(&mut self, cx: &Context<'_>, new: Request, out: &mut Out<'_>) {
        // A relinquished vote waits again: it needs room too.
        let room = self.waiting.len().saturating_add(self.votes.len()) < REQUESTS_MAX;
        let room = room && (self.knows(new.lock) || self.locks() < VOTES_MAX);
        if !room {
            out.send(new.requester(), Message::Full { lock: new.lock, request: new.number });
            return;
        }
        let arrived = CoarseInstant::of(cx.now);
        let _ = self.waiting.push(Waiting { request: new, arrived, last_reply: LastReply::None });
    }

    fn knows(&self, lock: LockId) -> bool {
        self.vote(lock).is_some() || self.waiting.iter().any(|waiting| waiting.request.lock == lock)
    }

    /// Returns the number of locks lent or requested.
    fn locks(&self) -> usize {
        let unlent = self.waiting.iter().enumerate().filter(|&(index, waiting)| {
            let lock = waiting.request.lock;
            let earlier = self.waiting.iter().take(index).any(|other| other.request.lock == lock);
            !earlier && self.vote(lock).is_none()
        });
        self.votes.len().saturating_add(unlent.count())
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
        self.votes.retain(|vote| vote.request.lock != lock);
        let request = Request { attempt, ..vote.request };
        let arrived = CoarseInstant::of(cx.now);
        let _ = self.waiting.push(Waiting { request, arrived, last_reply: LastReply::Fail }); // it knows that it waits
        self.update(cx, lock, out);
    }

    pub(super) fn on_release(&mut self, cx: &Context<'_>, slot: u8, over: (LockId, LamportTime), out: &mut Out<'_>) {
        let (lock, request) = over;
        let over = |old: &Request| old.is_of(slot, lock) && old.number == request;
        self.votes.retain(|vote| vote.restarted || !over(&vote.request));
        self.waiting.retain(|waiting| !over(&waiting.request));
        self.update(cx, lock, out);
    }

    /// Agrees to a higher fence number for the request that has the vote.
    pub(super) fn on_confirm(&mut self, slot: u8, of: (LockId, LamportTime), number: LamportTime, out: &mut Out<'_>) {
        let (lock, request) = of;
        let Some(vote) = self.vote_of(slot, lock, request) else { return };
        vote.number = vote.number.max(number);
        let to = vote.request.requester();
        self.numbers.agree(lock, number);
        out.send(to, Message::Confirmed { lock, request, number });
    }

    /// Prolongs the vote of a holder. A voter that has just started and has lent nothing believes a requester that
    /// claims the vote: no other can have it, and a requester that lost it meanwhile ignores the reply.
    pub(super) fn on_renew(&mut self, cx: &Context<'_>, renewal: Request, number: LamportTime, out: &mut Out<'_>) {
        let Request { lock, lease, slot, number: request, .. } = renewal;
        let until = cx.now.after(lease_at_grantor(lease));
        if self.vote(lock).is_none() && self.abstains(cx) {
            let before = self.numbers.highest(lock);
            let vote = LentVote { sent: true, ..LentVote::new(cx, renewal, CoarseInstant::of(cx.now), before, before) };
            if self.locks() >= VOTES_MAX || self.votes.push(vote).is_err() {
                return; // no room to remember it: the hold ends with its lease
            }
        }
        let Some(vote) = self.vote_of(slot, lock, request) else { return };
        vote.until = vote.until.max(until);
        out.send(renewal.requester(), Message::Renewed { lock, number });
    }

    /// Takes the restart of members: they have forgotten their requests, and their holds end with their leases.
    pub(super) fn on_peer_reset(&mut self, set: NodeSet) {
        self.waiting.retain(|waiting| !set.meets(waiting.request.requester()));
        for vote in self.votes.iter_mut().filter(|vote| set.meets(vote.request.requester())) {
            vote.restarted = true;
        }
        self.outdated = true;
    }

    /// Takes the return of members: they may have missed replies.
    pub(super) fn on_peer_up(&mut self, set: NodeSet) {
        for waiting in self.waiting.iter_mut().filter(|waiting| set.meets(waiting.request.requester())) {
            waiting.last_reply = LastReply::None;
        }
        for vote in self.votes.iter_mut().filter(|vote| set.meets(vote.request.requester())) {
            vote.sent = false;
        }
        self.outdated = true;
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let expiry = self.votes.iter().map(|vote| vote.until).min();
        let unlent = |waiting: &Waiting| self.vote(waiting.request.lock).is_none();
        let start = self.waiting.iter().any(unlent).then_some(self.abstains_until).filter(|_| self.outdated);
        let send = self.outdated.then_some(Instant::ZERO).filter(|_| start.is_none());
        earliest(expiry, earliest(start, send))
    }

    /// Does due work, a little at a time.
    pub(super) fn run_due(&mut self, cx: &Context<'_>, out: &mut Out<'_>) {
        if let Some(lock) = self.votes.iter().find(|vote| vote.until <= cx.now).map(|vote| vote.request.lock) {
            self.votes.retain(|vote| vote.request.lock != lock);
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
        while let Some(lock) = self.waiting.get(index).map(|waiting| waiting.request.lock) {
            let before = self.waiting.len();
            self.update(cx, lock, out);
            if self.waiting.len() == before {
                index = index.saturating_add(1); // otherwise another is at this index
            }
        }
    }

    /// Lends the vote for `lock`, and brings all replies in line with the queue.
    fn update(&mut self, cx: &Context<'_>, lock: LockId, out: &mut Out<'_>) {
        let up = up_with_self(cx);
        if self.abstains(cx) {
            self.outdated |= self.vote(lock).is_none() && self.knows(lock);
        } else {
            self.lend(cx, lock, up);
        }
        let first = self.first(lock, up).copied();
        let Some(vote) = self.votes.iter_mut().find(|vote| vote.request.lock == lock) else {
            self.reply_to_waiting(lock, up, None, out);
            return;
        };
        let reachable = up.meets(vote.request.requester()) && !vote.restarted;
        let (request, attempt) = vote.request.version();
        if reachable && !vote.sent {
            if out.is_full() {
                self.outdated = true;
                return;
            }
            (vote.sent, vote.inquired) = (true, false);
            vote.until = vote.until.max(cx.now.after(lease_at_grantor(vote.request.lease)));
            // The clock of arrivals counts milliseconds: so much less has surely passed.
            let waited = vote.arrived.elapsed(cx.now).minus(Duration::from_millis(1));
            let grant = Message::Grant { lock, request, attempt, number: vote.number, waited };
            out.send(vote.request.requester(), grant);
        }
        let rival = first.filter(|first| first.is_before(&vote.request));
        if rival.is_some() && reachable && !vote.inquired {
            if out.is_full() {
                self.outdated = true;
                return;
            }
            vote.inquired = true;
            out.send(vote.request.requester(), Message::Inquire { lock, request, attempt });
        }
        self.reply_to_waiting(lock, up, rival, out);
    }

    /// Lends the vote to the first request, if it is not lent.
    fn lend(&mut self, cx: &Context<'_>, lock: LockId, up: NodeSet) {
        if self.vote(lock).is_some() {
            return;
        }
        let Some(&request) = self.first(lock, up) else { return };
        let same = |waiting: &Waiting| waiting.request == request;
        let Some(arrived) = self.waiting.iter().find(|w| same(w)).map(|w| w.arrived) else { return };
        let (before, number) = (self.numbers.highest(lock), self.numbers.proposal(lock, request.number));
        if self.votes.push(LentVote::new(cx, request, arrived, number, before)).is_ok() {
            self.numbers.agree(lock, number);
            self.waiting.retain(|waiting| !same(waiting));
        }
    }

    /// Replies to the requests that wait for `lock`; the vote is inquired for the sake of `rival`.
    fn reply_to_waiting(&mut self, lock: LockId, up: NodeSet, rival: Option<Request>, out: &mut Out<'_>) {
        for index in 0..self.waiting.len() {
            let Some(&Waiting { request, last_reply, .. }) = self.waiting.get(index) else { return };
            let due = if Some(request) == rival { LastReply::Wait } else { LastReply::Fail };
            // A request that got a Fail may come first now: its next reply is the vote.
            let replied = last_reply == LastReply::Fail || last_reply == due;
            if request.lock != lock || replied || !up.meets(request.requester()) {
                continue;
            }
            if out.is_full() {
                self.outdated = true;
                return;
            }
            let before =
                self.waiting.iter().filter(|w| w.request.lock == lock && w.request.is_before(&request)).count();
            let ahead = u8::try_from(before).unwrap_or(u8::MAX).saturating_add(1);
            let (to, request) = (request.requester(), request.number);
            let wait = due == LastReply::Wait;
            let fail = Message::Fail { lock, request, ahead };
            out.send(to, if wait { Message::Wait { lock, request, ahead } } else { fail });
            if let Some(waiting) = self.waiting.get_mut(index) {
                waiting.last_reply = due;
            }
        }
    }

    fn vote(&self, lock: LockId) -> Option<&LentVote> {
        self.votes.iter().find(|vote| vote.request.lock == lock)
    }

    /// Returns the vote for `lock`, if this request has it.
    fn vote_of(&mut self, slot: u8, lock: LockId, request: LamportTime) -> Option<&mut LentVote> {
        let mut votes = self.votes.iter_mut();
        votes.find(|vote| vote.request.is_of(slot, lock) && vote.request.number == request && !vote.restarted)
    }

    /// Returns the first request for `lock` of a member that is up: a vote is not lent to one that is down.
    fn first(&self, lock: LockId, up: NodeSet) -> Option<&Request> {
        let requests = self.waiting.iter().map(|waiting| &waiting.request);
        let here = requests.filter(|request| request.lock == lock && up.meets(request.requester()));
        here.min_by_key(|request| (request.number, request.slot))
    }
}

impl LentVote {
    fn new(
        cx: &Context<'_>,
        request: Request,
        arrived: CoarseInstant,
        number: LamportTime,
        before: LamportTime,
    ) -> Self {
        let until = cx.now.after(lease_at_grantor(request.lease));
        Self { request, arrived, until, number, before, sent: false, inquired: false, restarted: false }
    }
}
