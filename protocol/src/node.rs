//! The node: all stages, joined into one machine.
//!
//! A frame goes down one path: opened (`wire`), weighed by who sent it (`neighbours`), taken in (`link`), and handed
//! to the one stage its kind belongs to. What a stage says goes to the link, what it concludes goes to the stages
//! after it, what it tells goes to the application. No stage calls an earlier one.
//!
//! What a reboot must not forget leaves by [`Node::poll_persist`], and nothing leaves by [`Node::poll_transmit`]
//! before it has been taken.

use crate::algorithm::{self, Context, Fact, Outbox, Output, Scope};
use crate::capacity::{Capacity, Standing};
use crate::clock::{Clock, Stamp, Term};
use crate::config::{Config, ConfigError, Moment};
use crate::dice::Dice;
use crate::election::{self, Election};
use crate::group::{NodeId, NodeSet, Roster};
use crate::link::{LETTER_MAX, Link, Place, Receipt, Submit};
use crate::mutex::{self, Mutex};
use crate::neighbours::{Hello, Neighbours};
use crate::records::{INCARNATION_DRAWN, Records};
use crate::time::{Instant, sooner};
use crate::wire::{self, Delivery, FRAME_MAX, Kind, Message, Packet, Path, Reason, Stage};
use heapless::{Deque, Vec};

mod counters;
mod payload;
mod types;

pub use counters::Counters;
use payload::Payload;
pub use types::{Boot, Halt, Input, Notice};

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
            near: $node.neighbours.roster(),
            group: $node.group.view(),
            crowd: $node.crowd(),
            moment: moment!($node, $now),
        }
    };
}

/// What a stage of `scope` is told about the node: likewise.
macro_rules! context {
    ($node:expr, $now:expr, $scope:expr) => {{
        let group = $node.group.view();
        let (roster, peers) = match $scope {
            Scope::Neighbours => ($node.neighbours.roster(), $node.neighbours.two_way()),
            Scope::Group => (group, group.all().without(group.set_of($node.config.me))),
            Scope::Nobody => (group, NodeSet::EMPTY),
        };
        let fit = $node.config.may_lead && $node.quarantine.is_none();
        Context {
            now: $now,
            uptime: $now.since($node.born),
            me: $node.config.me,
            standing: $node.capacity.filter(|_| fit).map(|capacity| Standing { capacity, id: $node.config.me }),
            roster,
            peers,
            up: peers,
            near: peers,
            better: NodeSet::EMPTY,
            view: group.all(),
            stamp: Stamp($node.clock.reading().0.saturating_add(1)),
            random: $node.dice.throw(),
            timing: &$node.config.timing,
        }
    }};
}

/// A node: an election `E`, a lock `M`, and room for `N` others.
#[derive(Clone, Debug)]
pub struct Node<E: Election, M: Mutex, const N: usize> {
    config: Config,
    dice: Dice,
    born: Instant,
    quarantine: Option<Instant>,
    capacity: Option<Capacity>,
    records: Records,
    unsaved: bool,
    clock: Clock,
    sequence: u32,
    group: Roster<N>,
    neighbours: Neighbours<N>,
    link: Link<Payload<E::Message, M::Message>, N>,
    election: E,
    mutex: M,
    notices: Deque<Notice, NOTICES_MAX>,
    counters: Counters,
    halted: Option<Halt>,
}

impl<E: Election, M: Mutex, const N: usize> Node<E, M, N> {
    /// A node that has just started.
    ///
    /// # Errors
    /// Where the configuration cannot work.
    pub fn new(config: Config, boot: Boot, now: Instant, election: E, mutex: M) -> Result<Self, ConfigError> {
        let config = config.check()?;
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
            group: Roster::new(),
            neighbours,
            link: Link::new(),
            election,
            mutex,
            notices: Deque::new(),
            counters: Counters::default(),
            halted: None,
        };
        node.election.resume(records.term);
        Ok(node)
    }

    /// The same node in a group with these members, itself among them.
    ///
    /// # Errors
    /// Where they are more than it has room for, or it is not one of them.
    pub fn in_group(mut self, members: &[NodeId]) -> Result<Self, ConfigError> {
        for &member in members {
            self.group.insert(member).ok_or(ConfigError::LargeGroup)?;
        }
        if self.group.view().slot_of(self.config.me).is_none() {
            return Err(ConfigError::NotAMember);
        }
        // Sets of members travel: nodes with different lists must not understand each other.
        self.config.key = self.config.key.for_group(members);
        Ok(self)
    }

    /// Takes one step.
    pub fn handle(&mut self, now: Instant, input: Input<'_>) {
        if self.halted.is_some() {
            return;
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
            Input::Mutex(command) => self.step_mutex(now, algorithm::Input::Command(command)),
            Input::Timeout => self.timeout(now),
        }
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

    /// When to call [`Node::handle`] with [`Input::Timeout`], if nothing happens before.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        if self.halted.is_some() {
            return None;
        }
        let stages = sooner(self.election.deadline(), self.mutex.deadline());
        let near = if self.uses(Scope::Neighbours) { self.neighbours.deadline() } else { None };
        sooner(sooner(stages, self.quarantine), sooner(near, self.link.deadline()))
    }

    /// Who leads, as far as this node knows.
    #[must_use]
    pub fn leader(&self) -> Option<(NodeId, Term)> {
        self.election.leader()
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
        self.election.scope() == scope || self.mutex.scope() == scope
    }

    /// How many others may want to speak when this node does. Without hellos nobody knows who hears whom.
    fn crowd(&self) -> u32 {
        let heard = self.neighbours.roster().all();
        if self.uses(Scope::Neighbours) { self.neighbours.two_way().len() } else { heard.len() }
    }

    /// One frame, from bytes to the one stage it belongs to.
    fn frame(&mut self, now: Instant, bytes: &[u8], quality: u8) -> Result<(), Reason> {
        let packet = wire::open(&self.config.key, bytes)?;
        if packet.sender == self.config.me {
            return Err(Reason::NotForMe);
        }
        let known = self.neighbours.hear(moment!(self, now), &packet, quality);
        self.report_links(now);
        if let Err(reason @ (Reason::Duplicate | Reason::Outdated)) = known {
            return Err(reason);
        }
        match packet.kind.stage() {
            Stage::Neighbours => {
                let hello: Hello = wire::decode(packet.body).ok_or(Reason::Malformed)?;
                self.neighbours.hello(moment!(self, now), self.config.me, packet.sender, &hello);
                self.report_links(now);
                Ok(())
            }
            Stage::Link => {
                let receipt: Receipt = wire::decode(packet.body).ok_or(Reason::Malformed)?;
                let place = place!(self, now);
                self.link.receive(&place, receipt);
                Ok(())
            }
            Stage::Detector | Stage::Mandate => Err(Reason::NoStage),
            stage @ (Stage::Election | Stage::Mutex) => {
                let scope = if stage == Stage::Election { self.election.scope() } else { self.mutex.scope() };
                let (from, stamp) = self.admit(now, &packet, scope)?;
                match Payload::decode(packet.kind, packet.body).ok_or(Reason::NoStage)? {
                    Payload::Election(message) => {
                        self.step_election(now, algorithm::Input::Message { from, stamp, message });
                    }
                    Payload::Mutex(message) => {
                        self.step_mutex(now, algorithm::Input::Message { from, stamp, message });
                    }
                }
                Ok(())
            }
        }
    }

    /// Who wrote the message in a packet and when, if this node is to take it in.
    fn admit(&mut self, now: Instant, packet: &Packet<'_>, scope: Scope) -> Result<(NodeId, Stamp), Reason> {
        if matches!(&packet.path, Path::Neighbours(to) if !to.contains(&self.config.me)) {
            return Err(Reason::NotForMe);
        }
        let from = packet.writer().id;
        let known = match scope {
            Scope::Neighbours => self.neighbours.two_way().meets(self.neighbours.roster().set_of(from)),
            Scope::Group => self.group.view().slot_of(from).is_some(),
            Scope::Nobody => false,
        };
        if !known {
            return Err(Reason::OneWay);
        }
        let Path::Letter(letter) = packet.path else { return Ok((from, Stamp(0))) };
        let place = place!(self, now);
        self.link.accept(&place, packet, letter)?;
        self.clock.hear(letter.stamp);
        Ok((from, letter.stamp))
    }

    fn timeout(&mut self, now: Instant) {
        if self.quarantine.is_some_and(|until| until <= now) {
            self.quarantine = None;
        }
        self.neighbours.timeout(moment!(self, now));
        self.report_links(now);
        self.step_election(now, algorithm::Input::Timeout);
        self.step_mutex(now, algorithm::Input::Timeout);
    }

    /// Tells the later stages which links came and went.
    fn report_links(&mut self, now: Instant) {
        let changes = self.neighbours.take_changes();
        self.link.forget(changes.down);
        for fact in [Fact::PeerDown(changes.down), Fact::PeerUp(changes.up)] {
            let (Fact::PeerDown(set) | Fact::PeerUp(set)) = fact else { continue };
            if set.is_empty() {
                continue;
            }
            if self.election.scope() == Scope::Neighbours {
                self.step_election(now, algorithm::Input::Fact(fact));
            }
            if self.mutex.scope() == Scope::Neighbours {
                self.step_mutex(now, algorithm::Input::Fact(fact));
            }
        }
    }

    fn step_election(&mut self, now: Instant, input: algorithm::Input<E::Message, election::Command>) {
        let mut out = Outbox::new();
        let scope = self.election.scope();
        let cx = context!(self, now, scope);
        let (peers, stamp) = (cx.peers, cx.stamp);
        self.election.handle(&cx, input, &mut out);
        self.check(out.overflowed(), Halt::Outbox);
        let mut facts = Vec::<Fact, { algorithm::OUTPUTS_MAX }>::new();
        for output in out {
            match output {
                Output::Send { to, message } => {
                    self.submit(now, Submit { scope, to: to.and(peers), stamp }, Payload::Election(message));
                }
                Output::Notify(notice) => {
                    self.tell(Notice::Election(notice));
                    let fact = match notice {
                        election::Notice::Gained { term } => Fact::Leader { leader: self.config.me, term },
                        election::Notice::Following { leader, term } => Fact::Leader { leader, term },
                        election::Notice::Leaderless => Fact::NoLeader,
                    };
                    self.check(facts.push(fact).is_err(), Halt::Outbox);
                }
            }
        }
        // Only now: what this step said has its stamp, and a later step must have a later one.
        for fact in facts {
            self.step_mutex(now, algorithm::Input::Fact(fact));
        }
    }

    fn step_mutex(&mut self, now: Instant, input: algorithm::Input<M::Message, mutex::Command>) {
        let mut out = Outbox::new();
        let scope = self.mutex.scope();
        let cx = context!(self, now, scope);
        let (peers, stamp) = (cx.peers, cx.stamp);
        self.mutex.handle(&cx, input, &mut out);
        self.check(out.overflowed(), Halt::Outbox);
        for output in out {
            match output {
                Output::Send { to, message } => {
                    self.submit(now, Submit { scope, to: to.and(peers), stamp }, Payload::Mutex(message));
                }
                Output::Notify(notice) => self.tell(Notice::Mutex(notice)),
            }
        }
    }

    /// Gives what a stage says to the link.
    fn submit(&mut self, now: Instant, post: Submit, message: Payload<E::Message, M::Message>) {
        if post.to.is_empty() {
            return;
        }
        let letter = matches!(message.delivery(), Delivery::Reliable | Delivery::Latest);
        if letter {
            self.clock.hear(post.stamp); // the step spoke: its stamp is used up
        }
        let place = place!(self, now);
        let full = self.link.submit(&place, message, post).is_err();
        if full && letter {
            self.halt(Halt::Letters);
        } else if full {
            self.counters.unsent = self.counters.unsent.saturating_add(1);
        }
    }

    /// The kind, path and body of the next frame that is due.
    fn next_frame(&mut self, now: Instant, body: &mut [u8]) -> Option<(Kind, Path, usize)> {
        if let Some(receipt) = self.link.poll_receipt() {
            return Some((Kind::Receipt, Path::Everyone, wire::encode(&receipt, body)?));
        }
        let peers = self.neighbours.two_way();
        let place = place!(self, now);
        if let Some((kind, path, bytes)) = self.link.poll_relay(&place) {
            body.get_mut(..bytes.len())?.copy_from_slice(&bytes);
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
        if !self.uses(Scope::Neighbours) {
            return None;
        }
        let hello = self.neighbours.poll_hello(moment!(self, now))?;
        Some((Kind::Hello, Path::Everyone, wire::encode(&hello, body)?))
    }

    /// Reserves what the last step used of terms and stamps.
    fn cover(&mut self) {
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
