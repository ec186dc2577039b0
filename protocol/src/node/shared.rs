//! What all stages of a node share.

use super::echo::OwnFrames;
use super::{Counters, Halt, NOTICES_MAX, Notice};
use crate::algorithm::{Audience, Context, Scope};
use crate::base::capacity::{Candidate, Capacity};
use crate::base::ceiling::{Ceilings, Number, time_block};
use crate::base::config::{Config, Moment};
use crate::base::ids::{NodeId, NodeSet};
use crate::base::incarnation::INCARNATION_DRAWN;
use crate::base::lamport::{LamportClock, LamportTime};
use crate::base::membership::Membership;
use crate::base::records::{Records, WriteRate};
use crate::base::rng::Rng;
use crate::base::stability::Stability;
use crate::base::time::{CoarseInstant, Duration, Instant};
use crate::link::LinkContext;
use crate::peers::detector::{Detector, DetectorContext};
use crate::peers::table::PeerTable;
use crate::wire::{DropReason, Origin};
use heapless::Deque;

/// How long after the last frame in its name a node restarts, in heartbeats.
const CLAIM_HEARTBEATS: u32 = 4;
/// How long a node shares its boot with another that has its id.
const REPEATS_MAX: Duration = Duration::from_secs(30);
/// The shortest time between two such restarts: each writes records.
const RESTART_INTERVAL: Duration = Duration::from_secs(30);

/// Configuration, clocks, records, peers, and what leaves for the host. Stages, link and detector stand beside it, so each
/// of them may change while it reads this.
#[derive(Clone, Debug)]
pub(super) struct Shared<const N: usize, K> {
    pub(super) config: Config<K>,
    pub(super) rng: Rng,
    pub(super) booted_at: Instant,
    /// Whether this node lost its records, and takes part in no decision yet.
    pub(super) quarantined: bool,
    /// By how much the failure detector's heartbeats are rarer than `config` says.
    pub(super) stretch: u8,
    pub(super) capacity: Option<Capacity>,
    pub(super) stability: Stability,
    pub(super) records: Records,
    /// Whether `records` must be written before anything is sent.
    pub(super) unsaved: bool,
    pub(super) write_rate: WriteRate,
    /// When this node restarts, as somebody sent in its name, and in which boot that was.
    pub(super) restart_at: Option<Instant>,
    pub(super) claimed: u32,
    /// When it first did, where it restarts.
    pub(super) claimed_at: CoarseInstant,
    pub(super) lamport: LamportClock,
    /// How far messages may move the term and the Lamport time, and how far ahead of the last frame of its sender one may be.
    pub(super) ceilings: Ceilings,
    /// The sequence number of the last frame.
    pub(super) seq: u32,
    pub(super) own_frames: OwnFrames,
    pub(super) peers: PeerTable<N>,
    pub(super) notices: Deque<Notice, NOTICES_MAX>,
    pub(super) counters: Counters,
    pub(super) halted: Option<Halt>,
}

impl<const N: usize, K> Shared<N, K> {
    /// This node as a candidate; `None` while it may not lead.
    pub(super) fn candidate(&self) -> Option<Candidate> {
        let fit = self.config.may_lead && !self.quarantined;
        let capacity = self.capacity.filter(|_| fit)?;
        Some(Candidate { capacity: self.stability.weigh(capacity), id: self.config.me })
    }

    /// When this node, which lost its records, takes part in decisions again.
    pub(super) fn quarantine_end(&self) -> Option<Instant> {
        self.quarantined.then(|| self.booted_at.after(self.config.timing.quarantine))
    }

    /// Stores how often the node has flapped, where that changed.
    pub(super) fn store_flaps(&mut self) {
        self.unsaved |= self.records.flaps != self.stability.flaps();
        self.records.flaps = self.stability.flaps();
    }

    /// This node in its present boot.
    pub(super) const fn origin(&self) -> Origin {
        Origin { id: self.config.me, incarnation: self.records.incarnation }
    }

    /// What the link needs to know. `hellos`: whether this node exchanges hellos; without them nobody knows who hears
    /// whom, and every node heard counts as a contender for the air.
    pub(super) fn link_context(&mut self, now: Instant, hellos: bool) -> LinkContext<'_, N> {
        let moment = Moment::new(now, &mut self.rng, &self.config.timing);
        let known = if hellos { self.peers.bidirectional() } else { self.peers.in_range() };
        LinkContext {
            me: self.config.me,
            incarnation: self.records.incarnation,
            hops: self.config.hops,
            peers: &self.peers,
            crowd: self.peers.crowd(known),
            moment,
        }
    }

    /// What the failure detector needs to know.
    pub(super) fn detector_context(&mut self, now: Instant) -> DetectorContext<'_> {
        let moment = Moment::new(now, &mut self.rng, &self.config.timing);
        let group = self.peers.group();
        DetectorContext {
            group,
            me: group.set_of(self.config.me),
            candidate: self.candidate(),
            several_hops: self.config.hops > 1,
            stretch: self.stretch.into(),
            lamport: self.lamport.now(),
            moment,
        }
    }

    /// What a stage of `scope` needs to know; `view` is that of the leader lease. A node without a group links nothing of
    /// the failure detector.
    pub(super) fn context<G: Membership>(
        &mut self,
        now: Instant,
        scope: Scope,
        view: NodeSet,
        detector: &Detector<N, G>,
    ) -> Context<'_> {
        let better = match scope {
            Scope::Group if G::GROUPED => detector.better(&self.detector_context(now)),
            Scope::Group | Scope::Neighbours | Scope::Nobody => NodeSet::EMPTY,
        };
        let random = self.rng.next_u32();
        let group = self.peers.group();
        let others = group.all().without(group.set_of(self.config.me));
        let up = others.without(detector.suspected());
        let audience = match scope {
            Scope::Neighbours => Audience::Listed(self.peers.audience()),
            Scope::Group if self.config.hops == 1 => Audience::All(others),
            Scope::Group | Scope::Nobody => Audience::Unknown,
        };
        let (roster, peers, up, near, best_peer) = match scope {
            Scope::Neighbours => {
                let peers = self.peers.bidirectional();
                (self.peers.roster(), peers, peers, peers, None)
            }
            Scope::Group if G::GROUPED => {
                (group, others, up, self.peers.in_range().and(others), detector.best(group, up))
            }
            Scope::Group | Scope::Nobody => (group, NodeSet::EMPTY, up, NodeSet::EMPTY, None),
        };
        Context {
            now,
            uptime: now.since(self.booted_at),
            me: self.config.me,
            candidate: self.candidate(),
            hold: self.stability.hold(),
            quarantined: self.quarantined,
            roster,
            peers,
            up,
            near,
            crowd: self.peers.crowd(near),
            crowded: self.peers.is_crowded(),
            audience,
            better,
            best_peer,
            view,
            lamport: self.next_lamport(),
            random,
            timing: &self.config.timing,
        }
    }

    /// Returns whether a message may say this Lamport time.
    pub(super) fn admits_time(&mut self, now: Instant, time: u64) -> bool {
        let [own, said] = [self.lamport.now().0, time].map(time_block);
        time <= LamportTime::MAX.0 && self.ceilings.admits(now, Number::Time, own, said)
    }

    /// The Lamport time of the next step, above every time observed.
    pub(super) fn next_lamport(&self) -> LamportTime {
        LamportTime(self.lamport.now().0.saturating_add(1))
    }

    /// Reserves the terms and Lamport times up to these, in the records.
    pub(super) fn reserve(&mut self, now: Instant, term: u32, lamport: LamportTime) {
        self.lamport.observe(lamport);
        let lamport = self.lamport.now();
        if !self.records.cover(term, lamport) {
            let growth = self.write_rate.on_write(now);
            self.records.reserve(term, lamport, growth);
            self.unsaved = true;
        }
    }

    /// Somebody with the key uses this node's id in the boot `boot`. Where peers would take that for a later boot than the
    /// present one, or it `repeats` numbers of the present one, they no longer listen to this node: it restarts above it.
    ///
    /// Another node with this id that goes on sending in a later boot is left in peace; two of them out of each other's range
    /// restart each other twice a minute. The order of drawn boots is unknown, and a recording must not restart a node.
    pub(super) fn on_claim(&mut self, now: Instant, boot: u32, repeats: bool) {
        let own = self.records.incarnation;
        if repeats || (boot > own && own < INCARNATION_DRAWN) {
            self.claimed = self.claimed.max(boot);
            if self.restart_at.is_none() {
                self.claimed_at = CoarseInstant::of(now);
            }
            let quiet = self.config.timing.heartbeat.times(CLAIM_HEARTBEATS);
            let shared = REPEATS_MAX.minus(self.claimed_at.elapsed(now));
            let wait = if repeats { quiet.min(shared) } else { quiet };
            self.restart_at = Some(now.after(wait).max(self.booted_at.after(RESTART_INTERVAL)));
        }
    }

    /// A peer named this node in the boot `boot`. It does so again and again where that boot does not answer.
    ///
    /// Where it has named the present boot before, this is no recording: `boot` came after it, also where both were drawn.
    pub(super) fn on_named(&mut self, now: Instant, from: NodeId, boot: u32) {
        if self.restart_at.is_none() {
            let confirmed = self.peers.confirmed().meets(self.peers.roster().set_of(from));
            let drawn = boot >= INCARNATION_DRAWN && boot != self.records.incarnation;
            self.on_claim(now, boot, confirmed && drawn);
        }
    }

    /// Stops this node where a claim says so: the next boot is above what was claimed.
    pub(super) fn answer_claim(&mut self, now: Instant) {
        if self.restart_at.is_some_and(|at| at <= now) {
            // No count is above a boot that was drawn; another drawn one is as good. Two nodes that restart each other at
            // the same moment had better not meet in one boot again.
            let random = self.rng.next_u32();
            let counted = self.claimed.saturating_add(random & 15);
            let drawn = (random | INCARNATION_DRAWN) & !1;
            self.records.incarnation = if counted < INCARNATION_DRAWN { counted } else { drawn };
            self.unsaved = true;
            self.halt(Halt::Superseded);
        }
    }

    /// Counts a frame that was dropped. The first one in this node's own name is reported: who reads no counters has to know.
    pub(super) fn on_dropped(&mut self, reason: DropReason) {
        self.counters.count(reason);
        if reason == DropReason::SameId && self.counters.same_id == 1 {
            self.notify(Notice::SameId);
        }
    }

    pub(super) fn notify(&mut self, notice: Notice) {
        if self.notices.push_back(notice).is_err() {
            self.halt(Halt::Notices);
        }
    }

    pub(super) fn halt_if(&mut self, broken: bool, halt: Halt) {
        if broken {
            self.halt(halt);
        }
    }

    pub(super) fn halt(&mut self, halt: Halt) {
        if self.halted.is_none() {
            self.halted = Some(halt);
            // Every other notice matters less than this one.
            self.notices.clear();
            let _ = self.notices.push_back(Notice::Halted(halt));
        }
    }
}
