//! The application's side of a lock, the same for every algorithm: this node's requests and holds.

use super::{Command, Fence, LockId, Notice, Refusal};
use crate::algorithm::{Context, Input, Outbox};
use crate::base::config::lease_at_holder;
use crate::base::lamport::LamportTime;
use crate::base::time::{Duration, Instant, earliest};
use heapless::Vec;

/// Locks a node may request and hold at a time. One more is refused.
pub const LOCKS_MAX: usize = 4;

/// A request for a lock, waiting or granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LockRequest {
    /// The requested lock.
    pub lock: LockId,
    /// The Lamport time of the step that made the request. A later request of this node has a higher number.
    pub number: LamportTime,
    /// The time of that step: no grant of the request is older.
    pub requested_at: Instant,
    /// The length of the hold.
    pub lease: Duration,
    /// Whether the request waits or is granted.
    pub phase: Phase,
}

/// The phase of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Not granted yet.
    Waiting {
        /// Whether the application wants a refusal rather than to wait.
        trying: bool,
        /// The number of requests ahead in the last notice.
        ahead: Option<u8>,
        /// When the application stops waiting.
        give_up_at: Option<Instant>,
    },
    /// Granted.
    Held {
        /// The fence of the grant.
        fence: Fence,
        /// The end of the lease, by this node's clock.
        until: Instant,
        /// Whether the application was warned of the end.
        warned: bool,
        /// The renewal that is not agreed to yet.
        renewal: Option<Renewal>,
    },
}

/// A requested extension of a hold. A reply names its number: a reply to an earlier renewal says nothing about this
/// one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Renewal {
    /// The Lamport time of the step that requested it.
    pub number: LamportTime,
    /// The time of that step.
    pub requested_at: Instant,
    /// The length of the hold from then on.
    pub lease: Duration,
}

impl Renewal {
    /// Returns the end of the hold once a grantor has agreed: the lease counted short, from the request.
    #[must_use]
    pub fn until(&self) -> Instant {
        self.requested_at.after(lease_at_holder(self.lease))
    }
}

/// A grant, with its end by this node's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in the request and its phase")]
pub struct Granted {
    pub lock: LockId,
    pub request: LamportTime,
    pub fence: Fence,
    pub until: Instant,
}

/// The work a command leaves to the algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientAction {
    /// Request the lock from the others.
    Acquire(LockRequest),
    /// Request an extension of the hold from the others.
    Renew(LockRequest, Renewal),
    /// Release the lock at the others.
    Release(LockRequest),
    /// Withdraw the request at the others.
    Cancel(LockRequest),
}

type Out<M> = Outbox<M, Notice>;

/// All requests and holds of this node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LockClient {
    requests: Vec<LockRequest, LOCKS_MAX>,
}

impl LockClient {
    pub(super) fn iter(&self) -> impl Iterator<Item = &LockRequest> {
        self.requests.iter()
    }

    /// Returns the request for `lock`.
    #[must_use]
    pub fn get(&self, lock: LockId) -> Option<&LockRequest> {
        self.requests.iter().find(|request| request.lock == lock)
    }

    /// Returns the request for `lock` with this number, if it still waits.
    pub(super) fn waiting(&self, lock: LockId, number: LamportTime) -> Option<&LockRequest> {
        self.get(lock).filter(|request| request.number == number && request.is_waiting())
    }

    /// Returns the fence under which `lock` is held at `now`.
    #[must_use]
    pub fn holds(&self, lock: LockId, now: Instant) -> Option<Fence> {
        match self.get(lock)?.phase {
            Phase::Held { fence, until, .. } => (now < until).then_some(fence),
            Phase::Waiting { .. } => None,
        }
    }

    /// Takes a command: refuses it, or returns the work left to do.
    pub fn command<M>(&mut self, cx: &Context<'_>, command: Command, out: &mut Out<M>) -> Option<ClientAction> {
        let lock = command.lock();
        let action = match command {
            Command::Acquire { lease, .. } => self.request(cx, lock, lease, (false, None)),
            Command::AcquireWithin { lease, wait, .. } => {
                self.request(cx, lock, lease, (false, Some(cx.now.after(wait))))
            }
            Command::Try { lease, .. } => self.request(cx, lock, lease, (true, None)),
            Command::Renew { lease, .. } => self.renew(cx, lock, lease),
            Command::Release { .. } => self.release(cx, lock, out),
            Command::Cancel { .. } => self.cancel(cx, lock, out),
        };
        action.map_err(|reason| out.notify(Notice::Refused { lock, reason })).ok()
    }

    /// Takes a grant: the lock is held from now on, if its lease has not ended. Returns whether it is. A grant that
    /// comes too late is worth nothing: give it back and `restart`.
    pub fn grant<M>(&mut self, cx: &Context<'_>, granted: Granted, out: &mut Out<M>) -> bool {
        let Granted { lock, request: number, fence, until } = granted;
        let Some(request) = self.get_mut(lock).filter(|request| request.number == number && request.is_waiting())
        else {
            return false;
        };
        if until <= cx.now {
            return false;
        }
        request.phase = Phase::Held { fence, until, warned: false, renewal: None };
        out.notify(Notice::Acquired { lock, fence, until });
        true
    }

    /// Extends a hold to `until`, if that is later and `number` is that of the last renewal, and notifies the
    /// application.
    pub(super) fn extend<M>(&mut self, lock: LockId, number: LamportTime, until: Instant, out: &mut Out<M>) {
        let Some(request) = self.get_mut(lock) else { return };
        let Phase::Held { fence, until: before, warned, renewal: Some(renewal) } = request.phase else { return };
        if renewal.number != number {
            return;
        }
        request.lease = renewal.lease;
        let later = until > before;
        let until = until.max(before);
        request.phase = Phase::Held { fence, until, warned: warned && !later, renewal: None };
        out.notify(Notice::Acquired { lock, fence, until });
    }

    /// Makes a waiting request again, with a new number.
    pub(super) fn restart(&mut self, cx: &Context<'_>, lock: LockId) -> Option<LockRequest> {
        let request = self.get_mut(lock).filter(|request| request.is_waiting())?;
        request.number = cx.lamport;
        request.requested_at = cx.now;
        Some(*request)
    }

    /// Notifies the application of the number of requests ahead, when that changes.
    pub(super) fn notify_waiting<M>(&mut self, lock: LockId, number: LamportTime, count: u8, out: &mut Out<M>) {
        let Some(request) = self.get_mut(lock).filter(|request| request.number == number) else { return };
        let Phase::Waiting { ahead, .. } = &mut request.phase else { return };
        if *ahead != Some(count) {
            *ahead = Some(count);
            out.notify(Notice::Waiting { lock, ahead: count });
        }
    }

    /// Ends a request that waits.
    pub(super) fn refuse<M>(&mut self, lock: LockId, number: LamportTime, reason: Refusal, out: &mut Out<M>) {
        if self.waiting(lock, number).is_some() {
            self.remove(lock);
            out.notify(Notice::Refused { lock, reason });
        }
    }

    /// Ends a hold that the others do not know of.
    pub(super) fn lose<M>(&mut self, lock: LockId, out: &mut Out<M>) {
        if self.get(lock).is_some_and(|request| !request.is_waiting()) {
            self.remove(lock);
            out.notify(Notice::Lost { lock });
        }
    }

    /// Warns of holds about to end, and ends and returns one that is over.
    pub(super) fn expire<M>(&mut self, now: Instant, out: &mut Out<M>) -> Option<LockRequest> {
        for request in &mut self.requests {
            let due = request.deadline().is_some_and(|at| at <= now);
            let Phase::Held { until, warned, .. } = &mut request.phase else { continue };
            if due && !*warned && now < *until {
                *warned = true;
                out.notify(Notice::Expiring { lock: request.lock, until: *until });
            }
        }
        let over = |request: &&LockRequest| !request.is_waiting() && request.deadline().is_some_and(|at| at <= now);
        let lost = *self.requests.iter().find(over)?;
        self.lose(lost.lock, out);
        Some(lost)
    }

    /// Returns the input of a step: on a timeout, the withdrawal of a request that has waited for as long as the
    /// application wants. One a step; the next is due at once.
    pub(super) fn input<M>(&self, cx: &Context<'_>, input: Input<M, Command>) -> Input<M, Command> {
        let timed_out = self.requests.iter().find(|request| request.has_timed_out(cx.now));
        match (input, timed_out) {
            (Input::Timeout, Some(&LockRequest { lock, .. })) => Input::Command(Command::Cancel { lock }),
            (input, _) => input,
        }
    }

    /// Returns when a wait or a hold ends, or the application must be warned of its end.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.requests.iter().fold(None, |soonest, request| earliest(soonest, request.deadline()))
    }

    fn request(
        &mut self,
        cx: &Context<'_>,
        lock: LockId,
        lease: Duration,
        (trying, give_up_at): (bool, Option<Instant>),
    ) -> Result<ClientAction, Refusal> {
        if self.get(lock).is_some() {
            return Err(Refusal::Reentry);
        }
        check_lease(cx, lease)?;
        if !cx.view.meets(cx.roster.set_of(cx.me)) {
            return Err(Refusal::Outside);
        }
        let phase = Phase::Waiting { trying, ahead: None, give_up_at };
        let request = LockRequest { lock, number: cx.lamport, requested_at: cx.now, lease, phase };
        self.requests.push(request).map_err(|_| Refusal::Full)?;
        Ok(ClientAction::Acquire(request))
    }

    fn renew(&mut self, cx: &Context<'_>, lock: LockId, lease: Duration) -> Result<ClientAction, Refusal> {
        check_lease(cx, lease)?;
        self.holds(lock, cx.now).ok_or(Refusal::NotHeld)?;
        let request = self.get_mut(lock).ok_or(Refusal::NotHeld)?;
        let requested = Renewal { number: cx.lamport, requested_at: cx.now, lease };
        if let Phase::Held { renewal, .. } = &mut request.phase {
            *renewal = Some(requested);
        }
        Ok(ClientAction::Renew(*request, requested))
    }

    fn release<M>(&mut self, cx: &Context<'_>, lock: LockId, out: &mut Out<M>) -> Result<ClientAction, Refusal> {
        self.holds(lock, cx.now).ok_or(Refusal::NotHeld)?;
        let request = self.remove(lock).ok_or(Refusal::NotHeld)?;
        out.notify(Notice::Released { lock });
        Ok(ClientAction::Release(request))
    }

    fn cancel<M>(&mut self, cx: &Context<'_>, lock: LockId, out: &mut Out<M>) -> Result<ClientAction, Refusal> {
        let request = *self.get(lock).filter(|request| request.is_waiting()).ok_or(Refusal::NotHeld)?;
        self.remove(lock);
        let reason = if request.has_timed_out(cx.now) { Refusal::TimedOut } else { Refusal::Cancelled };
        out.notify(Notice::Refused { lock, reason });
        Ok(ClientAction::Cancel(request))
    }

    fn get_mut(&mut self, lock: LockId) -> Option<&mut LockRequest> {
        self.requests.iter_mut().find(|request| request.lock == lock)
    }

    fn remove(&mut self, lock: LockId) -> Option<LockRequest> {
        let request = *self.get(lock)?;
        self.requests.retain(|other| other.lock != lock);
        Some(request)
    }
}

impl LockRequest {
    /// Returns the end of a grant that was given after the request had `waited` at the grantor: counted from before it
    /// was given, however long it took to arrive.
    pub(super) fn until(&self, waited: Duration) -> Instant {
        self.requested_at.after(lease_at_holder(waited)).after(lease_at_holder(self.lease))
    }

    pub(super) const fn is_waiting(&self) -> bool {
        matches!(self.phase, Phase::Waiting { .. })
    }

    /// Returns whether the request waits, and the application wants a refusal rather than to wait.
    pub(super) const fn is_trying(&self) -> bool {
        matches!(self.phase, Phase::Waiting { trying: true, .. })
    }

    /// Returns the renewal that is not agreed to yet.
    pub(super) const fn renewal(&self) -> Option<Renewal> {
        match self.phase {
            Phase::Waiting { .. } => None,
            Phase::Held { renewal, .. } => renewal,
        }
    }

    /// Returns whether the request waits, and has waited for as long as the application wants.
    fn has_timed_out(&self, now: Instant) -> bool {
        matches!(self.phase, Phase::Waiting { give_up_at: Some(at), .. } if at <= now)
    }

    /// Returns when the wait or the hold ends, or the application must be warned of the end of the hold.
    fn deadline(&self) -> Option<Instant> {
        match self.phase {
            Phase::Waiting { give_up_at, .. } => give_up_at,
            Phase::Held { until, warned: true, .. } => Some(until),
            Phase::Held { until, warned: false, .. } => Some(until.before(self.lease.mul_ratio(1, 4))),
        }
    }
}

fn check_lease(cx: &Context<'_>, lease: Duration) -> Result<(), Refusal> {
    if lease == Duration::ZERO || lease > cx.timing.lock_lease { Err(Refusal::Lease) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
