//! The options that both elections on a ring have, on whole nodes: the lowest wins, either direction, a ring without a list.

use crate::support::prelude::*;
use protocol::registry::AnyElection;

const ELECTIONS: [&str; 2] = ["chang-roberts", "lelann"];

/// How long an election takes at most.
const ELECTION: Duration = Duration::from_millis(400);

fn election(words: &str) -> AnyElection {
    AnyElection::by_name(words).unwrap_or_else(|| panic!("no election: {words}"))
}

fn room(words: &str, count: usize) -> Net<AnyElection, NoMutex> {
    let election = election(words);
    Net::room(count, move || election)
}

/// Nodes in range of each other that have no list of members, and a second to find each other.
fn unlisted(words: &str, count: usize) -> Net<AnyElection, NoMutex> {
    let election = election(words);
    let timing = Timing { boot_wait: Duration::from_secs(60), ..Timing::RADIO };
    let mut net =
        Net::new(count, complete, move |index| (Config { hops: 1, timing, ..config(index) }, election, NoMutex))
            .alike();
    net.run_secs(6);
    net.sent.clear();
    net
}

#[test]
fn c9_the_lowest_may_win_as_well_and_stays_leader() {
    for name in ELECTIONS {
        for starter in 0..5 {
            let mut net = room(&format!("{name}:winner=lowest"), 5);
            net.elect(&[starter], ELECTION);
            assert_eq!(net.leader(), Some(NodeId(1)), "{name}, started by {starter}");
            net.run_secs(60);
            assert_eq!(net.leader(), Some(NodeId(1)), "{name}: higher members have no claim");
            net.crash(0).run_secs(15);
            assert_eq!(net.leader(), Some(NodeId(2)), "{name}: the next lowest");
            net.boot(0).run_secs(60);
            assert_eq!(net.leader(), Some(NodeId(1)), "{name}: it is back");
        }
    }
}

#[test]
fn c9_the_lowest_costs_as_much_as_the_highest_on_the_mirrored_ring() {
    for nodes in [4, 8, 16] {
        // Right after the minimum in the direction of the ring, and the minimum itself.
        for (starter, messages) in [(nodes - 1, 3 * nodes - 1), (0, 2 * nodes)] {
            let mut net = room("chang-roberts:winner=lowest,direction=backward", nodes);
            net.elect(&[starter], ELECTION);
            assert_eq!(net.leader(), Some(NodeId(1)));
            assert_eq!(
                net.messages_named("election") + net.messages_named("elected"),
                messages,
                "{starter} of {nodes}"
            );
        }
        let mut net = room("lelann:winner=lowest", nodes);
        net.elect(&[1], ELECTION);
        assert_eq!((net.leader(), net.messages_named("number")), (Some(NodeId(1)), nodes * nodes));
    }
}

#[test]
fn c1_a_ring_known_by_successors_alone_elects_the_best_at_the_cost_of_the_listed_one() {
    for nodes in [3, 8, 15] {
        for (starter, messages) in [(0, 3 * nodes - 1), (nodes - 1, 2 * nodes)] {
            let mut net = unlisted("chang-roberts:successor=found", nodes);
            assert_eq!(net.leaders(), vec![None; nodes], "no node has started yet");
            net.elect(&[starter], ELECTION);
            assert_eq!(net.leader(), Some(config(nodes - 1).me), "started by {starter} of {nodes}");
            assert_eq!(
                net.messages_named("election") + net.messages_named("elected"),
                messages,
                "{starter} of {nodes}"
            );
        }
    }
}

#[test]
fn c1_the_ring_is_repaired_when_a_node_is_lost_and_when_one_joins() {
    let mut net = unlisted("chang-roberts:successor=found", 8);
    net.crash(3).elect(&[2], ELECTION);
    net.await_leader(NodeId(8)); // 3 passes to 5, once it misses 4
    net.crash(7).await_leader(NodeId(7));
    net.boot(7).boot(3).run_secs(6);
    net.sent.clear();
    // Right after the leader; a leader that is no incumbent yet gives way to 8.
    let leader = net.leader().unwrap();
    net.elect(&[leader.0 as usize % 8], ELECTION);
    let messages = net.messages_named("election") + net.messages_named("elected");
    let kept = net.leader() == Some(leader);
    assert_eq!(messages, if kept { 3 * 8 - 1 } else { 2 * 8 }, "all eight are on the ring again");
    assert!(kept || net.leader() == Some(NodeId(8)));
}

#[test]
fn c1_a_ring_without_a_list_elects_although_a_tenth_of_all_frames_is_lost() {
    for seed in 0..10 {
        let words = election("chang-roberts:successor=found");
        let mut net = Net::new(8, complete, move |index| (Config { hops: 1, ..config(index) }, words, NoMutex)).alike();
        net.set_filter(lossy(10, seed));
        net.await_leader(NodeId(8));
        net.crash(7).await_leader(NodeId(7));
    }
}
