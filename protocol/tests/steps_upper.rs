//! The rules of snapshots and waves as they are written down, step by step: one node is told something, and what it says is
//! compared whole.

mod common;

use common::bench::Bench;
use protocol::algorithm::Input;
use protocol::application::diffusing::{self, Work};
use protocol::application::tokens::Give;
use protocol::application::{Diffusing, Item, Tokens};
use protocol::clock::Stamp;
use protocol::snapshot::{self, Part};
use protocol::suite::{Command, Message, Notice, Suite};
use protocol::termination::wave::{self, Sums};
use protocol::termination::{self, Wave};
use protocol::upper::Upper;
use protocol::{NodeId, NodeSet, Span};

type Bank = Suite<Tokens<4>, Wave<4>, 4>;
type Job = Suite<Diffusing, Wave<4>, 4>;

/// Nodes that know of each other's boots, and of which nobody does anything by itself for an hour.
fn bench<U: Upper>(count: usize, make: impl Fn() -> U) -> Bench<U> {
    let mut bench = Bench::new(count, 1, |_| make());
    (0..count).for_each(|index| bench.speak(index));
    while bench.channels.values().any(|letters| !letters.is_empty()) {
        bench.happen();
    }
    bench
}

fn jobs(count: usize) -> Bench<Job> {
    bench(count, || Job::new(Diffusing::new(Span::from_secs(3_600)), Wave::new()))
}

/// Node `to` hears node `from` say this.
fn hear<U: Upper>(bench: &mut Bench<U>, from: u32, to: usize, message: U::Message) {
    bench.step(to, Input::Message { from: NodeId(from + 1), stamp: Stamp(0), message });
}

/// What one node has said to another since the last look.
fn said<U: Upper>(bench: &mut Bench<U>, from: usize, to: usize) -> Vec<U::Message> {
    bench.channels.entry((from, to)).or_default().drain(..).collect()
}

fn number(value: u32) -> Item {
    Item::from_slice(&postcard::to_vec::<_, 8>(&value).unwrap()).unwrap()
}

#[test]
fn s2_at_the_first_marker_the_state_is_recorded_and_the_marker_is_said_before_anything_else() {
    let mut bench = bench(3, || Bank::new(Tokens::new(100, Span::from_secs(600)), Wave::new()));
    let id = snapshot::Id { initiator: NodeId(1), incarnation: 1, number: 1 };
    let marker = Message::Snapshot(snapshot::Message::Marker { id, members: NodeSet::first(3) });
    bench.now = bench.now.after(Span::from_secs(900));
    hear(&mut bench, 0, 1, marker.clone());
    bench.step(1, Input::Timeout); // and now it may give something away
    assert_eq!(bench.told, [(1, Notice::Snapshot(snapshot::Notice::Recorded { id }))]);
    let (first, second) = (said(&mut bench, 1, 0), said(&mut bench, 1, 2));
    assert_eq!((&first[0], &second[0]), (&marker, &marker));
    let is_gift = |message: &Message<Give, wave::Message>| matches!(message, Message::Application(_));
    assert_eq!(first.iter().chain(&second).filter(|&message| is_gift(message)).count(), 1, "{first:?}, {second:?}");
}

#[test]
fn s2_every_other_channel_is_recorded_until_its_marker_comes_and_the_one_the_first_came_by_is_empty() {
    let mut bench = bench(3, || Bank::new(Tokens::new(100, Span::from_secs(3_600)), Wave::new()));
    let id = snapshot::Id { initiator: NodeId(1), incarnation: 1, number: 1 };
    let marker = Message::Snapshot(snapshot::Message::Marker { id, members: NodeSet::first(3) });
    let give = |amount, total| Message::Application(Give { amount, total });
    let balance = bench.uppers[1].application().balance();
    hear(&mut bench, 0, 1, marker.clone());
    hear(&mut bench, 0, 1, give(5, 5)); // after the cut at both ends
    hear(&mut bench, 2, 1, give(7, 7)); // on its way
    hear(&mut bench, 2, 1, marker.clone());
    hear(&mut bench, 2, 1, give(9, 16)); // after the cut at both ends
    let part = |part| Message::Snapshot(snapshot::Message::Part { incarnation: 1, number: 1, part });
    let done = Message::Snapshot(snapshot::Message::Done { incarnation: 1, number: 1, parts: 2 });
    let state = Part::State { last: true, bytes: number(balance) };
    let message = Part::Message { from: NodeId(3), bytes: number(7) };
    assert_eq!(said(&mut bench, 1, 0), [marker.clone(), part(state), part(message), done]);
    assert_eq!(said(&mut bench, 1, 2), [marker]);
}

const WAVE: wave::Id = wave::Id { initiator: NodeId(1), incarnation: 1, number: 1 };

fn slots(slots: &[usize]) -> NodeSet {
    slots.iter().fold(NodeSet::EMPTY, |set, &slot| set.with(NodeSet::slot(slot)))
}

/// The first node asks the second, and nobody but these two has been asked.
fn query(bench: &mut Bench<Job>) {
    let query = wave::Message::Query { id: WAVE, asked: slots(&[0, 1]) };
    hear(bench, 0, 1, Message::Termination(query));
}

#[derive(Debug, PartialEq, Eq)]
enum Answer {
    /// These are done.
    Done(NodeSet),
    Continue,
    Query,
}

fn answers(bench: &mut Bench<Job>, to: usize) -> Vec<Answer> {
    let answer = |message: Message<Work, wave::Message>| match message {
        Message::Termination(wave::Message::Done { id: WAVE, sums }) => Answer::Done(sums.covered),
        Message::Termination(wave::Message::Continue { id: WAVE }) => Answer::Continue,
        Message::Termination(wave::Message::Query { id: WAVE, .. }) => Answer::Query,
        message => panic!("{message:?}"),
    };
    said(bench, 1, to).into_iter().map(answer).collect()
}

const WORK: Message<Work, wave::Message> = Message::Application(Work { job: 1, units: 1 });

#[test]
fn t2_a_node_answers_only_when_all_it_asked_have_and_done_only_if_all_are() {
    let sums = Sums { covered: slots(&[2]), ..Sums::NONE };
    for (answer, expected) in [
        (wave::Message::Done { id: WAVE, sums }, Answer::Done(slots(&[1, 2]))),
        (wave::Message::Continue { id: WAVE }, Answer::Continue),
    ] {
        let mut bench = jobs(3);
        query(&mut bench);
        assert_eq!((answers(&mut bench, 0), answers(&mut bench, 2)), (vec![], vec![Answer::Query]));
        hear(&mut bench, 2, 1, Message::Termination(answer));
        assert_eq!(answers(&mut bench, 0), [expected]);
    }
}

#[test]
fn t2_a_busy_node_asks_nobody_and_one_that_has_heard_anything_since_it_was_asked_is_not_done() {
    let mut bench = jobs(3);
    hear(&mut bench, 2, 1, WORK);
    query(&mut bench);
    assert_eq!((answers(&mut bench, 0), answers(&mut bench, 2)), (vec![Answer::Continue], vec![]));

    let mut bench = jobs(3);
    query(&mut bench);
    let nothing = Message::Application(Work { job: 1, units: 0 }); // it is idle before and after
    hear(&mut bench, 2, 1, nothing);
    let sums = Sums { covered: slots(&[2]), ..Sums::NONE };
    hear(&mut bench, 2, 1, Message::Termination(wave::Message::Done { id: WAVE, sums }));
    assert_eq!(answers(&mut bench, 2), [Answer::Query]);
    assert_eq!(answers(&mut bench, 0), [Answer::Continue]);
}

#[test]
fn x15_a_second_query_of_one_wave_is_answered_at_once_and_counts_for_nothing() {
    let mut bench = jobs(3);
    query(&mut bench);
    let again = wave::Message::Query { id: WAVE, asked: slots(&[0, 2]) };
    hear(&mut bench, 2, 1, Message::Termination(again));
    assert_eq!(answers(&mut bench, 2), [Answer::Query, Answer::Done(NodeSet::EMPTY)], "a cycle");
    assert_eq!(answers(&mut bench, 0), [], "whoever asked first still waits");
}

#[test]
fn x15_one_that_was_asked_and_goes_down_or_has_lost_its_answer_is_not_waited_for() {
    let mend = Message::Termination(wave::Message::Mend { boot: 1, count: 0 });
    let down = |bench: &mut Bench<Job>| bench.lose(2);
    let lost = |bench: &mut Bench<Job>| hear(bench, 2, 1, mend.clone());
    for goes in [&down as &dyn Fn(&mut Bench<Job>), &lost] {
        let mut bench = jobs(3);
        query(&mut bench);
        goes(&mut bench);
        assert_eq!(answers(&mut bench, 0), [Answer::Continue]);
    }
}

#[test]
fn x15_two_waves_that_end_at_once_are_both_answered() {
    let mut bench = jobs(3);
    bench.step(1, Input::Command(Command::Watch));
    let own = wave::Id { initiator: NodeId(2), ..WAVE };
    hear(&mut bench, 0, 1, Message::Termination(wave::Message::Done { id: own, sums: Sums::NONE }));
    query(&mut bench);
    let asked = |id| Message::Termination(wave::Message::Query { id, asked: slots(&[0, 1, 2]) });
    assert_eq!(said(&mut bench, 1, 2), [own, WAVE].map(asked));
    said(&mut bench, 1, 0);
    bench.lose(2);
    assert_eq!(answers(&mut bench, 0), [Answer::Continue], "its own wave is over, too");
}

#[test]
fn t1_a_member_that_does_not_count_but_works_is_asked_too() {
    let mut bench = jobs(3);
    bench.excluded = slots(&[2]);
    hear(&mut bench, 0, 2, WORK);
    bench.step(0, Input::Command(Command::Watch));
    assert_eq!(said(&mut bench, 0, 2).len(), 1);
    (0..2).for_each(|_| _ = bench.happen());
    assert_eq!(ends(&bench), [], "one of them works");
}

/// Who was told of the end, and how many waves that took.
fn ends(bench: &Bench<Job>) -> Vec<(usize, u32)> {
    let end = |(index, notice): &(usize, Notice)| match notice {
        Notice::Termination(termination::Notice::Terminated { waves, .. }) => Some((*index, *waves)),
        Notice::Termination(_) | Notice::Snapshot(_) | Notice::Clock(_) => None,
    };
    bench.told.iter().filter_map(end).collect()
}

#[test]
fn t3_whoever_asked_tells_all_when_all_are_done_and_not_before() {
    let mut bench = jobs(4);
    bench.stuck = vec![(3, 0)];
    bench.step(0, Input::Command(Command::Watch));
    (0..5).for_each(|_| _ = bench.happen()); // three are asked, and two answers arrive
    assert_eq!(ends(&bench), [], "one answer is missing");
    bench.stuck.clear();
    bench.happen();
    assert_eq!(ends(&bench), [(0, 1)]);
    let terminate = wave::Message::Terminate { id: WAVE, job: 0, waves: 1 };
    for to in 1..4 {
        assert_eq!(bench.channels[&(0, to)], [Message::Termination(terminate)], "to {to}");
    }
    (0..3).for_each(|_| _ = bench.happen());
    let mut told = ends(&bench);
    told.sort_unstable();
    assert_eq!(told, [(0, 1), (1, 1), (2, 1), (3, 1)]);
}

#[test]
fn x15_after_any_continue_the_initiator_asks_again_after_a_pause() {
    let mut bench = bench(3, || Job::new(Diffusing::new(Span::from_secs(2)), Wave::new()));
    bench.step(2, Input::Command(Command::Application(diffusing::Command::Start { units: 1 })));
    bench.step(0, Input::Command(Command::Watch));
    (0..4).for_each(|_| _ = bench.happen());
    assert_eq!((ends(&bench), bench.uppers[0].detection().waves()), (vec![], 1));
    while ends(&bench).len() < 3 {
        assert!(bench.happen());
        assert!(ends(&bench).is_empty() || bench.uppers[2].application().done() == 1, "told before the end");
    }
    assert!(bench.uppers[0].detection().waves() > 1);
}
