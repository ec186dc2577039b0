//! The voter: one vote for each lock, lent to one request at a time, refused to all others.

use super::Message;
use crate::algorithm::Context;
use crate::base::config::lease_at_grantor;
use crate::base::ids::NodeSet;
use crate::base::lamport::LamportTime;
use crate::base::time::{Duration, Instant};
use crate::mutex::fence_numbers::FenceNumbers;
use crate::mutex::loopback::LoopbackOutbox;
use crate::mutex::{LOCKS_MAX, LockId};
use heapless::Vec;

/// Locks for which a voter lends its vote at a time. One more is refused until a vote is back.
const VOTES_MAX: usize = 4 * LOCKS_MAX;

/// A vote that is lent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct LentVote {
    lock: LockId,
    /// The slot of the requester.
    slot: u8,
    /// Whether the requester has restarted: it cannot return the vote, and its hold ends with its lease.
    restarted: bool,
    request: LamportTime,
    until: Instant,
    /// The fence number agreed to.
    number: LamportTime,
}

/// A request received.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) slot: u8,
    pub(super) lock: LockId,
    pub(super) number: LamportTime,
    pub(super) lease: Duration,
}

impl Request {
    fn requester(&self) -> NodeSet {
        NodeSet::slot(usize::from(self.slot))
    }
}

/// All votes lent. A vote whose lease has ended is back when the next request arrives.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Voter {
    votes: Vec<LentVote, VOTES_MAX>,
    pub(super) numbers: FenceNumbers,
}

type Out<'o> = LoopbackOutbox<'o, Message>;

/// Returns whether this node may have lent its vote before it started.
fn abstains(cx: &Context<'_>) -> bool {
    cx.uptime < lease_at_grantor(cx.timing.lock_lease)
}

impl Voter {
    pub(super) fn begin_step(&mut self, cx: &Context<'_>) {
        self.numbers.begin_step(cx, abstains(cx));
    }

    pub(super) fn on_request(&mut self, cx: &Context<'_>, new: Request, out: &mut Out<'_>) {
        let Request { slot, lock, number: request, .. } = new;
        let before = self.vote(cx.now, lock).copied();
        let own = before.filter(|vote| vote.slot == slot && !vote.restarted);
        if own.is_some_and(|vote| request < vote.request) {
            return; // out of date
        }
        let number = match own {
            Some(vote) if vote.request == request => vote.number,
            Some(_) | None => self.numbers.proposal(lock, request),
        };
        // A new request of the same node ends its earlier one.
        let lent = !abstains(cx) && (before.is_none() || own.is_some()) && self.lend(cx, new, number);
        let reply = if lent { Message::Vote { lock, request, number } } else { Message::Refuse { lock, request } };
        out.send(new.requester(), reply);
    }

    fn lend(&mut self, cx: &Context<'_>, to: Request, number: LamportTime) -> bool {
        let Request { slot, lock, number: request, lease } = to;
        self.votes.retain(|vote| vote.lock != lock && vote.until > cx.now);
        let until = cx.now.after(lease_at_grantor(lease));
        self.numbers.agree(lock, number);
        self.votes.push(LentVote { lock, slot, restarted: false, request, until, number }).is_ok()
    }

    pub(super) fn on_release(&mut self, slot: u8, lock: LockId, request: LamportTime) {
        self.votes.retain(|vote| !vote.is_of(slot, lock, request));
    }

    /// Agrees to a higher fence number for the request that has the vote.
    pub(super) fn on_confirm(&mut self, from: Request, number: LamportTime, out: &mut Out<'_>) {
        let Request { slot, lock, number: request, .. } = from;
        let Some(vote) = self.votes.iter_mut().find(|vote| vote.is_of(slot, lock, request)) else { return };
        vote.number = vote.number.max(number);
        self.numbers.agree(lock, number);
        out.send(from.requester(), Message::Confirmed { lock, request, number });
    }

    /// Prolongs the vote of a holder, and lends it to a holder that has it not if it is free. There is no reply while
    /// another request has it: the holder asks again.
    pub(super) fn on_renew(&mut self, cx: &Context<'_>, from: Request, number: LamportTime, out: &mut Out<'_>) {
        let Request { slot, lock, number: request, lease } = from;
        let until = cx.now.after(lease_at_grantor(lease));
        let lent = match self.vote(cx.now, lock).copied() {
            Some(vote) => vote.is_of(slot, lock, request),
            None => !abstains(cx) && self.lend(cx, from, self.numbers.highest(lock)),
        };
        if !lent {
            return;
        }
        self.votes.iter_mut().filter(|vote| vote.lock == lock).for_each(|vote| vote.until = vote.until.max(until));
        out.send(from.requester(), Message::Renewed { lock, number });
    }

    /// Takes the restart of members: their holds end with their leases.
    pub(super) fn on_peer_reset(&mut self, set: NodeSet) {
        let lent = self.votes.iter_mut().filter(|vote| set.meets(NodeSet::slot(usize::from(vote.slot))));
        lent.for_each(|vote| vote.restarted = true);
    }

    fn vote(&self, now: Instant, lock: LockId) -> Option<&LentVote> {
        self.votes.iter().find(|vote| vote.lock == lock && vote.until > now)
    }
}

impl LentVote {
    fn is_of(&self, slot: u8, lock: LockId, request: LamportTime) -> bool {
        (self.slot, self.lock, self.request) == (slot, lock, request) && !self.restarted
    }
}
