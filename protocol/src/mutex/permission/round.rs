//! Rounds of this node: a request for permission to all members, and the permissions received.

use super::{LOCKS_MAX, PermissionRequest, Round};
use crate::algorithm::Context;
use crate::base::config::lease_at_holder;
use crate::base::ids::NodeSet;
use crate::base::lamport::LamportTime;
use crate::base::time::{Duration, Instant};
use crate::mutex::LockId;
use heapless::Vec;

/// How many more members than needed are asked to renew their permission: no lost reply holds the entry up.
const SPARE_LEASES: u32 = 2;

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
    /// Those of them that gave it since `begun`: the permission of others may have ended.
    leased: NodeSet,
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

    /// Counts the permission of these.
    pub(super) const fn grant(&mut self, set: NodeSet) {
        self.granted = self.granted.with(set);
        self.leased = self.leased.with(set);
    }

    /// These have forgotten their permission.
    pub(super) const fn revoke(&mut self, set: NodeSet) {
        self.granted = self.granted.without(set);
        self.leased = self.leased.without(set);
    }

    /// Returns how many permissions must not have ended: so many that every majority without this node has one of them.
    fn leases_needed(cx: &Context<'_>) -> u32 {
        cx.roster.all().len().saturating_sub(1) >> 1
    }

    /// Returns whether every member has given permission, and enough of these permissions are of this round.
    pub(super) fn is_complete(&self, cx: &Context<'_>) -> bool {
        self.missing(cx).is_empty() && self.leased.len() >= Self::leases_needed(cx)
    }

    /// Returns the members to ask: those whose permission is missing; where none is, as many as are to renew theirs, the
    /// next ones in the order of the group, and all others when they are asked again.
    pub(super) fn asked(&self, cx: &Context<'_>) -> NodeSet {
        let missing = self.missing(cx);
        if !missing.is_empty() {
            return missing;
        }
        let others = cx.view.without(cx.roster.set_of(cx.me)).and(cx.up).without(self.leased);
        let count = if self.fresh { Self::leases_needed(cx).saturating_add(SPARE_LEASES) } else { u32::MAX };
        let me = cx.roster.slot_of(cx.me).unwrap_or(0);
        let after = others.slots().filter(|&slot| slot > me);
        let in_turn = after.chain(others.slots().filter(|&slot| slot < me)).zip(0..count);
        in_turn.fold(NodeSet::EMPTY, |set, (slot, _)| set.with(NodeSet::slot(slot)))
    }

    /// Has enough permissions renewed. That all have given one stays true: in this view that does not end.
    pub(super) fn renew_leases(&mut self, cx: &Context<'_>) {
        (self.round, self.begun, self.leased) = (Round::now(cx), cx.now, NodeSet::EMPTY);
        self.send_afresh(cx);
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

impl Round {
    /// The number of a round that begins in this step.
    fn now(cx: &Context<'_>) -> Self {
        Self(u32::try_from(cx.lamport.0 & u64::from(u32::MAX)).unwrap_or(0))
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
        let (granted, leased, round) = (NodeSet::EMPTY, NodeSet::EMPTY, Round::now(cx));
        let (begun, fresh, send_at) = (cx.now, true, cx.now);
        let round = PermissionRound { lock, request, round, renewal, lease, begun, granted, leased, fresh, send_at };
        let _ = self.rounds.push(round); // there is room: a request has one at a time
    }

    pub(super) fn close(&mut self, lock: LockId) {
        self.rounds.retain(|round| round.lock != lock);
    }
}
