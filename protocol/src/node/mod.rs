//! The node: all stages joined into one state machine.
//!
//! A frame takes one path: opened (`wire`), attributed to its sender (`peers`), accepted (`link`), and handed to the one
//! stage of its kind. A stage's messages go to the link, its conclusions ([`Fact`](crate::algorithm::Fact)) to the stages
//! after it, its notices to the application. No stage calls an earlier one.
//!
//! What a reboot must not forget leaves by [`Node::poll_persist`], and by [`Node::poll_log`] where a service keeps a log;
//! nothing leaves by [`Node::poll_transmit`] before that was polled.

use crate::algorithm::{self, Algorithm, Scope};
use crate::base::capacity::Capacity;
use crate::base::ceiling::Ceilings;
use crate::base::cipher::Cipher;
use crate::base::config::{Config, ConfigError, Moment};
use crate::base::ids::{NodeId, NodeSet};
use crate::base::incarnation::INCARNATION_DRAWN;
use crate::base::key::Key;
use crate::base::lamport::{LamportClock, LamportTime};
use crate::base::membership::{Membership, NoGroup};
use crate::base::quorum::Mode;
use crate::base::records::{Records, WriteRate};
use crate::base::rng::Rng;
use crate::base::stability::Stability;
use crate::base::term::Term;
use crate::base::time::{CoarseInstant, Instant};
use crate::election::{Election, Winner};
use crate::lease::LeaderLease;
use crate::link::Link;
use crate::mutex::{self, Fence, LockId, Mutex, Refusal};
use crate::peers::detector::Detector;
use crate::peers::table::PeerTable;
use crate::service::{NoService, Service};
use crate::wire::FRAME_MAX;
use core::marker::PhantomData;
use echo::OwnFrames;
use heapless::Deque;
use payload::StageMessage;
use shared::Shared;

mod counters;
mod echo;
mod egress;
mod ingress;
mod io;
mod payload;
mod run;
mod shared;
mod stages;
mod succession;

pub use counters::Counters;
pub use io::{Boot, Halt, Input, Notice, Stages};
pub use succession::Succession;

/// How many notices are queued: the host polls them after every input, and no input makes all stages notify at once.
const NOTICES_MAX: usize = algorithm::OUTPUTS_MAX;

/// The link of a node, by the types of its stages.
type NodeLink<E, M, S, const N: usize, G> =
    Link<StageMessage<<E as Algorithm>::Message, <M as Algorithm>::Message, <S as Algorithm>::Message>, N, G>;

/// A node with an election `E`, a lock `M`, room for `N` peers, a service `S`, a membership `G` and a cipher `K`.
///
/// A member of a group of three, with a lock. Its host runs the loop at the head of this crate.
///
/// ```
/// use protocol::base::{capacity::Capacity, membership::Group, quorum::Mode, records::Records};
/// use protocol::election::Bully;
/// use protocol::mutex::{Central, Command, LockId};
/// use protocol::node::{Boot, Input, Stages};
/// use protocol::service::NoService;
/// use protocol::wire::Key;
/// use protocol::{Config, Duration, Instant, Node, NodeId, Timing};
///
/// let (me, key) = (NodeId(2), Key::from_name("greenhouse"));
/// let config = Config { me, key, hops: 1, may_lead: true, mode: Mode::Quorum, timing: Timing::LAN };
/// let group = Group::of(&[NodeId(1), NodeId(2), NodeId(3)])?; // the same list at all three
/// let boot = Boot { records: Some(Records::FACTORY), capacity: Some(Capacity::new(500)), seed: 42 };
/// let stages = Stages { election: Bully::default(), mutex: Central::default(), service: NoService };
/// let mut node: Node<_, _, 8, _, _> = Node::new(config, &group, boot, Instant::ZERO, stages)?;
///
/// let (now, door) = (Instant::ZERO, LockId::from_name("door"));
/// node.handle(now, Input::Mutex(Command::Acquire { lock: door, lease: Duration::from_secs(2) }));
/// assert_eq!(node.holds(door, now), None, "it was granted by nobody yet: ask before every use");
/// assert_eq!(node.acting_term(now), None, "it does not lead: ask before every act");
/// # Ok::<(), protocol::base::config::ConfigError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Node<E: Election, M: Mutex, const N: usize, S: Service = NoService, G: Membership = NoGroup, K: Cipher = Key>
{
    shared: Shared<N, K>,
    link: NodeLink<E, M, S, N, G>,
    detector: Detector<N, G>,
    election: E,
    /// The member the leader's heartbeats come from.
    parent: Option<NodeId>,
    /// The leader, its term and its heartbeat that the lease was told of last.
    heartbeat: Option<((NodeId, Term), u32)>,
    lease: LeaderLease,
    mutex: M,
    service: S,
    membership: PhantomData<G>,
}

/// By how much the failure detector's heartbeats are rarer where neither an election nor a lock nor a service depends on it.
const DETECTOR_STRETCH: u8 = 12;

impl<E: Election, M: Mutex, const N: usize, S: Service, G: Membership, K: Cipher> Node<E, M, N, S, G, K> {
    /// A node that has just booted.
    ///
    /// # Errors
    /// The reason why the configuration cannot work: above all, a stage that needs a group and no `group`.
    pub fn new(
        config: Config<K>,
        group: &G,
        boot: Boot,
        now: Instant,
        stages: Stages<E, M, S>,
    ) -> Result<Self, ConfigError> {
        let mut config = config.check()?;
        let mode = config.mode;
        let Stages { election, mutex, service } = stages;
        if election.scope() == Scope::Group {
            config.timing.heartbeat_max = config.timing.heartbeat; // no less frequent than the failure detector's
        }
        // Nothing but the view depends on the failure detector then, and the lease shows who is up too.
        let idle = mode == Mode::Quorum
            && [election.scope(), mutex.scope(), service.scope()].iter().all(|&scope| scope != Scope::Group);
        let mut rng = Rng::new(boot.seed);
        // Where the lowest wins, less capacity would be more.
        let counts = |kept: &Records| kept.incarnation > 0 && election.winner() == Winner::Highest;
        let stored = boot.records.filter(counts).map(|kept| kept.flaps);
        let stability = Stability::at_boot(now, stored);
        let newcomer = boot.records.is_none_or(|kept| kept.incarnation == 0);
        let fingerprint = config.key.fingerprint();
        let (records, quarantined) = if let Some(kept) = boot.records {
            // A boot that repeated an incarnation would repeat its nonces.
            let kept = kept.under_key(fingerprint);
            let incarnation = kept.incarnation.checked_add(1).ok_or(ConfigError::NoMoreBoots)?;
            (Records { incarnation, flaps: stability.flaps(), ..kept }, false)
        } else {
            // The number of earlier boots is unknown: a random number tells this one apart, and the node takes part in no
            // decision until every promise of an earlier boot has expired.
            let incarnation = rng.next_u32() | INCARNATION_DRAWN;
            (Records { incarnation, ..Records::FACTORY.under_key(fingerprint) }, true)
        };
        let peers = PeerTable::new(Moment::new(now, &mut rng, &config.timing));
        let detector = Detector::new(Moment::new(now, &mut rng, &config.timing));
        let shared = Shared {
            config,
            rng,
            booted_at: now,
            quarantined,
            stretch: if idle { DETECTOR_STRETCH } else { 1 },
            capacity: boot.capacity,
            stability,
            records,
            unsaved: true,
            write_rate: WriteRate::booting(now),
            restart_at: None,
            claimed: 0,
            claimed_at: CoarseInstant::ZERO,
            lamport: LamportClock::after(records.lamport),
            ceilings: Ceilings::at_boot(now, newcomer),
            seq: 0,
            own_frames: OwnFrames::default(),
            peers,
            notices: Deque::new(),
            counters: Counters::default(),
            halted: None,
        };
        let mut node = Self {
            shared,
            link: Link::new(),
            detector,
            election,
            parent: None,
            heartbeat: None,
            lease: LeaderLease::new(mode),
            mutex,
            service,
            membership: PhantomData,
        };
        node.join(group.members())?;
        node.election.resume(records.term);
        node.mutex.resume(records.lamport);
        node.service.resume(records.incarnation);
        Ok(node)
    }

    /// Enters the group of these members, or none where there are none.
    fn join(&mut self, members: &[NodeId]) -> Result<(), ConfigError> {
        if S::NEEDS_QUORUM && self.shared.config.mode != Mode::Quorum {
            return Err(ConfigError::NeedsQuorum);
        }
        if self.shared.config.mode == Mode::Quorum && self.election.horizon().is_some() {
            return Err(ConfigError::ClustersWithQuorum);
        }
        if members.is_empty() {
            let needs_group = self.shared.config.mode == Mode::Quorum || self.uses(Scope::Group);
            return if needs_group { Err(ConfigError::NoGroup) } else { Ok(()) };
        }
        for &member in members {
            self.shared.peers.add_member(member).ok_or(ConfigError::LargeGroup)?;
        }
        let group = self.shared.peers.group();
        if group.slot_of(self.shared.config.me).is_none() {
            return Err(ConfigError::NotAMember);
        }
        let all = group.all();
        if !self.mutex.supports(all) {
            return Err(ConfigError::UnsupportedGroup);
        }
        if self.shared.config.hops > self.mutex.hops_max() {
            return Err(ConfigError::LockOverHops);
        }
        self.lease = LeaderLease::in_group(self.shared.config.mode, all).lasting(self.shared.stretch > 1);
        // Sets of members travel: nodes with different lists must not understand each other.
        self.shared.config.key = self.shared.config.key.for_group(members);
        Ok(())
    }

    /// Takes one step.
    pub fn handle(&mut self, now: Instant, input: Input<'_, S::Command>) {
        if self.shared.halted.is_some() {
            return;
        }
        // A leader lease that expired meanwhile ends before anything acts on it.
        if G::GROUPED && self.lease.deadline().is_some_and(|at| at <= now) {
            self.step_lease(now, algorithm::Input::Timeout);
        }
        // A service learns of abandoned messages before it reports what it has sent.
        if S::PRESENT && self.link.has_unreachable() {
            self.report_members(now);
        }
        let mut opened = true;
        match input {
            Input::Frame { bytes, quality } => {
                let mut buffer = [0; FRAME_MAX];
                let packet = self.open(bytes, &mut buffer);
                opened = packet.is_ok();
                if let Err(reason) = packet.and_then(|packet| self.on_packet(now, &packet, quality)) {
                    self.shared.on_dropped(reason);
                }
            }
            Input::Capacity(capacity) => {
                self.shared.capacity = capacity;
                self.step_election(now, algorithm::Input::Timeout);
            }
            Input::Election(command) => self.step_election(now, algorithm::Input::Command(command)),
            Input::Mutex(command) if command.is_request() && !self.link.has_room() => {
                let refused = mutex::Notice::Refused { lock: command.lock(), reason: Refusal::Full };
                self.shared.notify(Notice::Mutex(refused));
            }
            Input::Mutex(command) => self.step_mutex(now, algorithm::Input::Command(command)),
            Input::Service(command) => self.step_service(now, algorithm::Input::Command(command)),
            Input::Timeout => self.on_timeout(now),
        }
        // Whoever has not the key moves a counter, and nothing else.
        if opened {
            self.poll_service(now);
        }
        let term = self.election.term_number();
        self.shared.reserve(now, term, self.mutex.floor());
        let used_up = term == u32::MAX || (G::GROUPED && self.shared.lamport.now() >= LamportTime::MAX);
        self.shared.halt_if(used_up, Halt::Numbers);
        self.shared.answer_claim(now);
    }

    /// The records to write before anything is sent.
    #[must_use = "records that are not written are lost at the next boot"]
    pub fn poll_persist(&mut self) -> Option<Records> {
        let shared = &mut self.shared;
        let count = &mut shared.write_rate.count;
        *count = count.saturating_add(u16::from(shared.unsaved));
        core::mem::take(&mut shared.unsaved).then_some(shared.records)
    }

    /// The log of the service to write before anything is sent, encoded into `buffer`; [`Service::restore`] takes it at the
    /// next boot. Of most services there is none. A node whose log does not fit the buffer sends nothing any more.
    #[must_use = "a log that is not written is lost at the next boot"]
    pub fn poll_log<'b>(&mut self, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
        let len = self.service.poll_log(buffer)?;
        buffer.get(..len)
    }

    /// How often records were polled to be written, in this boot; it stops at 65,535.
    #[must_use]
    pub const fn writes(&self) -> u16 {
        self.shared.write_rate.count
    }

    /// The next notice for the application. The node halts where they are not polled.
    #[must_use = "a notice is returned once"]
    pub fn poll_notice(&mut self) -> Option<Notice<S::Notice>> {
        if let Some(notice) = self.shared.notices.pop_front() {
            return Some(notice.of_service());
        }
        if self.service.log_due() {
            return None; // the application acts on nothing that a reboot would forget
        }
        self.service.notices()?.pop_front().map(Notice::Service)
    }

    /// When to call [`Node::handle`] with [`Input::Timeout`], if nothing happens before.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        if self.shared.halted.is_some() {
            return None;
        }
        let deadlines = [
            self.election.deadline(),
            if G::GROUPED { self.lease.deadline() } else { None },
            self.mutex.deadline(),
            self.service.deadline(),
            self.shared.quarantine_end(),
            self.shared.restart_at,
            self.is_member().then(|| self.detector.deadline()),
            self.shared.peers.deadline().filter(|_| self.uses(Scope::Neighbours)),
            self.link.deadline(),
        ];
        deadlines.iter().flatten().min().copied()
    }

    /// The part of a capacity that this node advertises: less than all of it after flaps (see `base/stability.rs`).
    #[must_use]
    pub fn advertise(&self, capacity: Capacity) -> Capacity {
        self.shared.stability.weigh(capacity)
    }

    /// The leader, as far as this node knows.
    #[must_use]
    pub const fn leader(&self) -> Option<(NodeId, Term)> {
        self.lease.leader()
    }

    /// The members of the group that this node's leader leads, this node among them, where the election forms groups:
    /// slots in the group.
    #[must_use]
    pub fn group_members(&self) -> NodeSet {
        self.election.members()
    }

    /// The chief among the super-peers, as far as this node knows, where the election makes clusters that elect one.
    #[must_use]
    pub fn chief(&self) -> Option<(NodeId, Term)> {
        self.election.chief()
    }

    /// How many clients this node has as a super-peer, by its last count and up to 255; `None` where it is none, or they are
    /// not counted.
    #[must_use]
    pub fn clients(&self) -> Option<u8> {
        self.election.clients()
    }

    /// The term under which this node may act as leader at `now`. Ask before every act: the node may have slept through
    /// the end of its lease.
    #[must_use]
    pub fn acting_term(&self, now: Instant) -> Option<Term> {
        self.lease.acting_term(now).filter(|_| self.shared.halted.is_none())
    }

    /// The members that count, as far as this node knows: all, unless a leader with a majority removed some.
    #[must_use]
    pub const fn view(&self) -> NodeSet {
        self.lease.view()
    }

    /// The fence under which this node holds `lock` at `now`. Ask before every use of the resource.
    #[must_use]
    pub fn holds(&self, lock: LockId, now: Instant) -> Option<Fence> {
        self.mutex.holds(lock, now).filter(|_| self.shared.halted.is_none())
    }

    /// The service.
    #[must_use]
    pub const fn service(&self) -> &S {
        &self.service
    }

    /// The frames this node dropped, by reason.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.shared.counters
    }

    /// The neighbours with a bidirectional link.
    pub fn neighbours(&self) -> impl Iterator<Item = NodeId> {
        let roster = self.shared.peers.roster();
        self.shared.peers.bidirectional().slots().filter_map(move |slot| roster.id_of(slot))
    }

    /// The mean quality of the bidirectional links, of 255: a part of the node's own capacity.
    #[must_use]
    pub fn link_quality(&self) -> u8 {
        self.shared.peers.mean_quality()
    }

    /// Why the node has stopped; `None` while it runs.
    #[must_use]
    pub const fn halted(&self) -> Option<Halt> {
        self.shared.halted
    }

    /// Returns whether any stage works on the roster of `scope`.
    fn uses(&self, scope: Scope) -> bool {
        [self.election.scope(), self.lease_scope(), self.mutex.scope(), self.service.scope()].contains(&scope)
    }

    fn lease_scope(&self) -> Scope {
        if G::GROUPED { self.lease.scope() } else { Scope::Nobody }
    }

    /// Returns whether this node has a group that one of its stages works on.
    fn is_member(&self) -> bool {
        G::GROUPED && self.uses(Scope::Group) && !self.shared.peers.group().all().is_empty()
    }
}
