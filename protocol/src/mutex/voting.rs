//! Majority voting: whoever has the votes of more than half of the group holds the lock.
//!
//! A node asks everybody, itself included, and enters with a strict majority of the configured group, whoever of it is up:
//! two majorities share a member, and a member lends its vote to one request at a time. Nobody queues: a voter whose vote is
//! lent refuses. Whoever cannot get a majority any more gives back what it has at once and asks again after a pause drawn at
//! random, twice as long every time at first, because three nodes with a third of the votes each would otherwise hold each other up
//! for ever.
//!
//! # Paper
//! R. Thomas: A majority consensus approach to concurrency control, ACM TODS 4(2), 1979, for the majority; C. Gray,
//! D. Cheriton: Leases, SOSP 1989, for votes that come back by themselves.
//!
//! # Assumes
//! A configured group, the same everywhere; letters. No leader and no view.
//!
//! # Messages
//! [`Message::Request`] to all; [`Message::Vote`] or [`Message::Refuse`] back; [`Message::Release`] to all.
//! [`Message::Confirm`] and [`Message::Confirmed`] agree on a fence where voters proposed different ones.
//! [`Message::Renew`] and [`Message::Renewed`] prolong a hold.
//!
//! # Cost
//! 3(N-1) letters an entry and exit when nobody else asks; for every time a node is refused, as many again. Entry takes a
//! round trip. Not fair, and free of starvation by chance only: a node may be unlucky for long, never surely for ever.
//!
//! # Departures
//! The voters of lecture notes keep requests that come second and say nothing; ours refuse, so that whoever asks knows. A hold lasts
//! for its lease less the time it took to get it. A voter that has just started abstains for as long as any lock may be
//! held: it may have lent its vote. The fence is agreed on by the voters (see `numbers.rs`) and known to a majority before
//! its holder enters. A minority of crashed members costs nothing but their votes; without a majority nobody enters.

use super::claims::{Claim, Claims, Granted, LOCKS_MAX, Renewal, Task};
use super::numbers::Agreement;
use super::post::Post;
use super::{Command, Fence, LockId, Mutex, Notice, Refusal};
use crate::algorithm::{Algorithm, Context, Fact, Input, Outbox, Scope};
use crate::clock::{Stamp, Term};
use crate::config::usable;
use crate::dice::within;
use crate::group::NodeSet;
use crate::mandate::is_majority;
use crate::time::{Instant, Span, sooner};
use heapless::Vec;
use voter::{Asked, Voter};

mod message;
mod voter;

pub use message::Message;
pub use voter::VOTES_MAX;

/// How often the pause between two attempts doubles.
const DOUBLINGS_MAX: u8 = 5;
/// After so many attempts the pauses begin anew. The last of them are made in a hurry: whoever has waited for so long comes
/// before those who have just come, but if all do, nobody has a majority.
const TRIES_MAX: u8 = DOUBLINGS_MAX + 3;

/// A lock this node asks for, or holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Ballot {
    lock: LockId,
    request: Stamp,
    /// How often a majority was out of reach.
    tries: u8,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// Votes are being collected.
    Polling(Poll),
    /// A majority was out of reach: the next attempt is then.
    Pausing { until: Instant },
    /// Those of `renewed` have agreed to the renewal that was asked for; the others are asked once more.
    Holding { renewed: NodeSet, again: Option<Instant> },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Poll {
    given: NodeSet,
    refused: NodeSet,
    /// What the fence will be.
    fence: Agreement,
    /// When what was given is too short to be worth having.
    end: Instant,
}

/// The lock of one node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Voting {
    claims: Claims,
    ballots: Vec<Ballot, LOCKS_MAX>,
    voter: Voter,
    /// Before when nothing is said unasked: the link must have room.
    pace: Instant,
}

type Out<'o> = Post<'o, Message>;

impl Voting {
    /// A node that has asked for nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn command(&mut self, cx: &Context<'_>, command: Command, out: &mut Out<'_>) {
        match self.claims.command(cx, command, out.out) {
            None => {} // it was refused
            Some(Task::Ask(claim)) => self.poll(cx, &claim, 0, out),
            Some(Task::Renew(claim, renewal)) => {
                let Some(ballot) = self.ballots.iter_mut().find(|ballot| ballot.lock == claim.lock) else { return };
                let again = Some(cx.now.after(cx.timing.heartbeat.share(1, 4)));
                ballot.phase = Phase::Holding { renewed: NodeSet::EMPTY, again };
                out.send(cx.roster.all(), renew(&claim, &renewal));
            }
            Some(Task::Release(claim)) => self.leave(cx, &claim, true, out),
            Some(Task::Cancel(claim)) => self.leave(cx, &claim, false, out),
        }
    }

    /// Gives all votes back for good.
    fn leave(&mut self, cx: &Context<'_>, claim: &Claim, held: bool, out: &mut Out<'_>) {
        let Claim { lock, request, .. } = *claim;
        self.ballots.retain(|ballot| ballot.lock != lock);
        out.send(cx.roster.all(), Message::Release { lock, request, held });
    }

    /// Asks everybody who is up, if they are enough.
    fn poll(&mut self, cx: &Context<'_>, claim: &Claim, tries: u8, out: &mut Out<'_>) {
        let Claim { lock, request, lease, asked, .. } = *claim;
        self.ballots.retain(|ballot| ballot.lock != lock);
        let phase = Phase::Polling(Poll {
            given: NodeSet::EMPTY,
            refused: NodeSet::EMPTY,
            fence: Agreement::new(request),
            end: asked.after(lease.share(1, 2)),
        });
        // There is room for as many as there are claims.
        let _ = self.ballots.push(Ballot { lock, request, tries, phase });
        if is_majority(present(cx), cx.roster.all()) {
            out.send(present(cx), Message::Request { lock, request, lease });
        } else {
            self.pause(cx, lock, out);
        }
    }

    /// A majority is out of reach: gives back what was given, and what may be on its way.
    fn give_up(&mut self, cx: &Context<'_>, lock: LockId, out: &mut Out<'_>) {
        let Some(ballot) = self.ballots.iter().find(|ballot| ballot.lock == lock) else { return };
        let (request, Phase::Polling(poll)) = (ballot.request, ballot.phase) else { return };
        let back = present(cx).with(poll.given).without(poll.refused);
        out.send(back, Message::Release { lock, request, held: false });
        if !poll.refused.is_empty() && !self.claims.get(lock).is_some_and(Claim::is_trying) {
            self.claims.wait(lock, request, 1, out.out); // somebody has heard it
        }
        self.pause(cx, lock, out);
    }

    /// Asks again later, or is refused if that is not wanted.
    fn pause(&mut self, cx: &Context<'_>, lock: LockId, out: &mut Out<'_>) {
        let Some(ballot) = self.ballots.iter_mut().find(|ballot| ballot.lock == lock) else { return };
        if self.claims.get(lock).is_some_and(Claim::is_trying) {
            self.claims.refuse(lock, ballot.request, Refusal::Busy, out.out);
            self.ballots.retain(|ballot| ballot.lock != lock);
            return;
        }
        ballot.phase = Phase::Pausing { until: cx.now.after(pause(cx, ballot.tries)) };
        ballot.tries = ballot.tries.saturating_add(1).checked_rem(TRIES_MAX).unwrap_or(0);
    }

    /// The poll for `lock` as `request`.
    fn polling(&mut self, lock: LockId, request: Stamp) -> Option<&mut Poll> {
        let mut ballots = self.ballots.iter_mut();
        match &mut ballots.find(|ballot| (ballot.lock, ballot.request) == (lock, request))?.phase {
            Phase::Polling(poll) => Some(poll),
            Phase::Pausing { .. } | Phase::Holding { .. } => None,
        }
    }

    fn hear(&mut self, cx: &Context<'_>, slot: usize, message: Message, out: &mut Out<'_>) {
        let Ok(seat) = u8::try_from(slot) else { return };
        let from = NodeSet::slot(slot);
        let asked =
            |lock, request, lease: Span| Asked { slot: seat, lock, request, lease: lease.min(cx.timing.lock_lease) };
        match message {
            Message::Request { lock, request, lease } => self.voter.ask(cx, asked(lock, request, lease), out),
            Message::Confirm { lock, request, number } => {
                self.voter.confirm(asked(lock, request, Span::ZERO), number, out);
            }
            Message::Renew { lock, request, number, lease } => {
                self.voter.renew(cx, asked(lock, request, lease), number, out);
            }
            Message::Release { lock, request, held } => {
                self.voter.release(seat, lock, request);
                if held {
                    self.hasten(cx, lock);
                }
            }
            Message::Vote { lock, request, number } => {
                if let Some(poll) = self.polling(lock, request) {
                    poll.given = poll.given.with(from);
                    poll.fence.propose(from, number);
                    self.consider(cx, lock, out);
                } else if !self.ballots.iter().any(|ballot| (ballot.lock, ballot.request) == (lock, request)) {
                    // Not wanted any more. One that comes when the lock is held or paused for is given back with the others.
                    out.send(from, Message::Release { lock, request, held: false });
                }
            }
            Message::Refuse { lock, request } => {
                if let Some(poll) = self.polling(lock, request) {
                    poll.refused = poll.refused.with(from);
                    self.consider(cx, lock, out);
                }
            }
            Message::Confirmed { lock, request, number } => {
                if let Some(poll) = self.polling(lock, request).filter(|poll| poll.fence.number == number) {
                    poll.fence.by = poll.fence.by.with(from);
                    self.enter(cx, lock, out);
                }
            }
            Message::Renewed { lock, number } => self.hear_renewed(cx, lock, number, from, out),
        }
    }

    /// The lock was given back by its holder: whoever pauses for it may be next, and all at once would be none.
    fn hasten(&mut self, cx: &Context<'_>, lock: LockId) {
        let soon = cx.now.after(pause(cx, 0));
        for ballot in self.ballots.iter_mut().filter(|ballot| ballot.lock == lock) {
            if let Phase::Pausing { until } = &mut ballot.phase {
                *until = soon.min(*until);
            }
        }
    }

    /// Somebody went: a majority may be out of reach.
    fn consider_all(&mut self, cx: &Context<'_>, out: &mut Out<'_>) {
        for place in 0..self.ballots.len() {
            if let Some(lock) = self.ballots.get(place).map(|ballot| ballot.lock) {
                self.consider(cx, lock, out);
            }
        }
    }

    /// Enters with a majority that knows the fence, has it told, or gives up.
    fn consider(&mut self, cx: &Context<'_>, lock: LockId, out: &mut Out<'_>) {
        let Some(ballot) = self.ballots.iter().find(|ballot| ballot.lock == lock) else { return };
        let (request, Phase::Polling(poll)) = (ballot.request, ballot.phase) else { return };
        let group = cx.roster.all();
        let possible = poll.given.with(present(cx).without(poll.refused));
        if poll.end <= cx.now || !is_majority(possible, group) {
            self.give_up(cx, lock, out);
        } else if is_majority(poll.given, group) && !is_majority(poll.fence.by, group) {
            let others = poll.given.without(poll.fence.by);
            out.send(others, Message::Confirm { lock, request, number: poll.fence.number });
        } else {
            self.enter(cx, lock, out);
        }
    }

    /// Enters, if a majority has agreed to the number.
    fn enter(&mut self, cx: &Context<'_>, lock: LockId, out: &mut Out<'_>) {
        let Some(ballot) = self.ballots.iter_mut().find(|ballot| ballot.lock == lock) else { return };
        let (request, Phase::Polling(poll)) = (ballot.request, ballot.phase) else { return };
        let Some(claim) = self.claims.waiting(lock, request).filter(|_| is_majority(poll.fence.by, cx.roster.all()))
        else {
            return;
        };
        let fence = Fence { term: Term::ZERO, count: poll.fence.number };
        let until = claim.asked.after(usable(claim.lease));
        if self.claims.grant(cx, Granted { lock, request, fence, until }, out.out) {
            ballot.phase = Phase::Holding { renewed: NodeSet::EMPTY, again: None };
        }
    }

    fn hear_renewed(&mut self, cx: &Context<'_>, lock: LockId, number: Stamp, from: NodeSet, out: &mut Out<'_>) {
        let Some(ballot) = self.ballots.iter_mut().find(|ballot| ballot.lock == lock) else { return };
        let Phase::Holding { renewed, again } = &mut ballot.phase else { return };
        let renewal = self.claims.get(lock).and_then(Claim::renewal);
        let Some(renewal) = renewal.filter(|renewal| renewal.number == number) else { return };
        *renewed = renewed.with(from);
        if is_majority(*renewed, cx.roster.all()) {
            *again = None;
            self.claims.renewed(lock, number, renewal.asked.after(usable(renewal.lease)), out.out);
        }
    }

    /// These can be spoken to again: whoever has not answered may never have been asked.
    fn ask_again(&mut self, who: NodeSet, out: &mut Out<'_>) {
        for ballot in &self.ballots {
            let (Phase::Polling(poll), Some(claim)) = (ballot.phase, self.claims.get(ballot.lock)) else { continue };
            let silent = who.without(poll.given).without(poll.refused);
            out.send(silent, Message::Request { lock: ballot.lock, request: ballot.request, lease: claim.lease });
        }
    }

    /// Does what is due, for one lock at a time.
    fn tend(&mut self, cx: &Context<'_>, out: &mut Out<'_>) {
        let due = |ballot: &&Ballot| ballot.deadline().is_some_and(|at| at <= cx.now);
        let Some(&Ballot { lock, tries, phase, .. }) = self.ballots.iter().find(due).filter(|_| self.pace <= cx.now)
        else {
            return;
        };
        match phase {
            Phase::Polling(_) => self.give_up(cx, lock, out),
            Phase::Pausing { .. } => {
                if let Some(claim) = self.claims.again(cx, lock) {
                    self.poll(cx, &claim, tries, out);
                }
            }
            Phase::Holding { renewed, .. } => {
                let claim = self.claims.get(lock).copied();
                let renewal = claim.as_ref().and_then(Claim::renewal);
                let again = renewal.map(|_| cx.now.after(cx.timing.heartbeat.share(1, 4)));
                if let (Some(claim), Some(renewal)) = (claim, renewal) {
                    out.send(present(cx).without(renewed), renew(&claim, &renewal));
                }
                if let Some(ballot) = self.ballots.iter_mut().find(|ballot| ballot.lock == lock) {
                    ballot.phase = Phase::Holding { renewed, again };
                }
            }
        }
        if out.has_written() {
            self.pace = cx.now.after(cx.timing.retry);
        }
    }
}

impl Ballot {
    fn deadline(&self) -> Option<Instant> {
        match self.phase {
            Phase::Polling(poll) => Some(poll.end),
            Phase::Pausing { until } => Some(until),
            Phase::Holding { again, .. } => again,
        }
    }
}

fn renew(claim: &Claim, renewal: &Renewal) -> Message {
    let Renewal { number, lease, .. } = *renewal;
    Message::Renew { lock: claim.lock, request: claim.request, number, lease }
}

/// How long to pause after so many attempts: a few letters' time, longer every time, and then less.
fn pause(cx: &Context<'_>, tries: u8) -> Span {
    let retry = cx.timing.retry;
    if tries > DOUBLINGS_MAX {
        return retry.plus(within(retry.times(3), cx.random));
    }
    let letters = retry.times(4);
    letters.plus(within(letters.doubled(tries), cx.random))
}

/// Everybody who is up, this node included.
fn present(cx: &Context<'_>) -> NodeSet {
    cx.up.with(cx.roster.set_of(cx.me))
}

impl Algorithm for Voting {
    type Message = Message;
    type Command = Command;
    type Notice = Notice;

    fn scope(&self) -> Scope {
        Scope::Group
    }

    fn handle(&mut self, cx: &Context<'_>, input: Input<Message, Command>, out: &mut Outbox<Message, Notice>) {
        // Voters count a hold out by themselves: they need not be told.
        while let Some(lost) = self.claims.expire(cx.now, out) {
            self.ballots.retain(|ballot| ballot.lock != lost.lock);
        }
        self.voter.wake(cx);
        let mut out = Post::new(cx, out);
        match input {
            Input::Command(command) => self.command(cx, command, &mut out),
            Input::Message { from, message, .. } => {
                if let Some(slot) = cx.roster.slot_of(from) {
                    self.hear(cx, slot, message, &mut out);
                }
            }
            Input::Fact(Fact::PeerUp(who)) => self.ask_again(who, &mut out),
            Input::Fact(Fact::PeerReset(who)) => self.voter.reset(who),
            Input::Fact(Fact::PeerDown(_)) => self.consider_all(cx, &mut out),
            Input::Fact(Fact::View | Fact::Leader { .. } | Fact::NoLeader | Fact::Parent(_)) => {} // no leader, and no view
            Input::Timeout => self.tend(cx, &mut out),
        }
        let me = cx.roster.slot_of(cx.me);
        while let (Some(slot), Some(message)) = (me, out.next_own()) {
            self.hear(cx, slot, message, &mut out);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        let ballots = self.ballots.iter().fold(None, |soonest, ballot| sooner(soonest, ballot.deadline()));
        sooner(self.claims.deadline(), ballots.map(|at| at.max(self.pace)))
    }
}

impl Mutex for Voting {
    fn holds(&self, lock: LockId, now: Instant) -> Option<Fence> {
        self.claims.holds(lock, now)
    }

    fn resume(&mut self, stamp: Stamp) {
        self.voter.numbers.resume(stamp);
    }

    fn floor(&self) -> Stamp {
        self.voter.numbers.floor()
    }
}
