//! What `docs/TROUBLESHOOTING.md` says of mistakes with the library: each is made here, and seen as it says.

use protocol::algorithm::{Context, Input as AppInput, Outbox};
use protocol::base::capacity::Capacity;
use protocol::base::config::ConfigError;
use protocol::base::membership::{Group, Membership, NoGroup};
use protocol::base::quorum::Mode;
use protocol::base::records::Records;
use protocol::election::{Bully, Clusters, Wireless};
use protocol::link::RELIABLE_MAX;
use protocol::mutex::{self, Central, Command, LockId, Mutex, NoMutex, Refusal};
use protocol::node::{Boot, Halt, Input, Node, Notice, Stages};
use protocol::registry::AnyMutex;
use protocol::service::{AppService, Application, NoService, Service};
use protocol::wire::{FRAME_MAX, Key, Kind, Kinded, Message};
use protocol::{Config, Duration, Instant, NodeId, NodeSet, Timing};

const MINUTE: Instant = Instant::from_micros(60_000_000);

fn config(id: u32) -> Config {
    let key = Key::from_name("mistakes");
    Config { me: NodeId(id), key, hops: 1, may_lead: true, mode: Mode::Available, timing: Timing::LAN }
}

type LoneNode = Node<Wireless, NoMutex, 8>;

fn lone(config: Config, records: Option<Records>, capacity: Option<Capacity>) -> LoneNode {
    let stages = Stages { election: Wireless::new(), mutex: NoMutex, service: NoService };
    Node::new(config, &NoGroup, Boot { records, capacity, seed: 1 }, Instant::ZERO, stages).unwrap()
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

fn fit(config: Config, records: Option<Records>) -> LoneNode {
    lone(config, records, Some(Capacity::new(500)))
}

#[test]
fn a_node_without_a_capacity_never_leads_and_one_without_records_waits() {
    assert_eq!(leads_at(&mut lone(config(1), Some(Records::FACTORY), None)), None);
    let at_once = leads_at(&mut fit(config(1), Some(Records::FACTORY))).unwrap();
    let later = leads_at(&mut fit(config(1), None)).unwrap();
    assert!(
        at_once < Instant::ZERO.after(Timing::LAN.quarantine) && later >= Instant::ZERO.after(Timing::LAN.quarantine)
    );
}

#[test]
fn frames_of_another_key_are_counted_under_tag() {
    let mut sender = fit(config(1), Some(Records::FACTORY));
    let key = Key::from_name("another");
    let mut receiver = fit(Config { key, ..config(2) }, Some(Records::FACTORY));
    let (at, mut buffer) = (MINUTE, [0; FRAME_MAX]);
    sender.handle(at, Input::Timeout);
    while sender.poll_persist().is_some() {}
    let frame = sender.poll_transmit(at, &mut buffer).unwrap();
    receiver.handle(at, Input::Frame { bytes: frame, quality: u8::MAX });
    assert_eq!(receiver.counters().tag, 1);
}

/// Hands every frame that one node sends within a second to the other.
fn send_all(from: &mut LoneNode, to: &mut LoneNode, second: u64) {
    let (mut at, end) = (Instant::from_micros(second * 1_000_000), Instant::from_micros((second + 1) * 1_000_000));
    let mut buffer = [0; FRAME_MAX];
    while at < end {
        from.handle(at, Input::Timeout);
        while from.poll_persist().is_some() {}
        while let Some(bytes) = from.poll_transmit(at, &mut buffer) {
            to.handle(at, Input::Frame { bytes, quality: u8::MAX });
        }
        at = from.deadline().unwrap().max(at.after(Duration::from_millis(1)));
    }
}

#[test]
fn a_node_whose_id_another_one_has_is_notified_of_it_once() {
    let [mut one, mut twin, mut other] = [1, 1, 2].map(|id| fit(config(id), Some(Records::FACTORY)));
    let notices = |node: &mut LoneNode| {
        let mut count = 0;
        while let Some(notice) = node.poll_notice() {
            count += u32::from(notice == Notice::SameId);
        }
        count
    };
    send_all(&mut other, &mut one, 1);
    assert_eq!(notices(&mut one), 0, "another id is none of its own");
    for second in 2..5 {
        send_all(&mut twin, &mut one, second);
    }
    assert_eq!(notices(&mut one), 1);
    assert!(one.counters().same_id > 1, "the counter counts on: {:?}", one.counters());
}

#[test]
fn nothing_is_transmitted_before_the_records_were_polled() {
    let (mut node, mut buffer) = (fit(config(1), Some(Records::FACTORY)), [0; FRAME_MAX]);
    node.handle(MINUTE, Input::Timeout);
    assert!(node.poll_transmit(MINUTE, &mut buffer).is_none());
    while node.poll_persist().is_some() {}
    assert!(node.poll_transmit(MINUTE, &mut buffer).is_some());
}

type Member<M, S, G = Group> = Node<Bully, M, 8, S, G>;

fn in_group<S: Service, G: Membership>(group: &G, service: S) -> Result<Member<NoMutex, S, G>, ConfigError> {
    let stages = Stages { election: Bully::default(), mutex: NoMutex, service };
    Node::new(
        config(1),
        group,
        Boot { records: Some(Records::FACTORY), capacity: None, seed: 1 },
        Instant::ZERO,
        stages,
    )
}

#[test]
fn a_group_election_without_a_group_and_a_group_without_the_node_are_errors() {
    assert_eq!(in_group(&NoGroup, NoService).err(), Some(ConfigError::NoGroup));
    let others = Group::of(&[NodeId(2), NodeId(3)]).unwrap();
    assert_eq!(in_group(&others, NoService).err(), Some(ConfigError::NotAMember));
}

/// Sends as many bytes as it is commanded, and notifies of each command.
#[derive(Clone, Default)]
struct Blobs(Option<usize>);

#[derive(Clone, serde::Serialize, serde::Deserialize)]
struct Blob(heapless::Vec<u8, FRAME_MAX>);

impl Kinded for Blob {
    const KIND: Kind = Kind::application::<0>();
}

impl Message for Blob {
    fn name(&self) -> &'static str {
        "blob"
    }
}

impl Application for Blobs {
    type Message = Blob;
    type Command = usize;
    type Notice = usize;

    fn handle(&mut self, _: &Context<'_>, input: AppInput<Blob, usize>, out: &mut Outbox<Blob, usize>) {
        if let AppInput::Command(length) = input {
            self.0 = Some(length);
            out.notify(length);
        }
    }

    fn poll_send(&mut self, cx: &Context<'_>) -> Option<(NodeSet, Blob)> {
        Some((cx.peers, Blob(vec![7; self.0.take()?].into_iter().collect())))
    }
}

#[test]
fn a_message_too_long_and_notices_that_are_not_polled_halt_the_node() {
    let group = Group::of(&[NodeId(1), NodeId(2)]).unwrap();
    let halted = |lengths: &[usize]| {
        let mut node = in_group(&group, AppService::new(Blobs::default())).unwrap();
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

/// Sends a reliable message out of turn.
struct OutOfTurn;

impl Application for OutOfTurn {
    type Message = Blob;
    type Command = ();
    type Notice = ();

    fn handle(&mut self, cx: &Context<'_>, input: AppInput<Blob, ()>, out: &mut Outbox<Blob, ()>) {
        if let AppInput::Command(()) = input {
            out.send(cx.peers, Blob(heapless::Vec::new()));
        }
    }

    fn poll_send(&mut self, _: &Context<'_>) -> Option<(NodeSet, Blob)> {
        None
    }
}

#[test]
fn a_reliable_message_out_of_turn_halts_the_node_which_says_so_to_those_who_ask() {
    let group = Group::of(&[NodeId(1), NodeId(2)]).unwrap();
    let mut node = in_group(&group, AppService::new(OutOfTurn)).unwrap();
    node.handle(MINUTE, Input::Service(().into()));
    assert_eq!(node.halted(), Some(Halt::Outbox));
    assert_eq!(node.deadline(), None, "a loop that waits for the deadline notices");
    assert!(matches!(node.poll_notice(), Some(Notice::Halted(Halt::Outbox))));
}

fn member<M: Mutex, S: Service>(id: u32, members: &[NodeId], mutex: M, service: S) -> Member<M, S> {
    let (boot, mode) =
        (Boot { records: Some(Records::FACTORY), capacity: Some(Capacity::MAX), seed: id.into() }, Mode::Quorum);
    let stages = Stages { election: Bully::default(), mutex, service };
    Node::new(Config { mode, ..config(id) }, &Group::of(members).unwrap(), boot, Instant::ZERO, stages).unwrap()
}

/// Advances a node to `now`; returns its frames and its notices.
fn advance<M: Mutex, S: Service>(node: &mut Member<M, S>, now: Instant) -> (Vec<Vec<u8>>, Vec<Notice<S::Notice>>) {
    if node.deadline().is_some_and(|at| at <= now) {
        node.handle(now, Input::Timeout);
    }
    while node.poll_persist().is_some() {}
    let (mut frames, mut buffer) = (Vec::new(), [0; FRAME_MAX]);
    while let Some(frame) = node.poll_transmit(now, &mut buffer) {
        frames.push(frame.to_vec());
    }
    (frames, std::iter::from_fn(|| node.poll_notice()).collect())
}

/// Hands frames to a node.
fn hear<M: Mutex, S: Service>(node: &mut Member<M, S>, now: Instant, frames: &[Vec<u8>]) {
    for bytes in frames {
        node.handle(now, Input::Frame { bytes, quality: u8::MAX });
    }
}

fn milliseconds(range: std::ops::Range<u64>) -> impl Iterator<Item = Instant> {
    range.map(|millis| Instant::from_micros(millis * 1_000))
}

#[test]
fn frames_of_another_list_of_members_are_counted_under_tag() {
    let [two, three] = [&[NodeId(1), NodeId(2)][..], &[NodeId(1), NodeId(2), NodeId(3)]];
    let (mut one, mut other) = (member(1, two, NoMutex, NoService), member(2, three, NoMutex, NoService));
    for now in milliseconds(0..5_000) {
        let (frames, _) = advance(&mut one, now);
        hear(&mut other, now, &frames);
        advance(&mut other, now);
    }
    assert!(other.counters().tag > 0, "{:?}", other.counters());
}

#[test]
fn messages_of_an_application_that_a_member_does_not_have_are_counted_under_no_stage() {
    let members = [NodeId(1), NodeId(2)];
    let mut with = member(1, &members, NoMutex, AppService::new(Blobs::default()));
    let mut without = member(2, &members, NoMutex, AppService::new(OutOfKind));
    for now in milliseconds(0..5_000) {
        if now == Instant::from_micros(3_000_000) {
            with.handle(now, Input::Service(1.into()));
        }
        let (frames, _) = advance(&mut with, now);
        hear(&mut without, now, &frames);
        let (frames, _) = advance(&mut without, now);
        hear(&mut with, now, &frames);
    }
    assert!(without.counters().no_stage > 0, "{:?}", without.counters());
    assert_eq!(with.counters().no_stage, 0);
}

/// An application with messages of another kind.
struct OutOfKind;

#[derive(Clone, serde::Serialize, serde::Deserialize)]
struct Card;

impl Kinded for Card {
    const KIND: Kind = Kind::application::<1>();
}

impl Message for Card {
    fn name(&self) -> &'static str {
        "card"
    }
}

impl Application for OutOfKind {
    type Message = Card;
    type Command = ();
    type Notice = ();

    fn handle(&mut self, _: &Context<'_>, _: AppInput<Card, ()>, _: &mut Outbox<Card, ()>) {}

    fn poll_send(&mut self, _: &Context<'_>) -> Option<(NodeSet, Card)> {
        None
    }
}

#[test]
fn a_member_that_is_not_heard_is_refused_locks_until_the_leader_has_added_it_again() {
    let members = [NodeId(1), NodeId(2), NodeId(3)];
    let mut nodes = [1, 2, 3].map(|id| member(id, &members, Central::default(), NoService));
    let (lock, lease) = (LockId::from_name("door"), Duration::from_secs(1));
    let (mut refused, mut granted) = (0, 0);
    for now in milliseconds(0..40_000) {
        let muted = (5_000_000..20_000_000).contains(&now.as_micros());
        if now.as_micros() >= 15_000_000 {
            nodes[0].handle(now, Input::Mutex(Command::Acquire { lock, lease }));
        }
        for index in 0..3 {
            let (frames, notices) = advance(&mut nodes[index], now);
            for other in (0..3).filter(|&other| other != index && !(muted && index == 0)) {
                hear(&mut nodes[other], now, &frames);
            }
            for notice in notices.iter().filter(|_| index == 0) {
                let outside = mutex::Notice::Refused { lock, reason: Refusal::Outside };
                refused += u32::from(*notice == Notice::Mutex(outside));
                granted += u32::from(matches!(notice, Notice::Mutex(mutex::Notice::Acquired { .. })));
            }
        }
    }
    assert!(refused > 0 && granted > 0, "{refused} {granted}");
}

#[test]
fn clusters_which_have_several_leaders_are_refused_in_mode_quorum() {
    let group = Group::of(&[NodeId(1), NodeId(2)]).unwrap();
    let clustered = |mode| {
        let stages = Stages { election: Clusters::default(), mutex: NoMutex, service: NoService };
        let boot = Boot { records: Some(Records::FACTORY), capacity: None, seed: 1 };
        Node::<_, _, 8, _, _>::new(Config { mode, ..config(1) }, &group, boot, Instant::ZERO, stages).err()
    };
    assert_eq!(clustered(Mode::Available), None);
    assert_eq!(clustered(Mode::Quorum), Some(ConfigError::ClustersWithQuorum));
}

#[test]
fn a_lock_that_asks_everybody_is_refused_over_several_hops() {
    let group = Group::of(&[NodeId(1), NodeId(2)]).unwrap();
    let over = |hops, words: &str| {
        let mutex = AnyMutex::by_name(words).unwrap();
        let stages = Stages { election: Bully::default(), mutex, service: NoService };
        let boot = Boot { records: Some(Records::FACTORY), capacity: None, seed: 1 };
        Node::<_, _, 8, _, _>::new(Config { hops, ..config(1) }, &group, boot, Instant::ZERO, stages).err()
    };
    for words in AnyMutex::NAMES {
        assert_eq!(over(1, words), None, "{words}");
        let along_routes = ["central", "token-ring", "raymond"].contains(words);
        assert_eq!(over(2, words), (!along_routes).then_some(ConfigError::LockOverHops), "{words}");
    }
}
