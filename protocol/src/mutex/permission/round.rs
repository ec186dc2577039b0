//! Rounds of this node: a request for permission to all members, and the permissions received.

use super::{LOCKS_MAX, PermissionRequest, Round};
use crate::algorithm::Context;
use crate::base::config::lease_at_holder;
use crate::base::ids::NodeSet;
use crate::base::lamport::LamportTime;
use crate::base::time::{Duration, Instant};
use crate::mutex::LockId;
use heapless::Vec;

/// One round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::mutex) struct PermissionRound {
    pub(in crate::mutex) lock: LockId,
    pub(in crate::mutex) request: LamportTime,
    /// The number of the round: a reply names it.
    pub(super) round: Round,
    /// The number of the renewal, where the lock is held.
    pub(super) renewal: Option<LamportTime>,
    pub(super) lease: Duration,
    /// The start: no permission of this round is older.
    begun: Instant,
    pub(super) granted: NodeSet,
    /// Whether a member has yet to be asked for the first time.
    pub(super) fresh: bool,
    /// When to ask, or to ask again.
    pub(super) send_at: Instant,
}

impl PermissionRound {
    /// Returns the members whose permission is missing.
    pub(in crate::mutex) fn missing(&self, cx: &Context<'_>) -> NodeSet {
        cx.view.without(cx.roster.set_of(cx.me)).without(self.granted)
    }

    /// Returns when the permissions end.
    pub(super) fn until(&self) -> Instant {
        self.begun.after(lease_at_holder(self.lease))
    }

    /// Returns the round as it is sent.
    pub(super) const fn message(&self, cx: &Context<'_>) -> PermissionRequest {
        let Self { lock, request, round, lease, .. } = *self;
        PermissionRequest { lock, request, round, lease, view: cx.view }
    }

    /// Asks at once, as if for the first time.
    pub(super) fn send_afresh(&mut self, cx: &Context<'_>) {
        (self.fresh, self.send_at) = (true, cx.now);
    }

    pub(super) const fn subject(&self) -> Subject {
        let Self { lock, request, renewal, lease, .. } = *self;
        Subject { lock, request, renewal, lease }
    }
}

/// The subject of a round: a request, or the renewal of a granted one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subject {
    pub(super) lock: LockId,
    pub(super) request: LamportTime,
    pub(super) renewal: Option<LamportTime>,
    pub(super) lease: Duration,
}

/// All open rounds, one for each request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Rounds {
    rounds: Vec<PermissionRound, LOCKS_MAX>,
}

impl Rounds {
    pub(super) fn get(&self, lock: LockId) -> Option<&PermissionRound> {
        self.rounds.iter().find(|round| round.lock == lock)
    }

    pub(super) fn numbered(&mut self, lock: LockId, number: Round) -> Option<&mut PermissionRound> {
        self.rounds.iter_mut().find(|round| round.lock == lock && round.round == number)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &PermissionRound> {
        self.rounds.iter()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut PermissionRound> {
        self.rounds.iter_mut()
    }

    /// Begins a round: replies to earlier ones do not count any more.
    pub(super) fn begin(&mut self, cx: &Context<'_>, subject: Subject) {
        let Subject { lock, request, renewal, lease } = subject;
        self.close(lock);
        // One that begins in the same step as another of this lock takes its place before anybody was asked.
        let round = Round(u32::try_from(cx.lamport.0 & u64::from(u32::MAX)).unwrap_or(0));
        let (granted, begun, send_at) = (NodeSet::EMPTY, cx.now, cx.now);
        let round = PermissionRound { lock, request, round, renewal, lease, begun, granted, fresh: true, send_at };
        let _ = self.rounds.push(round); // there is room: a request has one at a time
    }

    pub(super) fn close(&mut self, lock: LockId) {
        self.rounds.retain(|round| round.lock != lock);
    }
}
