//! The RAM of a node on a board, and the bytes of its beacons on the air.

use protocol::NodeId;
use protocol::base::capacity::{Candidate, Capacity};
use protocol::base::term::Term;
use protocol::election::leadership::{Heir, LeaderMessage};
use protocol::election::{Ring, Wireless, clusters, wireless};
use protocol::mutex::NoMutex;
use protocol::node::Node;
use protocol::peers::table::PeerTable;
use protocol::registry::{AnyElection, AnyMutex};
use protocol::service::app_service::{AppService, ObservedApp};
use protocol::service::clock_sync::ClockSync;
use protocol::service::demo::{Diffusing, Tokens};
use protocol::service::requests::{LONG_MAX, Requests};
use protocol::service::snapshot::Snapshot;
use protocol::service::termination::{DijkstraScholten, Wave};
use protocol::service::{Commit, NoService, Sequencer};
use protocol::wire::{self, Destination, FRAME_MAX, Key, Packet, Payload};
use std::mem::size_of;

#[test]
fn a_node_with_32_neighbours_takes_at_most_4_kib_and_a_member_of_a_group_little_more() {
    println!("neighbours {}", size_of::<PeerTable<32>>());
    let nodes = [
        ("wireless", size_of::<Node<Wireless, NoMutex, 32>>(), 4_096),
        ("ring", size_of::<Node<Ring, NoMutex, 32>>(), 4_192),
        ("any", size_of::<Node<AnyElection, NoMutex, 32>>(), 4_512),
    ];
    println!("{nodes:?}");
    for (name, bytes, most) in nodes {
        assert!(bytes <= most, "{name}: {bytes}");
    }
}

#[test]
fn an_election_takes_no_room_per_neighbour() {
    for (name, &bytes) in AnyElection::NAMES.iter().zip(AnyElection::SIZES) {
        println!("{name} {bytes}");
        // Super-peers are several, and may elect a chief among themselves.
        let most = if *name == "clusters" { 688 } else { 352 };
        assert!(bytes <= most, "{name}: {bytes}");
    }
}

#[test]
fn a_lock_of_16_members_and_4_locks_takes_at_most_4_kib_and_the_six_of_the_textbooks_together_17() {
    let locks: Vec<_> = AnyMutex::NAMES.iter().zip(AnyMutex::SIZES).collect();
    println!("{locks:?}, any {}", size_of::<AnyMutex>());
    let textbooks = ["central", "token-ring", "lamport", "ricart-agrawala", "maekawa", "voting"];
    let sizes = locks.iter().filter(|(name, _)| textbooks.contains(name)).map(|(_, bytes)| **bytes);
    assert_eq!(sizes.clone().count(), 6);
    assert!(sizes.sum::<usize>() <= 17 * 1024);
    assert!(size_of::<AnyMutex>() <= 4096, "no lock takes more than a node without one");
}

/// The parts of a service in a group of at most `N`.
fn parts<const N: usize>() -> [(&'static str, usize); 10] {
    [
        ("tokens", size_of::<Tokens<N>>()),
        ("diffusing", size_of::<Diffusing>()),
        ("snapshot", size_of::<Snapshot>()),
        ("wave", size_of::<Wave<N>>()),
        ("dijkstra-scholten", size_of::<DijkstraScholten<N>>()),
        ("clock-sync", size_of::<ClockSync<N>>()),
        ("tokens observed by waves", size_of::<ObservedApp<Tokens<N>, Wave<N>, N>>()),
        ("sequencer", size_of::<Sequencer<N>>()),
        ("a job observed by its tree", size_of::<ObservedApp<Diffusing, DijkstraScholten<N>, N>>()),
        ("commit", size_of::<Commit>()),
    ]
}

#[test]
fn no_part_of_a_service_takes_more_than_it_may_and_no_service_takes_nothing() {
    type Bank = ObservedApp<Tokens<16>, Wave<16>, 16>;
    let bounds_16 = [256, 64, 1_600, 1_152, 256, 448, 4_096, 2_304, 3_072, 1_536];
    let bounds_64 = [832, 64, 1_600, 1_728, 640, 832, 5_632, 2_944, 3_840, 1_536];
    for (members, parts, bounds) in [(16, parts::<16>(), bounds_16), (64, parts::<64>(), bounds_64)] {
        println!("of {members} members: {parts:?}");
        for ((name, bytes), bound) in parts.into_iter().zip(bounds) {
            assert!(bytes <= bound, "{name} of {members} members takes {bytes} bytes, more than {bound}");
        }
    }
    let (with, without) = (size_of::<Node<Ring, NoMutex, 16, Bank>>(), size_of::<Node<Ring, NoMutex, 16>>());
    println!("a node with tokens observed by waves {with}, without {without}");
    assert!(with <= 8_192, "a board with 16 KiB of RAM has room for it: {with}");
    assert_eq!(size_of::<NoService>(), 0);
}

#[test]
fn an_application_takes_the_room_of_the_observers_it_chose_and_of_no_other() {
    type Alone = AppService<Diffusing>;
    type Clocked = AppService<Diffusing, NoService, NoService, ClockSync<16>>;
    type Recorded = AppService<Diffusing, Snapshot>;
    type Detected = AppService<Diffusing, NoService, Wave<16>>;
    let [alone, clocked, recorded, detected, all] = [
        size_of::<Alone>(),
        size_of::<Clocked>(),
        size_of::<Recorded>(),
        size_of::<Detected>(),
        size_of::<ObservedApp<Diffusing, Wave<16>, 16>>(),
    ];
    println!("alone {alone}, with the clock {clocked}, snapshots {recorded}, waves {detected}, all {all}");
    assert!(alone <= size_of::<Diffusing>() + 32, "the queue of notices it has none of is two counters: {alone}");
    assert!(clocked < alone + size_of::<ClockSync<16>>() + 512, "{clocked}");
    assert!(recorded + size_of::<Wave<16>>() < all && detected + size_of::<Snapshot>() < all);
}

#[test]
fn requests_take_7_kib_and_little_more_than_its_bytes_for_each_long_one() {
    let [without, with_two] = [size_of::<Requests>(), size_of::<Requests<2>>()];
    println!("requests {without}, with two long ones {with_two}");
    assert!(without <= 7 * 1_024, "{without}");
    assert!(with_two - without <= 2 * (LONG_MAX + 128), "{with_two} {without}");
}

/// The bytes of a broadcast frame with this message, of a node with an id below 128 in one of its first 127 boots.
fn broadcast<M: Payload>(message: &M, seq: u32) -> usize {
    let mut body = [0; FRAME_MAX];
    let len = message.encode(&mut body).unwrap();
    let (kind, sender, destination) = (message.kind(), NodeId(127), Destination::Broadcast);
    let packet = Packet { kind, sender, incarnation: 127, seq, destination, body: &body[..len] };
    wire::seal(&Key::new([0; 16]), &packet, &mut [0; FRAME_MAX]).unwrap()
}

/// The bytes of a leader's heartbeat, of its pulse and of a super-peer's beacon.
fn beacons(seq: u32, number: u32, count: u32) -> [usize; 3] {
    let (term, leader) = (Term { number, by: NodeId(127) }, Candidate { capacity: Capacity::MAX, id: NodeId(127) });
    let heartbeat = LeaderMessage::Heartbeat { term, leader, runner_up: Some(leader), count, age: u8::MAX };
    let pulse = LeaderMessage::Pulse { term, heir: Some(Heir { number, candidate: leader }) };
    let beacon = clusters::Beacon { term, capacity: Capacity::MAX, count, pace: 3, hops: 2, age: u8::MAX, load: 127 };
    [
        broadcast(&wireless::Message::Leadership(heartbeat), seq),
        broadcast(&wireless::Message::Leadership(pulse), seq),
        broadcast(&clusters::Message::Beacon(beacon), seq),
    ]
}

#[test]
fn a_beacon_takes_at_most_28_bytes_in_a_young_network_and_a_heartbeat_three_more_after_a_day() {
    assert_eq!(beacons(16_383, 127, 127), [28, 24, 25]);
    assert_eq!(beacons((1 << 21) - 1, 16_383, 16_383), [31, 27, 28]);
}
