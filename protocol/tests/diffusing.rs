//! The diffusing election step by step, as the paper has it (ALGORITHMS row X16, W1 to W3).

use protocol::algorithm::{Algorithm, Context, Fact, Input, Outbox, Output};
use protocol::capacity::{Capacity, Standing};
use protocol::clock::{Stamp, Term};
use protocol::election::wireless::{Message, Wireless};
use protocol::election::{Command, Election, Notice};
use protocol::group::Roster;
use protocol::{Instant, NodeId, NodeSet, Span, Timing};

type Said = Output<Message, Notice>;

/// Node 1 with neighbours 2, 3 and 4 (slots 0, 1, 2).
struct Bench {
    roster: Roster<4>,
    now: Instant,
    capacity: u16,
    node: Wireless,
}

impl Bench {
    fn new() -> Self {
        let mut roster = Roster::new();
        for peer in 2..=4 {
            roster.insert(NodeId(peer));
        }
        Self { roster, now: Instant::from_micros(1_000_000), capacity: 50, node: Wireless::new() }
    }

    fn step(&mut self, input: Input<Message, Command>) -> Vec<Said> {
        let roster = self.roster.view();
        let cx = Context {
            now: self.now,
            uptime: Span::from_secs(3_600),
            me: NodeId(1),
            standing: Some(standing(self.capacity, 1)),
            roster,
            peers: roster.all(),
            up: roster.all(),
            near: roster.all(),
            better: NodeSet::EMPTY,
            rival: None,
            view: roster.all(),
            stamp: Stamp(1),
            random: 0,
            timing: &Timing::RADIO,
        };
        let mut out = Outbox::new();
        self.node.handle(&cx, input, &mut out);
        assert!(!out.overflowed());
        out.into_iter().collect()
    }

    fn hear(&mut self, from: u32, message: Message) -> Vec<Said> {
        self.step(Input::Message { from: NodeId(from), stamp: Stamp(0), message })
    }

    /// Lets time pass, waking the node whenever it asks for it.
    fn wait(&mut self, span: Span) -> Vec<Said> {
        let end = self.now.after(span);
        let mut said = Vec::new();
        while let Some(at) = self.node.deadline().filter(|&at| at <= end) {
            self.now = self.now.max(at);
            said.extend(self.step(Input::Timeout));
        }
        self.now = end;
        said
    }
}

fn standing(capacity: u16, id: u32) -> Standing {
    Standing { capacity: Capacity::new(capacity), id: NodeId(id) }
}

fn term(number: u32, by: u32) -> Term {
    Term { number, by: NodeId(by) }
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

fn ack(index: Term, best: Standing) -> Message {
    Message::Ack { index, best: Some(best), second: None }
}

#[test]
fn w2_the_first_sender_becomes_the_parent_and_the_flood_goes_on() {
    let mut bench = Bench::new();
    let index = term(1, 2);
    let said = bench.hear(2, election(index, 2));
    assert_eq!(said, [Output::Send { to: everyone(), message: election(index, 2) }]);
    assert_eq!(bench.hear(3, election(index, 3)), [], "a second sender is no parent, and its flood no answer is owed");
}

#[test]
fn w3_the_best_of_the_subtree_goes_to_the_parent_once_all_have_answered() {
    let mut bench = Bench::new();
    let index = term(1, 2);
    bench.hear(2, election(index, 2));
    assert_eq!(bench.hear(3, election(index, 2)), [], "3 chose another parent: node 4 is still waited for");
    assert_eq!(bench.hear(4, election(index, 1)), [], "4 is a child: its report is waited for");
    let said = bench.hear(4, ack(index, standing(80, 9)));
    let report = Message::Ack { index, best: Some(standing(80, 9)), second: Some(standing(50, 1)) };
    assert_eq!(said, [Output::Send { to: only(2), message: report }]);
}

#[test]
fn w3_the_root_announces_the_highest_capacity() {
    let mut bench = Bench::new();
    let said = bench.step(Input::Command(Command::Call));
    let index = term(1, 1);
    assert_eq!(said, [Output::Send { to: everyone(), message: election(index, 1) }]);
    bench.hear(2, ack(index, standing(70, 2)));
    bench.hear(3, ack(index, standing(90, 3)));
    let said = bench.hear(4, ack(index, standing(60, 4)));
    let leader = standing(90, 3);
    let second = Some(standing(70, 2));
    assert_eq!(
        said,
        [
            Output::Notify(Notice::Following { leader: NodeId(3), term: index }),
            Output::Send { to: everyone(), message: Message::Leader { term: index, leader, second, age: 0 } },
        ]
    );
}

#[test]
fn e8_a_higher_index_absorbs_a_lower_one_and_a_lower_one_is_shown_it() {
    let mut bench = Bench::new();
    bench.step(Input::Command(Command::Call));
    let higher = term(1, 4);
    assert_eq!(bench.hear(4, election(higher, 4)), [Output::Send { to: everyone(), message: election(higher, 4) }]);
    let lower = term(1, 2);
    assert_eq!(bench.hear(2, election(lower, 2)), [Output::Send { to: everyone(), message: election(higher, 4) }]);
}

#[test]
fn an_ack_of_another_computation_is_no_answer() {
    let mut bench = Bench::new();
    bench.step(Input::Command(Command::Call));
    for peer in 2..=4 {
        assert_eq!(bench.hear(peer, ack(term(1, 4), standing(90, peer))), []);
    }
    assert_eq!(bench.node.leader(), None);
}

#[test]
fn a_report_heard_twice_counts_once() {
    let mut bench = Bench::new();
    bench.step(Input::Command(Command::Call));
    let index = term(1, 1);
    for _ in 0..2 {
        assert_eq!(bench.hear(2, ack(index, standing(90, 2))), []);
    }
    assert_eq!(bench.node.leader(), None, "3 and 4 have not answered");
}

#[test]
fn the_capacity_that_counts_is_the_one_at_the_start() {
    let mut bench = Bench::new();
    bench.step(Input::Command(Command::Call));
    bench.capacity = 9_000;
    let index = term(1, 1);
    for peer in 2..=4 {
        bench.hear(peer, ack(index, standing(90, peer)));
    }
    assert_eq!(bench.node.leader(), Some((NodeId(4), index)));
    bench.wait(Span::from_secs(1));
    assert_eq!(bench.node.leader(), Some((NodeId(4), index)), "what was measured later does not decide it either");
}

#[test]
fn a_silent_neighbour_is_probed_then_given_up() {
    let mut bench = Bench::new();
    bench.step(Input::Command(Command::Call));
    let index = term(1, 1);
    bench.hear(2, ack(index, standing(90, 2)));
    bench.hear(3, ack(index, standing(80, 3)));
    let said = bench.wait(Span::from_secs(3));
    assert_eq!(said[0], Output::Send { to: only(4), message: Message::Probe { index, parent: NodeId(1) } });
    assert_eq!(bench.node.leader().map(|(leader, _)| leader), Some(NodeId(2)));
}

#[test]
fn a_probe_is_answered_with_what_was_lost() {
    let mut bench = Bench::new();
    let index = term(1, 2);
    let probe = Message::Probe { index, parent: NodeId(2) };
    let said = bench.hear(2, probe);
    assert_eq!(said, [Output::Send { to: everyone(), message: election(index, 2) }], "never heard: takes part now");
    bench.hear(3, election(index, 2));
    let report = bench.hear(4, election(index, 2));
    assert_eq!(bench.hear(2, probe), report, "the report once more");
    assert_eq!(
        bench.hear(3, Message::Probe { index, parent: NodeId(2) }),
        [Output::Send { to: everyone(), message: election(index, 2) }]
    );
}

#[test]
fn a_lost_parent_makes_the_node_elect_anew_under_a_higher_index() {
    let mut bench = Bench::new();
    let index = term(1, 2);
    bench.hear(2, election(index, 2));
    bench.roster.remove(only(2));
    bench.roster.insert(NodeId(9)); // another node in the slot of the lost one: its parent is gone all the same
    bench.step(Input::Fact(Fact::PeerDown(only(2))));
    let said = bench.wait(Span::from_secs(4));
    let started = said.iter().any(|said| {
        matches!(said, Output::Send { message: Message::Election { index, parent: NodeId(1) }, .. } if *index > term(1, 2))
    });
    assert!(started, "{said:?}");
}

#[test]
fn a_computation_that_was_left_is_not_joined_again() {
    let mut bench = Bench::new();
    let index = term(1, 2);
    bench.hear(2, election(index, 2));
    bench.roster.remove(only(2));
    bench.step(Input::Fact(Fact::PeerDown(only(2))));
    assert_eq!(bench.hear(3, election(index, 2)), []);
    let nobodys = Output::Send { to: only(3), message: election(index, 1) };
    assert_eq!(bench.hear(3, Message::Probe { index, parent: NodeId(2) }), [nobodys], "and nobody waits for it");
}

#[test]
fn a_child_that_has_reported_is_not_waited_for_again() {
    let mut bench = Bench::new();
    let index = term(1, 1);
    bench.step(Input::Command(Command::Call));
    bench.hear(2, election(index, 1));
    bench.hear(2, ack(index, standing(10, 2)));
    bench.hear(2, Message::Probe { index, parent: NodeId(1) }); // it asks whether its parent is still there
    bench.hear(3, ack(index, standing(10, 3)));
    bench.hear(4, ack(index, standing(10, 4)));
    assert_eq!(bench.node.leader(), Some((NodeId(1), index)));
}

#[test]
fn news_as_old_as_a_lease_are_none() {
    let mut bench = Bench::new();
    bench.hear(2, Message::Beat { term: term(2, 4), leader: standing(90, 3), beat: 1, age: u8::MAX });
    assert_eq!(bench.node.leader(), None);
}

/// Node 1 follows 3, which has beaten ten times.
fn following() -> Bench {
    let mut bench = Bench::new();
    let beat = Message::Beat { term: term(2, 4), leader: standing(90, 3), beat: 10, age: 0 };
    let said = bench.hear(2, beat);
    assert_eq!(said[0], Output::Notify(Notice::Following { leader: NodeId(3), term: term(2, 4) }));
    assert_eq!(said[1], Output::Send { to: everyone(), message: beat });
    bench
}

#[test]
fn e10_a_leader_whose_beats_stop_is_lost() {
    let mut bench = following();
    let said = bench.wait(Timing::RADIO.lease());
    assert!(said.contains(&Output::Notify(Notice::Leaderless)));
    assert_eq!(bench.node.leader(), None);
}

#[test]
fn a_dead_leaders_last_beats_are_not_believed_again() {
    let mut bench = following();
    bench.wait(Timing::RADIO.lease());
    for beat in [9, 10] {
        bench.hear(4, Message::Beat { term: term(2, 4), leader: standing(90, 3), beat, age: 0 });
        assert_eq!(bench.node.leader(), None, "beat {beat}");
    }
    bench.hear(4, Message::Beat { term: term(2, 4), leader: standing(90, 3), beat: 11, age: 0 });
    assert_eq!(bench.node.leader(), Some((NodeId(3), term(2, 4))));
}

#[test]
fn passing_news_on_makes_them_no_younger() {
    let mut bench = following();
    bench.now = bench.now.after(Timing::RADIO.lease().share(1, 2));
    bench.step(Input::Fact(Fact::PeerUp(only(4))));
    let said = bench.wait(Span::from_millis(200));
    let ages: Vec<u8> = said
        .iter()
        .filter_map(|said| match said {
            Output::Send { message: Message::Beat { age, .. }, .. } => Some(*age),
            _ => None,
        })
        .collect();
    assert!(ages.iter().all(|&age| age >= 127) && !ages.is_empty(), "{ages:?}");
    let mut late = Bench::new();
    late.hear(2, Message::Beat { term: term(2, 4), leader: standing(90, 3), beat: 10, age: 128 });
    late.wait(Timing::RADIO.lease().share(3, 4));
    assert_eq!(late.node.leader(), None, "half the lease was gone already");
}

#[test]
fn f1_the_better_leader_of_two_is_followed_and_the_worse_is_told() {
    let mut bench = following();
    let better = Message::Beat { term: term(3, 9), leader: standing(95, 9), beat: 4, age: 0 };
    assert_eq!(bench.hear(4, better)[0], Output::Notify(Notice::Following { leader: NodeId(9), term: term(3, 9) }));
    let mut bench = following();
    let worse = Message::Beat { term: term(1, 9), leader: standing(60, 9), beat: 4, age: 0 };
    assert_eq!(bench.hear(4, worse), []);
    let said = bench.wait(Span::from_millis(200));
    assert!(matches!(said[0], Output::Send { message: Message::Beat { leader, .. }, .. } if leader == standing(90, 3)));
}

#[test]
fn a_better_leader_under_a_lower_term_is_asked_to_raise_it() {
    let mut bench = following();
    let better = Message::Beat { term: term(1, 9), leader: standing(95, 9), beat: 4, age: 0 };
    assert_eq!(bench.hear(4, better), [Output::Send { to: only(4), message: Message::Raise { term: term(2, 4) } }]);
    assert_eq!(bench.node.leader(), Some((NodeId(3), term(2, 4))), "no node's term falls");
}

#[test]
fn a_leader_that_is_asked_to_goes_on_under_a_higher_term() {
    let mut bench = Bench::new();
    bench.step(Input::Command(Command::Call));
    for peer in 2..=4 {
        bench.hear(peer, ack(term(1, 1), standing(10, peer)));
    }
    let said = bench.hear(2, Message::Raise { term: term(7, 9) });
    assert_eq!(said, [Output::Notify(Notice::Gained { term: term(8, 1) })]);
    assert_eq!(bench.hear(2, Message::Raise { term: term(7, 9) }), [], "once is enough");
}

#[test]
fn p1_a_settled_leader_is_not_unseated_by_a_little_more() {
    let mut bench = following();
    bench.capacity = 100; // 90 and an eighth is 101
    let beat = |beat| Message::Beat { term: term(2, 4), leader: standing(90, 3), beat, age: 0 };
    for number in 11..40 {
        bench.hear(2, beat(number));
        bench.wait(Span::from_secs(1));
    }
    assert_eq!(bench.node.leader(), Some((NodeId(3), term(2, 4))));
    bench.capacity = 102;
    for number in 40..60 {
        bench.hear(2, beat(number));
        bench.wait(Span::from_secs(1));
    }
    assert_eq!(bench.node.leader().map(|(leader, _)| leader), Some(NodeId(1)));
}
