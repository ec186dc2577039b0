//! The node: all stages, joined into one machine.
//!
//! A frame goes down one path: opened (`wire`), weighed by who sent it (`neighbours`), taken in (`link`), and handed
//! to the one stage its kind belongs to. What a stage says goes to the link, what it concludes goes to the stages
//! after it, what it tells goes to the application. No stage calls an earlier one.
//!
//! What a reboot must not forget leaves by [`Node::poll_persist`], and nothing leaves by [`Node::poll_transmit`]
//! before it has been taken.

use crate::algorithm::{self, Algorithm, Scope};
use crate::capacity::{Capacity, Standing};
use crate::clock::{Clock, Term};
use crate::config::{Config, ConfigError, Moment};
use crate::detector::{self, Detector};
use crate::dice::Dice;
use crate::election::Election;
use crate::group::{NodeId, NodeSet};
use crate::link::{LETTER_MAX, Link, Place};
use crate::mandate::{Mandate, Mode};
use crate::mutex::{self, Fence, LockId, Mutex, Refusal};
use crate::neighbours::Neighbours;
use crate::records::{INCARNATION_DRAWN, Records};
use crate::time::{Instant, sooner};
use crate::upper::{Nothing, Upper};
use crate::wire::{self, FRAME_MAX, Kind, Message, Packet, Path};
use heapless::Deque;

/// How many notices may wait: the host takes them after every input, and no input makes all stages tell at once.
const NOTICES_MAX: usize = algorithm::OUTPUTS_MAX;

/// When this step is taken: a borrow of one field, where a method would borrow all.
macro_rules! moment {
    ($node:expr, $now:expr) => {
        Moment { now: $now, random: $node.dice.throw(), timing: &$node.config.timing }
    };
}

/// What the link is told about the node: likewise.
macro_rules! place {
    ($node:expr, $now:expr) => {
        Place {
            me: $node.config.me,
            incarnation: $node.records.incarnation,
            hops: $node.config.hops,
            roster: $node.neighbours.roster(),
            group: $node.neighbours.group().all(),
            crowd: $node.crowd(),
            moment: moment!($node, $now),
        }
    };
}

/// What the detector is told about the node: likewise.
macro_rules! presence {
    ($node:expr, $now:expr) => {{
        let group = $node.neighbours.group();
        detector::Place {
            group,
            me: group.set_of($node.config.me),
            standing: $node.standing(),
            several_hops: $node.config.hops > 1,
            moment: moment!($node, $now),
        }
    }};
}

mod counters;
mod payload;
mod route;
mod steps;
mod types;

pub use counters::Counters;
use payload::Payload;
pub use types::{Boot, Halt, Input, Notice};

/// A node: an election `E`, a lock `M`, room for `N` others, and what stands on top of it all, `U`, if anything does.
#[derive(Clone, Debug)]
pub struct Node<E: Election, M: Mutex, const N: usize, U: Upper = Nothing> {
    config: Config,
    dice: Dice,
    born: Instant,
    quarantine: Option<Instant>,
    capacity: Option<Capacity>,
    records: Records,
    unsaved: bool,
    clock: Clock,
    sequence: u32,
    neighbours: Neighbours<N>,
    link: Link<Payload<E::Message, M::Message, U::Message>>,
    detector: Detector<N>,
    election: E,
    /// The member the leader's news come from.
    parent: Option<NodeId>,
    mandate: Mandate,
    mutex: M,
    upper: U,
    notices: Deque<Notice, NOTICES_MAX>,
    counters: Counters,
    halted: Option<Halt>,
}

impl<E: Election, M: Mutex, const N: usize> Node<E, M, N> {
    /// A node that has just started, with nothing on top.
    ///
    /// # Errors
    /// Where the configuration cannot work.
    pub fn new(config: Config, boot: Boot, now: Instant, election: E, mutex: M) -> Result<Self, ConfigError> {
        Self::with_upper(config, boot, now, election, mutex, Nothing)
    }
}

impl<E: Election, M: Mutex, const N: usize, U: Upper> Node<E, M, N, U> {
    /// Whether anything of this node may work on a group.
    const GROUPED: bool = E::GROUP || M::GROUP || U::GROUP;

    /// A node that has just started, with `upper` on top.
    ///
    /// # Errors
    /// Where the configuration cannot work.
    pub fn with_upper(
        config: Config,
        boot: Boot,
        now: Instant,
        election: E,
        mutex: M,
        upper: U,
    ) -> Result<Self, ConfigError> {
        let config = config.check()?;
        if !Self::GROUPED && config.mode == Mode::Quorum {
            return Err(ConfigError::NotAMember);
        }
        let mut dice = Dice::new(boot.seed);
        let (records, quarantine) = if let Some(kept) = boot.records {
            (Records { incarnation: kept.incarnation.saturating_add(1), ..kept }, None)
        } else {
            // Nobody knows how often it has started: a random number sets this boot apart, and it keeps out of every
            // decision until whatever it promised before has run out.
            let incarnation = dice.throw() | INCARNATION_DRAWN;
            (Records { incarnation, ..Records::FACTORY }, Some(now.after(config.timing.quarantine)))
        };
        let neighbours = Neighbours::new(Moment { now, random: dice.throw(), timing: &config.timing });
        let detector = Detector::new(Moment { now, random: dice.throw(), timing: &config.timing });
        let mut node = Self {
            config,
            dice,
            born: now,
            quarantine,
            capacity: None,
            records,
            unsaved: true,
            clock: Clock::after(records.stamp),
            sequence: 0,
            neighbours,
            link: Link::new(),
            detector,
            election,
            parent: None,
            mandate: Mandate::new(config.mode),
            mutex,
            upper,
            notices: Deque::new(),
            counters: Counters::default(),
            halted: None,
        };
        node.election.resume(records.term);
        node.mutex.resume(records.stamp);
        node.upper.resume(records.incarnation);
        Ok(node)
    }

    /// The same node in a group with these members, itself among them.
    ///
    /// # Errors
    /// Where they are more than it has room for, or it is not one of them.
    pub fn in_group(mut self, members: &[NodeId]) -> Result<Self, ConfigError> {
        for &member in members {
            self.neighbours.join(member).ok_or(ConfigError::LargeGroup)?;
        }
        if self.neighbours.group().slot_of(self.config.me).is_none() {
            return Err(ConfigError::NotAMember);
        }
        if !self.mutex.suits(self.neighbours.group().all()) {
            return Err(ConfigError::VotingSets);
        }
        self.mandate = Mandate::in_group(self.config.mode, self.neighbours.group().all());
        // Sets of members travel: nodes with different lists must not understand each other.
        self.config.key = self.config.key.for_group(members);
        Ok(self)
    }

    /// Takes one step.
    pub fn handle(&mut self, now: Instant, input: Input<'_>) {
        if self.halted.is_some() {
            return;
        }
        // Whatever comes in, a mandate that ended meanwhile must be over before anything acts on it.
        if Self::GROUPED && self.mandate.deadline().is_some_and(|at| at <= now) {
            self.step_mandate(now, algorithm::Input::Timeout);
        }
        // And letters given up meanwhile must be known of before anybody says what it has sent.
        if U::PRESENT && self.link.has_lost() {
            self.report_members(now);
        }
        match input {
            Input::Frame { bytes, quality } => {
                if let Err(reason) = self.frame(now, bytes, quality) {
                    self.counters.count(reason);
                }
            }
            Input::Capacity(capacity) => {
                self.capacity = capacity;
                self.step_election(now, algorithm::Input::Timeout);
            }
            Input::Election(command) => self.step_election(now, algorithm::Input::Command(command)),
            Input::Mutex(command) if command.asks() && !self.link.has_room() => {
                self.tell(Notice::Mutex(mutex::Notice::Refused { lock: command.lock(), why: Refusal::Full }));
            }
            Input::Mutex(command) => self.step_mutex(now, algorithm::Input::Command(command)),
            Input::Timeout => self.timeout(now),
        }
        self.let_upper_speak(now);
        self.cover();
    }

    /// Asks something of what stands on top.
    pub fn ask(&mut self, now: Instant, command: U::Command) {
        if self.halted.is_some() {
            return;
        }
        self.step_upper(now, algorithm::Input::Command(command));
        self.let_upper_speak(now);
        self.cover();
    }

    /// What must be kept before anything is sent: write it, then go on.
    pub fn poll_persist(&mut self) -> Option<Records> {
        core::mem::take(&mut self.unsaved).then_some(self.records)
    }

    /// The next frame to put on the air, for everybody in range.
    pub fn poll_transmit<'b>(&mut self, now: Instant, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
        if self.unsaved || self.halted.is_some() {
            return None;
        }
        let mut body = [0; FRAME_MAX];
        let (kind, path, len) = self.next_frame(now, &mut body)?;
        let Some(sequence) = self.sequence.checked_add(1) else {
            self.halt(Halt::Sequence);
            return None;
        };
        self.sequence = sequence;
        let packet = Packet {
            kind,
            sender: self.config.me,
            incarnation: self.records.incarnation,
            sequence,
            path,
            body: body.get(..len)?,
        };
        let Some(len) = wire::seal(&self.config.key, &packet, buffer) else {
            self.halt(Halt::Frame);
            return None;
        };
        buffer.get(..len)
    }

    /// The next thing to tell the application.
    pub fn poll_notice(&mut self) -> Option<Notice> {
        self.notices.pop_front()
    }

    /// The next thing that what stands on top tells the application.
    pub fn poll_told(&mut self) -> Option<U::Notice> {
        self.upper.told()?.pop_front()
    }

    /// What stands on top.
    #[must_use]
    pub const fn upper(&self) -> &U {
        &self.upper
    }

    /// When to call [`Node::handle`] with [`Input::Timeout`], if nothing happens before.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        if self.halted.is_some() {
            return None;
        }
        let mandate = if Self::GROUPED { self.mandate.deadline() } else { None };
        let stages = sooner(self.election.deadline(), sooner(mandate, self.mutex.deadline()));
        let stages = sooner(stages, self.upper.deadline());
        let stages = sooner(stages, self.is_member().then(|| self.detector.deadline()));
        let near = if self.uses(Scope::Neighbours) { self.neighbours.deadline() } else { None };
        sooner(sooner(stages, self.quarantine), sooner(near, self.link.deadline()))
    }

    /// Who leads, as far as this node knows.
    #[must_use]
    pub const fn leader(&self) -> Option<(NodeId, Term)> {
        self.mandate.leader()
    }

    /// The term under which this node may act as leader at `now`. To be asked before every act: it may have slept through
    /// the end of its mandate.
    #[must_use]
    pub fn acts(&self, now: Instant) -> Option<Term> {
        self.mandate.acts(now).filter(|_| self.halted.is_none())
    }

    /// The members that count, as far as this node knows: all, unless a leader with a majority took some out.
    #[must_use]
    pub const fn view(&self) -> NodeSet {
        self.mandate.view()
    }

    /// The fence under which this node holds a lock at `now`. To be asked before every use of the shared thing.
    #[must_use]
    pub fn holds(&self, lock: LockId, now: Instant) -> Option<Fence> {
        self.mutex.holds(lock, now).filter(|_| self.halted.is_none())
    }

    /// What this node dropped, by reason.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The neighbours that hear this node as it hears them.
    pub fn neighbours(&self) -> impl Iterator<Item = NodeId> {
        let roster = self.neighbours.roster();
        self.neighbours.two_way().slots().filter_map(move |slot| roster.id_of(slot))
    }

    /// The mean quality of the links to the neighbours, of 255: a measure of its own capacity.
    #[must_use]
    pub fn link_quality(&self) -> u8 {
        self.neighbours.quality()
    }

    /// Whether the node has stopped, and why.
    #[must_use]
    pub const fn halted(&self) -> Option<Halt> {
        self.halted
    }

    fn uses(&self, scope: Scope) -> bool {
        [self.election.scope(), self.mandate_scope(), self.mutex.scope(), self.upper.scope()].contains(&scope)
    }

    fn mandate_scope(&self) -> Scope {
        if Self::GROUPED { self.mandate.scope() } else { Scope::Nobody }
    }

    /// Whether this node is one of a group that something of it works on.
    fn is_member(&self) -> bool {
        Self::GROUPED && self.uses(Scope::Group) && !self.neighbours.group().all().is_empty()
    }

    /// How many others may want to speak when this node does. Without hellos nobody knows who hears whom.
    fn crowd(&self) -> u32 {
        if self.uses(Scope::Neighbours) { self.neighbours.two_way().len() } else { self.neighbours.heard().len() }
    }

    /// This node as a candidate.
    fn standing(&self) -> Option<Standing> {
        let fit = self.config.may_lead && self.quarantine.is_none();
        self.capacity.filter(|_| fit).map(|capacity| Standing { capacity, id: self.config.me })
    }

    /// The kind, path and body of the next frame that is due.
    fn next_frame(&mut self, now: Instant, body: &mut [u8]) -> Option<(Kind, Path, usize)> {
        if let Some(receipt) = self.link.poll_receipt() {
            return Some((Kind::Receipt, Path::Everyone, wire::encode(&receipt, body)?));
        }
        let peers = self.neighbours.two_way();
        let place = place!(self, now);
        if let Some((kind, path, bytes)) = self.link.poll_relay(&place) {
            for (place, &byte) in body.get_mut(..bytes.len())?.iter_mut().zip(&bytes) {
                *place = byte;
            }
            return Some((kind, path, bytes.len()));
        }
        if let Some((path, message)) = self.link.poll_own(&place, peers) {
            let longest = if matches!(path, Path::Letter(_)) { LETTER_MAX } else { FRAME_MAX };
            let Some(len) = message.encode(body).filter(|&len| len <= longest) else {
                self.halt(Halt::Frame);
                return None;
            };
            return Some((message.kind(), path, len));
        }
        if self.is_member() {
            let presence = presence!(self, now);
            if let Some(alive) = self.detector.poll_alive(&presence) {
                return Some((Kind::Alive, Path::Everyone, wire::encode(&alive, body)?));
            }
        }
        if !self.uses(Scope::Neighbours) {
            return None;
        }
        let hello = self.neighbours.poll_hello(moment!(self, now))?;
        Some((Kind::Hello, Path::Everyone, wire::encode(&hello, body)?))
    }

    /// Reserves what the last step used of terms and stamps.
    fn cover(&mut self) {
        self.clock.hear(self.mutex.floor());
        let covered = self.records.covering(self.election.number(), self.clock.reading());
        self.unsaved |= covered != self.records;
        self.records = covered;
    }

    fn tell(&mut self, notice: Notice) {
        if self.notices.push_back(notice).is_err() {
            self.halt(Halt::Notices);
        }
    }

    fn check(&mut self, broken: bool, halt: Halt) {
        if broken {
            self.halt(halt);
        }
    }

    fn halt(&mut self, halt: Halt) {
        if self.halted.is_none() {
            self.halted = Some(halt);
            // Whatever was still to be told is less than this.
            self.notices.clear();
            let _ = self.notices.push_back(Notice::Halted(halt));
        }
    }
}
