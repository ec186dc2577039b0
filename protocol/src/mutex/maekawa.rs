//! Maekawa's algorithm: a vote each, and sets of voters that all meet.
//!
//! A node asks not everybody but its voting set, about twice the root of the group. Any two sets have a member in common,
//! which lends its vote to one request at a time, so no two sets are complete at once. Two requests may each hold what the
//! other needs: therefore a voter that has lent its vote to a later request than the one that has just come asks for it back
//! ([`Message::Inquire`]), and whoever knows that it cannot enter yet ([`Message::Fail`]) gives it back
//! ([`Message::Relinquish`]) and waits. The request with the lowest stamp gives nothing back, so somebody always enters, and
//! everybody's request is the lowest at last.
//!
//! # Paper
//! M. Maekawa: A sqrt(N) algorithm for mutual exclusion in decentralized systems, ACM TOCS 3(2), 1985. That a request which
//! is overtaken while it waits must be told, and that an inquiry must be looked at again when a failure comes later, is
//! B. Sanders: The information structure of distributed mutual exclusion algorithms, ACM TOCS 5(3), 1987.
//!
//! # Assumes
//! A configured group, the same everywhere; letters. No leader and no view: sets are over the whole group, whoever is up.
//!
//! # Messages
//! [`Message::Request`], [`Message::Grant`] (the paper's locked), [`Message::Fail`], [`Message::Inquire`],
//! [`Message::Relinquish`], [`Message::Release`] as above. [`Message::Wait`] tells the one for whose sake a vote is asked
//! back that it has been heard. [`Message::Confirm`] and [`Message::Confirmed`] agree on a fence where voters proposed
//! different ones. [`Message::Renew`] and [`Message::Renewed`] prolong a hold.
//!
//! # Cost
//! With sets of K: 3(K-1) letters an entry and exit when nobody else asks, up to 6(K-1) when everybody does. A node's own
//! vote costs nothing. Entry takes a round trip, the next one two letters after the exit.
//!
//! # Departures
//! - Votes are leases. A vote of a holder that crashed comes back by its time; so does one whose release was given up
//!   because its voter was suspected. Who waits long asks anew for votes that run out.
//! - A voter that has just started abstains for as long as any lock may be held: it may have lent its vote.
//! - The sets of the paper exist for few sizes of groups. A grid exists for all, at twice the size, and any row makes a
//!   voting set with any column: while a member of a set is down, another set is asked. One full row and one full column
//!   must be up: with bad luck as many crashes as there are rows stop the lock. A hold cannot be renewed while a member of
//!   its set is down: it ends by its time, and is asked for again.
//! - Who gives a vote back names the turn its request will wait in, and a grant names the turn it answers: the numbers of
//!   grants, given by the asker, so that one letter gives back many votes.
//! - The fence is agreed on by the voters; see `numbers.rs`.

use super::claims::{Claims, LOCKS_MAX};
use super::post::Post;
use super::{Command, Fence, LockId, Mutex, Notice, Refusal};
use crate::algorithm::{Algorithm, Context, Fact, Input, Outbox, Scope};
use crate::clock::Stamp;
use crate::group::NodeSet;
use crate::time::{Instant, sooner};
use ballot::{Ballot, Given};
use heapless::Vec;
use voter::{Request, Voter};

mod asker;
mod ballot;
mod message;
pub mod sets;
mod voter;

pub use message::Message;
pub use sets::Sets;
pub use voter::{REQUESTS_MAX, VOTES_MAX};

/// The lock of one node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Maekawa {
    sets: Sets,
    claims: Claims,
    ballots: Vec<Ballot, LOCKS_MAX>,
    voter: Voter,
    /// Before when nothing is said unasked: the link must have room.
    pace: Instant,
}

type Out<'o> = Post<'o, Message>;

impl Maekawa {
    /// A node of a group with these voting sets.
    #[must_use]
    pub fn new(sets: Sets) -> Self {
        Self { sets, ..Self::default() }
    }

    fn hear(&mut self, cx: &Context<'_>, slot: usize, message: Message, out: &mut Out<'_>) {
        let Ok(seat) = u8::try_from(slot) else { return };
        let from = NodeSet::slot(slot);
        match message {
            Message::Request { lock, request, turn, lease } => {
                let lease = lease.min(cx.timing.lock_lease);
                self.voter.ask(cx, Request { number: request, lock, lease, turn, slot: seat }, out);
            }
            Message::Relinquish { lock, request, turn } => {
                self.voter.relinquish(cx, seat, (lock, request, turn), out);
            }
            Message::Release { lock, request } => self.voter.release(cx, seat, lock, request, out),
            Message::Confirm { lock, request, number } => self.voter.confirm(seat, lock, request, number, out),
            Message::Renew { lock, request, number, lease } => {
                let lease = lease.min(cx.timing.lock_lease);
                self.voter.renew(cx, Request { number: request, lock, lease, turn: 0, slot: seat }, number, out);
            }
            Message::Grant { lock, request, turn, number, waited } => {
                self.hear_grant(cx, lock, request, Given { slot, turn, number, waited }, out);
            }
            Message::Wait { lock, request, ahead } => self.hear_queued((lock, request), from, ahead, out),
            Message::Fail { lock, request, ahead } => {
                let Some(asking) = self.asking(lock, request, from).filter(|asking| !asking.given.meets(from)) else {
                    return; // overtaken by the vote itself
                };
                asking.failed = asking.failed.with(from);
                self.hear_queued((lock, request), from, ahead, out);
                self.consider(cx, lock, out);
            }
            Message::Inquire { lock, request, turn } => {
                let asking = self.asking(lock, request, from).filter(|asking| asking.is_turn(slot, turn));
                let Some(asking) = asking else { return }; // inside, or left: the release is the answer
                asking.inquired = asking.inquired.with(from);
                self.consider(cx, lock, out);
            }
            Message::Confirmed { lock, request, number } => {
                let Some(asking) = self.asking(lock, request, from).filter(|asking| asking.fence.number == number)
                else {
                    return; // another number
                };
                asking.fence.by = asking.fence.by.with(from);
                self.enter(cx, lock, out);
            }
            Message::Renewed { lock, number } => self.hear_renewed(lock, number, from, out),
            Message::Full { lock, request } => {
                if self.asking(lock, request, from).is_some() {
                    self.claims.refuse(lock, request, Refusal::Full, out.out);
                    self.leave(lock, out);
                }
            }
        }
    }

    /// Does what is due, a little at a time.
    fn tend(&mut self, cx: &Context<'_>, out: &mut Out<'_>) {
        if cx.now < self.pace {
            return;
        }
        self.voter.tend(cx, out);
        let due = |ballot: &&Ballot| ballot.deadline().is_some_and(|at| at <= cx.now);
        if !out.has_written()
            && let Some(lock) = self.ballots.iter().find(due).map(|ballot| ballot.lock)
        {
            self.look_after(cx, lock, out);
            self.pace = cx.now.after(cx.timing.retry); // a lease too short to be used must not keep the node busy
        }
        if out.has_written() {
            self.pace = cx.now.after(cx.timing.retry);
        }
    }
}

impl Algorithm for Maekawa {
    type Message = Message;
    type Command = Command;
    type Notice = Notice;

    fn scope(&self) -> Scope {
        Scope::Group
    }

    fn handle(&mut self, cx: &Context<'_>, input: Input<Message, Command>, out: &mut Outbox<Message, Notice>) {
        self.voter.wake(cx);
        let due = self.deadline().is_some_and(|at| at <= cx.now);
        // Voters count a hold out by themselves: they need not be told.
        while let Some(lost) = self.claims.expire(cx.now, out) {
            self.ballots.retain(|ballot| ballot.lock != lost.lock);
        }
        let mut out = Post::new(cx, out);
        match input {
            Input::Command(command) => self.command(cx, command, &mut out),
            Input::Message { from, message, .. } => {
                if let Some(slot) = cx.roster.slot_of(from) {
                    self.hear(cx, slot, message, &mut out);
                }
            }
            Input::Fact(Fact::PeerDown(_)) => self.doubt(NodeSet::EMPTY),
            Input::Fact(Fact::PeerUp(who)) => {
                self.doubt(who);
                self.voter.remind(who);
            }
            Input::Fact(Fact::PeerReset(who)) => {
                self.doubt(who);
                self.voter.reset(who);
            }
            Input::Timeout if due => self.tend(cx, &mut out),
            // It has no leader and no view; what is not due yet will be.
            Input::Fact(Fact::View | Fact::Leader { .. } | Fact::NoLeader | Fact::Parent(_)) | Input::Timeout => {}
        }
        let me = cx.roster.slot_of(cx.me);
        while let (Some(slot), Some(message)) = (me, out.next_own()) {
            self.hear(cx, slot, message, &mut out);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        let ballots = self.ballots.iter().fold(None, |soonest, ballot| sooner(soonest, ballot.deadline()));
        let work = sooner(ballots, self.voter.deadline()).map(|at| at.max(self.pace));
        sooner(self.claims.deadline(), work)
    }
}

impl Mutex for Maekawa {
    fn holds(&self, lock: LockId, now: Instant) -> Option<Fence> {
        self.claims.holds(lock, now)
    }

    fn suits(&self, group: NodeSet) -> bool {
        self.sets.suit(group)
    }

    fn resume(&mut self, stamp: Stamp) {
        self.voter.numbers.resume(stamp);
    }

    fn floor(&self) -> Stamp {
        self.voter.numbers.floor()
    }
}
