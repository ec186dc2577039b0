//! The end of a step: entering with all permissions, and asking for missing ones.

use super::{Out, PermissionMessage, PermissionRound, Permissions, QueuePosition, is_step_full};
use crate::algorithm::Context;
use crate::base::ids::{NodeSet, SLOTS_MAX};
use crate::base::lamport::LamportTime;
use crate::base::term::Term;
use crate::base::time::Duration;
use crate::mutex::client::{Granted, LockRequest, Phase};
use crate::mutex::{Fence, Refusal};

/// Up to how many members a request is repeated as often as it can be.
const SMALL_GROUP: u32 = 5;

impl Permissions {
    /// Enters, or extends a hold, where all members gave permission; `position` is that of a request in the algorithm's
    /// order. Returns a request that was refused because it only tried.
    pub(in crate::mutex) fn enter<M>(
        &mut self,
        cx: &Context<'_>,
        out: &mut Out<M>,
        position: impl Fn(&Self, &LockRequest) -> QueuePosition,
    ) -> Option<LockRequest> {
        let open = self.rounds.clone();
        let mut refused = None;
        for round in open.iter().filter(|round| round.is_complete(cx)) {
            if is_step_full(out) {
                break;
            }
            let (lock, number, until) = (round.lock, round.request, round.until());
            let Some(&request) = self.client.get(lock) else { continue };
            match (round.renewal, request.phase, position(self, &request)) {
                (Some(renewal), Phase::Held { .. }, _) if self.granted.is_safe(cx) => {
                    self.rounds.close(lock);
                    if until > cx.now {
                        self.client.extend(lock, renewal, until, out);
                    }
                }
                (None, Phase::Waiting { trying: true, .. }, QueuePosition::Behind(_)) if refused.is_none() => {
                    self.rounds.close(lock);
                    self.client.refuse(lock, number, Refusal::Busy, out);
                    refused = Some(request);
                }
                (None, Phase::Waiting { .. }, QueuePosition::Behind(ahead)) => {
                    self.client.notify_waiting(lock, number, ahead, out);
                }
                (None, Phase::Waiting { .. }, QueuePosition::First) if self.granted.is_safe(cx) => {
                    // A lease that is almost over is not worth having.
                    if until <= cx.now.after(round.lease.mul_ratio(1, 4)) {
                        self.rounds.numbered(lock, round.round).into_iter().for_each(|round| round.renew_leases(cx));
                        continue;
                    }
                    self.rounds.close(lock);
                    self.client.grant(cx, Granted { lock, request: number, fence: fence(cx, number), until }, out);
                }
                // A permission has to end first; a renewal is of a hold.
                (Some(_) | None, Phase::Held { .. } | Phase::Waiting { .. }, _) => {}
            }
        }
        refused
    }

    /// Sends the rounds that are due: first to all, again after `timeout` to members without a reply and those in
    /// `also`, then every [`Timing::lease`](crate::Timing::lease); later and less often in a large group. Returns a request that was refused because it only
    /// tried.
    pub(in crate::mutex) fn poll_send<M: From<PermissionMessage>>(
        &mut self,
        cx: &Context<'_>,
        timeout: Duration,
        out: &mut Out<M>,
        also: impl Fn(&Self, &PermissionRound) -> NodeSet,
    ) -> Option<LockRequest> {
        while !is_step_full(out) && self.send_after <= cx.now {
            let due = *self.rounds.iter().find(|round| round.send_at <= cx.now)?;
            let request = self.client.get(due.lock).copied()?;
            let trying = request.is_trying();
            if trying && !due.fresh {
                self.client.refuse(due.lock, due.request, Refusal::Busy, out);
                return Some(request);
            }
            let (message, missing) = (due.message(cx), due.asked(cx));
            let (message, to) = match (due.fresh, trying) {
                (true, true) => (PermissionMessage::Try(message), missing),
                (true, false) => (PermissionMessage::Request(message), missing),
                (false, _) => (PermissionMessage::Repeat(message), missing.with(also(self, &due))),
            };
            let to = if cx.view.meets(cx.roster.set_of(cx.me)) { to.and(cx.up) } else { NodeSet::EMPTY };
            if !to.is_empty() {
                self.send_after = cx.now.after(cx.timing.retry);
                out.send(to, message.into());
            }
            if let Some(round) = self.rounds.numbered(due.lock, due.round) {
                let wait = if due.fresh { timeout } else { cx.timing.lease() };
                // In a large group a turn takes long to come, and every question costs an answer of each member.
                let longer = cx.view.len().div_ceil(SMALL_GROUP).saturating_mul(2).saturating_sub(1);
                let wait = if due.missing(cx).is_empty() { cx.timing.heartbeat } else { wait.times(longer) };
                (round.fresh, round.send_at) = (false, cx.now.after(wait));
            }
        }
        None
    }
}

/// Returns the fence of an own request. Requests are granted in the order of their Lamport times, and of their slots
/// where two are equal; so are fences.
fn fence(cx: &Context<'_>, request: LamportTime) -> Fence {
    let [slot, slots] = [cx.roster.slot_of(cx.me).unwrap_or(0), SLOTS_MAX].map(|n| u64::try_from(n).unwrap_or(0));
    Fence { term: Term::ZERO, count: LamportTime(request.0.saturating_mul(slots).saturating_add(slot)) }
}
