//! The applications that want locks: each thinks, asks, holds, writes to what the lock protects, and gives back.
//!
//! An application looks whether it holds the lock before it writes, as it should. What it wrote then takes its time: the
//! node may sleep, or the network be slow, until long after the lock went to somebody else. Only the thing itself can
//! refuse such a write.

use crate::queue::{Event, Micros};
use crate::random::{Random, Stream};
use crate::scenario::LockPlan;
use protocol::mutex::{Fence, FencedResource, LockId, Notice, Refusal};

/// How far the application on one node has come with one lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It does without.
    Idle,
    /// It has asked.
    Asking,
    /// It holds it.
    Holding {
        /// Under which fence.
        fence: Fence,
        /// Until when it wants to.
        leave_at: Micros,
    },
}

/// The application on one node, as far as one lock is concerned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Desk {
    /// Whether it does anything by itself.
    pub(crate) contends: bool,
    pub(crate) stage: Stage,
    /// Since when it wants the lock and does not get it. A refusal that it did not ask for does not end that.
    pub(crate) wants_since: Option<Micros>,
    /// Which turn is its next: others were planned for what is past.
    pub(crate) turn: u32,
}

/// What a lock protects.
#[derive(Clone, Copy, Debug)]
enum Thing {
    /// A counter behind a gate.
    Fenced(FencedResource<u64>),
    /// A counter that takes whatever comes.
    Open(u64),
}

/// A write on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write {
    /// To the thing that this lock protects.
    pub(crate) lock: u8,
    /// With this fence.
    pub(crate) fence: Fence,
}

/// When an application turns to a lock next, and what names that turn.
pub(crate) type Next = Option<(Micros, u32)>;

/// What an application does when its turn has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Move {
    Ask { trying: bool, lease: Micros },
    Cancel,
    Renew { lease: Micros },
    Release,
    Write,
}

/// All applications and all things.
pub(crate) struct Contest {
    plan: LockPlan,
    ids: Vec<LockId>,
    random: Random,
    /// By place, then by lock.
    desks: Vec<Desk>,
    things: Vec<Thing>,
    writes: Vec<Write>,
    /// What came while a node slept.
    pub(crate) asleep: Vec<Event>,
}

const TURN_BITS: u32 = 24;

impl Contest {
    /// The contest of a run in which the node at each place has the name that `names` says.
    pub(crate) fn new(plan: &LockPlan, seed: u64, names: &[u32]) -> Self {
        let locks = plan.names.len();
        let desk = |&name: &u32| {
            let contends = plan.contenders.contains(&name);
            let desk = Desk { contends, stage: Stage::Idle, wants_since: None, turn: 0 };
            std::iter::repeat_n(desk, locks)
        };
        let thing = if plan.fencing { Thing::Fenced(FencedResource::new(0)) } else { Thing::Open(0) };
        Self {
            ids: plan.names.iter().map(|name| LockId::from_name(name)).collect(),
            random: Random::new(seed, Stream::Locks),
            desks: names.iter().flat_map(desk).collect(),
            things: vec![thing; locks],
            writes: Vec::new(),
            asleep: Vec::new(),
            plan: plan.clone(),
        }
    }

    pub(crate) fn locks(&self) -> u8 {
        self.ids.len() as u8
    }

    pub(crate) fn id(&self, lock: u8) -> LockId {
        self.ids[usize::from(lock)]
    }

    /// The lock's place in the scenario.
    pub(crate) fn lock(&self, id: LockId) -> Option<u8> {
        self.ids.iter().position(|&other| other == id).map(|place| place as u8)
    }

    pub(crate) fn desk(&mut self, place: u32, lock: u8) -> &mut Desk {
        let index = place as usize * self.ids.len() + usize::from(lock);
        &mut self.desks[index]
    }

    /// Everybody who wants a lock and does not get it: at which place, which lock, since when.
    pub(crate) fn wanting(&self) -> impl Iterator<Item = (u32, u8, Micros)> {
        let locks = self.ids.len();
        let at = move |index: usize| ((index / locks) as u32, (index % locks) as u8);
        let wanting = self.desks.iter().enumerate();
        wanting.filter_map(move |(index, desk)| Some((at(index).0, at(index).1, desk.wants_since?)))
    }

    /// The application begins anew with a lock: when its first turn is, and which.
    pub(crate) fn begin(&mut self, place: u32, lock: u8, now: Micros) -> Next {
        let desk = self.desk(place, lock);
        (desk.stage, desk.wants_since) = (Stage::Idle, None);
        self.think(place, lock, now)
    }

    /// The application is no more.
    pub(crate) fn end(&mut self, place: u32, lock: u8) {
        let desk = self.desk(place, lock);
        (desk.stage, desk.wants_since) = (Stage::Idle, None);
        desk.turn += 1;
    }

    fn think(&mut self, place: u32, lock: u8, now: Micros) -> Next {
        let at = now + self.random.between(self.plan.think.0, self.plan.think.1);
        self.plan_turn(place, lock, at)
    }

    /// Plans the one turn that counts from now on.
    fn plan_turn(&mut self, place: u32, lock: u8, at: Micros) -> Next {
        let desk = self.desk(place, lock);
        desk.turn = (desk.turn + 1) % (1 << TURN_BITS);
        desk.contends.then_some((at, desk.turn << 8 | u32::from(lock)))
    }

    /// A turn has come: what the application does, to which lock, and when it turns to it next.
    pub(crate) fn turn(&mut self, place: u32, detail: u32, now: Micros) -> Option<(u8, Move, Next)> {
        let (lock, turn) = ((detail & 0xFF) as u8, detail >> 8);
        let desk = *self.desk(place, lock);
        if desk.turn != turn {
            return None;
        }
        let plan = &self.plan;
        match desk.stage {
            Stage::Idle => {
                let trying = self.random.happens(plan.trying);
                let lease = self.random.between(plan.lease.0, plan.lease.1);
                let bored = self.random.happens(plan.cancel);
                let patience = self.random.between(0, plan.think.1);
                let next = if bored { self.plan_turn(place, lock, now + patience) } else { None };
                Some((lock, Move::Ask { trying, lease }, next))
            }
            Stage::Asking => Some((lock, Move::Cancel, None)),
            Stage::Holding { leave_at, .. } if now >= leave_at => Some((lock, Move::Release, None)),
            Stage::Holding { leave_at, .. } => {
                let lease = self.random.between(plan.lease.0, plan.lease.1);
                let action = if self.random.happens(plan.renew) { Move::Renew { lease } } else { Move::Write };
                let next = now + self.random.between(1, plan.hold.1 / 2 + 1);
                let next = self.plan_turn(place, lock, next.min(leave_at));
                Some((lock, action, next))
            }
        }
    }

    /// Whether the application knows already that it holds the lock under this fence.
    pub(crate) fn is_held(&mut self, place: u32, id: LockId, known: Fence) -> bool {
        let Some(lock) = self.lock(id) else { return false };
        matches!(self.desk(place, lock).stage, Stage::Holding { fence, .. } if fence == known)
    }

    /// The application asks, for itself or because it was told to.
    pub(crate) fn asks(&mut self, place: u32, lock: u8, now: Micros) {
        let desk = self.desk(place, lock);
        if desk.stage == Stage::Idle {
            desk.stage = Stage::Asking;
            desk.wants_since = desk.wants_since.or(Some(now));
        }
    }

    /// The application is told something: when it turns to the lock next, if that is news.
    pub(crate) fn told(&mut self, place: u32, lock: u8, notice: Notice, now: Micros) -> Next {
        let stage = self.desk(place, lock).stage;
        match (notice, stage) {
            (Notice::Acquired { fence, .. }, Stage::Idle | Stage::Asking) => {
                let leave_at = now + self.random.between(self.plan.hold.0, self.plan.hold.1);
                let desk = self.desk(place, lock);
                (desk.stage, desk.wants_since) = (Stage::Holding { fence, leave_at }, None);
                let first = now + self.random.below(1_000);
                self.plan_turn(place, lock, first.min(leave_at))
            }
            (Notice::Refused { why, .. }, Stage::Asking) => {
                let desk = self.desk(place, lock);
                desk.stage = Stage::Idle;
                if matches!(why, Refusal::Busy | Refusal::Cancelled) {
                    desk.wants_since = None;
                }
                self.think(place, lock, now)
            }
            (Notice::Lost { .. } | Notice::Released { .. }, Stage::Holding { .. }) => {
                self.desk(place, lock).stage = Stage::Idle;
                self.think(place, lock, now)
            }
            (
                Notice::Acquired { .. }
                | Notice::Refused { .. }
                | Notice::Lost { .. }
                | Notice::Released { .. }
                | Notice::Waiting { .. }
                | Notice::Expiring { .. },
                _,
            ) => None, // it goes on as it planned
        }
    }

    /// The application sends a write off: when it arrives, and which it is.
    pub(crate) fn send(&mut self, write: Write, now: Micros) -> (Micros, u32) {
        self.writes.push(write);
        let at = now + self.random.between(self.plan.write.0, self.plan.write.1);
        (at, self.writes.len() as u32 - 1)
    }

    /// A write arrives: what it was, and whether it was let through.
    pub(crate) fn arrive(&mut self, number: u32) -> (Write, bool) {
        let write = self.writes[number as usize];
        let accepted = match &mut self.things[usize::from(write.lock)] {
            Thing::Fenced(counter) => counter.access(write.fence).map(|count| *count += 1).is_ok(),
            Thing::Open(count) => {
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
    use protocol::clock::{Stamp, Term};

    const THINK: Micros = 100;
    const HOLD: Micros = 10_000;

    fn contest(fencing: bool) -> Contest {
        let plan = LockPlan {
            mutex: "central".to_owned(),
            names: vec!["a".to_owned(), "b".to_owned()],
            contenders: vec![7],
            think: (THINK, THINK),
            hold: (HOLD, HOLD),
            lease: (1_000, 1_000),
            write: (5, 5),
            trying: crate::random::Chance::NEVER,
            cancel: crate::random::Chance::NEVER,
            renew: crate::random::Chance::NEVER,
            fencing,
        };
        Contest::new(&plan, 1, &[3, 7])
    }

    fn acquired(contest: &Contest) -> Notice {
        Notice::Acquired { lock: contest.id(1), fence: fence(4), until: Instant::ZERO }
    }

    fn fence(count: u64) -> Fence {
        Fence { term: Term::ZERO, count: Stamp(count) }
    }

    #[test]
    fn an_application_thinks_asks_writes_and_gives_back() {
        let mut contest = contest(true);
        let (at, turn) = contest.begin(1, 1, 0).unwrap();
        assert_eq!(at, THINK);
        assert_eq!(contest.turn(1, turn, at), Some((1, Move::Ask { trying: false, lease: 1_000 }, None)));
        contest.asks(1, 1, at);
        assert!(contest.wanting().eq([(1, 1, at)]));
        let (first, turn) = contest.told(1, 1, acquired(&contest), 200).unwrap();
        assert_eq!(contest.wanting().count(), 0);
        let (lock, mut action, mut next) = contest.turn(1, turn, first).unwrap();
        assert_eq!((lock, action), (1, Move::Write));
        assert_eq!(contest.turn(1, turn, first), None, "that turn is over");
        while let Some((at, turn)) = next {
            assert_eq!((action, at <= 200 + HOLD), (Move::Write, true));
            (_, action, next) = contest.turn(1, turn, at).unwrap();
        }
        assert_eq!(action, Move::Release);
        let again = contest.told(1, 1, Notice::Released { lock: contest.id(1) }, 300);
        assert_eq!(again.map(|(at, _)| at), Some(300 + THINK));
    }

    #[test]
    fn who_does_not_contend_has_no_turn() {
        assert_eq!(contest(true).begin(0, 1, 0), None);
    }

    #[test]
    fn a_refusal_nobody_asked_for_leaves_the_application_wanting() {
        let mut contest = contest(true);
        contest.asks(1, 0, 10);
        let refused = |contest: &Contest, why| Notice::Refused { lock: contest.id(0), why };
        contest.told(1, 0, refused(&contest, Refusal::Outside), 20);
        contest.asks(1, 0, 30);
        assert!(contest.wanting().eq([(1, 0, 10)]));
        contest.told(1, 0, refused(&contest, Refusal::Cancelled), 40);
        assert_eq!(contest.wanting().count(), 0);
    }

    #[test]
    fn a_late_write_is_refused_by_a_thing_that_looks_at_fences_and_by_no_other() {
        for fencing in [true, false] {
            let mut contest = contest(fencing);
            let (at, early) = contest.send(Write { lock: 0, fence: fence(4) }, 0);
            let (_, late) = contest.send(Write { lock: 0, fence: fence(5) }, 0);
            assert_eq!(at, 5);
            assert!(contest.arrive(late).1);
            assert_eq!(contest.arrive(early).1, !fencing);
        }
    }
}
