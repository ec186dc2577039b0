//! Majority voting: the request with the votes of more than half of the group holds the lock.
//!
//! A requester asks all members, itself included, and enters with a strict majority of the configured group: two
//! majorities share a member, and a member lends its vote to one request at a time. A voter whose vote is lent refuses
//! ([`Message::Refuse`]) and queues the request; when the vote is back, it goes to the first request of the queue at
//! once. First is the request with the lowest Lamport time, and the lowest slot where that is equal.
//!
//! Some requests may each have a part of the votes, and none a majority. Therefore a voter that has lent its vote to a
//! later request than one that waits asks for it back ([`Message::Inquire`]), and a requester that was refused by so
//! many voters that no majority is left returns it ([`Message::Relinquish`]) and stays queued. The first request of all
//! is asked for nothing. Every voter lends it its vote, or inquires the vote of another, which enters or returns it: so
//! the first request enters, and every request is the first at last.
//!
//! # Paper
//! R. Thomas: A majority consensus approach to concurrency control, ACM TODS 4(2), 1979, for the majority; C. Gray,
//! D. Cheriton: Leases, SOSP 1989, for votes that end by themselves; M. Maekawa: A sqrt(N) algorithm for mutual exclusion
//! in decentralized systems, ACM TOCS 3(2), 1985, for the queue and for votes that are asked back.
//!
//! # Assumes
//! A configured group of at most [`MEMBERS_MAX`], the same at all members; reliable messages. No leader and no view.
//!
//! # Messages
//! [`Message::Request`] to all; [`Message::Vote`] or [`Message::Refuse`] back; [`Message::Release`] to all.
//! [`Message::Inquire`] and [`Message::Relinquish`] as above. [`Message::Confirm`] and [`Message::Confirmed`] agree on a
//! fence where voters proposed different ones. [`Message::Renew`] and [`Message::Renewed`] prolong a hold.
//!
//! # Cost
//! 3(N-1) messages an entry and exit without contention, and 4(N-1) where the request waits for its turn. Requests that
//! cross on their way cost 3 more for every vote that changes hands. Entry takes a round trip, the next one two messages
//! after the exit. Requests are served in the order of their Lamport times, but for those that were still on their way.
//!
//! # Why a vote that was waited for is safe
//! A voter counts the lease long from when it lends its vote, which may be long after the request: so the vote names the
//! time for which its attempt had `waited` there, counted short. A requester asks all voters whose vote is missing at
//! once, in a new attempt, and remembers when. An attempt that begins later, with a vote returned, only makes the lease
//! seem older than it is. So the vote was lent no sooner than that time and `waited`, and from then on the requester
//! counts its lease, short. The hold ends with the first vote of its majority. Votes of which less than half is left are
//! requested again, in a new attempt, for which the voter counts the lease from its beginning. A vote that was relinquished belongs to
//! an attempt that is over: it counts for nothing, in whatever order messages arrive.
//!
//! # Departures
//! - A hold lasts for its lease less the time its votes took to arrive.
//! - A request that only tries is refused where it would have to wait, and not queued.
//! - A voter that has just started abstains for the longest lease: it may have lent its vote. It queues requests.
//! - A request that waits asks again after twice the longest lease, and whenever a member returns: a voter may have
//!   forgotten it. While no majority is up it is withdrawn, as its votes could serve nobody.
//! - A holder that renews comes before all requests at a voter whose vote it has not.
//! - The voters agree on the fence (see `fence_numbers.rs`), and a majority knows it before its holder enters. A vote that
//!   was relinquished takes its agreement back: nobody has entered under it.
//! - Every member answers every request. Where sixteen members ask for three or more locks at the same moment over a radio,
//!   the answers do not fit the members' queues, and nobody may enter.
//! - A minority of crashed members costs nothing but their votes; without a majority no request enters.

use super::client::{LOCKS_MAX, LockClient};
use super::loopback::LoopbackOutbox;
use super::{Command, Fence, LockId, Mutex, Notice};
use crate::algorithm::{Algorithm, Context, Fact, Input, Outbox, Scope};
use crate::base::ids::NodeSet;
use crate::base::lamport::LamportTime;
use crate::base::options::Configurable;
use crate::base::time::{CoarseInstant, Duration, Instant, earliest};
use ballot::Ballot;
use heapless::Vec;
use voter::{Request, Standing, Voter};

mod ballot;
mod message;
mod requester;
mod voter;

pub use message::Message;

/// Members of a group at most.
pub const MEMBERS_MAX: usize = 16;

/// A vote received.
#[derive(Clone, Copy, Debug)]
struct Vote {
    slot: usize,
    attempt: u16,
    number: LamportTime,
    waited: Duration,
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
    fn on_message(&mut self, cx: &Context<'_>, from_slot: usize, message: Message, out: &mut Out<'_>) {
        let Ok(slot) = u8::try_from(from_slot) else { return };
        let from = NodeSet::slot(from_slot);
        let received = |lock, number, attempt, lease: Duration| {
            let (lease, arrived) = (lease.min(cx.timing.lock_lease), CoarseInstant::of(cx.now));
            Request { number, lock, lease, arrived, attempt, slot, standing: Standing::New }
        };
        match message {
            Message::Request { lock, request, attempt, lease, trying } => {
                self.voter.on_request(cx, received(lock, request, attempt, lease), trying, out);
            }
            Message::Relinquish { lock, request, attempt } => {
                self.voter.on_relinquish(cx, slot, (lock, request, attempt), out);
            }
            Message::Release { lock, request, held } => self.voter.on_release(cx, slot, (lock, request, held), out),
            Message::Confirm { lock, request, number } => self.voter.on_confirm(slot, (lock, request), number, out),
            Message::Renew { lock, request, number, lease } => {
                self.voter.on_renew(cx, received(lock, request, 0, lease), number, out);
            }
            Message::Vote { lock, request, attempt, number, waited } => {
                self.on_vote(cx, (lock, request), Vote { slot: from_slot, attempt, number, waited }, out);
            }
            Message::Refuse { lock, request, ahead } => self.on_refuse(cx, (lock, request), (from, ahead), out),
            Message::Inquire { lock, request, attempt } => {
                let collecting = self.collecting(lock, request);
                let Some(collecting) = collecting.filter(|collecting| collecting.is_current(from_slot, attempt)) else {
                    return; // it holds or has left the lock: the release is the answer
                };
                collecting.inquired = collecting.inquired.with(from);
                self.evaluate(cx, lock, out);
            }
            Message::Confirmed { lock, request, attempt, number } => {
                if let Some(collecting) = self.collecting(lock, request) {
                    collecting.agree(from_slot, attempt, number);
                    self.enter(cx, lock, out);
                }
            }
            Message::Renewed { lock, number } => self.on_renewed(cx, lock, number, from, out),
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

impl Algorithm for Voting {
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
            Input::Fact(Fact::PeerDown(_)) => self.evaluate_all(cx, &mut out),
            Input::Fact(Fact::PeerUp(set)) => {
                self.on_peers_returned(cx, set);
                self.voter.on_peer_up(set);
            }
            Input::Fact(Fact::PeerReset(set)) => {
                self.on_peers_returned(cx, set);
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

impl Mutex for Voting {
    fn holds(&self, lock: LockId, now: Instant) -> Option<Fence> {
        self.client.holds(lock, now)
    }

    fn supports(&self, group: NodeSet) -> bool {
        group.without(NodeSet::first(MEMBERS_MAX)).is_empty()
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

impl Configurable for Voting {}
