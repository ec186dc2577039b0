//! What all stages of a node share.

use super::{Counters, Halt, NOTICES_MAX, Notice};
use crate::algorithm::{Audience, Context, Scope};
use crate::base::capacity::{Candidate, Capacity};
use crate::base::ceiling::{Ceiling, TIMES_BLOCK};
use crate::base::config::{Config, Moment};
use crate::base::ids::NodeSet;
use crate::base::lamport::{LamportClock, LamportTime};
use crate::base::membership::Membership;
use crate::base::records::Records;
use crate::base::rng::Rng;
use crate::base::time::Instant;
use crate::link::LinkContext;
use crate::peers::detector::{Detector, DetectorContext};
use crate::peers::table::PeerTable;
use crate::wire::Origin;
use heapless::Deque;

/// Configuration, clocks, records, peers, and what leaves for the host. Stages, link and detector stand beside it, so each
/// of them may change while it reads this.
#[derive(Clone, Debug)]
pub(super) struct Shared<const N: usize, K> {
    pub(super) config: Config<K>,
    pub(super) rng: Rng,
    pub(super) booted_at: Instant,
    /// Until when a node that lost its records takes part in no decision.
    pub(super) quarantine: Option<Instant>,
    pub(super) capacity: Option<Capacity>,
    pub(super) records: Records,
    /// Whether `records` must be written before anything is sent.
    pub(super) unsaved: bool,
    pub(super) lamport: LamportClock,
    /// How far messages may move the term and the Lamport time.
    pub(super) terms: Ceiling,
    pub(super) times: Ceiling,
    /// The sequence number of the last frame.
    pub(super) seq: u32,
    pub(super) peers: PeerTable<N>,
    pub(super) notices: Deque<Notice, NOTICES_MAX>,
    pub(super) counters: Counters,
    pub(super) halted: Option<Halt>,
}

impl<const N: usize, K> Shared<N, K> {
    /// This node as a candidate; `None` while it may not lead.
    pub(super) fn candidate(&self) -> Option<Candidate> {
        let fit = self.config.may_lead && self.quarantine.is_none();
        self.capacity.filter(|_| fit).map(|capacity| Candidate { capacity, id: self.config.me })
    }

    /// This node in its present boot.
    pub(super) const fn origin(&self) -> Origin {
        Origin { id: self.config.me, incarnation: self.records.incarnation }
    }

    /// What the link needs to know. `hellos`: whether this node exchanges hellos; without them nobody knows who hears
    /// whom, and every node heard counts as a contender for the air.
    pub(super) fn link_context(&mut self, now: Instant, hellos: bool) -> LinkContext<'_, N> {
        let moment = Moment::new(now, &mut self.rng, &self.config.timing);
        let crowd = if hellos { self.peers.bidirectional() } else { self.peers.in_range() };
        LinkContext {
            me: self.config.me,
            incarnation: self.records.incarnation,
            hops: self.config.hops,
            peers: &self.peers,
            crowd: crowd.len(),
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
            roster,
            peers,
            up,
            near,
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
    pub(super) fn admits_time(&mut self, time: u64) -> bool {
        let [own, said] =
            [self.lamport.now().0, time].map(|time| u32::try_from(time / TIMES_BLOCK).unwrap_or(u32::MAX));
        time <= LamportTime::MAX.0 && self.times.admits(own, said)
    }

    /// The Lamport time of the next step, above every time observed.
    pub(super) fn next_lamport(&self) -> LamportTime {
        LamportTime(self.lamport.now().0.saturating_add(1))
    }

    /// Reserves the terms and Lamport times up to these, in the records.
    pub(super) fn reserve(&mut self, term: u32, lamport: LamportTime) {
        self.lamport.observe(lamport);
        let covered = self.records.covering(term, self.lamport.now());
        self.unsaved |= covered != self.records;
        self.records = covered;
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
