//! The wireless election message by message, as the paper has it: rows X16, W1 to W3.

use crate::support::prelude::*;
use protocol::algorithm::{Input, Output};
use protocol::base::capacity::Candidate;
use protocol::election::leadership::LeaderMessage;
use protocol::election::wireless::{Message, Wireless};
use protocol::election::{Command, Election, Notice};

type Outputs = Vec<Output<Message, Notice>>;

/// Node 1 with neighbours 2, 3 and 4 (slots 0, 1, 2).
fn root() -> Single<Wireless> {
    let mut node = Single::new(1, roster(2..=4), Wireless::new());
    (node.capacity, node.random) = (50, 0);
    node
}

fn receive(node: &mut Single<Wireless>, from: u32, message: Message) -> Outputs {
    let input = node.input(from, message);
    node.step(input)
}

fn everyone() -> NodeSet {
    NodeSet::first(3)
}

fn only(peer: usize) -> NodeSet {
    NodeSet::slot(peer - 2)
}

fn election(index: Term, parent: u32) -> Message {
    Message::Election { index, parent: NodeId(parent) }
}

fn report(index: Term, best: Candidate) -> Message {
    Message::Report { index, best: Some(best), runner_up: None }
}

fn probe(index: Term, parent: u32) -> Message {
    Message::Probe { index, parent: NodeId(parent) }
}

fn to_all(message: Message) -> Output<Message, Notice> {
    Output::Send { to: everyone(), message }
}

/// Node 1 as the root of a computation.
fn called() -> (Single<Wireless>, Term) {
    let mut node = root();
    let index = term(1, 1);
    assert_eq!(node.step(Input::Command(Command::Call)), [to_all(election(index, 1))]);
    (node, index)
}

/// Node 1 as a child of node 2 in its computation.
fn child() -> (Single<Wireless>, Term) {
    let mut node = root();
    let index = term(1, 2);
    assert_eq!(receive(&mut node, 2, election(index, 2)), [to_all(election(index, 2))], "the flood goes on");
    (node, index)
}

/// A heartbeat of this number: of the leader 3, of capacity 90.
fn heartbeat(count: u32) -> Message {
    aged(count, 0)
}

/// The same, of this age.
fn aged(count: u32, age: u8) -> Message {
    LeaderMessage::Heartbeat { term: term(2, 4), leader: candidate(90, 3), runner_up: None, count, age }.into()
}

/// Whether an output is a heartbeat or the announcement of a leader, whatever its age.
fn is_state(output: &Output<Message, Notice>) -> bool {
    matches!(output, Output::Send { message: Message::Leadership(LeaderMessage::Heartbeat { .. }), .. })
}

#[test]
fn w2_the_first_sender_becomes_the_parent_and_the_flood_goes_on() {
    let (mut node, index) = child();
    assert_eq!(receive(&mut node, 3, election(index, 3)), [], "a runner_up sender is no parent, and gets no answer");
}

#[test]
fn w3_the_best_of_the_subtree_goes_to_the_parent_once_all_have_answered() {
    let (mut node, index) = child();
    assert_eq!(receive(&mut node, 3, election(index, 2)), [], "3 chose another parent: node 4 is still waited for");
    assert_eq!(receive(&mut node, 4, election(index, 1)), [], "4 is a child: its report is waited for");
    let outputs = receive(&mut node, 4, report(index, candidate(80, 9)));
    let report = Message::Report { index, best: Some(candidate(80, 9)), runner_up: Some(candidate(50, 1)) };
    assert_eq!(outputs, [Output::Send { to: only(2), message: report }]);
}

#[test]
fn w3_the_root_announces_the_highest_capacity() {
    let (mut node, index) = called();
    receive(&mut node, 2, report(index, candidate(70, 2)));
    receive(&mut node, 3, report(index, candidate(90, 3)));
    let outputs = receive(&mut node, 4, report(index, candidate(60, 4)));
    let following = Notice::Following { leader: NodeId(3), term: index };
    let (leader, runner_up) = (candidate(90, 3), Some(candidate(70, 2)));
    let elected = LeaderMessage::Elected { term: index, leader, runner_up, age: 0 };
    assert_eq!(outputs, [Output::Notify(following), to_all(elected.into())]);
}

#[test]
fn e8_a_higher_index_absorbs_a_lower_one_and_a_lower_one_is_shown_it() {
    let (mut node, _) = called();
    let (lower, higher) = (term(1, 2), term(1, 4));
    assert_eq!(receive(&mut node, 4, election(higher, 4)), [to_all(election(higher, 4))]);
    assert_eq!(receive(&mut node, 2, election(lower, 2)), [to_all(election(higher, 4))]);
}

#[test]
fn a_child_that_probes_its_parent_has_reported_and_is_asked_for_a_report_that_was_lost() {
    let (mut node, index) = called();
    receive(&mut node, 2, election(index, 1));
    let asked = [Output::Send { to: only(2), message: probe(index, 1) }];
    assert_eq!(receive(&mut node, 2, probe(index, 1)), asked, "its report has not arrived");
    receive(&mut node, 2, report(index, candidate(70, 2)));
    assert_eq!(
        receive(&mut node, 2, probe(index, 1)),
        [to_all(election(index, 1))],
        "it has: the root waits for others"
    );
}

#[test]
fn a_child_that_answers_others_is_asked_for_its_report_where_the_computation_takes_long() {
    let (mut node, index) = called();
    receive(&mut node, 3, report(index, candidate(80, 3)));
    receive(&mut node, 4, report(index, candidate(70, 4)));
    let mut probes = Vec::new();
    for tenth in 0..30 {
        receive(&mut node, 2, election(index, 1)); // to all: its report was lost, and it hears its parent answer others
        let outputs = node.run(Duration::from_millis(100));
        if outputs.contains(&Output::Send { to: only(2), message: probe(index, 1) }) {
            probes.push(tenth);
        }
    }
    assert!(probes.len() >= 2 && probes[0] >= 10, "after a heartbeat, and not all the time: {probes:?}");
    assert_eq!(node.algorithm.leader(), None, "it is up, and is waited for");
}

#[test]
fn an_ack_of_another_computation_is_no_answer() {
    let (mut node, _) = called();
    for peer in 2..=4 {
        assert_eq!(receive(&mut node, peer, report(term(1, 4), candidate(90, peer))), []);
    }
    assert_eq!(node.algorithm.leader(), None);
}

#[test]
fn a_duplicate_report_counts_once() {
    let (mut node, index) = called();
    for _ in 0..2 {
        assert_eq!(receive(&mut node, 2, report(index, candidate(90, 2))), []);
    }
    assert_eq!(node.algorithm.leader(), None, "3 and 4 have not answered");
}

#[test]
fn the_capacity_that_counts_is_the_one_at_the_start() {
    let (mut node, index) = called();
    node.capacity = 9_000;
    for peer in 2..=4 {
        receive(&mut node, peer, report(index, candidate(90, peer)));
    }
    assert_eq!(node.algorithm.leader(), Some((NodeId(4), index)));
    node.run(Duration::from_secs(1));
    assert_eq!(node.algorithm.leader(), Some((NodeId(4), index)), "a later measurement does not decide it either");
}

#[test]
fn a_silent_neighbour_is_probed_then_abandoned() {
    let (mut node, index) = called();
    receive(&mut node, 2, report(index, candidate(90, 2)));
    receive(&mut node, 3, report(index, candidate(80, 3)));
    let outputs = node.run(Duration::from_secs(3));
    assert_eq!(outputs[0], Output::Send { to: only(4), message: probe(index, 1) });
    assert_eq!(node.algorithm.leader().map(|(leader, _)| leader), Some(NodeId(2)));
}

#[test]
fn a_probe_is_answered_with_what_was_lost() {
    let mut node = root();
    let index = term(1, 2);
    assert_eq!(receive(&mut node, 2, probe(index, 2)), [to_all(election(index, 2))], "it takes part now");
    receive(&mut node, 3, election(index, 2));
    let report = receive(&mut node, 4, election(index, 2));
    assert_eq!(receive(&mut node, 2, probe(index, 2)), report, "the report once more");
    assert_eq!(receive(&mut node, 3, probe(index, 2)), [to_all(election(index, 2))]);
}

#[test]
fn a_node_that_lost_its_parent_starts_an_election_under_a_higher_index() {
    let (mut node, left) = child();
    node.roster.remove(only(2));
    node.roster.insert(NodeId(9)); // another node in the slot of the lost parent
    node.step(Input::Fact(Fact::PeerDown(only(2))));
    let outputs = node.run(Duration::from_secs(4));
    let started = outputs.iter().any(|outputs| {
        matches!(outputs, Output::Send { message: Message::Election { index, parent: NodeId(1) }, .. } if *index > left)
    });
    assert!(started, "{outputs:?}");
}

#[test]
fn a_computation_that_was_left_is_not_joined_again() {
    let (mut node, index) = child();
    node.roster.remove(only(2));
    node.step(Input::Fact(Fact::PeerDown(only(2))));
    assert_eq!(receive(&mut node, 3, election(index, 2)), []);
    let no_child = Output::Send { to: only(3), message: election(index, 1) };
    assert_eq!(receive(&mut node, 3, probe(index, 2)), [no_child], "and no node waits for it");
}

#[test]
fn a_child_that_has_reported_is_not_waited_for_again() {
    let (mut node, index) = called();
    receive(&mut node, 2, election(index, 1));
    receive(&mut node, 2, report(index, candidate(10, 2)));
    receive(&mut node, 2, probe(index, 1)); // it asks whether its parent is still there
    receive(&mut node, 3, report(index, candidate(10, 3)));
    receive(&mut node, 4, report(index, candidate(10, 4)));
    assert_eq!(node.algorithm.leader(), Some((NodeId(1), index)));
}

#[test]
fn a_heartbeat_as_old_as_a_lease_is_ignored() {
    let mut node = root();
    receive(&mut node, 2, aged(1, u8::MAX));
    assert_eq!(node.algorithm.leader(), None);
}

/// Node 1 follows 3, which has sent ten heartbeats, and has relayed the last.
fn following() -> Single<Wireless> {
    let mut node = root();
    let outputs = receive(&mut node, 2, heartbeat(10));
    assert_eq!(outputs, [Output::Notify(Notice::Following { leader: NodeId(3), term: term(2, 4) })]);
    let outputs = node.run(Duration::from_millis(100));
    assert!(outputs.iter().any(is_state), "{outputs:?}");
    node
}

/// How long a leader is trusted after its tenth heartbeat.
fn lease() -> Duration {
    Timing::RADIO.lease().plus(Timing::RADIO.heartbeat)
}

/// A heartbeat of the leader 9, of this capacity, under the term of this number.
fn rival(number: u32, capacity: u16) -> Message {
    let (term, leader) = (term(number, 9), candidate(capacity, 9));
    LeaderMessage::Heartbeat { term, leader, runner_up: None, count: 4, age: 0 }.into()
}

#[test]
fn e10_a_leader_whose_heartbeats_stop_is_lost() {
    let mut node = following();
    let outputs = node.run(lease());
    assert!(outputs.contains(&Output::Notify(Notice::Leaderless)));
    assert_eq!(node.algorithm.leader(), None);
}

#[test]
fn the_last_heartbeats_of_a_lost_leader_are_ignored() {
    let mut node = following();
    node.run(lease());
    for count in [9, 10] {
        receive(&mut node, 4, heartbeat(count));
        assert_eq!(node.algorithm.leader(), None, "heartbeat {count}");
    }
    receive(&mut node, 4, heartbeat(11));
    assert_eq!(node.algorithm.leader(), Some((NodeId(3), term(2, 4))));
}

#[test]
fn relaying_a_heartbeat_keeps_its_age() {
    let mut node = following();
    node.now = node.now.after(lease().mul_ratio(1, 2));
    node.step(Input::Fact(Fact::PeerUp(only(4))));
    let outputs = node.run(Duration::from_millis(200));
    let ages: Vec<u8> = outputs
        .iter()
        .filter_map(|outputs| match outputs {
            Output::Send { message: Message::Leadership(LeaderMessage::Heartbeat { age, .. }), .. } => Some(*age),
            _ => None,
        })
        .collect();
    assert!(ages.iter().all(|&age| age >= 127) && !ages.is_empty(), "{ages:?}");
    let mut late = root();
    receive(&mut late, 2, aged(5, 128));
    late.run(Timing::RADIO.lease().mul_ratio(3, 4));
    assert_eq!(late.algorithm.leader(), None, "half the lease was gone already");
}

#[test]
fn f1_the_better_leader_of_two_is_followed_and_announced_to_the_worse() {
    let mut node = following();
    let other = Notice::Following { leader: NodeId(9), term: term(3, 9) };
    assert_eq!(receive(&mut node, 4, rival(3, 95))[0], Output::Notify(other));
    let mut node = following();
    assert_eq!(receive(&mut node, 4, rival(1, 60)), []);
    let outputs = node.run(Duration::from_millis(200));
    let Output::Send { message: Message::Leadership(LeaderMessage::Heartbeat { leader, .. }), .. } = outputs[0] else {
        panic!("{outputs:?}")
    };
    assert_eq!(leader, candidate(90, 3));
}

#[test]
fn a_better_leader_under_a_lower_term_is_asked_to_raise_it() {
    let mut node = following();
    let raise = Output::Send { to: only(4), message: LeaderMessage::RaiseTerm { term: term(2, 4) }.into() };
    assert_eq!(receive(&mut node, 4, rival(1, 95)), [raise]);
    assert_eq!(node.algorithm.leader(), Some((NodeId(3), term(2, 4))), "no node's term falls");
}

#[test]
fn a_leader_that_is_asked_to_raise_its_term_leads_under_a_higher_one() {
    let (mut node, index) = called();
    for peer in 2..=4 {
        receive(&mut node, peer, report(index, candidate(10, peer)));
    }
    let outputs = receive(&mut node, 2, LeaderMessage::RaiseTerm { term: term(7, 9) }.into());
    assert_eq!(outputs, [Output::Notify(Notice::Gained { term: term(8, 1) })]);
    assert_eq!(receive(&mut node, 2, LeaderMessage::RaiseTerm { term: term(7, 9) }.into()), [], "once is enough");
}

#[test]
fn p1_an_incumbent_is_not_replaced_by_a_slightly_better_node() {
    let mut node = following();
    // 90 and an eighth is 101.
    for (capacity, heartbeats, leader) in [(100, 11..40, NodeId(3)), (102, 40..60, NodeId(1))] {
        node.capacity = capacity;
        for number in heartbeats {
            receive(&mut node, 2, heartbeat(number));
            node.run(Duration::from_secs(1));
        }
        assert_eq!(node.algorithm.leader().map(|(leader, _)| leader), Some(leader));
    }
}

#[test]
fn in_a_crowd_the_best_announce_themselves_and_report_themselves_alone() {
    let mut node = root();
    node.crowded = true;
    let (index, mine) = (term(1, 1), candidate(50, 1));
    let elected = LeaderMessage::Elected { term: index, leader: mine, runner_up: None, age: 0 };
    let outputs = node.step(Input::Command(Command::Call));
    assert_eq!(outputs, [Output::Notify(Notice::Gained { term: index })], "relayed by few, after a moment");
    let sent = node.run(Duration::from_millis(500));
    assert!(sent.contains(&to_all(elected.into())), "{sent:?}");

    let mut node = root();
    node.crowded = true;
    let index = term(1, 2);
    let alone = Output::Send { to: only(2), message: report(index, mine) };
    assert_eq!(receive(&mut node, 2, election(index, 2)), [alone], "nobody else is asked");
}

#[test]
fn a_node_that_flapped_asks_for_company_before_it_leads_itself_alone() {
    let ask = probe(Term::ZERO, 1);
    let mut node = root();
    node.hold = Duration::from_secs(15);
    node.step(Input::Timeout);
    let sent = node.run(Duration::from_secs(14));
    assert!(sent.len() > 2 && sent.iter().all(|output| *output == to_all(ask)), "{sent:?}");
    node.run(Duration::from_secs(8));
    assert!(matches!(node.notices[..], [Notice::Gained { .. }]), "nobody answered: {:?}", node.notices);

    let mut node = root();
    node.hold = Duration::from_secs(15);
    node.step(Input::Timeout);
    node.run(Duration::from_secs(5));
    assert_eq!(receive(&mut node, 2, election(Term::ZERO, 2)), [to_all(election(term(1, 1), 1))], "somebody to elect");

    let mut other = root();
    let answer = Output::Send { to: only(2), message: election(Term::ZERO, 1) };
    assert_eq!(receive(&mut other, 2, probe(Term::ZERO, 2)), [answer], "it has no leader either");
}

#[test]
fn a_node_that_lost_its_records_starts_nothing_in_its_quarantine_and_joins_what_others_start() {
    let mut node = root();
    node.quarantined = true;
    assert_eq!(node.step(Input::Command(Command::Call)), []);
    assert_eq!(node.step(Input::Timeout), []);
    assert_eq!(node.run(Duration::from_secs(30)), [], "a term of its own may be one of an earlier boot");
    let index = term(1, 2);
    assert_eq!(receive(&mut node, 2, election(index, 2)).first(), Some(&to_all(election(index, 2))));

    let mut node = root();
    node.quarantined = true;
    node.run(Duration::from_secs(10));
    node.quarantined = false;
    node.step(Input::Timeout);
    assert!(!node.run(Duration::from_secs(10)).is_empty(), "afterwards it starts one");
}

#[test]
fn a_node_elected_under_a_term_below_its_records_leads_under_the_next_one_it_has_not_reserved() {
    let mut node = root();
    node.algorithm.resume(40);
    let elected = |number, id| LeaderMessage::Elected {
        term: term(number, 2),
        leader: candidate(50, id),
        runner_up: Some(candidate(40, 2)),
        age: 0,
    };
    receive(&mut node, 2, elected(7, 1).into());
    assert_eq!(node.algorithm.leader(), Some((NodeId(1), term(41, 1))), "rather than be elected thirty times more");
    assert!(node.run(Duration::from_secs(2)).iter().any(is_state), "others follow it by its heartbeats");

    let mut node = root();
    node.algorithm.resume(40);
    let raise = LeaderMessage::RaiseTerm { term: Term { number: 40, by: NodeId(u32::MAX) } };
    let sent = receive(&mut node, 2, elected(7, 3).into());
    assert_eq!(sent, [Output::Send { to: only(2), message: raise.into() }], "another leader is asked to rise");
}

#[test]
fn a_node_elected_as_what_it_was_before_its_reboot_leads_as_what_it_is() {
    let elected = |capacity| LeaderMessage::Elected {
        term: term(7, 2),
        leader: candidate(capacity, 1),
        runner_up: Some(candidate(70, 2)),
        age: 0,
    };
    let leads_as = |before, now| {
        let mut node = root();
        node.capacity = now;
        let sent = receive(&mut node, 2, elected(before).into());
        assert_eq!(node.algorithm.leader(), Some((NodeId(1), term(7, 2))));
        let announced: Message = elected(now).into();
        sent.contains(&to_all(announced))
    };
    assert!(leads_as(200, 50), "a better one takes over at once");
    assert!(!leads_as(60, 50), "the rest is noise");
}
