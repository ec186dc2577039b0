//! The rules of snapshots and waves message by message: one node gets an input, and what it sends is compared whole.

use crate::support::prelude::*;
use protocol::algorithm::{Fact, Input};
use protocol::service::Service;
use protocol::service::app_service::{Command, Message, Notice, ObservedApp};
use protocol::service::application::ChannelMessage;
use protocol::service::demo::diffusing::{self, Work};
use protocol::service::demo::tokens::Give;
use protocol::service::demo::{Diffusing, Tokens};
use protocol::service::snapshot::{self, Fragment};
use protocol::service::termination::wave::{self, Sums};
use protocol::service::termination::{self, Wave};

type Bank = ObservedApp<Tokens<4>, Wave<4>, 4>;
type Job = ObservedApp<Diffusing, Wave<4>, 4>;

/// Nodes that know of each other's incarnations.
fn lab<S: Service>(count: u32, make: impl Fn() -> S) -> Lab<S> {
    let mut lab = Lab::services(count, Order::Fifo, 1, |_| make());
    lab.flush_all();
    while !lab.in_flight.is_empty() {
        lab.advance();
    }
    lab
}

/// Nodes of which none does anything by itself for an hour.
fn jobs(count: u32) -> Lab<Job> {
    lab(count, || Job::all(Diffusing::new(Duration::from_secs(3_600)), Wave::new()))
}

fn number(value: u32) -> ChannelMessage {
    ChannelMessage::from_slice(&postcard::to_vec::<_, 8>(&value).unwrap()).unwrap()
}

#[test]
fn s2_at_the_first_marker_the_state_is_recorded_and_the_marker_sent_before_anything_else() {
    let mut lab = lab(3, || Bank::all(Tokens::new(100, Duration::from_secs(600)), Wave::new()));
    let id = snapshot::Id { initiator: NodeId(1), incarnation: 1, number: 1 };
    let marker = Message::Snapshot(snapshot::Message::Marker { id, members: NodeSet::first(3) });
    lab.now = lab.now.after(Duration::from_secs(900));
    lab.inject(0, 1, marker.clone());
    lab.put(1, Input::Timeout); // now it may make a transfer
    assert_eq!(lab.notices, [(1, Notice::Snapshot(snapshot::Notice::Recorded { id }))]);
    let (first, second) = (lab.take_sent(1, 0), lab.take_sent(1, 2));
    assert_eq!((&first[0], &second[0]), (&marker, &marker));
    let is_transfer = |message: &Message<Give>| matches!(message, Message::Application(_));
    assert_eq!(first.iter().chain(&second).filter(|&message| is_transfer(message)).count(), 1, "{first:?}, {second:?}");
}

#[test]
fn s2_every_channel_is_recorded_until_its_marker_arrives_and_that_of_the_first_marker_is_empty() {
    let mut lab = lab(3, || Bank::all(Tokens::new(100, Duration::from_secs(3_600)), Wave::new()));
    let id = snapshot::Id { initiator: NodeId(1), incarnation: 1, number: 1 };
    let marker = Message::Snapshot(snapshot::Message::Marker { id, members: NodeSet::first(3) });
    let give = |amount, total| Message::Application(Give { amount, total });
    let balance = lab.nodes[1].algorithm.application().balance();
    lab.inject(0, 1, marker.clone()).inject(0, 1, give(5, 5)); // after the cut at both ends
    lab.inject(2, 1, give(7, 7)); // in flight
    lab.inject(2, 1, marker.clone()).inject(2, 1, give(9, 16)); // after the cut at both ends
    let fragment = |fragment| Message::Snapshot(snapshot::Message::Fragment { incarnation: 1, number: 1, fragment });
    let done = Message::Snapshot(snapshot::Message::Done { incarnation: 1, number: 1, fragments: 2 });
    let state = Fragment::State { last: true, bytes: number(balance) };
    let message = Fragment::Message { from: NodeId(3), bytes: number(7) };
    assert_eq!(lab.take_sent(1, 0), [marker.clone(), fragment(state), fragment(message), done]);
    assert_eq!(lab.take_sent(1, 2), [marker]);
}

#[test]
fn a_first_transfer_that_was_abandoned_is_compensated_and_one_to_an_earlier_boot_is_not() {
    let mut lab = lab(3, || Bank::all(Tokens::new(100, Duration::from_secs(3_600)), Wave::new()));
    let balance = |lab: &Lab<Bank>| lab.nodes[1].algorithm.application().balance();
    let before = balance(&lab);
    lab.inject(0, 1, Message::Application(Give { amount: 0, total: 5 }));
    assert_eq!(balance(&lab), before + 5, "the five of the first transfer, which was abandoned");
    lab.put(1, Input::Fact(Fact::PeerReset(slots(&[0]))));
    lab.inject(0, 1, Message::Application(Give { amount: 2, total: 2 }));
    assert_eq!(balance(&lab), before + 7, "a sender that has rebooted counts from zero");
}

const WAVE: wave::Id = wave::Id { initiator: NodeId(1), incarnation: 1, number: 1 };

/// The first node asks the second, and only these two have been asked.
fn query(lab: &mut Lab<Job>) {
    let query = wave::Message::Query { id: WAVE, queried: slots(&[0, 1]) };
    lab.inject(0, 1, Message::Termination(query));
}

#[derive(Debug, PartialEq, Eq)]
enum Answer {
    /// These nodes are passive.
    Done(NodeSet),
    Continue,
    Query,
}

fn answers(lab: &mut Lab<Job>, to: usize) -> Vec<Answer> {
    let answer = |message: Message<Work>| match message {
        Message::Termination(wave::Message::Done { id: WAVE, sums }) => Answer::Done(sums.covered),
        Message::Termination(wave::Message::Continue { id: WAVE }) => Answer::Continue,
        Message::Termination(wave::Message::Query { id: WAVE, .. }) => Answer::Query,
        message => panic!("{message:?}"),
    };
    lab.take_sent(1, to).into_iter().map(answer).collect()
}

const WORK: Message<Work> = Message::Application(Work { job: 1, units: 1 });

#[test]
fn t2_a_node_answers_when_all_it_asked_have_and_done_only_if_all_are() {
    let sums = Sums { covered: slots(&[2]), ..Sums::NONE };
    for (answer, expected) in [
        (wave::Message::Done { id: WAVE, sums }, Answer::Done(slots(&[1, 2]))),
        (wave::Message::Continue { id: WAVE }, Answer::Continue),
    ] {
        let mut lab = jobs(3);
        query(&mut lab);
        assert_eq!((answers(&mut lab, 0), answers(&mut lab, 2)), (vec![], vec![Answer::Query]));
        lab.inject(2, 1, Message::Termination(answer));
        assert_eq!(answers(&mut lab, 0), [expected]);
    }
}

#[test]
fn t2_a_busy_node_asks_no_other_and_one_that_received_anything_since_it_was_asked_is_not_done() {
    let mut lab = jobs(3);
    lab.inject(2, 1, WORK);
    query(&mut lab);
    assert_eq!((answers(&mut lab, 0), answers(&mut lab, 2)), (vec![Answer::Continue], vec![]));

    let mut lab = jobs(3);
    query(&mut lab);
    let nothing = Message::Application(Work { job: 1, units: 0 }); // it is passive before and after
    lab.inject(2, 1, nothing);
    let sums = Sums { covered: slots(&[2]), ..Sums::NONE };
    lab.inject(2, 1, Message::Termination(wave::Message::Done { id: WAVE, sums }));
    assert_eq!(answers(&mut lab, 2), [Answer::Query]);
    assert_eq!(answers(&mut lab, 0), [Answer::Continue]);
}

#[test]
fn x15_a_second_query_of_one_wave_is_answered_at_once_and_counts_for_nothing() {
    let mut lab = jobs(3);
    query(&mut lab);
    let again = wave::Message::Query { id: WAVE, queried: slots(&[0, 2]) };
    lab.inject(2, 1, Message::Termination(again));
    assert_eq!(answers(&mut lab, 2), [Answer::Query, Answer::Done(NodeSet::EMPTY)], "a cycle");
    assert_eq!(answers(&mut lab, 0), [], "the node that asked first still waits");
}

#[test]
fn x15_a_node_that_crashed_or_lost_its_answer_is_not_waited_for() {
    let resync = Message::Termination(wave::Message::Resync { incarnation: 1, sent: 0 });
    let down = |lab: &mut Lab<Job>| lab.fail(2);
    let lost = |lab: &mut Lab<Job>| _ = lab.inject(2, 1, resync.clone());
    for goes in [&down as &dyn Fn(&mut Lab<Job>), &lost] {
        let mut lab = jobs(3);
        query(&mut lab);
        goes(&mut lab);
        assert_eq!(answers(&mut lab, 0), [Answer::Continue]);
    }
}

#[test]
fn x15_two_waves_that_end_at_once_are_both_answered() {
    let mut lab = jobs(3);
    lab.ask(1, Command::DETECT_TERMINATION);
    let own = wave::Id { initiator: NodeId(2), ..WAVE };
    lab.inject(0, 1, Message::Termination(wave::Message::Done { id: own, sums: Sums::NONE }));
    query(&mut lab);
    let asked = |id| Message::Termination(wave::Message::Query { id, queried: slots(&[0, 1, 2]) });
    assert_eq!(lab.take_sent(1, 2), [own, WAVE].map(asked));
    lab.take_sent(1, 0);
    lab.fail(2);
    assert_eq!(answers(&mut lab, 0), [Answer::Continue], "its own wave is over, too");
}

#[test]
fn t1_a_member_outside_the_view_that_works_is_asked_too() {
    let mut lab = jobs(3);
    for machine in &mut lab.nodes {
        machine.view = slots(&[0, 1]);
    }
    lab.inject(0, 2, WORK).ask(0, Command::DETECT_TERMINATION);
    assert_eq!(lab.take_sent(0, 2).len(), 1);
    lab.advance_by(2);
    assert_eq!(announced(&lab), [], "one of them works");
}

/// The nodes that know of the termination, and how many waves that took.
fn announced(lab: &Lab<Job>) -> Vec<(usize, u32)> {
    let end = |(index, notice): &(usize, Notice)| match notice {
        Notice::Termination(termination::Notice::Terminated { waves, .. }) => Some((*index, *waves)),
        Notice::Application(never) => match *never {},
        Notice::Termination(_) | Notice::Snapshot(_) | Notice::Clock(_) => None,
    };
    lab.notices.iter().filter_map(end).collect()
}

#[test]
fn t3_the_initiator_announces_termination_when_all_are_done_and_not_before() {
    let mut lab = jobs(4);
    lab.blocked = vec![(3, 0)];
    lab.ask(0, Command::DETECT_TERMINATION).advance_by(5); // three are asked, and two answers arrive
    assert_eq!(announced(&lab), [], "one answer is missing");
    lab.blocked.clear();
    lab.advance();
    assert_eq!(announced(&lab), [(0, 1)]);
    let terminate = wave::Message::Terminate { id: WAVE, job: 0, waves: 1 };
    let sent: Vec<_> =
        lab.in_flight.iter().map(|envelope| (envelope.from, envelope.to, envelope.message.clone())).collect();
    assert_eq!(sent, [1, 2, 3].map(|to| (0, to, Some(Message::Termination(terminate)))));
    lab.advance_by(3);
    let mut all = announced(&lab);
    all.sort_unstable();
    assert_eq!(all, [(0, 1), (1, 1), (2, 1), (3, 1)]);
}

#[test]
fn x15_after_a_continue_the_initiator_sends_another_wave_after_a_pause() {
    let mut lab = lab(3, || Job::all(Diffusing::new(Duration::from_secs(2)), Wave::new()));
    lab.ask(2, Command::Application(diffusing::Command::Start { units: 1 }))
        .ask(0, Command::DETECT_TERMINATION)
        .advance_by(4);
    assert_eq!((announced(&lab), lab.nodes[0].algorithm.detection().waves()), (vec![], 1));
    while announced(&lab).len() < 3 {
        assert!(lab.advance());
        assert!(announced(&lab).is_empty() || lab.nodes[2].algorithm.application().done() == 1, "announced early");
    }
    assert!(lab.nodes[0].algorithm.detection().waves() > 1);
}
