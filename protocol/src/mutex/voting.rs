//! Majority voting: the request with the votes of more than half of the group holds the lock.
//!
//! A requester asks all members, itself included, and enters with a strict majority of the configured group: two
//! majorities share a member, and a member lends its vote to one request at a time. There is no queue: a voter whose
//! vote is lent refuses. A requester that cannot get a majority any more returns its votes at once and asks again after
//! a random backoff, which doubles at first, because three requesters with a third of the votes each would otherwise
//! block each other for ever.
//!
//! # Paper
//! R. Thomas: A majority consensus approach to concurrency control, ACM TODS 4(2), 1979, for the majority; C. Gray,
//! D. Cheriton: Leases, SOSP 1989, for votes that end by themselves.
//!
//! # Assumes
//! A configured group, the same at all members; reliable messages. No leader and no view.
//!
//! # Messages
//! [`Message::Request`] to all; [`Message::Vote`] or [`Message::Refuse`] back; [`Message::Release`] to all.
//! [`Message::Confirm`] and [`Message::Confirmed`] agree on a fence where voters proposed different ones.
//! [`Message::Renew`] and [`Message::Renewed`] prolong a hold.
//!
//! # Cost
//! 3(N-1) messages an entry and exit without contention; for every refused attempt as many again. Entry takes a round
//! trip. Not fair, and free of starvation with probability one only: a requester may be unlucky for long, never surely
//! for ever.
//!
//! # Departures
//! The voters of lecture notes queue later requests in silence; these refuse, so that the requester knows. A hold lasts
//! for its lease less the time it took to get it. A voter that has just started abstains for the longest lease: it may
//! have lent its vote. The voters agree on the fence (see `fence_numbers.rs`), and a majority knows it before its
//! holder enters. A minority of crashed members costs nothing but their votes; without a majority no request enters.

use super::client::{ClientAction, Granted, LOCKS_MAX, LockClient, LockRequest, Renewal};
use super::fence_numbers::FenceProposal;
use super::loopback::{LoopbackOutbox, up_with_self};
use super::renewal_votes::RenewalVotes;
use super::{Command, Fence, LockId, Mutex, Notice, Refusal};
use crate::algorithm::{Algorithm, Context, Fact, Input, Outbox, Scope};
use crate::base::config::lease_at_holder;
use crate::base::ids::NodeSet;
use crate::base::lamport::LamportTime;
use crate::base::options::Configurable;
use crate::base::quorum::is_majority;
use crate::base::rng::jitter;
use crate::base::term::Term;
use crate::base::time::{Duration, Instant, earliest};
use heapless::Vec;
use voter::{Request, Voter};

mod message;
mod voter;

pub use message::Message;

/// Doublings of the backoff.
const DOUBLINGS_MAX: u8 = 5;
/// Attempts after which the backoff starts over. The last of them are hasty: a request that has waited for so long
/// comes before new ones, but if all are hasty, none gets a majority.
const ATTEMPTS_MAX: u8 = DOUBLINGS_MAX + 3;

/// A request of this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Ballot {
    lock: LockId,
    request: LamportTime,
    /// Failed attempts so far.
    attempts: u8,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Collecting(VoteRound),
    /// A majority was out of reach: the next attempt is at `until`.
    BackingOff {
        until: Instant,
    },
    Holding(RenewalVotes),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct VoteRound {
    granted: NodeSet,
    refused: NodeSet,
    fence: FenceProposal,
    /// When the rest of the lease is too short to be worth having.
    end: Instant,
}

/// The lock by majority voting, at one member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Voting {
    client: LockClient,
    ballots: Vec<Ballot, LOCKS_MAX>,
    voter: Voter,
    /// No due message is sent before this: the link must have room.
    send_after: Instant,
}

type Out<'o> = LoopbackOutbox<'o, Message>;

impl Voting {
    fn command(&mut self, cx: &Context<'_>, command: Command, out: &mut Out<'_>) {
        match self.client.command(cx, command, out.out) {
            None => {} // refused
            Some(ClientAction::Acquire(request)) => self.collect(cx, &request, 0, out),
            Some(ClientAction::Renew(LockRequest { lock, number: request, .. }, renewal)) => {
                let Some(ballot) = self.ballot(lock) else { return };
                let retry_at = Some(cx.now.after(cx.timing.heartbeat.mul_ratio(1, 4)));
                ballot.phase = Phase::Holding(RenewalVotes { granted: NodeSet::EMPTY, retry_at });
                let (number, lease) = (renewal.number, renewal.lease);
                out.send(cx.roster.all(), Message::Renew { lock, request, number, lease });
            }
            Some(ClientAction::Release(request)) => self.release(cx, &request, true, out),
            Some(ClientAction::Cancel(request)) => self.release(cx, &request, false, out),
        }
    }

    fn ballot(&mut self, lock: LockId) -> Option<&mut Ballot> {
        self.ballots.iter_mut().find(|ballot| ballot.lock == lock)
    }

    /// Returns all votes: the request is over.
    fn release(&mut self, cx: &Context<'_>, request: &LockRequest, held: bool, out: &mut Out<'_>) {
        let LockRequest { lock, number, .. } = *request;
        self.ballots.retain(|ballot| ballot.lock != lock);
        out.send(cx.roster.all(), Message::Release { lock, request: number, held });
    }

    /// Asks all members that are up, if they are a majority.
    fn collect(&mut self, cx: &Context<'_>, request: &LockRequest, attempts: u8, out: &mut Out<'_>) {
        let LockRequest { lock, number: request, lease, requested_at, .. } = *request;
        self.ballots.retain(|ballot| ballot.lock != lock);
        let phase = Phase::Collecting(VoteRound {
            granted: NodeSet::EMPTY,
            refused: NodeSet::EMPTY,
            fence: FenceProposal::new(request),
            end: requested_at.after(lease.mul_ratio(1, 2)),
        });
        // There is room for as many ballots as requests.
        let _ = self.ballots.push(Ballot { lock, request, attempts, phase });
        if is_majority(up_with_self(cx), cx.roster.all()) {
            out.send(up_with_self(cx), Message::Request { lock, request, lease });
        } else {
            self.back_off(cx, lock, out);
        }
    }

    /// Abandons an attempt: returns the votes received, and those that may be on their way.
    fn abandon(&mut self, cx: &Context<'_>, lock: LockId, out: &mut Out<'_>) {
        let Some(&mut Ballot { request, phase: Phase::Collecting(round), .. }) = self.ballot(lock) else { return };
        let returned = up_with_self(cx).with(round.granted).without(round.refused);
        out.send(returned, Message::Release { lock, request, held: false });
        if !round.refused.is_empty() && !self.client.get(lock).is_some_and(LockRequest::is_trying) {
            self.client.notify_waiting(lock, request, 1, out.out); // it was received
        }
        self.back_off(cx, lock, out);
    }

    /// Schedules the next attempt; a request that only tries is refused.
    fn back_off(&mut self, cx: &Context<'_>, lock: LockId, out: &mut Out<'_>) {
        let trying = self.client.get(lock).is_some_and(LockRequest::is_trying);
        let Some(ballot) = self.ballot(lock) else { return };
        if trying {
            let request = ballot.request;
            self.client.refuse(lock, request, Refusal::Busy, out.out);
            self.ballots.retain(|ballot| ballot.lock != lock);
            return;
        }
        ballot.phase = Phase::BackingOff { until: cx.now.after(backoff(cx, ballot.attempts)) };
        ballot.attempts = ballot.attempts.saturating_add(1).checked_rem(ATTEMPTS_MAX).unwrap_or(0);
    }

    fn round(&mut self, lock: LockId, request: LamportTime) -> Option<&mut VoteRound> {
        match &mut self.ballot(lock).filter(|ballot| ballot.request == request)?.phase {
            Phase::Collecting(round) => Some(round),
            Phase::BackingOff { .. } | Phase::Holding(_) => None,
        }
    }

    fn on_message(&mut self, cx: &Context<'_>, from_slot: usize, message: Message, out: &mut Out<'_>) {
        let Ok(slot) = u8::try_from(from_slot) else { return };
        let from = NodeSet::slot(from_slot);
        let received = |lock, number, lease: Duration| {
            let lease = lease.min(cx.timing.lock_lease);
            Request { slot, lock, number, lease }
        };
        match message {
            Message::Request { lock, request, lease } => {
                self.voter.on_request(cx, received(lock, request, lease), out);
            }
            Message::Confirm { lock, request, number } => {
                self.voter.on_confirm(received(lock, request, Duration::ZERO), number, out);
            }
            Message::Renew { lock, request, number, lease } => {
                self.voter.on_renew(cx, received(lock, request, lease), number, out);
            }
            Message::Release { lock, request, held } => {
                self.voter.on_release(slot, lock, request);
                if held {
                    self.hasten(cx, lock);
                }
            }
            Message::Vote { lock, request, number } => {
                if let Some(round) = self.round(lock, request) {
                    round.granted = round.granted.with(from);
                    round.fence.propose(from, number);
                    self.evaluate(cx, lock, out);
                } else if self.ballot(lock).is_none_or(|ballot| ballot.request != request) {
                    // Not wanted any more. A vote that comes while holding or backing off is returned with the others.
                    out.send(from, Message::Release { lock, request, held: false });
                }
            }
            Message::Refuse { lock, request } => {
                if let Some(round) = self.round(lock, request) {
                    round.refused = round.refused.with(from);
                    self.evaluate(cx, lock, out);
                }
            }
            Message::Confirmed { lock, request, number } => {
                if let Some(round) = self.round(lock, request).filter(|round| round.fence.number == number) {
                    round.fence.agreed = round.fence.agreed.with(from);
                    self.enter(cx, lock, out);
                }
            }
            Message::Renewed { lock, number } => self.on_renewed(cx, lock, number, from, out),
        }
    }

    /// Shortens the backoff: the holder released the lock. Requesters still back off, as all at once would block each
    /// other.
    fn hasten(&mut self, cx: &Context<'_>, lock: LockId) {
        let soon = cx.now.after(backoff(cx, 0));
        if let Some(Ballot { phase: Phase::BackingOff { until }, .. }) = self.ballot(lock) {
            *until = soon.min(*until);
        }
    }

    /// Evaluates all ballots: with a member gone, a majority may be out of reach.
    fn evaluate_all(&mut self, cx: &Context<'_>, out: &mut Out<'_>) {
        for index in 0..self.ballots.len() {
            if let Some(lock) = self.ballots.get(index).map(|ballot| ballot.lock) {
                self.evaluate(cx, lock, out);
            }
        }
    }

    /// Enters with a majority that knows the fence, has the fence confirmed, or abandons the attempt.
    fn evaluate(&mut self, cx: &Context<'_>, lock: LockId, out: &mut Out<'_>) {
        let Some(&mut Ballot { request, phase: Phase::Collecting(round), .. }) = self.ballot(lock) else { return };
        let group = cx.roster.all();
        let possible = round.granted.with(up_with_self(cx).without(round.refused));
        if round.end <= cx.now || !is_majority(possible, group) {
            self.abandon(cx, lock, out);
        } else if is_majority(round.granted, group) && !is_majority(round.fence.agreed, group) {
            let others = round.granted.without(round.fence.agreed);
            out.send(others, Message::Confirm { lock, request, number: round.fence.number });
        } else {
            self.enter(cx, lock, out);
        }
    }

    /// Enters, if a majority has agreed to the fence.
    fn enter(&mut self, cx: &Context<'_>, lock: LockId, out: &mut Out<'_>) {
        let Some(ballot) = self.ballots.iter_mut().find(|ballot| ballot.lock == lock) else { return };
        let (number, Phase::Collecting(round)) = (ballot.request, ballot.phase) else { return };
        let Some(request) = self.client.waiting(lock, number) else { return };
        if !is_majority(round.fence.agreed, cx.roster.all()) {
            return;
        }
        let fence = Fence { term: Term::ZERO, count: round.fence.number };
        let until = request.requested_at.after(lease_at_holder(request.lease));
        if self.client.grant(cx, Granted { lock, request: number, fence, until }, out.out) {
            ballot.phase = Phase::Holding(RenewalVotes::default());
        }
    }

    fn on_renewed(&mut self, cx: &Context<'_>, lock: LockId, number: LamportTime, from: NodeSet, out: &mut Out<'_>) {
        let Some(ballot) = self.ballots.iter_mut().find(|ballot| ballot.lock == lock) else { return };
        let (group, Phase::Holding(votes)) = (cx.roster.all(), &mut ballot.phase) else { return };
        votes.on_renewed((lock, number), from, |granted| is_majority(granted, group), &mut self.client, out.out);
    }

    /// Asks these members again that have not replied: they were unreachable.
    fn on_peer_up(&mut self, set: NodeSet, out: &mut Out<'_>) {
        for &Ballot { lock, request, phase, .. } in &self.ballots {
            let (Phase::Collecting(round), Some(own)) = (phase, self.client.get(lock)) else { continue };
            let silent = set.without(round.granted).without(round.refused);
            out.send(silent, Message::Request { lock, request, lease: own.lease });
        }
    }

    /// Does due work, for one lock at a time.
    fn run_due(&mut self, cx: &Context<'_>, out: &mut Out<'_>) {
        let is_due = |ballot: &&mut Ballot| ballot.deadline().is_some_and(|at| at <= cx.now);
        let due = self.ballots.iter_mut().find(is_due).filter(|_| self.send_after <= cx.now);
        let Some(&mut Ballot { lock, request, attempts, ref mut phase }) = due else { return };
        match phase {
            Phase::Collecting(_) => self.abandon(cx, lock, out),
            Phase::BackingOff { .. } => {
                if let Some(request) = self.client.restart(cx, lock) {
                    self.collect(cx, &request, attempts, out);
                }
            }
            Phase::Holding(votes) => {
                let next = cx.now.after(cx.timing.heartbeat.mul_ratio(1, 4));
                if let Some(Renewal { number, lease, .. }) = votes.retry(lock, &self.client, next) {
                    let to = up_with_self(cx).without(votes.granted);
                    out.send(to, Message::Renew { lock, request, number, lease });
                }
            }
        }
        if out.has_sent() {
            self.send_after = cx.now.after(cx.timing.retry);
        }
    }
}

impl Ballot {
    fn deadline(&self) -> Option<Instant> {
        match self.phase {
            Phase::Collecting(round) => Some(round.end),
            Phase::BackingOff { until } => Some(until),
            Phase::Holding(votes) => votes.retry_at,
        }
    }
}

/// Returns the backoff after this many attempts: the time of a few messages, doubled every time, and then less.
fn backoff(cx: &Context<'_>, attempts: u8) -> Duration {
    let retry = cx.timing.retry;
    if attempts > DOUBLINGS_MAX {
        return retry.plus(jitter(retry.times(3), cx.random));
    }
    let base = retry.times(4);
    base.plus(jitter(base.doubled(attempts), cx.random))
}

impl Algorithm for Voting {
    type Message = Message;
    type Command = Command;
    type Notice = Notice;

    fn scope(&self) -> Scope {
        Scope::Group
    }

    fn handle(&mut self, cx: &Context<'_>, input: Input<Message, Command>, out: &mut Outbox<Message, Notice>) {
        // Voters count the lease by themselves.
        while let Some(lost) = self.client.expire(cx.now, out) {
            self.ballots.retain(|ballot| ballot.lock != lost.lock);
        }
        self.voter.begin_step(cx);
        let mut out = LoopbackOutbox::new(cx, out);
        match input {
            Input::Command(command) => self.command(cx, command, &mut out),
            Input::Message { from, message, .. } => {
                if let Some(slot) = cx.roster.slot_of(from) {
                    self.on_message(cx, slot, message, &mut out);
                }
            }
            Input::Fact(Fact::PeerUp(set)) => self.on_peer_up(set, &mut out),
            Input::Fact(Fact::PeerReset(set)) => self.voter.on_peer_reset(set),
            Input::Fact(Fact::PeerDown(_)) => self.evaluate_all(cx, &mut out),
            Input::Fact(Fact::View | Fact::Leader { .. } | Fact::NoLeader | Fact::Parent(_)) => {} // it needs neither
            Input::Timeout => self.run_due(cx, &mut out),
        }
        out.deliver_loopback(cx, self, Self::on_message);
    }

    fn deadline(&self) -> Option<Instant> {
        let ballots = self.ballots.iter().fold(None, |soonest, ballot| earliest(soonest, ballot.deadline()));
        earliest(self.client.deadline(), ballots.map(|at| at.max(self.send_after)))
    }
}

impl Mutex for Voting {
    fn holds(&self, lock: LockId, now: Instant) -> Option<Fence> {
        self.client.holds(lock, now)
    }

    fn resume(&mut self, floor: LamportTime) {
        self.voter.numbers.resume(floor);
    }

    fn floor(&self) -> LamportTime {
        self.voter.numbers.floor()
    }
}

impl Configurable for Voting {}
