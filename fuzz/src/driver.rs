//! One node, fed with frames, commands, times and reboots.

use crate::group::key;
use protocol::base::capacity::Capacity;
use protocol::base::config::ConfigError;
use protocol::base::lamport::LamportTime;
use protocol::base::membership::Group;
use protocol::base::quorum::Mode;
use protocol::base::records::Records;
use protocol::election::Election as _;
use protocol::node::{Boot, Halt, Input, Notice, Stages};
use protocol::registry::{AnyElection, AnyMutex};
use protocol::service::NoService;
use protocol::wire::{self, Attempt, Destination, FRAME_MAX, Key, Origin, Packet, Recipients, Relays, ReliableHeader};
use protocol::{Config, Duration, Instant, Node, NodeId, NodeSet, Timing, election, mutex};

/// How many members the group has; the node that is fed is the first.
pub(crate) const GROUP: u32 = 3;

type Member = Node<AnyElection, AnyMutex, 8, NoService, Option<Group>>;

/// The first number of frames that inputs describe: above all that members sent while the group ran.
const SEQ_FIRST: u32 = 10_000;

/// A node and its host: it persists before it transmits, and checks what the node promises.
#[derive(Clone)]
pub(crate) struct Driver {
    choice: u8,
    me: u32,
    node: Member,
    now: Instant,
    records: Option<Records>,
    /// The highest records that were persisted in any boot.
    reached: Records,
    sent: Vec<Vec<u8>>,
    halted: bool,
    boots: u64,
}

impl Driver {
    /// The first member, with the election and the lock that `choice` stands for.
    pub(crate) fn new(choice: u8) -> Self {
        Self::member(choice, 0)
    }

    /// The first member with these records; `None` where they leave it no further boot.
    pub(crate) fn with_records(choice: u8, records: Records) -> Option<Self> {
        Self::boot(choice, 0, Some(records), Instant::ZERO, 0)
    }

    pub(crate) fn member(choice: u8, me: u32) -> Self {
        Self::boot(choice, me, Some(Records::FACTORY), Instant::ZERO, 0).expect("it never booted")
    }

    fn boot(choice: u8, me: u32, records: Option<Records>, now: Instant, boots: u64) -> Option<Self> {
        let choice = usize::from(choice);
        let elections = AnyElection::NAMES;
        let election = elections[choice % elections.len()];
        let mutex = AnyMutex::NAMES[choice / elections.len() % AnyMutex::NAMES.len()];
        let config = Config {
            me: NodeId(me),
            key: Key::from_name("fuzz"),
            hops: 3,
            may_lead: true,
            mode: if choice.is_multiple_of(2) { Mode::Quorum } else { Mode::Available },
            timing: Timing::LAN,
        };
        // Some locks work in one range only.
        let hops = AnyMutex::by_name(mutex).map_or(1, |mutex| mutex::Mutex::hops_max(&mutex));
        let config = Config { hops: config.hops.min(hops), ..config };
        let members: Vec<NodeId> = (0..GROUP).map(NodeId).collect();
        let election = AnyElection::by_name(election).expect("it is listed");
        // Clusters have several leaders: mode quorum refuses them.
        let mode = if election.horizon().is_some() { Mode::Available } else { config.mode };
        let config = Config { mode, ..config };
        let stages = Stages { election, mutex: AnyMutex::by_name(mutex).expect("it is listed"), service: NoService };
        let boot = Boot { records, capacity: None, seed: u64::from(me) + boots };
        let group = Group::of(&members).ok();
        let node = match Node::new(config, &group, boot, now, stages) {
            Ok(node) => node,
            Err(ConfigError::NoMoreBoots) => return None,
            Err(error) => panic!("the configuration is valid: {error}"),
        };
        let reached = records.unwrap_or(Records::FACTORY);
        let mut driver =
            Self { choice: choice as u8, me, node, now, records, reached, sent: Vec::new(), halted: false, boots };
        driver.put(Input::Capacity(Some(Capacity::new(100 * (me as u16 + 1)))));
        Some(driver)
    }

    fn put(&mut self, input: Input<'_>) {
        self.node.handle(self.now, input);
        while let Some(records) = self.node.poll_persist() {
            let fell = records.incarnation < self.reached.incarnation
                || records.term < self.reached.term
                || records.lamport < self.reached.lamport;
            // Under another key, numbers that were spent begin anew.
            let same_key = records.key == self.reached.key;
            assert!(!fell || !same_key || self.records.is_none(), "{records:?} after {:?}", self.reached);
            (self.records, self.reached) = (Some(records), records);
        }
        let mut buffer = [0; FRAME_MAX];
        let mut frames = 0;
        while let Some(frame) = self.node.poll_transmit(self.now, &mut buffer) {
            assert!(frame.len() <= FRAME_MAX, "a frame fits");
            self.sent.push(frame.to_vec());
            frames += 1;
            assert!(frames < 1_000, "a node stops transmitting");
        }
        while let Some(notice) = self.node.poll_notice() {
            if let Notice::Halted(halt) = notice {
                // Numbers can be used up by whoever has the key, or by records that hold the highest.
                assert!(matches!(halt, Halt::Numbers | Halt::Sequence), "the node stopped itself: {halt:?}");
                self.halted = true;
            }
        }
        assert!(self.halted || self.node.deadline().is_some(), "a running node has a deadline");
    }

    pub(crate) fn receive(&mut self, bytes: &[u8]) {
        self.put(Input::Frame { bytes, quality: 255 });
    }

    /// Lets so many milliseconds pass, with every timeout in them.
    pub(crate) fn wait(&mut self, millis: u32) {
        let end = self.now.after(Duration::from_millis(millis));
        let mut timeouts = 0;
        while let Some(due) = self.node.deadline().filter(|&due| due <= end && !self.halted) {
            self.now = self.now.max(due);
            self.put(Input::Timeout);
            timeouts += 1;
            assert!(timeouts < 100_000, "a node does not spin");
        }
        self.now = end;
    }

    pub(crate) fn take_sent(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.sent)
    }

    pub(crate) fn acquire(&mut self, lock: u32) {
        let lock = mutex::LockId::from_number(lock);
        self.put(Input::Mutex(mutex::Command::Acquire { lock, lease: Duration::from_millis(500) }));
    }

    /// Seals a frame of any kind and hands it to the node: kind, sender, incarnation, number, destination, then the body.
    pub(crate) fn sealed_frame(&mut self, bytes: &[u8]) {
        let [kind, sender, incarnation, seq, way, body @ ..] = bytes else { return };
        let kinds: Vec<_> = protocol::registry::kinds().map(|(kind, _)| kind).collect();
        let origin = Origin { id: NodeId(u32::from(*sender) % (GROUP + 2)), incarnation: u32::from(*incarnation) };
        let boots = if way & 4 == 0 { Vec::new() } else { vec![1; GROUP as usize] };
        let recipients = if way & 2 == 0 {
            Recipients::Node(Origin { id: NodeId(self.me), incarnation: 1 + u32::from(way >> 5) })
        } else {
            let set = NodeSet::first(GROUP as usize);
            Recipients::Members { set, boots: boots.into_iter().collect(), relays: Relays::Nobody }
        };
        let sent_at = LamportTime(u64::from(*seq) << (way >> 4));
        let attempt = Attempt { seq: SEQ_FIRST + u32::from(*seq), number: way >> 6, hop_limit: way & 3, sent_at };
        let destination = match way & 9 {
            0 => Destination::Broadcast,
            8 => Destination::Neighbours(heapless::Vec::from_iter([NodeId(self.me)])),
            _ => Destination::Reliable(ReliableHeader { origin: None, attempt, recipients, ack: None }),
        };
        let packet = Packet {
            kind: kinds[usize::from(*kind) % kinds.len()],
            sender: origin.id,
            incarnation: origin.incarnation,
            seq: SEQ_FIRST + u32::from(*seq),
            destination,
            body: &body[..body.len().min(FRAME_MAX)],
        };
        let mut frame = [0; FRAME_MAX];
        if let Some(len) = wire::seal(&key(), &packet, &mut frame) {
            self.receive(&frame[..len]);
        }
    }

    /// Plays a script: a byte chooses what happens, the next one says more.
    pub(crate) fn play(&mut self, mut script: &[u8]) {
        while let [choice, more, rest @ ..] = script {
            script = rest;
            let lock = mutex::LockId::from_number(u32::from(more % 6));
            let lease = Duration::from_millis(u32::from(more / 8) * 100);
            match choice % 8 {
                0 | 7 => {
                    let (frame, rest) = script.split_at(script.len().min(usize::from(*more)));
                    script = rest;
                    if choice % 8 == 0 { self.sealed_frame(frame) } else { self.receive(frame) }
                }
                1 => self.wait(u32::from(*more) * 10),
                2 => {
                    let command = match more % 5 {
                        0 => mutex::Command::Acquire { lock, lease },
                        1 => mutex::Command::Try { lock, lease },
                        2 => mutex::Command::Renew { lock, lease },
                        3 => mutex::Command::Release { lock },
                        _ => mutex::Command::Cancel { lock },
                    };
                    self.put(Input::Mutex(command));
                }
                3 => {
                    let command = if more % 2 == 0 { election::Command::Call } else { election::Command::Yield };
                    self.put(Input::Election(command));
                }
                4 => {
                    let kept = self.records.filter(|_| more % 2 == 0);
                    let reached = self.reached;
                    let next = Self::boot(self.choice, self.me, kept, self.now, self.boots + 1);
                    *self = next.expect("it booted a few times only");
                    self.reached = if kept.is_some() { reached } else { Records::FACTORY };
                }
                5 => self.put(Input::Capacity((*more > 0).then(|| Capacity::new(u16::from(*more) * 40)))),
                _ => self.put(Input::Timeout), // before its time: it changes nothing
            }
        }
        self.wait(1_000);
    }
}
