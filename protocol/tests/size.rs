//! What a node takes of a board's RAM.

use protocol::application::{Diffusing, Tokens};
use protocol::clock_sync::ClockSync;
use protocol::election::{AnyElection, Bully, ChangRoberts, Lelann, Ring, Wireless};
use protocol::mutex::{AnyMutex, NoMutex};
use protocol::neighbours::Neighbours;
use protocol::node::Node;
use protocol::snapshot::Snapshot;
use protocol::suite::Suite;
use protocol::termination::{DijkstraScholten, Wave};
use protocol::upper::Nothing;
use std::mem::size_of;

#[test]
fn a_node_with_32_neighbours_takes_at_most_4_kib() {
    println!("election {}", size_of::<Wireless>());
    println!("neighbours {}", size_of::<Neighbours<32>>());
    println!("node {}", size_of::<Node<Wireless, NoMutex, 32>>());
    assert!(size_of::<Node<Wireless, NoMutex, 32>>() <= 4096);
    assert!(size_of::<Node<AnyElection, NoMutex, 32>>() <= 4096);
}

#[test]
fn the_election_itself_takes_no_room_per_neighbour() {
    assert!(size_of::<Wireless>() <= 16 * 32);
    let group = [size_of::<Bully>(), size_of::<Ring>(), size_of::<ChangRoberts>(), size_of::<Lelann>()];
    println!("bully, ring, chang-roberts, lelann {group:?}");
    assert!(group.iter().all(|&bytes| bytes <= 300));
    assert!(size_of::<Node<Ring, NoMutex, 32>>() <= 4096);
}

#[test]
fn the_six_locks_of_the_textbooks_together_take_at_most_16_kib_for_16_members_and_4_locks() {
    let locks: Vec<_> = AnyMutex::NAMES.iter().zip(AnyMutex::SIZES).collect();
    println!("{locks:?}, any {}", size_of::<AnyMutex>());
    let textbooks = locks.iter().filter(|(name, _)| **name != "raymond");
    assert_eq!(textbooks.clone().count(), 6);
    assert!(textbooks.map(|(_, bytes)| *bytes).sum::<usize>() <= 16 * 1024);
    assert!(size_of::<AnyMutex>() <= 4096, "no lock takes more than a node without one");
}

/// What each part of what stands on top takes in a group of at most `N`.
fn parts<const N: usize>() -> [(&'static str, usize); 8] {
    [
        ("tokens", size_of::<Tokens<N>>()),
        ("diffusing", size_of::<Diffusing>()),
        ("snapshot", size_of::<Snapshot>()),
        ("wave", size_of::<Wave<N>>()),
        ("dijkstra-scholten", size_of::<DijkstraScholten<N>>()),
        ("clock-sync", size_of::<ClockSync<N>>()),
        ("suite of tokens and waves", size_of::<Suite<Tokens<N>, Wave<N>, N>>()),
        ("suite of a job and its tree", size_of::<Suite<Diffusing, DijkstraScholten<N>, N>>()),
    ]
}

#[test]
fn no_part_of_what_stands_on_top_takes_more_than_it_may_and_nothing_takes_nothing() {
    type Bank = Suite<Tokens<16>, Wave<16>, 16>;
    let bounds_16 = [256, 64, 1_600, 1_152, 256, 448, 4_096, 3_072];
    let bounds_64 = [832, 64, 1_600, 1_728, 640, 832, 5_632, 3_840];
    for (members, parts, bounds) in [(16, parts::<16>(), bounds_16), (64, parts::<64>(), bounds_64)] {
        println!("of {members} members: {parts:?}");
        for ((name, bytes), bound) in parts.into_iter().zip(bounds) {
            assert!(bytes <= bound, "{name} of {members} members takes {bytes} bytes, more than {bound}");
        }
    }
    let (with, without) = (size_of::<Node<Bully, NoMutex, 16, Bank>>(), size_of::<Node<Bully, NoMutex, 16>>());
    println!("a node with a suite of tokens and waves {with}, without {without}");
    assert!(with <= 8_192, "a board with 16 KiB of RAM has room for it: {with}");
    assert_eq!(size_of::<Nothing>(), 0);
}
