//! The lock workload: a contender thinks, requests the lock, holds it, writes to the resource, and releases the lock.
//!
//! A contender checks that it holds the lock before it writes. The write then takes time: the node may be paused, or
//! the network slow, until long after the lock was granted to another. Only the resource itself can refuse it then.

use crate::base::Micros;
use crate::base::rng::{Probability, Rng, Stream};
use protocol::mutex::{Fence, FencedResource, LockId, Notice, Refusal};

/// How many members a group with locks may have.
pub const LOCK_GROUP_MAX: usize = 16;

/// The locks of a run, and the behaviour of their contenders. Ranges are the shortest and the longest time.
#[derive(Clone, Debug, PartialEq)]
pub struct LockPlan {
    pub(crate) mutex: String,
    pub(crate) names: Vec<String>,
    /// The ids of the nodes that contend for them.
    pub(crate) contenders: Vec<u32>,
    /// The time from a release to the next request.
    pub(crate) think: (Micros, Micros),
    pub(crate) hold: (Micros, Micros),
    pub(crate) lease: (Micros, Micros),
    /// The delay of a write to the resource.
    pub(crate) write: (Micros, Micros),
    /// How long a request waits before it is withdrawn; `None`: for ever.
    pub(crate) timeout: Option<Micros>,
    /// How often a request prefers a refusal to waiting.
    pub(crate) try_only: Probability,
    pub(crate) cancel: Probability,
    /// How often a holder renews its lease instead of writing.
    pub(crate) renew: Probability,
    /// Whether the resources check fences.
    pub fencing: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ContenderState {
    Idle,
    Requesting,
    Holding { fence: Fence, release_at: Micros },
}

/// The workload of one node on one lock.
#[derive(Clone, Copy, Debug)]
struct Contender {
    /// Whether it acts by itself.
    active: bool,
    state: ContenderState,
    /// Since when it wants the lock and does not get it. A refusal that it did not ask for does not end that.
    waiting_since: Option<Micros>,
    /// The number of its next action: actions with another number are stale.
    next_action: u32,
}

/// The resource that a lock protects: a counter.
#[derive(Clone, Copy, Debug)]
enum Resource {
    Fenced(FencedResource<u64>),
    /// It accepts every write.
    Unfenced(u64),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Write {
    pub(crate) lock: u8,
    pub(crate) fence: Fence,
}

/// The moment of a contender's next action, and the event detail that names it.
pub(crate) type Scheduled = Option<(Micros, u32)>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContenderAction {
    Request { try_only: bool, lease: Micros, timeout: Option<Micros> },
    Cancel,
    Renew { lease: Micros },
    Release,
    Write,
}

/// All contenders and resources.
pub(crate) struct LockWorkload {
    plan: LockPlan,
    ids: Vec<LockId>,
    rng: Rng,
    /// By slot, then by lock.
    contenders: Vec<Contender>,
    resources: Vec<Resource>,
    writes: Vec<Write>,
}

const ACTION_BITS: u32 = 24;

impl LockWorkload {
    /// Creates the workload of a run; `nodes` are the ids by slot.
    pub(crate) fn new(plan: &LockPlan, seed: u64, nodes: &[u32]) -> Self {
        let locks = plan.names.len();
        let of_node = |id: &u32| {
            let (active, state) = (plan.contenders.contains(id), ContenderState::Idle);
            std::iter::repeat_n(Contender { active, state, waiting_since: None, next_action: 0 }, locks)
        };
        let resource = if plan.fencing { Resource::Fenced(FencedResource::new(0)) } else { Resource::Unfenced(0) };
        Self {
            ids: plan.names.iter().map(|name| LockId::from_name(name)).collect(),
            rng: Rng::new(seed, Stream::Locks),
            contenders: nodes.iter().flat_map(of_node).collect(),
            resources: vec![resource; locks],
            writes: Vec::new(),
            plan: plan.clone(),
        }
    }

    pub(crate) fn locks(&self) -> u8 {
        self.ids.len() as u8
    }

    pub(crate) fn id(&self, lock: u8) -> LockId {
        self.ids[usize::from(lock)]
    }

    pub(crate) fn lock(&self, id: LockId) -> Option<u8> {
        self.ids.iter().position(|&other| other == id).map(|index| index as u8)
    }

    fn index(&self, slot: u32, lock: u8) -> usize {
        slot as usize * self.ids.len() + usize::from(lock)
    }

    fn contender(&mut self, slot: u32, lock: u8) -> &mut Contender {
        let index = self.index(slot, lock);
        &mut self.contenders[index]
    }

    /// Returns every contender that waits: its slot, the index of the lock, and since when.
    pub(crate) fn waiters(&self) -> impl Iterator<Item = (u32, u8, Micros)> {
        let locks = self.ids.len();
        let position = move |index: usize| ((index / locks) as u32, (index % locks) as u8);
        self.contenders.iter().enumerate().filter_map(move |(index, contender)| {
            let (slot, lock) = position(index);
            Some((slot, lock, contender.waiting_since?))
        })
    }

    pub(crate) fn start(&mut self, slot: u32, lock: u8, now: Micros) -> Scheduled {
        let contender = self.contender(slot, lock);
        (contender.state, contender.waiting_since) = (ContenderState::Idle, None);
        self.think(slot, lock, now)
    }

    pub(crate) fn stop(&mut self, slot: u32, lock: u8) {
        let contender = self.contender(slot, lock);
        (contender.state, contender.waiting_since) = (ContenderState::Idle, None);
        contender.next_action += 1;
    }

    fn think(&mut self, slot: u32, lock: u8, now: Micros) -> Scheduled {
        let at = now + self.rng.between(self.plan.think.0, self.plan.think.1);
        self.schedule(slot, lock, at)
    }

    /// Schedules the next action; it replaces the one scheduled before.
    fn schedule(&mut self, slot: u32, lock: u8, at: Micros) -> Scheduled {
        let contender = self.contender(slot, lock);
        contender.next_action = (contender.next_action + 1) % (1 << ACTION_BITS);
        contender.active.then_some((at, contender.next_action << 8 | u32::from(lock)))
    }

    /// Returns the lock, the action that is due on it, and the one after it; `None` if `detail` is stale.
    pub(crate) fn act(&mut self, slot: u32, detail: u32, now: Micros) -> Option<(u8, ContenderAction, Scheduled)> {
        let (lock, number) = ((detail & 0xFF) as u8, detail >> 8);
        let contender = *self.contender(slot, lock);
        if contender.next_action != number {
            return None;
        }
        let plan = &self.plan;
        match contender.state {
            ContenderState::Idle => {
                let try_only = self.rng.happens(plan.try_only);
                let lease = self.rng.between(plan.lease.0, plan.lease.1);
                let cancels = self.rng.happens(plan.cancel);
                let waits = self.rng.between(0, plan.think.1);
                let next = if cancels { self.schedule(slot, lock, now + waits) } else { None };
                Some((lock, ContenderAction::Request { try_only, lease, timeout: self.plan.timeout }, next))
            }
            ContenderState::Requesting => Some((lock, ContenderAction::Cancel, None)),
            ContenderState::Holding { release_at, .. } if now >= release_at => {
                Some((lock, ContenderAction::Release, None))
            }
            ContenderState::Holding { release_at, .. } => {
                let lease = self.rng.between(plan.lease.0, plan.lease.1);
                let renews = self.rng.happens(plan.renew);
                let action = if renews { ContenderAction::Renew { lease } } else { ContenderAction::Write };
                let next = now + self.rng.between(1, plan.hold.1 / 2 + 1);
                let next = self.schedule(slot, lock, next.min(release_at));
                Some((lock, action, next))
            }
        }
    }

    /// Returns whether the contender knows already that it holds the lock under this fence.
    pub(crate) fn is_held(&self, slot: u32, id: LockId, known: Fence) -> bool {
        let state = self.lock(id).map(|lock| self.contenders[self.index(slot, lock)].state);
        matches!(state, Some(ContenderState::Holding { fence, .. }) if fence == known)
    }

    /// Handles a request, its own or one from outside.
    pub(crate) fn on_request(&mut self, slot: u32, lock: u8, now: Micros) {
        let contender = self.contender(slot, lock);
        if contender.state == ContenderState::Idle {
            contender.state = ContenderState::Requesting;
            contender.waiting_since = contender.waiting_since.or(Some(now));
        }
    }

    /// Handles a notice; returns the next action, if the notice changes it.
    pub(crate) fn on_notice(&mut self, slot: u32, lock: u8, notice: Notice, now: Micros) -> Scheduled {
        let state = self.contender(slot, lock).state;
        match (notice, state) {
            (Notice::Acquired { fence, .. }, ContenderState::Idle | ContenderState::Requesting) => {
                let release_at = now + self.rng.between(self.plan.hold.0, self.plan.hold.1);
                let contender = self.contender(slot, lock);
                (contender.state, contender.waiting_since) = (ContenderState::Holding { fence, release_at }, None);
                let first = now + self.rng.below(1_000);
                self.schedule(slot, lock, first.min(release_at))
            }
            (Notice::Refused { reason, .. }, ContenderState::Requesting) => {
                let contender = self.contender(slot, lock);
                contender.state = ContenderState::Idle;
                if matches!(reason, Refusal::Busy | Refusal::Cancelled) {
                    contender.waiting_since = None;
                }
                self.think(slot, lock, now)
            }
            (Notice::Lost { .. } | Notice::Released { .. }, ContenderState::Holding { .. }) => {
                self.contender(slot, lock).state = ContenderState::Idle;
                self.think(slot, lock, now)
            }
            _ => None, // it acts as scheduled
        }
    }

    /// Starts a write; returns the moment it arrives, and its number.
    pub(crate) fn start_write(&mut self, write: Write, now: Micros) -> (Micros, u32) {
        self.writes.push(write);
        let at = now + self.rng.between(self.plan.write.0, self.plan.write.1);
        (at, self.writes.len() as u32 - 1)
    }

    /// Delivers a write; returns it, and whether the resource accepted it.
    pub(crate) fn finish_write(&mut self, number: u32) -> (Write, bool) {
        let write = self.writes[number as usize];
        let accepted = match &mut self.resources[usize::from(write.lock)] {
            Resource::Fenced(counter) => counter.access(write.fence).map(|count| *count += 1).is_ok(),
            Resource::Unfenced(count) => {
                *count += 1;
                true
            }
        };
        (write, accepted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::Instant;
    use protocol::base::lamport::LamportTime;
    use protocol::base::term::Term;

    const THINK: Micros = 100;
    const HOLD: Micros = 10_000;

    fn workload(fencing: bool) -> LockWorkload {
        let plan = LockPlan {
            mutex: "central".to_owned(),
            names: vec!["a".to_owned(), "b".to_owned()],
            contenders: vec![7],
            think: (THINK, THINK),
            hold: (HOLD, HOLD),
            lease: (1_000, 1_000),
            write: (5, 5),
            timeout: None,
            try_only: Probability::NEVER,
            cancel: Probability::NEVER,
            renew: Probability::NEVER,
            fencing,
        };
        LockWorkload::new(&plan, 1, &[3, 7])
    }

    fn fence(count: u64) -> Fence {
        Fence { term: Term::ZERO, count: LamportTime(count) }
    }

    #[test]
    fn a_contender_thinks_requests_writes_and_releases() {
        let mut workload = workload(true);
        let (at, action) = workload.start(1, 1, 0).unwrap();
        assert_eq!(at, THINK);
        let request = ContenderAction::Request { try_only: false, lease: 1_000, timeout: None };
        assert_eq!(workload.act(1, action, at), Some((1, request, None)));
        workload.on_request(1, 1, at);
        assert!(workload.waiters().eq([(1, 1, at)]));
        let acquired = Notice::Acquired { lock: workload.id(1), fence: fence(4), until: Instant::ZERO };
        let (first, scheduled) = workload.on_notice(1, 1, acquired, 200).unwrap();
        assert_eq!(workload.waiters().count(), 0);
        let (lock, mut action, mut next) = workload.act(1, scheduled, first).unwrap();
        assert_eq!((lock, action), (1, ContenderAction::Write));
        assert_eq!(workload.act(1, scheduled, first), None, "that action is stale");
        while let Some((at, scheduled)) = next {
            assert_eq!((action, at <= 200 + HOLD), (ContenderAction::Write, true));
            (_, action, next) = workload.act(1, scheduled, at).unwrap();
        }
        assert_eq!(action, ContenderAction::Release);
        let next = workload.on_notice(1, 1, Notice::Released { lock: workload.id(1) }, 300);
        assert_eq!(next.map(|(at, _)| at), Some(300 + THINK));
    }

    #[test]
    fn a_node_that_does_not_contend_has_no_action() {
        assert_eq!(workload(true).start(0, 1, 0), None);
    }

    #[test]
    fn a_refusal_that_was_not_asked_for_leaves_the_contender_waiting() {
        let mut workload = workload(true);
        workload.on_request(1, 0, 10);
        let refused = |workload: &LockWorkload, reason| Notice::Refused { lock: workload.id(0), reason };
        workload.on_notice(1, 0, refused(&workload, Refusal::Outside), 20);
        workload.on_request(1, 0, 30);
        assert!(workload.waiters().eq([(1, 0, 10)]));
        workload.on_notice(1, 0, refused(&workload, Refusal::Cancelled), 40);
        assert_eq!(workload.waiters().count(), 0);
    }

    #[test]
    fn a_late_write_is_refused_by_a_resource_that_checks_fences_and_by_no_other() {
        for fencing in [true, false] {
            let mut workload = workload(fencing);
            let (at, early) = workload.start_write(Write { lock: 0, fence: fence(4) }, 0);
            let (_, late) = workload.start_write(Write { lock: 0, fence: fence(5) }, 0);
            assert_eq!(at, 5);
            assert!(workload.finish_write(late).1);
            assert_eq!(workload.finish_write(early).1, !fencing);
        }
    }
}
