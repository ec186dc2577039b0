//! One trial of a lock: members ask, hold and give back, and every message is counted.

use super::Case;
use crate::checker::Checkers;
use crate::compare::{Clerk, HOP, Mail, ground};
use crate::peer::Locker;
use crate::queue::Micros;
use crate::random::Chance;
use crate::scenario::{Action, LockPlan, Scenario, Who};
use crate::trace::{Deed, Observer, TraceEvent, What};
use crate::world::World;
use protocol::mandate::Mode;
use protocol::mutex::{Command, LockId};
use protocol::wire::Stage;
use protocol::{Span, Timing};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// What the lock is called.
const DOOR: &str = "door";

/// For how long it is asked for.
const LEASE: Span = Span::from_secs(1);

/// The longest lease there is: so long a node that started keeps from granting anything.
const LOCK_LEASE: Span = Span::from_secs(2);

/// How long nodes are up before anything is asked of them: somebody leads, and has led long enough to grant.
const WARM_UP: Micros = 10_000_000;

/// How long a lock is held.
const HOLD: Micros = 20 * HOP;

/// How long to look on after the last has given back: whatever is still on its way is counted.
const QUIET: Micros = 200 * HOP;

/// How long nobody wants anything before one asks alone: everybody has heard of the last one's stamp by then, from the
/// leader. Nothing that is sent in this time counts.
const PAUSE: Micros = 3_000_000;

/// How long members contend before somebody crashes, how long that one is down, and how long they go on after that.
const BEFORE: Micros = 500_000;
const DOWN: Micros = 4_000_000;
const AFTER: Micros = 4_000_000;

/// Who has not got the lock by then never does.
const LIMIT: Micros = 30_000_000;

/// A trial to be made.
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    /// The lock, by its word.
    pub algorithm: &'static str,
    /// How many nodes there are.
    pub nodes: u32,
    /// What they do, and who crashes.
    pub case: Case,
    /// The seed of all chance.
    pub seed: u64,
}

/// How it went.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// What was sent.
    pub mail: Mail,
    /// How long each waited that got the lock, from when it asked.
    pub waits: Vec<Micros>,
    /// How long it took from one that gave the lock back to the next that got it, where that one had asked before.
    pub handovers: Vec<Micros>,
    /// How much did not hold.
    pub violations: usize,
}

/// What a member is about to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Act {
    Ask,
    Release,
}

/// Counts what is sent, checks what must hold, and notes what members are told.
struct Witness {
    clerk: Clerk,
    checkers: Checkers,
    deeds: Vec<(Micros, u32, Deed)>,
}

impl Observer for Witness {
    fn see(&mut self, event: &TraceEvent) {
        self.checkers.see(event);
        if let (What::Lock { deed, .. }, Some(node)) = (event.what, event.node) {
            self.deeds.push((event.at, node, deed));
        }
    }

    fn read(&mut self, frame: &[u8]) {
        self.clerk.read(frame);
    }
}

/// A trial under way.
struct Scene {
    world: World<Locker>,
    witness: Witness,
    /// What members do next, and when.
    plan: BTreeSet<(Micros, u32, Act)>,
    /// Since when who has been waiting.
    asked: BTreeMap<u32, Micros>,
    holder: Option<u32>,
    released: Option<Micros>,
    /// Whether members ask again when they have given back.
    eager: bool,
    verdict: Verdict,
}

impl Trial {
    /// Makes the trial.
    #[must_use]
    pub fn hold(&self) -> Verdict {
        let scenario = self.scenario();
        let mut world = World::<Locker>::new(&scenario, self.seed);
        let clerk = Clerk::new(world.plan().key(), Stage::Mutex);
        let mut witness = Witness { clerk, checkers: Checkers::default(), deeds: Vec::new() };
        world.run_until(WARM_UP, &mut witness);
        let mut scene = Scene {
            world,
            witness,
            plan: BTreeSet::new(),
            asked: BTreeMap::new(),
            holder: None,
            released: None,
            eager: false,
            verdict: Verdict::default(),
        };
        // All are worth the same, so the last leads.
        let leader = self.nodes - 1;
        match self.case {
            Case::Uncontended => {
                for name in 0..leader {
                    scene.run(scene.world.now() + PAUSE);
                    scene.measure(name..name + 1);
                }
            }
            Case::Contended => {
                scene.measure(0..leader);
            }
            Case::HolderCrash => scene.crash(0..leader, None, self.seed),
            Case::CoordinatorCrash => scene.crash(0..leader, Some(leader), self.seed),
            Case::BystanderCrash => scene.crash(0..leader - 1, Some(leader - 1), self.seed),
        }
        scene.verdict.violations += scene.witness.checkers.findings().len();
        scene.verdict
    }

    fn scenario(&self) -> Scenario {
        let mut scenario = ground("bully", self.nodes);
        scenario.mode = Mode::Quorum;
        scenario.timing = Timing { lock_lease: LOCK_LEASE, jitter: Span::ZERO, ..Timing::LAN };
        scenario.locks = Some(LockPlan {
            mutex: self.algorithm.to_owned(),
            names: vec![DOOR.to_owned()],
            contenders: Vec::new(), // they are told what to do
            think: (0, 0),
            hold: (0, 0),
            lease: (0, 0),
            write: (0, 0),
            trying: Chance::NEVER,
            cancel: Chance::NEVER,
            renew: Chance::NEVER,
            fencing: true,
        });
        scenario
    }
}

impl Scene {
    /// These ask, all at this moment.
    fn ask(&mut self, names: Range<u32>) {
        let now = self.world.now();
        self.plan.extend(names.map(|name| (now, name, Act::Ask)));
    }

    /// These ask, all at this moment, and everything that is sent until all have given back is counted.
    fn measure(&mut self, names: Range<u32>) {
        self.witness.clerk.begin();
        self.ask(names);
        self.finish();
        self.verdict.mail.add(self.witness.clerk.mail());
    }

    /// These contend without end. After a while one of them crashes, or whoever holds the lock; later it is back, and in
    /// the end everybody must have had its turn.
    fn crash(&mut self, names: Range<u32>, victim: Option<u32>, turn: u64) {
        self.eager = true;
        self.witness.clerk.begin();
        let contenders = names.clone();
        self.ask(names);
        self.run(self.world.now() + BEFORE + turn * HOLD * 2 / 3);
        while victim.is_none() && self.holder.is_none() && self.step(self.world.now() + LIMIT) {}
        let victim = victim.or(self.holder).unwrap_or(0);
        self.world.apply(Action::Crash(Who::Nodes(vec![victim])), &mut self.witness);
        self.asked.remove(&victim);
        self.plan.retain(|&(_, name, _)| name != victim);
        self.holder = self.holder.filter(|&holder| holder != victim);
        self.run(self.world.now() + DOWN);
        self.world.apply(Action::Restart { who: Who::Nodes(vec![victim]), blank: false }, &mut self.witness);
        if contenders.contains(&victim) {
            self.ask(victim..victim + 1);
        }
        self.run(self.world.now() + AFTER);
        self.eager = false;
        self.finish();
        self.verdict.mail.add(self.witness.clerk.mail());
    }

    /// Goes on until everybody has had its turn and nothing more is said.
    fn finish(&mut self) {
        let limit = self.world.now() + LIMIT;
        while (!self.plan.is_empty() || !self.asked.is_empty() || self.holder.is_some()) && self.step(limit) {}
        self.verdict.violations += self.asked.len();
        self.asked.clear();
        self.run(self.world.now() + QUIET);
    }

    fn run(&mut self, until: Micros) {
        while self.step(until) {}
        self.world.run_until(until, &mut self.witness);
    }

    /// Lets the next thing happen, if it is not after `until`.
    fn step(&mut self, until: Micros) -> bool {
        let planned = self.plan.first().copied().filter(|&(at, ..)| at <= until);
        let next = self.world.next_at().filter(|&at| at <= until);
        match (planned, next) {
            (Some((at, name, act)), next) if next.is_none_or(|next| at <= next) => {
                self.plan.pop_first();
                self.world.run_until(at, &mut self.witness);
                let lock = LockId::from_name(DOOR);
                let command = match act {
                    Act::Ask => Command::Acquire { lock, lease: LEASE },
                    Act::Release => Command::Release { lock },
                };
                self.world.ask(name, command, &mut self.witness);
            }
            (_, Some(_)) => _ = self.world.step(&mut self.witness),
            (_, None) => return false,
        }
        for (at, name, deed) in std::mem::take(&mut self.witness.deeds) {
            self.note(at, name, deed);
        }
        true
    }

    fn note(&mut self, at: Micros, name: u32, deed: Deed) {
        match deed {
            Deed::Asks { .. } => _ = self.asked.entry(name).or_insert(at),
            Deed::Acquired { .. } => {
                let asked = self.asked.remove(&name).unwrap_or(at);
                self.verdict.waits.push(at - asked);
                let before = self.released.take().filter(|&released| asked < released);
                self.verdict.handovers.extend(before.map(|released| at - released));
                self.holder = Some(name);
                self.plan.insert((at + HOLD, name, Act::Release));
            }
            Deed::Released | Deed::Lost => {
                self.released = (deed == Deed::Released).then_some(at);
                self.holder = self.holder.filter(|&holder| holder != name);
                if self.eager {
                    self.plan.insert((at + HOP, name, Act::Ask));
                }
            }
            // It still wants it: it does not count yet, say, because it has just started.
            Deed::Refused { .. } if self.asked.contains_key(&name) => _ = self.plan.insert((at + HOLD, name, Act::Ask)),
            Deed::Refused { .. }
            | Deed::Renews
            | Deed::Releases
            | Deed::Cancels
            | Deed::Waits { .. }
            | Deed::Renewed { .. }
            | Deed::Shared { .. }
            | Deed::Expiring
            | Deed::Wrote { .. } => {} // nobody comes or goes
        }
    }
}
