//! Whatever comes out of the air, a node stays what it is.

mod common;

use common::{Net, complete, config};
use proptest::prelude::*;
use protocol::capacity::Capacity;
use protocol::election::Wireless;
use protocol::mutex::NoMutex;
use protocol::node::{Boot, Input, Node};
use protocol::records::Records;
use protocol::wire::{self, FRAME_MAX, Kind, Letter, Packet, Path, To, Writer};
use protocol::{Instant, NodeId, NodeSet, Span};

type Plain = Node<Wireless, NoMutex, 8>;

fn node() -> Plain {
    let boot = Boot { records: Some(Records::FACTORY), seed: 3 };
    let mut node = Node::new(config(0), boot, Instant::ZERO, Wireless::new(), NoMutex).unwrap();
    node.handle(Instant::ZERO, Input::Capacity(Some(Capacity::new(100))));
    node
}

/// A real frame of another node: its first hello.
fn frame() -> Vec<u8> {
    let boot = Boot { records: Some(Records::FACTORY), seed: 4 };
    let mut node = Plain::new(config(1), boot, Instant::ZERO, Wireless::new(), NoMutex).unwrap();
    let now = Instant::from_micros(1_000_000);
    node.handle(now, Input::Timeout);
    node.poll_persist();
    node.poll_transmit(now, &mut [0; FRAME_MAX]).unwrap().to_vec()
}

/// The node works on: alone, it elects itself.
fn still_works(mut node: Plain) -> bool {
    let mut buffer = [0; FRAME_MAX];
    for second in 2..60 {
        let now = Instant::from_micros(second * 1_000_000);
        node.handle(now, Input::Timeout);
        while node.poll_persist().is_some() {}
        while node.poll_transmit(now, &mut buffer).is_some() {}
        while node.poll_notice().is_some() {}
    }
    node.halted().is_none() && node.leader().is_some()
}

fn path() -> impl Strategy<Value = Path> {
    let to = prop_oneof![
        Just(To::Node(NodeId(1))),
        any::<u32>().prop_map(|id| To::Node(NodeId(id))),
        (0..70_usize).prop_map(|count| To::Members(NodeSet::first(count))),
    ];
    let writer = proptest::option::of((0..5_u32, 0..3_u32))
        .prop_map(|writer| writer.map(|(id, incarnation)| Writer { id: NodeId(id), incarnation }));
    let letter =
        (writer, any::<u32>(), any::<u8>(), any::<u8>(), to).prop_map(|(writer, number, attempt, hops, to)| {
            Path::Letter(Letter { writer, number, attempt, hops, stamp: protocol::clock::Stamp(u64::from(number)), to })
        });
    prop_oneof![Just(Path::Everyone), Just(Path::Neighbours(heapless::Vec::from_array([NodeId(1)]))), letter]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_are_dropped_and_counted(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut node = node();
        let before = (node.leader(), node.deadline());
        node.handle(Instant::from_micros(1), Input::Frame { bytes: &bytes, quality: 255 });
        let counters = node.counters();
        prop_assert_eq!(counters.oversized + counters.version + counters.tag + counters.malformed, 1);
        prop_assert_eq!((node.leader(), node.deadline()), before);
        prop_assert!(still_works(node));
    }

    #[test]
    fn a_flipped_or_cut_frame_is_dropped_and_counted(bit in 0..800_usize, cut in 0..100_usize) {
        let mut bytes = frame();
        let len = bytes.len();
        bytes[(bit / 8) % len] ^= 1 << (bit % 8);
        bytes.truncate(len - cut % len);
        let mut node = node();
        node.handle(Instant::from_micros(1), Input::Frame { bytes: &bytes, quality: 255 });
        prop_assert_eq!(node.counters().tag + node.counters().version + node.counters().malformed, 1);
        prop_assert_eq!(node.neighbours().count(), 0);
    }

    #[test]
    fn nonsense_with_a_good_tag_harms_nobody(
        said in proptest::collection::vec(
            (0..Kind::ALL.len(), 0..5_u32, 0..3_u32, any::<u8>(), path(), proptest::collection::vec(any::<u8>(), 0..50)),
            1..30,
        ),
    ) {
        let mut node = node();
        let mut buffer = [0; FRAME_MAX];
        let key = config(0).key;
        for (at, (kind, sender, incarnation, sequence, path, body)) in said.into_iter().enumerate() {
            let packet = Packet {
                kind: Kind::ALL[kind],
                sender: NodeId(sender),
                incarnation,
                sequence: sequence.into(),
                path,
                body: &body,
            };
            let mut bytes = [0; FRAME_MAX];
            let Some(len) = wire::seal(&key, &packet, &mut bytes) else { continue };
            let now = Instant::from_micros(at as u64 * 1_000);
            node.handle(now, Input::Frame { bytes: &bytes[..len], quality: sequence });
            while node.poll_persist().is_some() {}
            while node.poll_transmit(now, &mut buffer).is_some() {}
        }
        prop_assert_eq!(node.halted(), None);
        prop_assert!(still_works(node));
    }
}

#[test]
fn a_frame_heard_twice_counts_once() {
    let (mut node, bytes) = (node(), frame());
    for _ in 0..3 {
        node.handle(Instant::from_micros(1), Input::Frame { bytes: &bytes, quality: 255 });
    }
    assert_eq!(node.counters().duplicate, 2);
}

#[test]
fn frames_of_another_group_are_refused() {
    let mut node = node();
    let stranger = protocol::Config { key: wire::Key::from_name("another"), ..config(1) };
    let boot = Boot { records: Some(Records::FACTORY), seed: 4 };
    let mut other = Plain::new(stranger, boot, Instant::ZERO, Wireless::new(), NoMutex).unwrap();
    let now = Instant::from_micros(1_000_000);
    other.handle(now, Input::Timeout);
    other.poll_persist();
    let mut buffer = [0; FRAME_MAX];
    let bytes = other.poll_transmit(now, &mut buffer).unwrap();
    node.handle(now, Input::Frame { bytes, quality: 255 });
    assert_eq!(node.counters().tag, 1);
}

#[test]
fn nothing_is_sent_before_the_records_are_kept() {
    let mut node = node();
    let now = Instant::from_micros(1_000_000);
    node.handle(now, Input::Timeout);
    let mut buffer = [0; FRAME_MAX];
    assert_eq!(node.poll_transmit(now, &mut buffer), None);
    let records = node.poll_persist().unwrap();
    assert_eq!(records.incarnation, 1);
    assert!(node.poll_transmit(now, &mut buffer).is_some());
}

#[test]
fn more_neighbours_than_there_is_room_for_are_survived() {
    let mut net: Net<Wireless, NoMutex> =
        Net::new(common::ROOM + 4, complete, |index| (config(index), Wireless::new(), NoMutex));
    net.run(Span::from_secs(20));
    assert!(net.nodes.iter().flatten().all(|node| node.halted().is_none()));
    assert_eq!(net.leader(), Some(NodeId(u32::try_from(common::ROOM).unwrap() + 4)));
}
