//! What a page shows of a run, gathered event by event and bounded.

mod part;
mod requests;
mod tree;

use crate::base::Micros;
use crate::nodes::protocol_node::key_of;
use crate::scenario::Scenario;
use crate::trace::narrator::Narrator;
use crate::trace::{AppEvent, EventKind, LockEvent, LossReason, Observer, TraceEvent};
use part::part_of;
use protocol::NodeId;
use protocol::wire::{Cipher as _, Key};
use requests::Requests;
use std::collections::{BTreeMap, VecDeque};
use tree::Tree;

/// How many frames are kept between two looks; later ones are only counted.
const FRAMES_MAX: usize = 3_000;
/// How many sentences are kept between two looks: the first are dropped.
const SENTENCES_MAX: usize = 500;
/// How many events of the application are kept: the first are dropped.
const APP_EVENTS_MAX: usize = 600;
/// How long after a snapshot is complete its diagram goes on.
const AFTER_CUT: Micros = 40_000;
/// How many samples a chart has.
const SAMPLES_MAX: u64 = 600;
/// How many lists of members have their keys tried.
const KEYS_MAX: usize = 4;
/// The shortest time between two samples.
const SAMPLE_MIN: Micros = 250_000;

/// A frame that was received or missed.
pub(super) struct Frame {
    pub(super) at: Micros,
    pub(super) kind: usize,
    pub(super) from: u32,
    pub(super) to: u32,
    /// Whether it was received: 1; lost: 0; destroyed by a collision: -1.
    pub(super) end: i8,
}

/// An event of the application, for the space-time diagram.
pub(super) struct AppMark {
    pub(super) at: Micros,
    pub(super) node: u32,
    pub(super) word: &'static str,
    /// The number of a message or of a snapshot.
    pub(super) number: u32,
    pub(super) amount: u32,
}

/// One point of every chart.
#[derive(Clone, Copy, Default)]
pub(super) struct Sample {
    pub(super) at: Micros,
    /// Frames sent since the sample before.
    pub(super) frames: u32,
    /// The share of nodes in agreement.
    pub(super) agreement: f64,
    /// Changes of leader since the sample before.
    pub(super) leader_changes: u32,
    /// The longest wait for a lock that ended since the sample before.
    pub(super) lock_wait: Micros,
    /// Between the first and the last of the shared clocks.
    pub(super) skew: u64,
    /// The longest time from a request to its answer, of those answered since the sample before.
    pub(super) round_trip: Micros,
}

/// A node and a lock.
#[derive(Clone, Default)]
pub(super) struct LockState {
    pub(super) waits_since: Option<Micros>,
    /// The fence of its grant: the number of the term and the count.
    pub(super) holds: Option<(u32, u64)>,
}

pub(super) struct Watch {
    narrator: Narrator,
    wireless: bool,
    /// The key of the group, without its members.
    group: Key,
    /// The keys of the run's frames, the last list of members first.
    keys: VecDeque<Key>,
    pub(super) kinds: Vec<&'static str>,
    /// The part of a node that sends each kind: two parts may give their messages one name.
    pub(super) parts: Vec<&'static str>,
    /// The part that sends the frame whose event is next.
    part: &'static str,
    pub(super) frames: Vec<Frame>,
    pub(super) sentences: VecDeque<(Micros, Option<u32>, String)>,
    pub(super) app: VecDeque<AppMark>,
    /// How many of the first of them are the diagram of the last complete snapshot: they stay until the next one begins.
    kept: usize,
    /// When it was complete.
    complete_at: Option<Micros>,
    pub(super) samples: Vec<Sample>,
    sample: Sample,
    period: Micros,
    sent_by_kind: Vec<u64>,
    /// The name of the last message each node sent: a frame that is missed has no other.
    last_kind: Vec<usize>,
    leaders: BTreeMap<u32, u32>,
    pub(super) locks: BTreeMap<(u32, u8), LockState>,
    tree: Tree,
    pub(super) requests: Requests,
    seen: u64,
}

impl Watch {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let nodes = scenario.world.nodes;
        Self {
            narrator: Narrator::new(nodes),
            wireless: scenario.election.starts_with("wireless"),
            group: Key::from_name(&scenario.name),
            keys: VecDeque::from([key_of(scenario)]),
            kinds: Vec::new(),
            parts: Vec::new(),
            part: "",
            frames: Vec::new(),
            sentences: VecDeque::new(),
            app: VecDeque::new(),
            kept: 0,
            complete_at: None,
            samples: Vec::new(),
            sample: Sample::default(),
            period: scenario.world.duration.div_ceil(SAMPLES_MAX).max(SAMPLE_MIN),
            sent_by_kind: Vec::new(),
            last_kind: vec![0; nodes as usize],
            leaders: BTreeMap::new(),
            locks: BTreeMap::new(),
            tree: Tree::default(),
            requests: Requests::default(),
            seen: 0,
        }
    }

    /// Returns a number that grows with every event that can be seen.
    pub(super) fn seen(&self) -> u64 {
        self.seen
    }

    /// Returns when the next sample is due, if that is before a moment.
    pub(super) fn sample_at(&self, moment: Micros) -> Option<Micros> {
        let next = (self.samples.len() as u64 + 1) * self.period;
        Some(next).filter(|&next| next < moment)
    }

    pub(super) fn sample(&mut self, agreement: f64) {
        let at = (self.samples.len() as u64 + 1) * self.period;
        self.samples.push(Sample { at, agreement, ..self.sample });
        self.sample = Sample { skew: self.sample.skew, ..Sample::default() };
    }

    /// Returns the tree of the last election, from parents to children.
    pub(super) fn tree(&self) -> impl Iterator<Item = (u32, u32)> {
        self.tree.edges()
    }

    /// Returns how many frames of each kind were sent.
    pub(super) fn sent_by_kind(&self) -> &[u64] {
        &self.sent_by_kind
    }

    /// Returns the number of a kind that is sent now.
    fn sent_kind(&mut self, name: &'static str) -> usize {
        let known = self.kinds.iter().zip(&self.parts).position(|(&kind, &part)| (kind, part) == (name, self.part));
        known.unwrap_or_else(|| {
            self.kinds.push(name);
            self.parts.push(self.part);
            self.sent_by_kind.push(0);
            self.kinds.len() - 1
        })
    }

    /// Returns the number of a kind that was received: what its sender sent last, or any of this name.
    fn received_kind(&self, from: u32, name: &'static str) -> Option<usize> {
        let last = self.last_kind[from as usize];
        if self.kinds.get(last) == Some(&name) { Some(last) } else { self.kinds.iter().position(|&kind| kind == name) }
    }

    fn say(&mut self, at: Micros, node: Option<u32>, text: String) {
        self.seen += 1;
        self.sentences.push_back((at, node, text));
        if self.sentences.len() > SENTENCES_MAX {
            self.sentences.pop_front();
        }
    }

    fn frame(&mut self, frame: Frame) {
        self.seen += 1;
        if self.frames.len() < FRAMES_MAX {
            self.frames.push(frame);
        }
    }

    fn on_lock(&mut self, at: Micros, node: u32, lock: u8, event: LockEvent) {
        let state = self.locks.entry((node, lock)).or_default();
        match event {
            LockEvent::Requests { .. } => state.waits_since = Some(at),
            LockEvent::Acquired { fence } => {
                let waited = state.waits_since.take().map_or(0, |since| at - since);
                state.holds = Some((fence.term.number, fence.count.0));
                self.sample.lock_wait = self.sample.lock_wait.max(waited);
            }
            LockEvent::Released | LockEvent::Lost => state.holds = None,
            LockEvent::Refused { .. } | LockEvent::Cancels => state.waits_since = None,
            _ => {} // who holds and who waits stays the same
        }
    }

    fn on_app(&mut self, at: Micros, node: u32, event: AppEvent) {
        if let AppEvent::Service { step, origin, boot, number, .. } = event {
            let round_trip = self.requests.observe(at, step, (origin, boot, number));
            self.sample.round_trip = self.sample.round_trip.max(round_trip.unwrap_or(0));
            return;
        }
        let (word, number, amount) = match event {
            AppEvent::Sends { message, amount, .. } => ("sends", message, amount),
            AppEvent::Receives { message: Some(message), amount, .. } => ("receives", message, amount),
            AppEvent::Recorded { snapshot, amount } => ("recorded", snapshot.number, amount),
            AppEvent::Completed { snapshot, nodes } => ("completed", snapshot.number, nodes),
            AppEvent::Wave { number } => ("wave", number, 0),
            AppEvent::Busy => ("busy", 0, 0),
            AppEvent::Idle => ("idle", 0, 0),
            AppEvent::Terminated { job, .. } => ("terminated", job, 0),
            _ => return, // not drawn
        };
        self.app.push_back(AppMark { at, node, word, number, amount });
        match word {
            "recorded" => (self.kept, self.complete_at) = (0, None),
            "completed" => self.complete_at = Some(at),
            _ => {}
        }
        while self.app.len() > self.kept + APP_EVENTS_MAX {
            self.app.remove(self.kept);
        }
        if self.complete_at.is_some_and(|complete| at <= complete + AFTER_CUT) {
            self.kept = self.app.len().min(APP_EVENTS_MAX);
        }
    }

    fn on_list(&mut self, members: u64) {
        let members: Vec<NodeId> = (0..u64::BITS).filter(|&id| members >> id & 1 == 1).map(NodeId).collect();
        let key = self.group.for_group(&members);
        if !self.keys.contains(&key) {
            self.keys.push_front(key);
            self.keys.truncate(KEYS_MAX);
        }
    }

    fn on_stop(&mut self, node: u32) {
        self.locks.retain(|(holder, _), _| *holder != node);
        self.requests.forget(node);
        self.leaders.remove(&node);
    }
}

impl Observer for Watch {
    fn observe(&mut self, event: &TraceEvent) {
        let TraceEvent { at, node, kind } = *event;
        if self.wireless
            && let Some(sentence) = self.tree.observe(event)
        {
            self.say(at, node, sentence);
        }
        if let Some(sentence) = self.narrator.sentence(event) {
            self.say(at, node, sentence);
        }
        let Some(node) = node else {
            if let EventKind::Clocks { skew, .. } = kind {
                self.sample.skew = skew;
            }
            return;
        };
        match kind {
            EventKind::Sent { kind, .. } => {
                let kind = self.sent_kind(kind);
                self.seen += 1;
                self.sent_by_kind[kind] += 1;
                self.last_kind[node as usize] = kind;
                self.sample.frames += 1;
            }
            EventKind::Received { from, kind, .. } => {
                // Nothing is received that was not sent.
                if let Some(kind) = self.received_kind(from, kind) {
                    self.frame(Frame { at, kind, from, to: node, end: 1 });
                }
            }
            EventKind::Missed { from, reason } => {
                let end = if reason == LossReason::Collision { -1 } else { 0 };
                self.frame(Frame { at, kind: self.last_kind[from as usize], from, to: node, end });
            }
            EventKind::Leads { .. } => {
                let before = self.leaders.insert(node, node);
                self.sample.leader_changes += u32::from(before != Some(node));
            }
            EventKind::Follows { leader, .. } => {
                self.leaders.insert(node, leader);
            }
            EventKind::Crash | EventKind::Boot { .. } => self.on_stop(node),
            EventKind::NewList { members, .. } => self.on_list(members),
            EventKind::Lock { lock, event } => self.on_lock(at, node, lock, event),
            EventKind::App { event } => self.on_app(at, node, event),
            _ => {} // not drawn
        }
    }

    fn on_frame(&mut self, frame: &[u8]) {
        self.part = part_of(&self.keys, frame);
    }
}
