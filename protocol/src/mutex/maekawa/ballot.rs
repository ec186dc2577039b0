//! One request of this node, and the votes it has.

use super::sets::VOTERS_MAX;
use crate::algorithm::Context;
use crate::base::config::lease_at_holder;
use crate::base::ids::{NodeSet, SLOTS_MAX};
use crate::base::lamport::LamportTime;
use crate::base::time::{CoarseInstant, Duration, Instant};
use crate::mutex::LockId;
use crate::mutex::client::LockRequest;
use crate::mutex::fence_numbers::FenceProposal;
use crate::mutex::renewal_votes::RenewalVotes;
use heapless::Vec;

/// A request of this node at its voting set.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ballot {
    pub(super) lock: LockId,
    pub(super) request: LamportTime,
    pub(super) set: NodeSet,
    pub(super) phase: Phase,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Phase {
    Collecting(Collecting),
    Holding(RenewalVotes),
}

/// A request that waits for votes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Collecting {
    /// The voters whose vote it has.
    pub(super) granted: NodeSet,
    /// The voters that put another request first, or got their vote back.
    pub(super) failed: NodeSet,
    /// The voters that ask for their vote back.
    pub(super) inquired: NodeSet,
    pub(super) fence: FenceProposal,
    /// The end of the first vote.
    until: Instant,
    /// When to request the votes again, before they end.
    pub(super) refresh_at: Instant,
    pub(super) to_ask: NodeSet,
    /// When to ask the voters without a vote again: they may have lost the request.
    pub(super) retry_at: Instant,
    /// Whether a member went down or returned since the last check.
    pub(super) recheck: bool,
    attempts: Attempts,
}

/// A vote received.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vote {
    pub(super) slot: usize,
    pub(super) attempt: u16,
    pub(super) number: LamportTime,
    pub(super) waited: Duration,
}

impl Ballot {
    pub(super) fn new(cx: &Context<'_>, request: &LockRequest, set: NodeSet) -> Self {
        let LockRequest { lock, number: request, .. } = *request;
        let collecting = Collecting {
            granted: NodeSet::EMPTY,
            failed: NodeSet::EMPTY,
            inquired: NodeSet::EMPTY,
            fence: FenceProposal::new(request),
            until: NEVER,
            refresh_at: NEVER,
            to_ask: set,
            retry_at: cx.now.after(cx.timing.lease()),
            recheck: false,
            attempts: Attempts::default(),
        };
        Self { lock, request, set, phase: Phase::Collecting(collecting) }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        match &self.phase {
            Phase::Collecting(collecting) if collecting.recheck => Some(Instant::ZERO),
            Phase::Collecting(collecting) => Some(collecting.refresh_at.min(collecting.retry_at)),
            Phase::Holding(renewal) => renewal.retry_at,
        }
    }
}

/// The end of votes while there are none.
const NEVER: Instant = Instant::from_micros(u64::MAX);

impl Collecting {
    /// Takes a vote; returns whether it is of the current attempt.
    pub(super) fn take(&mut self, now: Instant, lease: Duration, vote: Vote) -> bool {
        let Vote { slot, attempt, number, waited } = vote;
        let current = self.attempts.get(slot).filter(|known| known.number == attempt);
        let Some(sent_at) = current.map(|known| known.sent_at) else { return false };
        let from = NodeSet::slot(slot);
        self.granted = self.granted.with(from);
        self.failed = self.failed.without(from);
        // The vote is no older than this: the request had waited there, and had not left here before. The clock of
        // attempts counts milliseconds.
        let sent_at = now.before(sent_at.elapsed(now)).before(Duration::from_millis(1));
        self.until = self.until.min(sent_at.after(lease_at_holder(waited)).after(lease_at_holder(lease)));
        self.refresh_at = self.until.before(lease.mul_ratio(1, 2)); // a holder has half of its lease at least
        self.fence.propose(from, number);
        true
    }

    pub(super) const fn until(&self) -> Instant {
        self.until
    }

    /// Returns the votes to relinquish: those inquired, while another voter puts another request first.
    pub(super) fn to_relinquish(&self) -> NodeSet {
        if self.failed.is_empty() { NodeSet::EMPTY } else { self.inquired.and(self.granted) }
    }

    /// Returns these votes, in a new attempt; `None` where attempts have run out.
    pub(super) fn relinquish(&mut self, now: Instant, set: NodeSet) -> Option<u16> {
        self.granted = self.granted.without(set);
        self.fence.agreed = self.fence.agreed.without(set);
        self.inquired = self.inquired.without(set);
        self.failed = self.failed.with(set);
        self.attempts.begin(now, set)
    }

    /// Drops all votes, to request them again.
    pub(super) fn refresh(&mut self) {
        self.to_ask = self.to_ask.with(self.granted);
        self.inquired = self.inquired.without(self.granted);
        (self.granted, self.until, self.refresh_at) = (NodeSet::EMPTY, NEVER, NEVER);
    }

    pub(super) fn change_set(&mut self, set: NodeSet) {
        self.to_ask = self.to_ask.with(set.without(self.granted)).and(set);
        for kept in [&mut self.granted, &mut self.failed, &mut self.inquired, &mut self.fence.agreed] {
            *kept = kept.and(set);
        }
        self.attempts.keep(set);
    }

    /// Returns the voters to ask now, of those in `up`, and the attempt; `None` where attempts have run out.
    pub(super) fn ask(&mut self, now: Instant, up: NodeSet) -> Option<(NodeSet, u16)> {
        let to = self.to_ask.and(up);
        self.to_ask = self.to_ask.without(to);
        Some((to, self.attempts.begin(now, to)?))
    }

    /// Returns whether `attempt` is the last at the voter in `slot`.
    pub(super) fn is_current(&self, slot: usize, attempt: u16) -> bool {
        self.attempts.get(slot).is_some_and(|known| known.number == attempt)
    }
}

/// The last attempt at each voter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Attempts {
    last: u16,
    voters: Vec<Attempt, VOTERS_MAX>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Attempt {
    slot: u8,
    number: u16,
    sent_at: CoarseInstant,
}

impl Attempts {
    fn get(&self, slot: usize) -> Option<&Attempt> {
        self.voters.iter().find(|voter| usize::from(voter.slot) == slot)
    }

    /// Begins a new attempt at these voters; returns its number.
    fn begin(&mut self, now: Instant, set: NodeSet) -> Option<u16> {
        self.last = self.last.checked_add(1)?;
        self.keep(NodeSet::first(SLOTS_MAX).without(set));
        for slot in set.slots() {
            let slot = u8::try_from(slot).ok()?;
            self.voters.push(Attempt { slot, number: self.last, sent_at: CoarseInstant::of(now) }).ok()?;
        }
        Some(self.last)
    }

    fn keep(&mut self, set: NodeSet) {
        self.voters.retain(|voter| set.meets(NodeSet::slot(usize::from(voter.slot))));
    }
}
