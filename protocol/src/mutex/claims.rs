//! What this node asked for and holds: the application's side of a lock, the same for every algorithm.

use super::{Command, Fence, LockId, Notice, Refusal};
use crate::algorithm::{Context, Outbox};
use crate::clock::Stamp;
use crate::config::usable;
use crate::time::{Instant, Span, sooner};
use heapless::Vec;

/// How many locks a node may ask for and hold at once. One more is refused.
pub const LOCKS_MAX: usize = 4;

/// One lock that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Claim {
    /// Which.
    pub lock: LockId,
    /// The request's number: the stamp of the step it was made in. A later request of this node has a higher one.
    pub request: Stamp,
    /// When it was made: no grant of it is older.
    pub asked: Instant,
    /// For how long it is wanted.
    pub lease: Span,
    /// How far it has come.
    pub phase: Phase,
}

/// How far a claim has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Asked for.
    Waiting {
        /// Whether the application would rather be refused than wait.
        trying: bool,
        /// How many come first, as the application was told.
        ahead: Option<u8>,
    },
    /// Granted.
    Held {
        /// Under which fence.
        fence: Fence,
        /// Until when, by this node's clock.
        until: Instant,
        /// Whether the application was told that it ends soon.
        warned: bool,
        /// The renewal that was asked for.
        renewal: Option<Renewal>,
    },
}

/// A longer hold that was asked for. Whoever agrees must name its number: an answer to an earlier one says nothing about
/// this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Renewal {
    /// The stamp of the step it was asked for in.
    pub number: Stamp,
    /// When.
    pub asked: Instant,
    /// For how long from then.
    pub lease: Span,
}

/// What a command leaves the algorithm to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Ask the others for this.
    Ask(Claim),
    /// Ask the others to let this be kept.
    Renew(Claim, Renewal),
    /// Tell the others that this is held no more.
    Release(Claim),
    /// Tell the others that this is wanted no more.
    Cancel(Claim),
}

/// Everything this node asked for and holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Claims {
    claims: Vec<Claim, LOCKS_MAX>,
}

impl Claims {
    /// Nothing yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { claims: Vec::new() }
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Claim> {
        self.claims.iter()
    }

    /// The claim to `lock`.
    #[must_use]
    pub fn get(&self, lock: LockId) -> Option<&Claim> {
        self.claims.iter().find(|claim| claim.lock == lock)
    }

    /// The claim to `lock` that was made as `request` and is not granted yet.
    #[must_use]
    pub fn waiting(&self, lock: LockId, request: Stamp) -> Option<&Claim> {
        self.get(lock).filter(|claim| claim.request == request && matches!(claim.phase, Phase::Waiting { .. }))
    }

    /// The fence under which `lock` is held at `now`.
    #[must_use]
    pub fn holds(&self, lock: LockId, now: Instant) -> Option<Fence> {
        match self.get(lock)?.phase {
            Phase::Held { fence, until, .. } => (now < until).then_some(fence),
            Phase::Waiting { .. } => None,
        }
    }

    /// Takes a command in. Refuses what cannot be; says what is left to do.
    pub fn command<M>(&mut self, cx: &Context<'_>, command: Command, out: &mut Outbox<M, Notice>) -> Option<Task> {
        let lock = command.lock();
        let task = match command {
            Command::Acquire { lease, .. } => self.ask(cx, lock, lease, false).map(Task::Ask),
            Command::Try { lease, .. } => self.ask(cx, lock, lease, true).map(Task::Ask),
            Command::Renew { lease, .. } => self.renew(cx, lock, lease),
            Command::Release { .. } => self.give_back(cx, lock, out),
            Command::Cancel { .. } => self.cancel(lock, out),
        };
        task.map_err(|why| out.notify(Notice::Refused { lock, why })).ok()
    }

    /// Takes a grant of `request` in: from now on the lock is held, if there is any time left. A grant that came too late
    /// is worth nothing: give it back, and ask [`Claims::again`].
    pub fn grant<M>(&mut self, cx: &Context<'_>, granted: Granted, out: &mut Outbox<M, Notice>) -> bool {
        let Granted { lock, request, fence, until } = granted;
        let Some(claim) = self.get_mut(lock).filter(|claim| claim.request == request) else { return false };
        if until <= cx.now || !matches!(claim.phase, Phase::Waiting { .. }) {
            return false;
        }
        claim.phase = Phase::Held { fence, until, warned: false, renewal: None };
        out.notify(Notice::Acquired { lock, fence, until });
        true
    }

    /// The renewal with this number was agreed to: the lock is held until then, if that is later. The application hears
    /// of it as it heard of the grant.
    pub fn renewed<M>(&mut self, lock: LockId, number: Stamp, until: Instant, out: &mut Outbox<M, Notice>) {
        let Some(claim) = self.get_mut(lock) else { return };
        let Phase::Held { fence, until: before, warned, renewal: Some(renewal) } = claim.phase else { return };
        if renewal.number != number {
            return;
        }
        claim.lease = renewal.lease;
        let later = until > before;
        let until = until.max(before);
        claim.phase = Phase::Held { fence, until, warned: warned && !later, renewal: None };
        out.notify(Notice::Acquired { lock, fence, until });
    }

    /// The same claim as a new request.
    pub fn again(&mut self, cx: &Context<'_>, lock: LockId) -> Option<Claim> {
        let claim = self.get_mut(lock).filter(|claim| matches!(claim.phase, Phase::Waiting { .. }))?;
        claim.request = cx.stamp;
        claim.asked = cx.now;
        Some(*claim)
    }

    /// Tells the application how many come first, once for every number.
    pub fn wait<M>(&mut self, lock: LockId, request: Stamp, first: u8, out: &mut Outbox<M, Notice>) {
        let Some(claim) = self.get_mut(lock).filter(|claim| claim.request == request) else { return };
        let Phase::Waiting { ahead, .. } = &mut claim.phase else { return };
        if *ahead != Some(first) {
            *ahead = Some(first);
            out.notify(Notice::Waiting { lock, ahead: first });
        }
    }

    /// Ends a claim that is not granted, for this reason.
    pub fn refuse<M>(&mut self, lock: LockId, request: Stamp, why: Refusal, out: &mut Outbox<M, Notice>) {
        if self.waiting(lock, request).is_some() {
            self.drop_claim(lock);
            out.notify(Notice::Refused { lock, why });
        }
    }

    /// Ends a hold before its time, because the others do not know of it.
    pub fn lose<M>(&mut self, lock: LockId, out: &mut Outbox<M, Notice>) {
        if self.get(lock).is_some_and(|claim| matches!(claim.phase, Phase::Held { .. })) {
            self.drop_claim(lock);
            out.notify(Notice::Lost { lock });
        }
    }

    /// The next claim whose hold has ended, and warnings of those that soon will.
    pub fn expire<M>(&mut self, now: Instant, out: &mut Outbox<M, Notice>) -> Option<Claim> {
        for claim in &mut self.claims {
            let due = claim.deadline().is_some_and(|at| at <= now);
            let Phase::Held { until, warned, .. } = &mut claim.phase else { continue };
            if due && !*warned && now < *until {
                *warned = true;
                out.notify(Notice::Expiring { lock: claim.lock, until: *until });
            }
        }
        let lost = *self.claims.iter().find(|claim| claim.deadline().is_some_and(|at| at <= now))?;
        self.lose(lost.lock, out);
        Some(lost)
    }

    /// When something ends, or the application must be warned that it will.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.claims.iter().fold(None, |soonest, claim| sooner(soonest, claim.deadline()))
    }

    fn ask(&mut self, cx: &Context<'_>, lock: LockId, lease: Span, trying: bool) -> Result<Claim, Refusal> {
        if self.get(lock).is_some() {
            return Err(Refusal::Reentry);
        }
        allowed(cx, lease)?;
        if !cx.view.meets(cx.roster.set_of(cx.me)) {
            return Err(Refusal::Outside);
        }
        let phase = Phase::Waiting { trying, ahead: None };
        let claim = Claim { lock, request: cx.stamp, asked: cx.now, lease, phase };
        self.claims.push(claim).map_err(|_| Refusal::Full)?;
        Ok(claim)
    }

    fn renew(&mut self, cx: &Context<'_>, lock: LockId, lease: Span) -> Result<Task, Refusal> {
        allowed(cx, lease)?;
        self.holds(lock, cx.now).ok_or(Refusal::NotHeld)?;
        let claim = self.get_mut(lock).ok_or(Refusal::NotHeld)?;
        let asked = Renewal { number: cx.stamp, asked: cx.now, lease };
        if let Phase::Held { renewal, .. } = &mut claim.phase {
            *renewal = Some(asked);
        }
        Ok(Task::Renew(*claim, asked))
    }

    fn give_back<M>(&mut self, cx: &Context<'_>, lock: LockId, out: &mut Outbox<M, Notice>) -> Result<Task, Refusal> {
        self.holds(lock, cx.now).ok_or(Refusal::NotHeld)?;
        let claim = self.drop_claim(lock).ok_or(Refusal::NotHeld)?;
        out.notify(Notice::Released { lock });
        Ok(Task::Release(claim))
    }

    fn cancel<M>(&mut self, lock: LockId, out: &mut Outbox<M, Notice>) -> Result<Task, Refusal> {
        let waiting = self.get(lock).is_some_and(|claim| matches!(claim.phase, Phase::Waiting { .. }));
        let claim = self.drop_claim_if(lock, waiting).ok_or(Refusal::NotHeld)?;
        out.notify(Notice::Refused { lock, why: Refusal::Cancelled });
        Ok(Task::Cancel(claim))
    }

    fn get_mut(&mut self, lock: LockId) -> Option<&mut Claim> {
        self.claims.iter_mut().find(|claim| claim.lock == lock)
    }

    fn drop_claim_if(&mut self, lock: LockId, condition: bool) -> Option<Claim> {
        if condition { self.drop_claim(lock) } else { None }
    }

    fn drop_claim(&mut self, lock: LockId) -> Option<Claim> {
        let claim = *self.get(lock)?;
        self.claims.retain(|other| other.lock != lock);
        Some(claim)
    }
}

/// A grant, as the holder reckons it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Granted {
    /// Of which lock.
    pub lock: LockId,
    /// Of which request.
    pub request: Stamp,
    /// Under which fence.
    pub fence: Fence,
    /// Until when, by this node's clock.
    pub until: Instant,
}

impl Claim {
    /// Until when a grant lasts that was given when the request had `waited` so long at the giver: counted from before it
    /// was given, however long it took to arrive.
    #[must_use]
    pub fn until(&self, waited: Span) -> Instant {
        self.asked.after(usable(waited)).after(usable(self.lease))
    }

    /// Whether the application would rather be refused than wait.
    #[must_use]
    pub const fn is_trying(&self) -> bool {
        matches!(self.phase, Phase::Waiting { trying: true, .. })
    }

    /// The renewal that was asked for and not agreed to yet.
    #[must_use]
    pub const fn renewal(&self) -> Option<Renewal> {
        match self.phase {
            Phase::Waiting { .. } => None,
            Phase::Held { renewal, .. } => renewal,
        }
    }

    /// When the hold ends, or its end must be announced.
    fn deadline(&self) -> Option<Instant> {
        match self.phase {
            Phase::Waiting { .. } => None,
            Phase::Held { until, warned: true, .. } => Some(until),
            Phase::Held { until, warned: false, .. } => Some(until.before(self.lease.share(1, 4))),
        }
    }
}

fn allowed(cx: &Context<'_>, lease: Span) -> Result<(), Refusal> {
    if lease == Span::ZERO || lease > cx.timing.lock_lease { Err(Refusal::Lease) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
