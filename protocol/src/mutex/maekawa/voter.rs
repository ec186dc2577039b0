//! A node as a voter: one vote for each lock, lent to one request at a time.
//!
//! After whatever has happened the voter settles a lock: it brings what it has said in line with what is. That keeps the
//! rule that makes the algorithm live: every request that waits has been told to fail, except the one, if any, for whose
//! sake the vote is being asked back.

use super::Message;
use crate::algorithm::Context;
use crate::clock::Stamp;
use crate::config::granted;
use crate::group::NodeSet;
use crate::mutex::numbers::Numbers;
use crate::mutex::post::Post;
use crate::mutex::{LOCKS_MAX, LockId};
use crate::time::{Instant, Span, Tick, sooner};
use heapless::Vec;

/// How many requests a voter keeps: [`LOCKS_MAX`] of each of 16 members. One more is refused.
pub const REQUESTS_MAX: usize = 16 * LOCKS_MAX;
/// How many locks may be asked for at one voter at a time. One more is refused.
pub const VOTES_MAX: usize = 2 * LOCKS_MAX;

/// A request as it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Request {
    pub(super) number: Stamp,
    pub(super) lock: LockId,
    pub(super) lease: Span,
    pub(super) turn: u16,
    /// Who asks.
    pub(super) slot: u8,
}

impl Request {
    fn asker(&self) -> NodeSet {
        NodeSet::slot(usize::from(self.slot))
    }

    /// Whether it comes first.
    fn is_before(&self, other: &Self) -> bool {
        (self.number, self.slot) < (other.number, other.slot)
    }

    fn is_of(&self, slot: u8, lock: LockId) -> bool {
        (self.slot, self.lock) == (slot, lock)
    }
}

/// What a request that waits has been told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Told {
    Nothing,
    /// That the vote is being asked back for its sake.
    Wait,
    /// That another comes first.
    Fail,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Waiting {
    request: Request,
    /// When it came in this turn.
    arrived: Tick,
    told: Told,
}

/// A vote that is lent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Vote {
    request: Request,
    arrived: Tick,
    /// Until when it is lent, whatever happens.
    until: Instant,
    /// The number agreed to, and the highest before.
    number: Stamp,
    before: Stamp,
    told: bool,
    /// Whether it is being asked back.
    inquired: bool,
    /// Whether its asker has restarted: it cannot give the vote back, and what it held ends by its time.
    gone: bool,
}

/// The voter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Voter {
    waiting: Vec<Waiting, REQUESTS_MAX>,
    votes: Vec<Vote, VOTES_MAX>,
    pub(super) numbers: Numbers,
    /// From when on it may vote: what it lent before it started has come back by then.
    from: Instant,
    /// Whether something is left to be said.
    unsettled: bool,
}

type Out<'o> = Post<'o, Message>;

impl Voter {
    /// To be told before everything else in a step: a voter that has just started abstains.
    pub(super) fn wake(&mut self, cx: &Context<'_>) {
        let fast = granted(cx.timing.lock_lease).minus(cx.uptime);
        if fast > Span::ZERO {
            self.from = cx.now.after(fast);
        }
        let abstains = self.abstains(cx);
        self.numbers.wake(cx, abstains);
    }

    fn abstains(&self, cx: &Context<'_>) -> bool {
        cx.now < self.from
    }

    /// A request has come, or has come again.
    pub(super) fn ask(&mut self, cx: &Context<'_>, new: Request, out: &mut Out<'_>) {
        let (slot, lock) = (new.slot, new.lock);
        let of_same = |old: &Request| old.is_of(slot, lock);
        if let Some(vote) = self.votes.iter_mut().find(|vote| of_same(&vote.request) && !vote.gone) {
            if (new.number, new.turn) < (vote.request.number, vote.request.turn) {
                return; // out of date
            }
            if new.number == vote.request.number {
                if new.turn != vote.request.turn {
                    vote.arrived = Tick::of(cx.now);
                }
                (vote.request, vote.told) = (new, false);
            } else {
                self.votes.retain(|vote| !of_same(&vote.request) || vote.gone); // it asks anew: it has left
                self.admit(cx, new, out);
            }
        } else if let Some(waiting) = self.waiting.iter_mut().find(|waiting| of_same(&waiting.request)) {
            if (new.number, new.turn) < (waiting.request.number, waiting.request.turn) {
                return; // out of date
            }
            if (new.number, new.turn) != (waiting.request.number, waiting.request.turn) {
                waiting.arrived = Tick::of(cx.now);
            }
            (waiting.request, waiting.told) = (new, Told::Nothing);
        } else {
            self.admit(cx, new, out);
        }
        self.settle(cx, lock, out);
    }

    /// Keeps a new request, if there is room for it.
    fn admit(&mut self, cx: &Context<'_>, new: Request, out: &mut Out<'_>) {
        // A vote that is given back waits again: there must be room for it too.
        let room = self.waiting.len().saturating_add(self.votes.len()) < REQUESTS_MAX;
        let room = room && (self.knows(new.lock) || self.locks() < VOTES_MAX);
        if !room {
            out.send(new.asker(), Message::Full { lock: new.lock, request: new.number });
            return;
        }
        let _ = self.waiting.push(Waiting { request: new, arrived: Tick::of(cx.now), told: Told::Nothing });
    }

    fn knows(&self, lock: LockId) -> bool {
        self.vote(lock).is_some() || self.waiting.iter().any(|waiting| waiting.request.lock == lock)
    }

    /// How many locks are lent or asked for.
    fn locks(&self) -> usize {
        let unlent = self.waiting.iter().enumerate().filter(|&(place, waiting)| {
            let lock = waiting.request.lock;
            let earlier = self.waiting.iter().take(place).any(|other| other.request.lock == lock);
            !earlier && self.vote(lock).is_none()
        });
        self.votes.len().saturating_add(unlent.count())
    }

    /// A vote comes back from a request that still waits.
    pub(super) fn relinquish(&mut self, cx: &Context<'_>, slot: u8, given: (LockId, Stamp, u16), out: &mut Out<'_>) {
        let (lock, request, turn) = given;
        let Some(vote) = self.vote_of(slot, lock, request).copied() else { return };
        if turn <= vote.request.turn {
            return; // of an earlier vote
        }
        self.numbers.take_back(lock, vote.before);
        self.votes.retain(|vote| vote.request.lock != lock);
        let request = Request { turn, ..vote.request };
        let arrived = Tick::of(cx.now);
        let _ = self.waiting.push(Waiting { request, arrived, told: Told::Fail }); // it knows that it waits
        self.settle(cx, lock, out);
    }

    /// A request is over.
    pub(super) fn release(&mut self, cx: &Context<'_>, slot: u8, lock: LockId, request: Stamp, out: &mut Out<'_>) {
        let over = |old: &Request| old.is_of(slot, lock) && old.number == request;
        self.votes.retain(|vote| vote.gone || !over(&vote.request));
        self.waiting.retain(|waiting| !over(&waiting.request));
        self.settle(cx, lock, out);
    }

    /// Agrees to a higher number for a request that has the vote.
    pub(super) fn confirm(&mut self, slot: u8, lock: LockId, request: Stamp, number: Stamp, out: &mut Out<'_>) {
        let Some(vote) = self.vote_of(slot, lock, request) else { return };
        vote.number = vote.number.max(number);
        let to = vote.request.asker();
        self.numbers.agree(lock, number);
        out.send(to, Message::Confirmed { lock, request, number });
    }

    /// Lends the vote longer to whoever has it. One that has just started and has lent nothing believes whoever says it has
    /// the vote: nobody else can have it, and whoever had it and lost it meanwhile makes nothing of the answer.
    pub(super) fn renew(&mut self, cx: &Context<'_>, renewal: Request, number: Stamp, out: &mut Out<'_>) {
        let Request { lock, lease, slot, number: request, .. } = renewal;
        let until = cx.now.after(granted(lease));
        if self.vote(lock).is_none() && self.abstains(cx) {
            let before = self.numbers.highest(lock);
            let arrived = Tick::of(cx.now);
            let vote = Vote {
                request: renewal,
                arrived,
                until,
                number: before,
                before,
                told: true,
                inquired: false,
                gone: false,
            };
            if self.locks() >= VOTES_MAX || self.votes.push(vote).is_err() {
                return; // no room to remember it: the hold ends by its time
            }
        }
        let Some(vote) = self.vote_of(slot, lock, request) else { return };
        vote.until = vote.until.max(until);
        out.send(renewal.asker(), Message::Renewed { lock, number });
    }

    /// These have restarted: what they asked for they have forgotten, what they held ends by its time.
    pub(super) fn reset(&mut self, who: NodeSet) {
        self.waiting.retain(|waiting| !who.meets(waiting.request.asker()));
        self.votes.iter_mut().filter(|vote| who.meets(vote.request.asker())).for_each(|vote| vote.gone = true);
        self.unsettled = true;
    }

    /// These may have missed what they were told.
    pub(super) fn remind(&mut self, who: NodeSet) {
        self.waiting.iter_mut().filter(|w| who.meets(w.request.asker())).for_each(|w| w.told = Told::Nothing);
        self.votes.iter_mut().filter(|vote| who.meets(vote.request.asker())).for_each(|vote| vote.told = false);
        self.unsettled = true;
    }

    /// When there is something to do.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let expiry = self.votes.iter().map(|vote| vote.until).min();
        let unlent = |waiting: &Waiting| self.vote(waiting.request.lock).is_none();
        let start = self.waiting.iter().any(unlent).then_some(self.from).filter(|_| self.unsettled);
        let talk = self.unsettled.then_some(Instant::ZERO).filter(|_| start.is_none());
        sooner(expiry, sooner(start, talk))
    }

    /// Does what is due, a little at a time.
    pub(super) fn tend(&mut self, cx: &Context<'_>, out: &mut Out<'_>) {
        if let Some(lock) = self.votes.iter().find(|vote| vote.until <= cx.now).map(|vote| vote.request.lock) {
            self.votes.retain(|vote| vote.request.lock != lock);
            self.settle(cx, lock, out);
            return;
        }
        if !self.unsettled {
            return;
        }
        self.unsettled = false;
        let mut place = 0;
        while let Some(lock) = self.votes.get(place).map(|vote| vote.request.lock) {
            self.settle(cx, lock, out);
            place = place.saturating_add(1);
        }
        let mut place = 0;
        while let Some(lock) = self.waiting.get(place).map(|waiting| waiting.request.lock) {
            let before = self.waiting.len();
            self.settle(cx, lock, out);
            if self.waiting.len() == before {
                place = place.saturating_add(1); // otherwise another has taken its place
            }
        }
    }

    /// Brings what the askers of `lock` were told in line with what is.
    fn settle(&mut self, cx: &Context<'_>, lock: LockId, out: &mut Out<'_>) {
        let up = cx.up.with(cx.roster.set_of(cx.me));
        if self.abstains(cx) {
            self.unsettled |= self.vote(lock).is_none() && self.knows(lock);
        } else {
            self.lend(cx, lock, up);
        }
        let first = self.first(lock, up).copied();
        let Some(vote) = self.votes.iter_mut().find(|vote| vote.request.lock == lock) else {
            self.tell_waiting(lock, up, None, out);
            return;
        };
        let reachable = up.meets(vote.request.asker()) && !vote.gone;
        let (request, turn) = (vote.request.number, vote.request.turn);
        if reachable && !vote.told {
            if out.is_full() {
                self.unsettled = true;
                return;
            }
            (vote.told, vote.inquired) = (true, false);
            vote.until = vote.until.max(cx.now.after(granted(vote.request.lease)));
            // A tick is a millisecond: so much less has surely passed.
            let waited = vote.arrived.ago(cx.now).minus(Span::from_millis(1));
            let grant = Message::Grant { lock, request, turn, number: vote.number, waited };
            out.send(vote.request.asker(), grant);
        }
        let rival = first.filter(|first| first.is_before(&vote.request));
        if rival.is_some() && reachable && !vote.inquired {
            if out.is_full() {
                self.unsettled = true;
                return;
            }
            vote.inquired = true;
            out.send(vote.request.asker(), Message::Inquire { lock, request, turn });
        }
        self.tell_waiting(lock, up, rival, out);
    }

    /// Lends the vote to whoever comes first, if it is there to be lent.
    fn lend(&mut self, cx: &Context<'_>, lock: LockId, up: NodeSet) {
        if self.vote(lock).is_some() {
            return;
        }
        let Some(&request) = self.first(lock, up) else { return };
        let same = |waiting: &Waiting| waiting.request == request;
        let Some(arrived) = self.waiting.iter().find(|w| same(w)).map(|w| w.arrived) else { return };
        let (before, number) = (self.numbers.highest(lock), self.numbers.proposal(lock, request.number));
        let until = cx.now.after(granted(request.lease));
        let vote = Vote { request, arrived, until, number, before, told: false, inquired: false, gone: false };
        if self.votes.push(vote).is_ok() {
            self.numbers.agree(lock, number);
            self.waiting.retain(|waiting| !same(waiting));
        }
    }

    /// Tells those who wait for `lock` how they stand: `rival` is the one for whose sake the vote is asked back.
    fn tell_waiting(&mut self, lock: LockId, up: NodeSet, rival: Option<Request>, out: &mut Out<'_>) {
        for place in 0..self.waiting.len() {
            let Some(&Waiting { request, told, .. }) = self.waiting.get(place) else { return };
            let due = if Some(request) == rival { Told::Wait } else { Told::Fail };
            // Whoever was told to fail may come first now: it will be told when it has the vote.
            if request.lock != lock || told == Told::Fail || told == due || !up.meets(request.asker()) {
                continue;
            }
            if out.is_full() {
                self.unsettled = true;
                return;
            }
            let before =
                self.waiting.iter().filter(|w| w.request.lock == lock && w.request.is_before(&request)).count();
            let ahead = u8::try_from(before).unwrap_or(u8::MAX).saturating_add(1);
            let number = request.number;
            out.send(
                request.asker(),
                if due == Told::Wait {
                    Message::Wait { lock, request: number, ahead }
                } else {
                    Message::Fail { lock, request: number, ahead }
                },
            );
            if let Some(waiting) = self.waiting.get_mut(place) {
                waiting.told = due;
            }
        }
    }

    fn vote(&self, lock: LockId) -> Option<&Vote> {
        self.votes.iter().find(|vote| vote.request.lock == lock)
    }

    /// The vote for `lock`, if this request has it.
    fn vote_of(&mut self, slot: u8, lock: LockId, request: Stamp) -> Option<&mut Vote> {
        let mut votes = self.votes.iter_mut();
        votes.find(|vote| vote.request.is_of(slot, lock) && vote.request.number == request && !vote.gone)
    }

    /// The request for `lock` that comes first, of those who are up: a vote is not lent to somebody who is gone.
    fn first(&self, lock: LockId, up: NodeSet) -> Option<&Request> {
        let requests = self.waiting.iter().map(|waiting| &waiting.request);
        let here = requests.filter(|request| request.lock == lock && up.meets(request.asker()));
        here.min_by_key(|request| (request.number, request.slot))
    }
}
