//! A lock, a holder that sleeps through the end of its lease, and the resource that refuses it.
//!
//! `cargo run -p conclave-protocol --example lock_with_fence`. Three nodes share a lock in virtual time. Node 0 acquires it
//! and falls asleep; its lease ends, node 1 acquires the lock and writes. Node 0 wakes up and writes what it meant to write:
//! it still believes to hold the lock, and no lock can tell it otherwise in time. The fence of its grant is older than the
//! last the resource has seen, so the resource refuses the write.

use protocol::base::capacity::Capacity;
use protocol::base::membership::Group;
use protocol::base::quorum::Mode;
use protocol::base::records::Records;
use protocol::election::Bully;
use protocol::mutex::{Central, Command, Fence, FencedResource, LockId, Notice as LockNotice};
use protocol::node::{Boot, Input, Notice, Stages};
use protocol::service::NoService;
use protocol::wire::{FRAME_MAX, Key};
use protocol::{Config, Duration, Instant, Node, NodeId, Timing};

const LOCK: LockId = LockId::from_name("valve");

type LockNode = Node<Bully, Central, 16, NoService, Group>;

/// The nodes and the frames between them; a node that is asleep takes no step.
struct Network {
    now: Instant,
    nodes: Vec<LockNode>,
    asleep: Option<usize>,
    /// Whether a frame was sent in the last step, so that there may be replies.
    busy: bool,
    grants: Vec<(usize, Fence)>,
}

impl Network {
    fn new() -> Self {
        let members = [NodeId(0), NodeId(1), NodeId(2)];
        let group = Group::of(&members).expect("three members");
        let node = |me: NodeId| {
            let key = Key::from_name("lock with fence");
            let config = Config { me, key, hops: 1, may_lead: true, mode: Mode::Quorum, timing: Timing::LAN };
            let capacity = Capacity::new(u16::try_from(me.0).unwrap_or(0) * 100); // node 2 leads
            let boot = Boot { records: Some(Records::FACTORY), capacity: Some(capacity), seed: me.0.into() };
            let stages = Stages { election: Bully::default(), mutex: Central::default(), service: NoService };
            Node::new(config, &group, boot, Instant::ZERO, stages).expect("a valid configuration")
        };
        Self { now: Instant::ZERO, nodes: members.map(node).into(), asleep: None, busy: false, grants: Vec::new() }
    }

    fn acquire(&mut self, node: usize) {
        let command = Command::Acquire { lock: LOCK, lease: Duration::from_secs(2) };
        self.nodes[node].handle(self.now, Input::Mutex(command));
    }

    /// Runs until a node is granted the lock; returns it with the fence of its grant.
    fn run_until_granted(&mut self) -> (usize, Fence) {
        while self.grants.is_empty() {
            self.step();
        }
        self.grants.remove(0)
    }

    fn step(&mut self) {
        let mut buffer = [0; FRAME_MAX];
        let awake: Vec<usize> = (0..3).filter(|&index| self.asleep != Some(index)).collect();
        if !std::mem::take(&mut self.busy) {
            let deadlines = awake.iter().filter_map(|&index| self.nodes[index].deadline());
            self.now = deadlines.min().expect("a node always has a deadline").max(self.now);
        }
        for &index in &awake {
            self.nodes[index].handle(self.now, Input::Timeout);
            while let Some(_records) = self.nodes[index].poll_persist() {}
            while let Some(frame) = self.nodes[index].poll_transmit(self.now, &mut buffer) {
                let bytes = frame.to_vec();
                self.busy = true;
                for &other in awake.iter().filter(|&&other| other != index) {
                    self.nodes[other].handle(self.now, Input::Frame { bytes: &bytes, quality: u8::MAX });
                }
            }
            while let Some(notice) = self.nodes[index].poll_notice() {
                println!("{:>5} ms  node {index}: {notice:?}", self.now.as_micros() / 1_000);
                if let Notice::Mutex(LockNotice::Acquired { fence, .. }) = notice {
                    self.grants.push((index, fence));
                }
            }
        }
    }
}

pub(crate) fn main() {
    let mut network = Network::new();
    let mut resource = FencedResource::new(String::from("empty"));
    network.acquire(0);
    let (sleeper, old) = network.run_until_granted();
    network.asleep = Some(sleeper); // before it writes
    network.acquire(1);
    let (writer, new) = network.run_until_granted();
    assert_eq!((sleeper, writer), (0, 1));
    *resource.access(new).expect("the newest fence") = format!("written by node {writer}");
    let refused = resource.access(old).expect_err("the resource has seen a later fence");
    println!("node {sleeper} wakes up and writes: {refused:?}");
    assert_eq!(network.nodes[sleeper].holds(LOCK, network.now), None, "who asks before every use is not surprised");
}
