//! One request of this node, and the votes it has.

use super::sets::VOTERS_MAX;
use crate::algorithm::Context;
use crate::clock::Stamp;
use crate::config::usable;
use crate::group::{NodeSet, SLOTS_MAX};
use crate::mutex::LockId;
use crate::mutex::claims::Claim;
use crate::mutex::numbers::Agreement;
use crate::time::{Instant, Span, Tick};
use heapless::Vec;

/// A request of this node and whom it was put to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ballot {
    pub(super) lock: LockId,
    pub(super) request: Stamp,
    /// The voting set.
    pub(super) set: NodeSet,
    pub(super) phase: Phase,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Phase {
    Asking(Asking),
    Holding {
        /// Who has agreed to the renewal that was asked for.
        renewed: NodeSet,
        /// When the others are asked once more.
        again: Option<Instant>,
    },
}

/// A request that waits for votes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Asking {
    /// Whose votes it has.
    pub(super) given: NodeSet,
    /// Who put others before it, or got its vote back.
    pub(super) failed: NodeSet,
    /// Who wants its vote back.
    pub(super) inquired: NodeSet,
    /// What its fence will be.
    pub(super) fence: Agreement,
    /// Until when the votes are good.
    until: Instant,
    /// When those that were given should be asked for anew.
    pub(super) stale: Instant,
    /// Who has yet to be asked.
    pub(super) owed: NodeSet,
    /// When whoever has not given its vote is asked once more: it may have forgotten.
    pub(super) again: Instant,
    /// Whether somebody went or came back since it was last looked at.
    pub(super) doubtful: bool,
    turns: Turns,
}

/// A vote that has come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Given {
    pub(super) slot: usize,
    pub(super) turn: u16,
    pub(super) number: Stamp,
    pub(super) waited: Span,
}

impl Ballot {
    pub(super) fn new(cx: &Context<'_>, claim: &Claim, set: NodeSet) -> Self {
        let asking = Asking {
            given: NodeSet::EMPTY,
            failed: NodeSet::EMPTY,
            inquired: NodeSet::EMPTY,
            fence: Agreement::new(claim.request),
            until: NEVER,
            stale: NEVER,
            owed: set,
            again: cx.now.after(cx.timing.lease()),
            doubtful: false,
            turns: Turns::default(),
        };
        Self { lock: claim.lock, request: claim.request, set, phase: Phase::Asking(asking) }
    }

    /// When something is to be done about it.
    pub(super) fn deadline(&self) -> Option<Instant> {
        match &self.phase {
            Phase::Asking(asking) if asking.doubtful => Some(Instant::ZERO),
            Phase::Asking(asking) => Some(asking.stale.min(asking.again)),
            Phase::Holding { again, .. } => *again,
        }
    }
}

/// No vote is good for longer.
const NEVER: Instant = Instant::from_micros(u64::MAX);

impl Asking {
    /// Takes a vote in, if it is one of the turn in which it was asked for. Says whether it is.
    pub(super) fn take(&mut self, now: Instant, lease: Span, vote: Given) -> bool {
        let Given { slot, turn, number, waited } = vote;
        let Some(asked) = self.turns.get(slot).filter(|seat| seat.turn == turn).map(|seat| seat.asked) else {
            return false;
        };
        let from = NodeSet::slot(slot);
        self.given = self.given.with(from);
        self.failed = self.failed.without(from);
        // It was given no sooner than this: the request had been there for so long, and had not left here before. A tick
        // is a millisecond.
        let asked = now.before(asked.ago(now)).before(Span::from_millis(1));
        self.until = self.until.min(asked.after(usable(waited)).after(usable(lease)));
        self.stale = self.until.before(lease.share(1, 2)); // whoever enters has half of its time at least
        self.fence.propose(from, number);
        true
    }

    /// Until when the votes are good.
    pub(super) const fn until(&self) -> Instant {
        self.until
    }

    /// The votes to be given back: those asked for, while another voter puts somebody else first.
    pub(super) fn to_yield(&self) -> NodeSet {
        if self.failed.is_empty() { NodeSet::EMPTY } else { self.inquired.and(self.given) }
    }

    /// Gives these votes back. `None` where turns have run out.
    pub(super) fn give_back(&mut self, now: Instant, set: NodeSet) -> Option<u16> {
        self.given = self.given.without(set);
        self.fence.by = self.fence.by.without(set);
        self.inquired = self.inquired.without(set);
        self.failed = self.failed.with(set);
        self.turns.next(now, set)
    }

    /// Holds no vote for given any more: all are to be asked for anew.
    pub(super) fn refresh(&mut self) {
        self.owed = self.owed.with(self.given);
        self.inquired = self.inquired.without(self.given);
        (self.given, self.until, self.stale) = (NodeSet::EMPTY, NEVER, NEVER);
    }

    /// Asks only these from now on.
    pub(super) fn turn_to(&mut self, set: NodeSet) {
        self.owed = self.owed.with(set.without(self.given)).and(set);
        for kept in [&mut self.given, &mut self.failed, &mut self.inquired, &mut self.fence.by] {
            *kept = kept.and(set);
        }
        self.turns.keep(set);
    }

    /// Whom to ask now, of those who are up, and in which turn. `None` where turns have run out.
    pub(super) fn ask(&mut self, now: Instant, up: NodeSet) -> Option<(NodeSet, u16)> {
        let to = self.owed.and(up);
        self.owed = self.owed.without(to);
        Some((to, self.turns.next(now, to)?))
    }

    /// Whether `turn` is the one in which `slot` was last asked.
    pub(super) fn is_turn(&self, slot: usize, turn: u16) -> bool {
        self.turns.get(slot).is_some_and(|seat| seat.turn == turn)
    }
}

/// In which turn each voter was last asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Turns {
    last: u16,
    seats: Vec<Seat, VOTERS_MAX>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Seat {
    slot: u8,
    turn: u16,
    asked: Tick,
}

impl Turns {
    fn get(&self, slot: usize) -> Option<&Seat> {
        self.seats.iter().find(|seat| usize::from(seat.slot) == slot)
    }

    /// A turn in which these were never asked.
    fn next(&mut self, now: Instant, set: NodeSet) -> Option<u16> {
        self.last = self.last.checked_add(1)?;
        self.keep(NodeSet::first(SLOTS_MAX).without(set));
        for slot in set.slots() {
            let slot = u8::try_from(slot).ok()?;
            self.seats.push(Seat { slot, turn: self.last, asked: Tick::of(now) }).ok()?;
        }
        Some(self.last)
    }

    fn keep(&mut self, set: NodeSet) {
        self.seats.retain(|seat| set.meets(NodeSet::slot(usize::from(seat.slot))));
    }
}
