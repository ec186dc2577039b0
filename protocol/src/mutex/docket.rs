//! The side that grants: who holds what until when, who waits for it, and what must be known before anything is granted.
//!
//! One member keeps the docket for all, whatever made it the one. Whoever granted before it may have granted something that
//! still lasts. So it grants nothing before everybody has said what it holds, or the longest lease has been waited out.

use super::{Fence, LOCKS_MAX, LockId};
use crate::algorithm::Context;
use crate::clock::{Stamp, Term};
use crate::config::granted;
use crate::group::{NodeId, NodeSet};
use crate::time::{Instant, Span, sooner};
use heapless::Vec;

/// How many may wait for one lock. One more is refused, as is a lock beyond [`LOCKS_MAX`] held or waited for at a time.
pub const WAITERS_MAX: usize = 16;

/// What a member asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Want {
    /// Who.
    pub who: NodeId,
    /// Which lock.
    pub lock: LockId,
    /// The request's number: an earlier one of the same member is over.
    pub request: Stamp,
    /// For how long.
    pub lease: Span,
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The member holds the lock by this request, and will be told so, once more if need be.
    Held,
    /// It waits, and so many come first.
    Behind(u8),
    /// There is no room.
    Full,
    /// The member has asked anew since.
    Over,
}

/// A grant, to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Grant {
    /// To whom.
    pub who: NodeId,
    /// Of which lock.
    pub lock: LockId,
    /// To which request.
    pub request: Stamp,
    /// Under which fence.
    pub fence: Fence,
    /// How long the request had waited when it was granted. The holder counts its lease from when it asked and this long
    /// after, by its own clock: that is before the grant was made.
    pub waited: Span,
}

/// A lock that is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Hold {
    /// By whom; by nobody that could give it back, where the holder has started anew since.
    who: Option<NodeId>,
    request: Stamp,
    fence: Fence,
    waited: Span,
    /// When it is over, by whatever clock the holder has.
    until: Instant,
    /// Whether the holder was told.
    told: bool,
}

/// One that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Waiter {
    who: NodeId,
    request: Stamp,
    lease: Span,
    since: Instant,
}

/// One lock: who holds it, and who waits for it, in order of arrival.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Entry {
    lock: LockId,
    hold: Option<Hold>,
    waiters: Vec<Waiter, WAITERS_MAX>,
}

/// Every lock that is held or waited for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Docket {
    term: Term,
    /// How much was granted so far: no two grants have one fence.
    count: u64,
    /// What has to be known before anything is granted.
    takeover: Option<Takeover>,
    entries: Vec<Entry, LOCKS_MAX>,
}

impl Default for Docket {
    fn default() -> Self {
        Self::new()
    }
}

impl Docket {
    /// Nobody has granted anything yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { term: Term::ZERO, count: 0, takeover: None, entries: Vec::new() }
    }

    /// Begins to grant under this term or generation, and is the only one that does. What this node `holds` is of others.
    pub fn begin(&mut self, cx: &Context<'_>, term: Term, holds: &[Option<LockId>]) {
        self.term = term;
        self.entries.clear();
        self.takeover = Some(Takeover::new(cx));
        self.answer(cx, cx.me, holds, remembers(cx));
    }

    /// Whose fences it gives.
    #[must_use]
    pub const fn term(&self) -> Term {
        self.term
    }

    /// Goes on under this term: it has been the only one that grants ever since it began.
    pub fn go_on(&mut self, term: Term) {
        self.term = term;
    }

    /// Whether a lock that is free is granted.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.takeover.is_none()
    }

    /// Takes a request in. One that was granted already is granted again, the same way; one that waits keeps its place.
    pub fn ask(&mut self, now: Instant, want: Want) -> Place {
        let Want { who, lock, request, lease } = want;
        let fence = Fence { term: self.term, count: Stamp(self.count.saturating_add(1)) };
        let Some(entry) = self.entry(lock) else { return Place::Full };
        if let Some(hold) = entry.hold.as_mut().filter(|hold| hold.who == Some(who)) {
            if hold.request > request {
                return Place::Over;
            }
            hold.told = false;
            if hold.request < request {
                // It gave back what it held, or never took it, and word of that was lost.
                *hold = Hold::new(now, Waiter { who, request, lease, since: now }, fence);
                self.count = fence.count.0;
            }
            return Place::Held;
        }
        let first = usize::from(entry.hold.is_some());
        let behind = |place: usize| Place::Behind(u8::try_from(place.saturating_add(first)).unwrap_or(u8::MAX));
        let Some(place) = entry.waiters.iter().position(|waiter| waiter.who == who) else {
            let place = entry.waiters.len();
            let queued = entry.waiters.push(Waiter { who, request, lease, since: now });
            return queued.map_or(Place::Full, |()| behind(place));
        };
        match entry.waiters.get_mut(place) {
            Some(waiter) if waiter.request > request => return Place::Over,
            Some(waiter) if waiter.request < request => *waiter = Waiter { who, request, lease, since: now },
            Some(_) | None => {} // the same once more
        }
        behind(place)
    }

    /// This request and every earlier one of the same member is over: given back, taken back, or given up.
    pub fn end(&mut self, who: NodeId, lock: LockId, request: Stamp) {
        let Some(entry) = self.entries.iter_mut().find(|entry| entry.lock == lock) else { return };
        entry.hold = entry.hold.filter(|hold| hold.who != Some(who) || hold.request > request);
        entry.waiters.retain(|waiter| waiter.who != who || waiter.request > request);
        self.sweep();
    }

    /// Lets the holder keep the lock for `lease` from now, or longer if it may already. Whether it does hold it.
    pub fn renew(&mut self, now: Instant, want: Want) -> bool {
        let entry = self.entries.iter_mut().find(|entry| entry.lock == want.lock);
        let hold = entry.and_then(|entry| entry.hold.as_mut());
        let Some(hold) = hold.filter(|hold| hold.who == Some(want.who) && hold.request <= want.request) else {
            return false;
        };
        hold.request = want.request;
        hold.until = hold.until.max(now.after(granted(want.lease)));
        true
    }

    /// `who` says what it holds: nothing else does it hold or wait for, and what is not of this docket is of one before.
    /// Whether that is `all`, a node knows that [`remembers`].
    pub fn answer(&mut self, cx: &Context<'_>, who: NodeId, holds: &[Option<LockId>], all: bool) {
        for entry in &mut self.entries {
            let kept = holds.contains(&Some(entry.lock));
            entry.hold = entry.hold.filter(|hold| hold.who != Some(who) || kept);
            entry.waiters.retain(|waiter| waiter.who != who);
        }
        self.sweep();
        let Some(Takeover { until, answered }) = self.takeover else { return };
        let hold = Hold::before(who, until);
        // Where there is no room to write it down, it has to be waited out.
        let written =
            holds.iter().flatten().all(|&lock| self.entry(lock).map(|entry| entry.hold.get_or_insert(hold)).is_some());
        if written && all {
            self.takeover = Some(Takeover { until, answered: answered.with(cx.roster.set_of(who)) });
        }
    }

    /// These have started anew: nobody can give back what they held, and what they waited for is forgotten.
    pub fn reset(&mut self, cx: &Context<'_>, set: NodeSet) {
        for hold in self.entries.iter_mut().filter_map(|entry| entry.hold.as_mut()) {
            hold.who = hold.who.filter(|&who| !cx.roster.set_of(who).meets(set));
        }
        self.forget_waiting(cx, set);
    }

    /// These wait no more.
    pub fn forget_waiting(&mut self, cx: &Context<'_>, set: NodeSet) {
        for entry in &mut self.entries {
            entry.waiters.retain(|waiter| !cx.roster.set_of(waiter.who).meets(set));
        }
        self.sweep();
    }

    /// These may not have heard of what was granted to them.
    pub fn tell_again(&mut self, cx: &Context<'_>, set: NodeSet) {
        for hold in self.entries.iter_mut().filter_map(|entry| entry.hold.as_mut()) {
            let among = hold.who.is_some_and(|who| cx.roster.set_of(who).meets(set));
            hold.told &= !among || hold.request == Stamp(0); // one that was restated is known to the holder only
        }
    }

    /// Ends whatever is over.
    pub fn expire(&mut self, cx: &Context<'_>) {
        self.takeover = self.takeover.filter(|takeover| !takeover.is_over(cx));
        for entry in &mut self.entries {
            entry.hold = entry.hold.filter(|hold| hold.until > cx.now);
        }
        self.sweep();
    }

    /// The next grant to be told.
    pub fn grant(&mut self, now: Instant) -> Option<Grant> {
        let open = self.is_open();
        let entry = self.entries.iter_mut().find(|entry| entry.is_due(open))?;
        let hold = if let Some(hold) = entry.hold {
            hold
        } else {
            let first = *entry.waiters.first()?;
            entry.waiters.retain(|waiter| waiter.who != first.who);
            self.count = self.count.saturating_add(1);
            Hold::new(now, first, Fence { term: self.term, count: Stamp(self.count) })
        };
        entry.hold = Some(Hold { told: true, ..hold });
        let Hold { who, request, fence, waited, .. } = hold;
        Some(Grant { who: who?, lock: entry.lock, request, fence, waited })
    }

    /// When something ends, or is to be told.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        let takeover = self.takeover.map(|takeover| takeover.until);
        self.entries.iter().fold(takeover, |soonest, entry| {
            let due = entry.is_due(self.is_open()).then_some(Instant::ZERO);
            sooner(soonest, sooner(due, entry.hold.map(|hold| hold.until)))
        })
    }

    /// The entry of `lock`, made if there is none and there is room.
    fn entry(&mut self, lock: LockId) -> Option<&mut Entry> {
        if !self.entries.iter().any(|entry| entry.lock == lock) {
            self.entries.push(Entry { lock, hold: None, waiters: Vec::new() }).ok()?;
        }
        self.entries.iter_mut().find(|entry| entry.lock == lock)
    }

    /// Takes out locks that nobody holds and nobody waits for.
    fn sweep(&mut self) {
        self.entries.retain(|entry| entry.hold.is_some() || !entry.waiters.is_empty());
    }
}

impl Entry {
    /// Whether somebody is to be told of a grant.
    fn is_due(&self, open: bool) -> bool {
        match self.hold {
            Some(hold) => !hold.told && hold.who.is_some(),
            None => open && !self.waiters.is_empty(),
        }
    }
}

impl Hold {
    /// Granted now.
    fn new(now: Instant, to: Waiter, fence: Fence) -> Self {
        let Waiter { who, request, lease, since } = to;
        let until = now.after(granted(lease));
        Self { who: Some(who), request, fence, waited: now.since(since), until, told: false }
    }

    /// Granted by one before.
    const fn before(who: NodeId, until: Instant) -> Self {
        Self { who: Some(who), request: Stamp(0), fence: Fence::ZERO, waited: Span::ZERO, until, told: true }
    }
}

/// One that has just begun to grant: what others granted before may still last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Takeover {
    /// By then it does not, whoever has not answered.
    until: Instant,
    /// Who said what it holds.
    answered: NodeSet,
}

impl Takeover {
    fn new(cx: &Context<'_>) -> Self {
        Self { until: cx.now.after(granted(cx.timing.lock_lease)), answered: NodeSet::EMPTY }
    }

    /// Whether something may be granted. Everybody of the group must have answered, not only of the view: one that was
    /// taken out of it may hold what it was granted before.
    fn is_over(&self, cx: &Context<'_>) -> bool {
        self.until <= cx.now || cx.roster.all().without(self.answered).is_empty()
    }
}

/// Whether this node knows all that it may hold: it was up when the oldest of it was granted.
#[must_use]
pub fn remembers(cx: &Context<'_>) -> bool {
    cx.uptime >= granted(cx.timing.lock_lease)
}

#[cfg(test)]
mod tests;
