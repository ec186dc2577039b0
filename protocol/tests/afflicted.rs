//! What holds of every election in a group, whatever goes wrong on the way.

mod common;

use common::faults::{self, worth};
use common::{Net, complete, config, line, lossy};
use protocol::algorithm::{Algorithm, Scope};
use protocol::election::AnyElection;
use protocol::mutex::NoMutex;
use protocol::{Config, NodeId};

/// Every election that works in a group, by name.
fn elections() -> impl Iterator<Item = (&'static str, AnyElection)> {
    let all = AnyElection::NAMES.iter().map(|&name| (name, AnyElection::by_name(name).unwrap()));
    all.filter(|(_, election)| election.scope() == Scope::Group)
}

#[test]
fn e9_with_30_percent_of_all_frames_lost_the_best_is_known_to_all() {
    for (name, election) in elections() {
        for seed in 0..50 {
            let make = move |index| (Config { hops: 1, ..config(index) }, election, NoMutex);
            let mut net = Net::new(8, complete, make).in_group().alike().with_fate(lossy(30, seed));
            net.run_until(|net| net.leader() == Some(NodeId(8)));
            assert!(net.nodes.iter().flatten().all(|node| node.halted().is_none()), "{name}, seed {seed}");
        }
    }
}

#[test]
fn e9_over_several_hops_the_best_of_a_line_is_known_to_all() {
    for (name, election) in elections() {
        for seed in 0..20 {
            let make = move |index| (config(index), election, NoMutex);
            let mut net = Net::new(6, line, make).in_group().worth(worth).with_fate(lossy(10, seed));
            net.run_until(|net| net.leader() == Some(NodeId(6)));
            assert!(net.nodes.iter().flatten().all(|node| node.halted().is_none()), "{name}, seed {seed}");
        }
    }
}

#[test]
fn e9_whatever_goes_wrong_the_best_is_known_to_all_in_the_end() {
    for (name, election) in elections() {
        println!("{name}");
        for seed in 0..1_000 {
            faults::afflict(seed, move || election);
        }
    }
}
