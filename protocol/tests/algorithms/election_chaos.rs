//! What holds of every election in a group, whatever goes wrong.

use crate::support::prelude::*;
use protocol::algorithm::{Algorithm, Scope};
use protocol::base::rng::Rng;
use protocol::election::{Bully, Election};
use protocol::registry::AnyElection;

/// The capacity of node `index`: so much more than that of the one before it that no incumbent is spared for being one.
fn capacity(index: usize) -> u16 {
    (0..index).fold(100, |capacity, _| capacity + capacity / 4)
}

/// How long frames are lost after the last other fault.
const NOISE: Duration = Duration::from_secs(20);

/// How long it may take after that until a better node has been up long enough and has waited long enough to take over
/// from an incumbent.
const CALM: Duration = Duration::from_secs(60);

/// Ten seconds or so in which nodes crash, restart, call elections at once and are partitioned, while up to 30 % of all
/// frames are lost. Then only frames are lost, then nothing is. The best node that is up leads all that are.
pub(crate) fn storm<E: Election + 'static>(seed: u64, make: impl Fn() -> E + 'static) {
    let mut rng = Rng::new(seed);
    let mut draw = move |sides: u32| (rng.next_u32() % sides) as usize;
    let (count, in_line) = (3 + draw(4), draw(3) == 0);
    let linked = if in_line { line } else { complete };
    let hops = if in_line { 8 } else { 1 };
    let percent = draw(31) as u64;
    let mut net = Net::new(count, linked, move |index| (Config { hops, ..config(index) }, make(), NoMutex))
        .in_group()
        .with_capacities(capacity)
        .with_filter(lossy(percent, seed));
    let mut faults = Vec::new();
    for _ in 0..draw(8) {
        net.run(Duration::from_millis(u32::try_from(draw(60) * draw(60)).unwrap()));
        let node = draw(u32::try_from(count).unwrap());
        let fault = draw(5);
        faults.push((net.now, fault, node));
        match fault {
            0 => net.crash(node),
            1 => net.boot(node),
            2 => net.relink(move |a, b| linked(a, b) && (a < node) == (b < node)),
            3 => net.relink(linked),
            _ => {
                let up: Vec<_> = [node, (node + 1) % count].into_iter().filter(|&index| net.is_up(index)).collect();
                net.elect(&up, Duration::ZERO)
            }
        };
    }
    net.relink(linked);
    if net.up().is_empty() || in_line {
        for index in 0..count {
            if !net.is_up(index) {
                net.boot(index); // a line with a node missing is two
            }
        }
    }
    net.run(NOISE).set_filter(|_, _| true).run(CALM);
    let best = net.up().last().map(|&index| config(index).me);
    let run = format!("seed {seed}: {count} nodes, {percent} % lost, in a line {in_line}, {faults:?}");
    assert_eq!(net.leader(), best, "{run}: {:?}", net.leaders());
}

/// Every election that works in a group, by name.
fn elections() -> impl Iterator<Item = (&'static str, AnyElection)> {
    let all = AnyElection::NAMES.iter().map(|&name| (name, AnyElection::by_name(name).unwrap()));
    all.filter(|(_, election)| election.scope() == Scope::Group)
}

#[test]
fn e9_with_30_percent_of_all_frames_lost_all_agree_on_the_best() {
    for (name, election) in elections() {
        println!("{name}");
        for seed in 0..50 {
            Net::room(8, move || election).with_filter(lossy(30, seed)).await_leader(NodeId(8));
        }
    }
}

#[test]
fn e9_over_several_hops_all_agree_on_the_best_of_a_line() {
    for (name, election) in elections() {
        println!("{name}");
        for seed in 0..20 {
            let make = move |index| (config(index), election, NoMutex);
            let net = Net::new(6, line, make).in_group().with_capacities(capacity);
            net.with_filter(lossy(10, seed)).await_leader(NodeId(6));
        }
    }
}

#[test]
fn e9_after_any_faults_all_agree_on_the_best() {
    for (name, election) in elections() {
        println!("{name}");
        for seed in 0..storms::seeds(1_000) {
            storm(seed, move || election);
        }
    }
}

#[test]
fn e10_over_several_hops_no_node_is_suspected_where_nothing_is_lost() {
    for seed in 0..10 {
        let make = |index| (config(index), Bully::default(), NoMutex);
        let mut net = Net::new(6, line, make).in_group().with_capacities(capacity);
        for index in 0..6 {
            net.run(Duration::from_millis(7 * seed)).boot(index);
        }
        net.run_secs(60);
        net.notices.clear();
        net.run_secs(600);
        assert!(net.notices.is_empty(), "seed {seed}: {:?}", net.notices);
    }
}
