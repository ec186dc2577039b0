//! What `docs/TROUBLESHOOTING.md` says of mistakes with the library: each is made here, and seen as it says.

use protocol::algorithm::{Context, Input as AppInput, Outbox};
use protocol::base::capacity::Capacity;
use protocol::base::config::ConfigError;
use protocol::base::membership::{Group, Membership, NoGroup};
use protocol::base::quorum::Mode;
use protocol::base::records::Records;
use protocol::election::{Bully, Wireless};
use protocol::link::RELIABLE_MAX;
use protocol::mutex::NoMutex;
use protocol::node::{Boot, Halt, Input, Node, Stages};
use protocol::registry::AnyMutex;
use protocol::service::{AppService, Application, NoService, Service};
use protocol::wire::{FRAME_MAX, Key, Kind, Kinded, Message};
use protocol::{Config, Instant, NodeId, NodeSet, Timing};

const MINUTE: Instant = Instant::from_micros(60_000_000);

fn config(id: u32) -> Config {
    let key = Key::from_name("mistakes");
    Config { me: NodeId(id), key, hops: 1, may_lead: true, mode: Mode::Available, timing: Timing::LAN }
}

type LoneNode = Node<Wireless, NoMutex, 8>;

fn lone(config: Config, records: Option<Records>) -> LoneNode {
    let stages = Stages { election: Wireless::new(), mutex: NoMutex, service: NoService };
    Node::new(config, &NoGroup, Boot { records, seed: 1 }, Instant::ZERO, stages).unwrap()
}

/// Runs one node until it leads; returns when that was.
fn leads_at(node: &mut LoneNode) -> Option<Instant> {
    let mut now = Instant::ZERO;
    let mut buffer = [0; FRAME_MAX];
    while now < MINUTE && node.leader().is_none() {
        while node.poll_persist().is_some() {}
        while node.poll_transmit(now, &mut buffer).is_some() {}
        while node.poll_notice().is_some() {}
        now = node.deadline()?;
        node.handle(now, Input::Timeout);
    }
    node.leader().map(|_| now)
}

fn fit(mut node: LoneNode) -> LoneNode {
    node.handle(Instant::ZERO, Input::Capacity(Some(Capacity::new(500))));
    node
}

#[test]
fn a_node_without_a_capacity_never_leads_and_one_without_records_waits() {
    assert_eq!(leads_at(&mut lone(config(1), Some(Records::FACTORY))), None);
    let at_once = leads_at(&mut fit(lone(config(1), Some(Records::FACTORY)))).unwrap();
    let later = leads_at(&mut fit(lone(config(1), None))).unwrap();
    assert!(
        at_once < Instant::ZERO.after(Timing::LAN.quarantine) && later >= Instant::ZERO.after(Timing::LAN.quarantine)
    );
}

#[test]
fn frames_of_another_key_are_counted_under_tag() {
    let mut sender = fit(lone(config(1), Some(Records::FACTORY)));
    let key = Key::from_name("another");
    let mut receiver = fit(lone(Config { key, ..config(2) }, Some(Records::FACTORY)));
    let (at, mut buffer) = (MINUTE, [0; FRAME_MAX]);
    sender.handle(at, Input::Timeout);
    while sender.poll_persist().is_some() {}
    let frame = sender.poll_transmit(at, &mut buffer).unwrap();
    receiver.handle(at, Input::Frame { bytes: frame, quality: u8::MAX });
    assert_eq!(receiver.counters().tag, 1);
}

#[test]
fn nothing_is_transmitted_before_the_records_were_polled() {
    let (mut node, mut buffer) = (fit(lone(config(1), Some(Records::FACTORY))), [0; FRAME_MAX]);
    node.handle(MINUTE, Input::Timeout);
    assert!(node.poll_transmit(MINUTE, &mut buffer).is_none());
    while node.poll_persist().is_some() {}
    assert!(node.poll_transmit(MINUTE, &mut buffer).is_some());
}

fn in_group<S: Service, G: Membership>(group: &G, service: S) -> Result<Node<Bully, NoMutex, 8, S, G>, ConfigError> {
    let stages = Stages { election: Bully::default(), mutex: NoMutex, service };
    Node::new(config(1), group, Boot { records: Some(Records::FACTORY), seed: 1 }, Instant::ZERO, stages)
}

#[test]
fn a_group_election_without_a_group_and_a_group_without_the_node_are_errors() {
    assert_eq!(in_group(&NoGroup, NoService).err(), Some(ConfigError::NoGroup));
    let others = Group::of(&[NodeId(2), NodeId(3)]).unwrap();
    assert_eq!(in_group(&others, NoService).err(), Some(ConfigError::NotAMember));
}

/// Sends as many bytes as it is told, and notifies of each command.
#[derive(Clone, Default)]
struct Letters(Option<usize>);

#[derive(Clone, serde::Serialize, serde::Deserialize)]
struct Letter(heapless::Vec<u8, FRAME_MAX>);

impl Kinded for Letter {
    const KIND: Kind = Kind::application::<0>();
}

impl Message for Letter {
    fn name(&self) -> &'static str {
        "letter"
    }
}

impl Application for Letters {
    type Message = Letter;
    type Command = usize;
    type Notice = usize;

    fn handle(&mut self, _: &Context<'_>, input: AppInput<Letter, usize>, out: &mut Outbox<Letter, usize>) {
        if let AppInput::Command(length) = input {
            self.0 = Some(length);
            out.notify(length);
        }
    }

    fn poll_send(&mut self, cx: &Context<'_>) -> Option<(NodeSet, Letter)> {
        Some((cx.peers, Letter(vec![7; self.0.take()?].into_iter().collect())))
    }
}

#[test]
fn a_message_too_long_and_notices_that_are_not_polled_halt_the_node() {
    let group = Group::of(&[NodeId(1), NodeId(2)]).unwrap();
    let halted = |lengths: &[usize]| {
        let mut node = in_group(&group, AppService::new(Letters::default())).unwrap();
        while node.poll_persist().is_some() {}
        for &length in lengths {
            node.handle(MINUTE, Input::Service(length.into()));
            while node.poll_persist().is_some() {}
            while node.poll_transmit(MINUTE, &mut [0; FRAME_MAX]).is_some() {}
        }
        node.halted()
    };
    assert_eq!(halted(&[RELIABLE_MAX - 1]), None, "one byte is the length");
    assert_eq!(halted(&[RELIABLE_MAX]), Some(Halt::Frame));
    assert_eq!(halted(&[1; 40]), Some(Halt::Notices));
}

#[test]
fn a_lock_that_asks_everybody_is_refused_over_several_hops() {
    let group = Group::of(&[NodeId(1), NodeId(2)]).unwrap();
    let over = |hops, words: &str| {
        let mutex = AnyMutex::by_name(words).unwrap();
        let stages = Stages { election: Bully::default(), mutex, service: NoService };
        let boot = Boot { records: Some(Records::FACTORY), seed: 1 };
        Node::<_, _, 8, _, _>::new(Config { hops, ..config(1) }, &group, boot, Instant::ZERO, stages).err()
    };
    for words in AnyMutex::NAMES {
        assert_eq!(over(1, words), None, "{words}");
        let along_routes = ["central", "token-ring", "raymond"].contains(words);
        assert_eq!(over(2, words), (!along_routes).then_some(ConfigError::LockOverHops), "{words}");
    }
}
