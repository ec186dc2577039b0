//! One request of this node, and the votes it has.

use super::{MEMBERS_MAX, Vote};
use crate::algorithm::Context;
use crate::base::config::lease_at_holder;
use crate::base::ids::NodeSet;
use crate::base::lamport::LamportTime;
use crate::base::time::{Duration, Instant};
use crate::mutex::LockId;
use crate::mutex::client::LockRequest;
use crate::mutex::fence_numbers::FenceProposal;
use crate::mutex::renewal_votes::RenewalVotes;

/// A request of this node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ballot {
    pub(super) lock: LockId,
    pub(super) request: LamportTime,
    pub(super) phase: Phase,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Phase {
    Collecting(Collecting),
    /// Too few members are up for a majority: the request is queued nowhere.
    Suspended,
    Holding(RenewalVotes),
}

/// A request that waits for votes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Collecting {
    /// The voters whose vote it has.
    pub(super) granted: NodeSet,
    /// The voters that have lent their vote to another request, or got it back.
    pub(super) refused: NodeSet,
    /// The voters that ask for their vote back.
    pub(super) inquired: NodeSet,
    pub(super) fence: FenceProposal,
    /// The voters that were asked to confirm the fence.
    confirming: NodeSet,
    /// The end of the first vote.
    pub(super) until: Instant,
    /// When to request the votes again, before they end.
    refresh_at: Instant,
    /// When to ask the voters without a vote again: they may have forgotten the request. All were asked at once
    /// [`retry_interval`] before: no attempt at one of them is older.
    retry_at: Instant,
    to_ask: NodeSet,
    /// The last attempt, and that at each voter.
    last_attempt: u16,
    attempts: [u16; MEMBERS_MAX],
}

/// The end of votes while there are none.
const NEVER: Instant = Instant::from_micros(u64::MAX);

impl Ballot {
    /// Makes the ballot of a request that all members are to be asked for.
    pub(super) fn new(cx: &Context<'_>, request: &LockRequest) -> Self {
        let LockRequest { lock, number: request, .. } = *request;
        let collecting = Collecting {
            granted: NodeSet::EMPTY,
            refused: NodeSet::EMPTY,
            inquired: NodeSet::EMPTY,
            fence: FenceProposal::new(request),
            confirming: NodeSet::EMPTY,
            until: NEVER,
            refresh_at: NEVER,
            retry_at: cx.now,
            to_ask: cx.roster.all(),
            last_attempt: 0,
            attempts: [0; MEMBERS_MAX],
        };
        Self { lock, request, phase: Phase::Collecting(collecting) }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        match &self.phase {
            Phase::Collecting(collecting) if !collecting.to_ask.is_empty() => Some(Instant::ZERO),
            Phase::Collecting(collecting) => Some(collecting.refresh_at.min(collecting.retry_at)),
            Phase::Suspended => None,
            Phase::Holding(votes) => votes.retry_at,
        }
    }
}

impl Collecting {
    /// Takes a vote; returns whether it is of the current attempt.
    pub(super) fn take(&mut self, cx: &Context<'_>, lease: Duration, vote: Vote) -> bool {
        let Vote { slot, attempt, number, waited } = vote;
        if !self.is_current(slot, attempt) {
            return false;
        }
        let from = NodeSet::slot(slot);
        self.granted = self.granted.with(from);
        self.refused = self.refused.without(from);
        let asked_at = self.retry_at.before(retry_interval(cx));
        // The vote is no older than this: the request had waited there, and had not left here before.
        self.until = self.until.min(asked_at.after(lease_at_holder(waited)).after(lease_at_holder(lease)));
        self.refresh_at = self.until.before(lease.mul_ratio(1, 2)); // a holder has half of its lease at least
        if number > self.fence.number {
            self.confirming = NodeSet::EMPTY;
        }
        self.fence.propose(from, number);
        true
    }

    /// Takes the agreement of the voter in `slot` to the fence `number`.
    pub(super) fn agree(&mut self, slot: usize, attempt: u16, number: LamportTime) {
        let from = NodeSet::slot(slot);
        if self.is_current(slot, attempt) && self.granted.meets(from) && self.fence.number == number {
            self.fence.agreed = self.fence.agreed.with(from);
        }
    }

    /// Returns the voters that have to confirm the fence and were not asked yet: they are now.
    pub(super) fn take_unconfirmed(&mut self) -> NodeSet {
        let silent = self.granted.without(self.fence.agreed).without(self.confirming);
        self.confirming = self.confirming.with(silent);
        silent
    }

    /// Returns whether its votes last long enough to enter.
    pub(super) fn lasts(&self, now: Instant) -> bool {
        now < self.refresh_at
    }

    /// Returns the inquired votes, in a new attempt; `None` where attempts have run out.
    pub(super) fn relinquish(&mut self, request: LamportTime) -> Option<(NodeSet, u16)> {
        let returned = core::mem::take(&mut self.inquired);
        self.refused = self.refused.with(returned);
        self.drop_votes(returned, request);
        Some((returned, self.begin(returned)?))
    }

    /// Schedules the voters in `set` to be asked, if the vote of one of them is missing.
    pub(super) fn ask_again(&mut self, set: NodeSet) {
        self.to_ask = self.to_ask.with(set.without(self.granted));
    }

    /// Returns the voters to ask now, of those in `up`, and the attempt; `None` where attempts have run out. All whose
    /// vote is missing are asked at once when that is due, and votes about to end count as missing; members that
    /// returned are asked in between, and those that are down when they are up.
    pub(super) fn ask(&mut self, cx: &Context<'_>, request: LamportTime, up: NodeSet) -> Option<(NodeSet, u16)> {
        let mut missing = core::mem::take(&mut self.to_ask).and(up);
        if self.refresh_at.min(self.retry_at) <= cx.now {
            if self.refresh_at <= cx.now {
                self.drop_votes(self.granted, request);
            }
            self.retry_at = cx.now.after(retry_interval(cx));
            missing = cx.roster.all();
        }
        missing = missing.without(self.granted);
        self.inquired = self.inquired.without(missing);
        // An earlier attempt at a voter that is down is over as well: its vote would count from before.
        Some((missing.and(up), self.begin(missing)?))
    }

    /// Begins a new attempt at these voters; returns its number, or `None` where numbers have run out.
    fn begin(&mut self, set: NodeSet) -> Option<u16> {
        self.last_attempt = self.last_attempt.checked_add(1)?;
        for (slot, attempt) in self.attempts.iter_mut().enumerate() {
            if set.meets(NodeSet::slot(slot)) {
                *attempt = self.last_attempt;
            }
        }
        Some(self.last_attempt)
    }

    /// Returns whether `attempt` is the last at the voter in `slot`.
    pub(super) fn is_current(&self, slot: usize, attempt: u16) -> bool {
        self.attempts.get(slot) == Some(&attempt)
    }

    fn drop_votes(&mut self, set: NodeSet, request: LamportTime) {
        for kept in [&mut self.granted, &mut self.fence.agreed, &mut self.confirming] {
            *kept = kept.without(set);
        }
        if self.granted.is_empty() {
            (self.until, self.refresh_at) = (NEVER, NEVER);
            self.fence = FenceProposal::new(request);
        }
    }
}

/// Returns how long a request waits before it is made again.
fn retry_interval(cx: &Context<'_>) -> Duration {
    cx.timing.lock_lease.times(2)
}
