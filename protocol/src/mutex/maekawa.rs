//! Maekawa's algorithm: one vote at each member, and voting sets that all intersect.
//!
//! A requester asks not all members but its voting set, about twice the root of the group. Any two sets have a member
//! in common, which lends its vote to one request at a time, so no two sets are complete at once. Two requests may each
//! have votes that the other needs: therefore a voter that has lent its vote to a later request than the one that has
//! just arrived asks for it back ([`Message::Inquire`]), and a requester that knows that it cannot enter yet
//! ([`Message::Fail`]) returns it ([`Message::Relinquish`]) and waits. The request with the lowest Lamport time returns
//! nothing, so some request always enters, and every request is the lowest at last.
//!
//! # Paper
//! M. Maekawa: A sqrt(N) algorithm for mutual exclusion in decentralized systems, ACM TOCS 3(2), 1985. That a request
//! which is overtaken while it waits must get a Fail, and that an Inquire must be considered again when a Fail comes
//! later, is B. Sanders: The information structure of distributed mutual exclusion algorithms, ACM TOCS 5(3), 1987.
//!
//! # Assumes
//! A configured group, the same at all members; reliable messages. No leader and no view: sets are over the whole
//! group.
//!
//! # Messages
//! [`Message::Request`], [`Message::Grant`] (the paper's locked), [`Message::Fail`], [`Message::Inquire`],
//! [`Message::Relinquish`], [`Message::Release`] as above. [`Message::Wait`] acknowledges the request for whose sake a
//! vote is inquired. [`Message::Confirm`] and [`Message::Confirmed`] agree on a fence where voters proposed different
//! ones. [`Message::Renew`] and [`Message::Renewed`] prolong a hold.
//!
//! # Cost
//! With sets of K: 3(K-1) messages an entry and exit without contention, up to 6(K-1) when all members request; one
//! entry in two hundred takes more, and none more than 7(K-1), as a request may be inquired again and its fence
//! confirmed. A node's own vote costs nothing. Entry takes a round trip, the next one two messages after the exit.
//!
//! # Departures
//! - Votes are leases. The vote of a crashed holder returns when its lease ends; so does one whose release was
//!   abandoned because its voter was suspected. A request that waits long asks again for votes about to end.
//! - A voter that has just started abstains for the longest lease: it may have lent its vote.
//! - The paper's sets exist for few sizes of groups ([`VotingSets::Plane`]). A grid exists for all, at twice the size,
//!   and any row makes a voting set with any column: while a member of a set is down, another set is asked. Where no set
//!   is whole, the members that are up stand in for one, if they are a majority and meet every set: of a grid, some member of each
//!   row, or of each column. A hold cannot be renewed while a member of its set is down: it ends with its lease, and is
//!   requested again.
//! - A Relinquish names the attempt in which its request will wait, and a Grant the attempt it answers: numbers given
//!   by the requester, so that one message returns many votes.
//! - The voters agree on the fence; see `fence_numbers.rs`.

use super::client::{LOCKS_MAX, LockClient};
use super::loopback::LoopbackOutbox;
use super::{Command, Fence, LockId, Mutex, Notice, Refusal};
use crate::algorithm::{Algorithm, Context, Fact, Input, Outbox, Scope};
use crate::base::ids::NodeSet;
use crate::base::lamport::LamportTime;
use crate::base::options::{Configurable, OptionKeys, set_all};
use crate::base::time::{Duration, Instant, earliest};
use crate::wire::impl_message;
use ballot::{Ballot, Vote};
use heapless::Vec;
use serde::{Deserialize, Serialize};
use voter::{Request, Voter};

mod ballot;
mod requester;
mod sets;
mod voter;

pub use sets::VotingSets;

/// A message between a requester and a voter, about the request with the number `request`.
///
/// The `attempt` is what the paper's grants lack: a request has an attempt at each voter, which grows when it is sent
/// again and when a vote is returned. A vote belongs to an attempt: a message that names another is out of date.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the sentence of each message names its fields")]
pub enum Message {
    /// Requests the vote, for a hold of `lease`.
    Request { lock: LockId, request: LamportTime, attempt: u16, lease: Duration },
    /// Lends the vote. The voter agrees to the fence `number`; this attempt has `waited` at the voter.
    Grant { lock: LockId, request: LamportTime, attempt: u16, number: LamportTime, waited: Duration },
    /// Queues the request first: the vote is inquired for its sake. `ahead` requests come first.
    Wait { lock: LockId, request: LamportTime, ahead: u8 },
    /// Queues the request behind `ahead` others.
    Fail { lock: LockId, request: LamportTime, ahead: u8 },
    /// Asks for the vote back, if the requester cannot enter: another request comes first.
    Inquire { lock: LockId, request: LamportTime, attempt: u16 },
    /// Returns the vote; the request waits in a new `attempt`.
    Relinquish { lock: LockId, request: LamportTime, attempt: u16 },
    /// Returns the vote: the request is over.
    Release { lock: LockId, request: LamportTime },
    /// Asks the voter to agree to a higher fence `number`, which another voter proposed.
    Confirm { lock: LockId, request: LamportTime, number: LamportTime },
    /// Agrees to the fence `number`.
    Confirmed { lock: LockId, request: LamportTime, number: LamportTime },
    /// Requests to keep the vote for `lease` from now; `number` is that of the renewal.
    Renew { lock: LockId, request: LamportTime, number: LamportTime, lease: Duration },
    /// Grants the renewal `number`.
    Renewed { lock: LockId, number: LamportTime },
    /// Refuses the request: no room.
    Full { lock: LockId, request: LamportTime },
}

impl_message! {
    Reliable: Request = "request", Grant = "grant", Wait = "wait", Fail = "fail", Inquire = "inquire",
        Relinquish = "relinquish", Release = "release", Confirm = "confirm", Confirmed = "confirmed", Renew = "renew",
        Renewed = "renewed", Full = "full";
}

/// Options of Maekawa's algorithm; the same at all members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Options {
    /// The voting sets.
    pub sets: VotingSets,
}

/// Maekawa's lock, at one member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Maekawa {
    options: Options,
    client: LockClient,
    ballots: Vec<Ballot, LOCKS_MAX>,
    voter: Voter,
    /// No due message is sent before this: the link must have room.
    send_after: Instant,
}

type Out<'o> = LoopbackOutbox<'o, Message>;

impl Maekawa {
    /// Makes a member of a group with these options.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self { options, ..Self::default() }
    }

    fn on_message(&mut self, cx: &Context<'_>, from_slot: usize, message: Message, out: &mut Out<'_>) {
        let Ok(slot) = u8::try_from(from_slot) else { return };
        let from = NodeSet::slot(from_slot);
        match message {
            Message::Request { lock, request, attempt, lease } => {
                let lease = lease.min(cx.timing.lock_lease);
                self.voter.on_request(cx, Request { number: request, lock, lease, attempt, slot }, out);
            }
            Message::Relinquish { lock, request, attempt } => {
                self.voter.on_relinquish(cx, slot, (lock, request, attempt), out);
            }
            Message::Release { lock, request } => self.voter.on_release(cx, slot, (lock, request), out),
            Message::Confirm { lock, request, number } => self.voter.on_confirm(slot, (lock, request), number, out),
            Message::Renew { lock, request, number, lease } => {
                let lease = lease.min(cx.timing.lock_lease);
                self.voter.on_renew(cx, Request { number: request, lock, lease, attempt: 0, slot }, number, out);
            }
            Message::Grant { lock, request, attempt, number, waited } => {
                self.on_grant(cx, lock, request, Vote { slot: from_slot, attempt, number, waited }, out);
            }
            Message::Wait { lock, request, ahead } => self.on_queued((lock, request), from, ahead, out),
            Message::Fail { lock, request, ahead } => {
                let collecting = self.collecting(lock, request, from);
                let Some(collecting) = collecting.filter(|collecting| !collecting.granted.meets(from)) else {
                    return; // overtaken by the vote itself
                };
                collecting.failed = collecting.failed.with(from);
                self.on_queued((lock, request), from, ahead, out);
                self.evaluate(cx, lock, out);
            }
            Message::Inquire { lock, request, attempt } => {
                let collecting = self.collecting(lock, request, from);
                let Some(collecting) = collecting.filter(|collecting| collecting.is_current(from_slot, attempt)) else {
                    return; // it holds or has left the lock: the release is the answer
                };
                collecting.inquired = collecting.inquired.with(from);
                self.evaluate(cx, lock, out);
            }
            Message::Confirmed { lock, request, number } => {
                let collecting = self.collecting(lock, request, from);
                let Some(collecting) = collecting.filter(|collecting| collecting.fence.number == number) else {
                    return; // another number
                };
                collecting.fence.agreed = collecting.fence.agreed.with(from);
                self.enter(cx, lock, out);
            }
            Message::Renewed { lock, number } => self.on_renewed(lock, number, from, out),
            Message::Full { lock, request } => {
                if self.collecting(lock, request, from).is_some() {
                    self.client.refuse(lock, request, Refusal::Full, out.out);
                    self.release(lock, out);
                }
            }
        }
    }

    /// Does due work, a little at a time.
    fn run_due(&mut self, cx: &Context<'_>, out: &mut Out<'_>) {
        if cx.now < self.send_after {
            return;
        }
        self.voter.run_due(cx, out);
        let due = |ballot: &&Ballot| ballot.deadline().is_some_and(|at| at <= cx.now);
        if !out.has_sent()
            && let Some(lock) = self.ballots.iter().find(due).map(|ballot| ballot.lock)
        {
            self.run_ballot(cx, lock, out);
            self.send_after = cx.now.after(cx.timing.retry); // a lease too short to be used must not keep the node busy
        }
        if out.has_sent() {
            self.send_after = cx.now.after(cx.timing.retry);
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
        self.voter.begin_step(cx);
        let due = self.deadline().is_some_and(|at| at <= cx.now);
        // Voters count the lease by themselves.
        while let Some(lost) = self.client.expire(cx.now, out) {
            self.ballots.retain(|ballot| ballot.lock != lost.lock);
        }
        let mut out = LoopbackOutbox::new(cx, out);
        match self.client.input(cx, input) {
            Input::Command(command) => self.command(cx, command, &mut out),
            Input::Message { from, message, .. } => {
                if let Some(slot) = cx.roster.slot_of(from) {
                    self.on_message(cx, slot, message, &mut out);
                }
            }
            Input::Fact(Fact::PeerDown(_)) => self.on_peers_changed(NodeSet::EMPTY),
            Input::Fact(Fact::PeerUp(set)) => {
                self.on_peers_changed(set);
                self.voter.on_peer_up(set);
            }
            Input::Fact(Fact::PeerReset(set)) => {
                self.on_peers_changed(set);
                self.voter.on_peer_reset(set);
            }
            Input::Timeout if due => self.run_due(cx, &mut out),
            // It needs no leader and no view; what is not due yet will be.
            Input::Fact(Fact::View | Fact::Leader { .. } | Fact::NoLeader | Fact::Parent(_)) | Input::Timeout => {}
        }
        out.deliver_loopback(cx, self, Self::on_message);
    }

    fn deadline(&self) -> Option<Instant> {
        let ballots = self.ballots.iter().fold(None, |soonest, ballot| earliest(soonest, ballot.deadline()));
        let work = earliest(ballots, self.voter.deadline()).map(|at| at.max(self.send_after));
        earliest(self.client.deadline(), work)
    }
}

impl Mutex for Maekawa {
    fn holds(&self, lock: LockId, now: Instant) -> Option<Fence> {
        self.client.holds(lock, now)
    }

    fn supports(&self, group: NodeSet) -> bool {
        self.options.sets.is_valid_for(group)
    }

    fn hops_max(&self) -> u8 {
        1
    }

    fn resume(&mut self, floor: LamportTime) {
        self.voter.numbers.resume(floor);
    }

    fn floor(&self) -> LamportTime {
        self.voter.numbers.floor()
    }
}

impl Configurable for Maekawa {
    const OPTIONS: OptionKeys = &[("sets", VotingSets::NAMES)];

    fn from_options(words: &str) -> Option<Self> {
        let mut options = Options::default();
        set_all(words, |key, value| {
            options.sets = VotingSets::by_name(value).filter(|_| key == "sets")?;
            Some(())
        })?;
        Some(Self::new(options))
    }
}
