//! What several elections of a group have in common, on whole nodes.

use crate::support::prelude::*;
use protocol::election::{ChangRoberts, Lelann, Ring};
use protocol::registry::AnyElection;

/// The elections of a group by name; all but the first on a ring.
const ELECTIONS: [&str; 4] = ["bully", "ring", "chang-roberts", "lelann"];

fn room(name: &str, count: usize) -> Net<AnyElection, NoMutex> {
    let election = AnyElection::by_name(name).unwrap();
    Net::room(count, move || election)
}

#[test]
fn b3_r1_c5_l1_nodes_that_start_together_elect_the_best() {
    for name in ELECTIONS {
        let mut net = room(name, 5);
        net.run_secs(5);
        assert_eq!(net.leader(), Some(NodeId(5)), "{name}");
    }
}

#[test]
fn c8_l1_a_leader_that_crashes_is_replaced_by_the_next_best_which_gives_way_before_it_is_an_incumbent() {
    for name in ["chang-roberts", "lelann"] {
        let mut net = room(name, 8);
        net.run_secs(20).crash(7).await_leader(NodeId(7));
        net.boot(7).run_secs(5);
        assert_eq!(net.leader(), Some(NodeId(8)), "{name}");
    }
}

#[test]
fn r1_c8_l1_a_member_that_crashes_during_the_election_costs_time_only() {
    // Who starts, who crashes, and for how many milliseconds after the start.
    let cases: [(&str, usize, &[usize], u32); 4] = [
        ("ring", 2, &[0, 3, 4, 5], 40),
        ("chang-roberts", 0, &[0, 1, 2, 3], 40),
        ("chang-roberts", 2, &[5], 60),
        ("lelann", 0, &[0, 1, 3, 5], 60),
    ];
    for (name, starter, crashed, until) in cases {
        for (&crashed, millis) in crashed.iter().flat_map(|crashed| (0..until).map(move |millis| (crashed, millis))) {
            let mut net = room(name, 6);
            net.elect(&[starter], Duration::from_millis(millis)).crash(crashed);
            net.run(Duration::from_secs(if name == "chang-roberts" { 12 } else { 15 }));
            let best = if crashed == 5 { 5 } else { 6 };
            assert_eq!(net.leader(), Some(NodeId(best)), "{name}: {crashed} crashed after {millis} ms");
        }
    }
}

#[test]
fn e8_a_member_that_may_never_lead_is_on_the_ring_all_the_same() {
    // The list goes round twice. Chang and Roberts: no candidate from 4 to 1 and from 1 to 2, then 2 goes round twice. Of
    // the numbers of Le Lann two cannot win.
    for (name, kind, messages) in
        [("ring", Ring::KIND, 2 * 4), ("chang-roberts", ChangRoberts::KIND, 2 + 2 * 4), ("lelann", Lelann::KIND, 4 * 4)]
    {
        let election = AnyElection::by_name(name).unwrap();
        let make = move |index| (Config { hops: 1, may_lead: index < 2, ..config(index) }, election, NoMutex);
        let mut net = Net::new(4, complete, make).in_group().alike();
        net.elect(&[3], Duration::from_millis(400));
        assert_eq!(net.leader(), Some(NodeId(2)), "{name}");
        assert_eq!(net.copies_of(kind), messages, "{name}");
    }
}
