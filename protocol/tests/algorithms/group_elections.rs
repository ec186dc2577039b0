//! What several elections of a group have in common, on whole nodes.

use crate::support::prelude::*;
use protocol::base::capacity::Capacity;
use protocol::election::appointment::Appointment;
use protocol::election::{ChangRoberts, Command, Election, Lelann, Ring};
use protocol::node::Input;
use protocol::registry::{AnyElection, message_name};

/// The elections of a group by name.
const ELECTIONS: [&str; 5] = ["bully", "ring", "chang-roberts", "lelann", "invitation"];

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

/// Messages that only rounds of an election have.
const OF_ROUNDS: [&str; 5] = ["election", "number", "ok", "elected", "invitation"];

#[test]
fn e8_however_often_members_call_each_holds_one_election_at_a_time() {
    for name in ELECTIONS {
        let messages = |calls: usize| {
            let mut net = room(name, 6);
            net.run_secs(20);
            net.sent.clear();
            for _ in 0..calls {
                net.put(1, Input::Election(Command::Call));
            }
            net.run_secs(2);
            assert_eq!(net.leader(), Some(NodeId(6)), "{name}");
            let key = net.key();
            let named = net.sent.iter().filter_map(|(_, bytes)| message_name(&key, bytes));
            named.filter(|name| OF_ROUNDS.contains(name)).count()
        };
        let once = messages(1);
        assert!(once > 0, "{name}");
        assert_eq!(messages(20), once, "{name}: nineteen more calls change nothing");
        let mut net = room(name, 6);
        net.run_secs(20);
        for _ in 0..5 {
            (0..6).for_each(|member| _ = net.put(member, Input::Election(Command::Call)));
            net.run(Duration::from_millis(3));
        }
        net.run_secs(3);
        assert_eq!(net.leader(), Some(NodeId(6)), "{name}: whoever calls, and however often");
    }
}

#[test]
fn e8_while_a_node_holds_an_election_further_calls_change_nothing() {
    for name in AnyElection::NAMES {
        let mut node = Single::new(2, roster(1..=5), AnyElection::by_name(name).unwrap());
        node.command(Command::Call);
        for _ in 0..5 {
            let before = node.algorithm;
            assert_eq!(node.command(Command::Call), [], "{name}: sends nothing");
            assert_eq!(node.algorithm.term_number(), before.term_number(), "{name}: and begins nothing");
            // A super-peer that is called announces itself once more, soon.
            assert!(node.algorithm == before || before.horizon().is_some(), "{name}: the election it holds goes on");
        }
    }
}

#[test]
fn e8_concurrent_elections_of_all_end_with_one_leader_and_the_caller_decides_nothing() {
    for name in AnyElection::NAMES {
        for callers in [&[0][..], &[5], &[2, 4], &[0, 1, 2, 3, 4, 5]] {
            let mut net = room(name, 6);
            net.elect(callers, Duration::from_secs(4));
            assert_eq!(net.leader(), Some(NodeId(6)), "{name}, called by {callers:?}");
        }
    }
}

#[test]
fn e11_a_member_that_is_appointed_leads_under_a_higher_term_until_it_is_released() {
    for name in AnyElection::NAMES {
        let mut net = room(name, 4);
        net.run_secs(40);
        assert_eq!(net.leader(), Some(NodeId(4)), "{name}");
        let before = net.leaders()[0].unwrap().1;
        let mut appointment = Appointment::default();
        appointment.set(true);
        let own = Some(Capacity::new(1));
        net.put(0, Input::Capacity(appointment.capacity(own))).put(0, Input::Election(Command::Call));
        net.run_secs(4);
        assert_eq!(net.leader(), Some(NodeId(1)), "{name}: the worst is appointed");
        assert!(net.leaders()[3].unwrap().1 > before, "{name}: fenced by a higher term");
        net.run_secs(60);
        assert_eq!(net.leader(), Some(NodeId(1)), "{name}: and stays");
        appointment.set(false);
        net.put(0, Input::Capacity(appointment.capacity(own)));
        net.run_secs(60);
        assert_eq!(net.leader(), Some(NodeId(4)), "{name}: released, it is the worst again");
    }
}

#[test]
fn e8_on_the_radio_calls_while_an_election_is_on_change_nothing() {
    for name in ["wireless", "wireless-flat"] {
        let elections = |calls: usize| {
            let mut net = room(name, 6);
            net.run_secs(5);
            net.sent.clear();
            for _ in 0..calls {
                net.put(1, Input::Election(Command::Call));
            }
            net.run_secs(1);
            assert_eq!(net.leader(), Some(NodeId(6)), "{name}");
            let key = net.key();
            net.sent.iter().filter(|(_, bytes)| message_name(&key, bytes) == Some("election")).count()
        };
        assert_eq!(elections(20), elections(1), "{name}");
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
