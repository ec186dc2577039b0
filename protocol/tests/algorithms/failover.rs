//! Heartbeats that few nodes relay, and neighbours of the leader that announce its heir: rows E10, 5.5, 5.6.

use crate::support::prelude::*;
use protocol::algorithm::{Audience, Input, Output};
use protocol::base::capacity::Candidate;
use protocol::base::ids::FirstSlots;
use protocol::election::leadership::{Heir, LeaderMessage as M};
use protocol::election::wireless::{Message, Wireless};
use protocol::election::{Command, Election, Notice};

type Outputs = Vec<Output<Message, Notice>>;

const PULSE: Duration = Duration::from_millis(200);

/// The leader of these tests, a neighbour in slot 1, and its term.
fn leader() -> (Term, Candidate) {
    (term(2, 4), candidate(90, 3))
}

/// The heir of the leader, which is no neighbour.
fn heir() -> Heir {
    Heir { number: 5, candidate: candidate(80, 7) }
}

fn receive(node: &mut Single<Wireless>, from: u32, message: M) -> Outputs {
    let input = node.input(from, message.into());
    node.step(input)
}

fn heartbeat(count: u32) -> M {
    let (term, leader) = leader();
    M::Heartbeat { term, leader, runner_up: Some(heir().candidate), count, age: 0 }
}

/// Node 1 with the neighbours 2, 3 and 4 (slots 0, 1, 2) follows 3.
fn following() -> Single<Wireless> {
    let mut node = Single::new(1, roster(2..=4), Wireless::new());
    (node.capacity, node.random) = (50, 0);
    receive(&mut node, 3, heartbeat(9));
    node.run(Duration::from_millis(400));
    node
}

/// The same, and receives the leader's pulses.
fn guarding() -> Single<Wireless> {
    let mut node = following();
    for _ in 0..6 {
        pulse(&mut node);
        node.now = node.now.after(PULSE);
    }
    pulse(&mut node);
    node
}

fn pulse(node: &mut Single<Wireless>) {
    assert_eq!(receive(node, 3, M::Pulse { term: leader().0, heir: Some(heir()) }), []);
}

/// The messages about the leader among these outputs.
fn sent(outputs: &Outputs) -> Vec<M> {
    let message = |output: &Output<Message, Notice>| match output {
        Output::Send { message: Message::Leadership(message), .. } => Some(*message),
        _ => None,
    };
    outputs.iter().filter_map(message).collect()
}

fn count(outputs: &Outputs, is: impl Fn(&M) -> bool) -> usize {
    sent(outputs).iter().filter(|message| is(message)).count()
}

fn doubts(outputs: &Outputs) -> usize {
    count(outputs, |message| matches!(message, M::Doubt { .. }))
}

fn relays(outputs: &Outputs) -> usize {
    count(outputs, |message| matches!(message, M::Heartbeat { .. }))
}

#[test]
fn a_node_whose_neighbours_are_all_reached_by_two_copies_of_a_heartbeat_stays_silent() {
    let all = FirstSlots::from(NodeSet::first(3));
    for (listed, copies, relayed) in [(all, &[4][..], 0), (all, &[], 1), (FirstSlots::EMPTY, &[4], 1)] {
        let mut node = following();
        node.audience = vec![listed; 3];
        receive(&mut node, 2, heartbeat(10));
        for &from in copies {
            receive(&mut node, from, heartbeat(10));
        }
        let outputs = node.run(Duration::from_millis(60));
        assert_eq!(relays(&outputs), relayed, "{listed:?}, copies of {copies:?}: {outputs:?}");
    }
}

#[test]
fn a_node_that_misses_a_heartbeat_asks_for_it_before_it_gives_the_leader_up() {
    let mut node = following();
    let interval = Timing::RADIO.heartbeat.times(2); // from the eighth heartbeat on
    let outputs = node.run(interval);
    assert_eq!(relays(&outputs), 0, "it is not due yet");
    let outputs = node.run(Timing::RADIO.heartbeat.mul_ratio(3, 2));
    assert!(relays(&outputs) >= 3, "whoever has a newer one answers the old one: {outputs:?}");
    assert_eq!(node.algorithm.leader().map(|(leader, _)| leader), Some(NodeId(3)));
    receive(&mut node, 2, heartbeat(10));
    assert_eq!(doubts(&node.run(interval)), 0, "a node that hears no pulses does not miss them");
}

#[test]
fn heartbeats_become_less_frequent_and_are_flooded_at_once_where_terms_meet() {
    let (mut node, _) = leading();
    let minute = |node: &mut Single<Wireless>| {
        let first = node.algorithm.heartbeat().unwrap();
        node.run(Duration::from_secs(60));
        node.algorithm.heartbeat().unwrap() - first
    };
    let minutes: Vec<u32> = (0..4).map(|_| minute(&mut node)).collect();
    assert!(minutes[0] > minutes[1] && minutes[1] > minutes[2], "{minutes:?}");
    assert!(minutes[2..].iter().all(|count| (7..=8).contains(count)), "{minutes:?}");
    let raised = receive(&mut node, 2, M::RaiseTerm { term: term(9, 2) });
    assert_eq!(raised, [Output::Notify(Notice::Gained { term: term(10, 1) })]);
    assert_eq!(relays(&node.run(Duration::from_micros(1))), 1);
}

#[test]
fn e10_a_neighbour_that_misses_pulses_asks_and_announces_the_heir_when_another_doubts_too() {
    let mut node = guarding();
    let outputs = node.run(PULSE.times(3));
    assert_eq!(doubts(&outputs), 0, "three may be missed");
    receive(&mut node, 2, M::Doubt { term: leader().0 });
    let outputs = node.run(PULSE);
    assert_eq!(doubts(&outputs), 3, "{outputs:?}");
    let announced = Term { number: heir().number, by: NodeId(3) };
    assert_eq!(node.algorithm.leader(), Some((NodeId(7), announced)));
    let elected = M::Elected { term: announced, leader: heir().candidate, runner_up: None, age: 0 };
    assert!(sent(&outputs).contains(&elected), "{outputs:?}");
}

#[test]
fn a_neighbour_alone_asks_much_longer_and_then_starts_an_election_that_an_heir_overtakes() {
    let mut node = guarding();
    let mut outputs = node.run(PULSE.times(4));
    assert!(doubts(&outputs) > 3, "{outputs:?}");
    assert_eq!(node.algorithm.leader().map(|(leader, _)| leader), Some(NodeId(3)));
    outputs.extend(node.run(PULSE.times(2)));
    let started = outputs.iter().find_map(|output| match output {
        Output::Send { message: Message::Election { index, parent: NodeId(1) }, .. } => Some(*index),
        _ => None,
    });
    assert_eq!((node.algorithm.leader(), doubts(&outputs)), (None, 12), "the heir may be elsewhere: {outputs:?}");
    // Others doubted together, and announced the heir: under a term above that of the election.
    let announced = Term { number: heir().number, by: NodeId(3) };
    assert!(started.is_some_and(|index| index < announced), "{started:?}");
    receive(&mut node, 2, M::Elected { term: announced, leader: heir().candidate, runner_up: None, age: 0 });
    assert_eq!(node.algorithm.leader(), Some((NodeId(7), announced)));
}

#[test]
fn a_neighbour_that_hears_few_pulses_does_not_ask() {
    let mut deaf = following();
    for _ in 0..4 {
        pulse(&mut deaf);
        deaf.now = deaf.now.after(PULSE.times(2));
    }
    pulse(&mut deaf);
    assert_eq!(doubts(&deaf.run(PULSE.times(6))), 0);
}

#[test]
fn a_heartbeat_from_the_leader_itself_counts_as_a_pulse_and_a_relayed_one_does_not() {
    for (from, asks) in [(3, false), (2, true)] {
        let mut node = guarding();
        let mut outputs = node.run(PULSE.times(2));
        receive(&mut node, from, heartbeat(10));
        outputs.extend(node.run(PULSE.times(3)));
        assert_eq!(doubts(&outputs) > 0, asks, "from {from}: {outputs:?}");
    }
}

#[test]
fn pulses_of_a_later_term_show_that_the_leader_is_up_and_make_a_node_ask_for_its_heartbeat() {
    let mut node = guarding();
    let later = M::Pulse { term: term(9, 3), heir: Some(heir()) };
    let mut outputs = Vec::new();
    for _ in 0..6 {
        receive(&mut node, 3, later);
        outputs.extend(node.run(PULSE));
    }
    assert_eq!((doubts(&outputs), node.algorithm.leader()), (0, Some((NodeId(3), leader().0))));
    assert!(relays(&outputs) >= 3, "the leader answers its old heartbeat: {outputs:?}");
    receive(&mut node, 3, M::Pulse { term: term(1, 3), heir: None });
    assert!(doubts(&node.run(PULSE.times(4))) > 0, "an earlier term shows nothing");
}

#[test]
fn the_first_heartbeat_of_a_term_is_relayed_until_every_neighbour_is_heard() {
    let (_, candidate) = leader();
    let raised = |count| M::Heartbeat { term: term(9, 3), leader: candidate, runner_up: None, count, age: 0 };
    let all = FirstSlots::from(NodeSet::first(3));
    for (heard, relayed) in [(&[][..], 1 + 3), (&[4], 1 + 3), (&[2, 4], 0)] {
        let mut node = following();
        node.audience = vec![all; 3]; // the leader reaches all, and they may have missed it
        receive(&mut node, 3, raised(10));
        for &from in heard {
            receive(&mut node, from, raised(10));
        }
        let outputs = node.run(Duration::from_millis(400));
        assert_eq!(relays(&outputs), relayed, "{heard:?}: {outputs:?}");
        receive(&mut node, 3, raised(11));
        receive(&mut node, 2, raised(11));
        assert_eq!(relays(&node.run(Duration::from_millis(400))), 0, "the next one is no news");
    }
}

#[test]
fn a_pulse_or_a_veto_ends_the_doubt() {
    for end in [M::Pulse { term: leader().0, heir: Some(heir()) }, M::Veto { term: leader().0 }] {
        let mut node = guarding();
        assert!(doubts(&node.run(PULSE.times(3).plus(PULSE.mul_ratio(1, 4)))) > 0);
        receive(&mut node, 4, M::Doubt { term: leader().0 });
        receive(&mut node, 3, end);
        let outputs = node.run(PULSE.times(2));
        assert_eq!(
            (doubts(&outputs), node.algorithm.leader().map(|(leader, _)| leader)),
            (0, Some(NodeId(3))),
            "{end:?}"
        );
    }
}

#[test]
fn whoever_has_just_received_a_pulse_vetoes_and_the_leader_answers_with_one() {
    let mut node = guarding();
    receive(&mut node, 2, M::Doubt { term: leader().0 });
    let outputs = node.run(Duration::from_millis(50));
    assert_eq!(sent(&outputs), [M::Veto { term: leader().0 }]);
    let mut node = guarding();
    node.now = node.now.after(PULSE.times(2));
    receive(&mut node, 2, M::Doubt { term: leader().0 });
    let outputs = node.run(Duration::from_millis(50));
    assert_eq!(count(&outputs, |message| matches!(message, M::Veto { .. })), 0, "it has missed one itself");
}

/// Node 1 leads under this term, and knows no heir.
fn leading() -> (Single<Wireless>, Term) {
    let mut node = Single::new(1, roster(2..=4), Wireless::new());
    (node.capacity, node.random) = (50, 0);
    node.step(Input::Command(Command::Call));
    let index = term(1, 1);
    for peer in 2..=4 {
        let input = node.input(peer, Message::Report { index, best: None, runner_up: None });
        node.step(input);
    }
    assert_eq!(node.algorithm.leader(), Some((NodeId(1), index)));
    (node, index)
}

fn named(outputs: &Outputs) -> Vec<Option<Heir>> {
    let heir = |message: &M| if let M::Pulse { heir, .. } = message { Some(*heir) } else { None };
    sent(outputs).iter().filter_map(heir).collect()
}

#[test]
fn a_leader_sets_a_term_of_its_own_aside_for_every_heir() {
    let (mut node, term) = leading();
    assert_eq!(named(&node.run(PULSE)), [None]);
    receive(&mut node, 2, M::Bid { term, candidate: candidate(30, 5) });
    let first = named(&node.run(PULSE))[0].unwrap();
    assert_eq!(first.candidate, candidate(30, 5));
    assert!(first.number > term.number + 1, "a node that doubts alone may start an election below it");
    receive(&mut node, 2, M::Bid { term, candidate: candidate(20, 6) });
    assert_eq!(named(&node.run(PULSE)), [Some(first)], "a worse candidate is no heir");
    receive(&mut node, 2, M::Bid { term, candidate: candidate(40, 6) });
    let second = named(&node.run(PULSE))[0].unwrap();
    assert_eq!(second.candidate, candidate(40, 6));
    assert!(second.number > first.number);
    // Given up wrongly, it raises its term above the heir's, and needs another for it.
    let (claimed, leader) = (Term { number: second.number, by: NodeId(1) }, second.candidate);
    let outputs = receive(&mut node, 2, M::Elected { term: claimed, leader, runner_up: None, age: 0 });
    let raised = node.algorithm.leader().unwrap().1;
    assert_eq!(outputs, [Output::Notify(Notice::Gained { term: raised })]);
    assert!(raised > claimed);
    let third = named(&node.run(PULSE.times(2)));
    assert!(third.iter().flatten().all(|heir| heir.number > raised.number) && !third.is_empty(), "{third:?}");
}

#[test]
fn an_heir_that_does_not_bid_again_is_forgotten() {
    let (mut node, term) = leading();
    receive(&mut node, 2, M::Bid { term, candidate: candidate(30, 5) });
    let heartbeats = |outputs: &Outputs| {
        let runner_up =
            |message: &M| if let M::Heartbeat { runner_up, .. } = message { Some(*runner_up) } else { None };
        sent(outputs).iter().filter_map(runner_up).collect::<Vec<_>>()
    };
    let named = heartbeats(&node.run(Duration::from_secs(120)));
    assert_eq!((named[0], named.last()), (Some(candidate(30, 5)), Some(&None)), "{named:?}");
}

#[test]
fn the_best_candidate_bids_and_relays_keep_back_the_worse() {
    let mut node = following();
    node.capacity = 85; // better than the heir
    let mut outputs = Vec::new();
    for count in 10..20 {
        receive(&mut node, 3, heartbeat(count));
        outputs.extend(node.run(Duration::from_secs(1)));
    }
    let bid = M::Bid { term: leader().0, candidate: candidate(85, 1) };
    assert!(sent(&outputs).contains(&bid), "{outputs:?}");
    let mut relay = following();
    receive(&mut relay, 3, heartbeat(10));
    let bid = |capacity| M::Bid { term: leader().0, candidate: candidate(capacity, 8) };
    for (capacity, sent_on) in [(88, 1), (86, 0), (89, 1), (70, 0)] {
        receive(&mut relay, 2, bid(capacity));
        let outputs = relay.run(Duration::from_millis(20));
        assert_eq!(count(&outputs, |message| *message == bid(capacity)), sent_on, "{capacity}: {outputs:?}");
    }
}

#[test]
fn nobody_is_reached_where_nothing_is_known() {
    assert_eq!(Audience::Unknown.of(NodeSet::first(3)), NodeSet::EMPTY);
    assert_eq!(Audience::All(NodeSet::first(3)).of(NodeSet::slot(0)), NodeSet::first(3));
    assert_eq!(Audience::All(NodeSet::first(3)).of(NodeSet::EMPTY), NodeSet::EMPTY);
}
