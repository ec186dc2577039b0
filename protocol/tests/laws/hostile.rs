//! Whatever bytes arrive, a node works on.

use crate::histories::cases;
use crate::support::net::{Net, ROOM, complete, config};
use proptest::prelude::*;
use protocol::base::membership::NoGroup;
use protocol::base::records::Records;
use protocol::election::Wireless;
use protocol::mutex::NoMutex;
use protocol::node::{Boot, Input, Node, Stages};
use protocol::service::NoService;
use protocol::wire::{
    self, Attempt, Destination, FRAME_MAX, Key, Kind, Origin, Packet, Recipients, Relays, ReliableHeader,
};
use protocol::{Config, Duration, Instant, NodeId, NodeSet};

type Plain = Net<Wireless, NoMutex>;

fn node() -> Plain {
    Net::new(1, complete, |index| (config(index), Wireless::new(), NoMutex)).started()
}

fn receive(net: &mut Plain, bytes: &[u8], quality: u8) {
    net.put(0, Input::Frame { bytes, quality });
}

/// A real frame of another node: its first hello.
fn frame(key: Key) -> Vec<u8> {
    let make = move |_| (Config { key: key.clone(), ..config(1) }, Wireless::new(), NoMutex);
    let mut net = Net::new(1, complete, make).started();
    net.run_until(Duration::from_secs(2), |net| !net.sent.is_empty());
    net.sent[0].1.to_vec()
}

/// The node works on: alone, it elects itself, also after it restarted as somebody sent in its name.
fn works(mut net: Plain) -> bool {
    net.run_secs(70).leader().is_some()
}

fn destination() -> impl Strategy<Value = Destination> {
    let recipients = prop_oneof![
        (any::<u32>(), 0..3_u32)
            .prop_map(|(id, incarnation)| Recipients::Node(Origin { id: NodeId(id % 4), incarnation })),
        (0..70_usize, proptest::collection::vec(0..3_u32, 0..=4), any::<[u8; 2]>()).prop_map(
            |(count, boots, [one, two])| {
                let relays = [Relays::Nobody, Relays::One(two), Relays::Two(one, two)][usize::from(one % 3)];
                Recipients::Members { set: NodeSet::first(count), boots: boots.into_iter().collect(), relays }
            }
        ),
    ];
    let origin = proptest::option::of((0..5_u32, 0..3_u32))
        .prop_map(|origin| origin.map(|(id, incarnation)| Origin { id: NodeId(id), incarnation }));
    let ack = proptest::option::of(any::<u32>());
    let header = (origin, any::<u32>(), any::<u8>(), any::<u8>(), recipients, ack);
    let reliable = header.prop_map(|(origin, seq, number, hop_limit, recipients, ack)| {
        let sent_at = protocol::base::lamport::LamportTime(u64::from(seq));
        let attempt = Attempt { seq, number, hop_limit, sent_at };
        Destination::Reliable(ReliableHeader { origin, attempt, recipients, ack })
    });
    let neighbour = Destination::Neighbours(heapless::Vec::from_array([NodeId(1)]));
    prop_oneof![Just(Destination::Broadcast), Just(neighbour), reliable]
}

proptest! {
    #![proptest_config(cases(8_000))]

    #[test]
    fn random_bytes_are_dropped_and_counted(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut net = node();
        let before = (net.leader(), net.node(0).deadline());
        receive(&mut net, &bytes, 255);
        let counters = net.node(0).counters();
        let unread = counters.oversized + counters.version + counters.malformed + counters.not_for_me;
        prop_assert_eq!(unread + counters.tag, 1);
        prop_assert_eq!((net.leader(), net.node(0).deadline()), before);
        prop_assert!(works(net));
    }

    #[test]
    fn a_flipped_or_cut_frame_is_dropped_and_counted(bit in 0..800_usize, cut in 0..100_usize) {
        let mut bytes = frame(config(1).key);
        let len = bytes.len();
        bytes[(bit / 8) % len] ^= 1 << (bit % 8);
        bytes.truncate(len - cut % len);
        let mut net = node();
        receive(&mut net, &bytes, 255);
        let counters = net.node(0).counters();
        let unread = counters.version + counters.malformed + counters.not_for_me;
        prop_assert_eq!(unread + counters.tag, 1);
        prop_assert_eq!(net.node(0).neighbours().count(), 0);
    }

    #[test]
    fn nonsense_with_a_good_tag_harms_no_node(
        packets in proptest::collection::vec(
            (any::<u8>(), 0..5_u32, 0..3_u32, any::<u8>(), destination(), proptest::collection::vec(any::<u8>(), 0..50)),
            1..30,
        ),
    ) {
        let mut net = node();
        let kinds: Vec<Kind> = protocol::registry::kinds().map(|(kind, _)| kind).collect();
        for (kind, sender, incarnation, seq, destination, body) in packets {
            let kind = kinds[usize::from(kind) % kinds.len()];
            let sender = NodeId(sender);
            let packet = Packet { kind, sender, incarnation, seq: seq.into(), destination, body: &body };
            let mut bytes = [0; FRAME_MAX];
            let Some(len) = wire::seal(&config(0).key, &packet, &mut bytes) else { continue };
            receive(&mut net, &bytes[..len], seq);
            net.run(Duration::from_millis(1));
        }
        prop_assert!(works(net));
    }
}

#[test]
fn a_duplicate_frame_is_dropped_and_counted() {
    let (mut net, bytes) = (node(), frame(config(1).key));
    for _ in 0..3 {
        receive(&mut net, &bytes, 255);
    }
    assert_eq!(net.node(0).counters().duplicate, 2);
}

#[test]
fn frames_of_another_group_are_dropped() {
    let mut net = node();
    receive(&mut net, &frame(Key::from_name("another")), 255);
    assert_eq!(net.node(0).counters().tag, 1);
}

#[test]
fn nothing_is_sent_before_the_records_are_persisted() {
    let boot = Boot { records: Some(Records::FACTORY), capacity: None, seed: 3 };
    let stages = Stages { election: Wireless::new(), mutex: NoMutex, service: NoService };
    let mut node = Node::<_, _, 8>::new(config(0), &NoGroup, boot, Instant::ZERO, stages).unwrap();
    let (now, mut buffer) = (Instant::from_micros(1_000_000), [0; FRAME_MAX]);
    node.handle(now, Input::Timeout);
    assert_eq!(node.poll_transmit(now, &mut buffer), None);
    assert_eq!(node.poll_persist().unwrap().incarnation, 1);
    assert!(node.poll_transmit(now, &mut buffer).is_some());
}

#[test]
fn more_neighbours_than_there_is_room_for_are_survived() {
    let mut net = Net::new(ROOM + 4, complete, |index| (config(index), Wireless::new(), NoMutex)).started();
    assert_eq!(net.run_secs(20).leader(), Some(config(ROOM + 3).me));
}
