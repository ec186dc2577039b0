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

#[test]
fn what_stands_on_top_of_a_node_of_16_members_takes_at_most_4_kib_and_nothing_takes_nothing() {
    type Bank = Suite<Tokens<16>, Wave<16>, 16>;
    let parts = [
        ("tokens", size_of::<Tokens<16>>()),
        ("diffusing", size_of::<Diffusing>()),
        ("snapshot", size_of::<Snapshot>()),
        ("wave", size_of::<Wave<16>>()),
        ("dijkstra-scholten", size_of::<DijkstraScholten<16>>()),
        ("clock-sync", size_of::<ClockSync<16>>()),
        ("all with tokens and waves", size_of::<Bank>()),
    ];
    println!("{parts:?}");
    let (with, without) = (size_of::<Node<Bully, NoMutex, 16, Bank>>(), size_of::<Node<Bully, NoMutex, 16>>());
    println!("a node with all of it {with}, without {without}");
    assert!(size_of::<Bank>() <= 4096);
    assert_eq!(size_of::<Nothing>(), 0);
}
