//! The keeper of the counter and one that counts, by themselves.

extern crate std;

use super::*;
use crate::Timing;
use crate::clock::{Stamp, Term};
use crate::group::Roster;
use crate::time::Span;
use std::vec::Vec;

fn fence(count: u64) -> Fence {
    Fence { term: Term::ZERO, count: Stamp(count) }
}

/// Lets member `me` of three take a step, and says what it then has to say; the first keeps the counter.
fn step(node: &mut Counter, me: u32, input: Input<Message, Command>) -> Vec<Message> {
    let mut roster = Roster::<3>::new();
    for id in 1..=3 {
        roster.insert(NodeId(id));
    }
    let peers = roster.view().all().without(roster.view().set_of(NodeId(me)));
    let cx = Context {
        now: Instant::ZERO,
        uptime: Span::from_secs(60),
        me: NodeId(me),
        standing: None,
        roster: roster.view(),
        peers,
        up: peers,
        near: peers,
        better: NodeSet::EMPTY,
        rival: None,
        view: roster.view().all(),
        stamp: Stamp(1),
        random: 0,
        timing: &Timing::LAN,
    };
    let mut out = Outbox::new();
    node.handle(&cx, input, &mut out);
    while node.speak(&cx, &mut out) {}
    let said =
        |output: &_| if let crate::algorithm::Output::Send { message, .. } = output { Some(*message) } else { None };
    out.outputs().iter().filter_map(said).collect()
}

fn hear(node: &mut Counter, me: u32, from: u32, message: Message) -> Vec<Message> {
    step(node, me, Input::Message { from: NodeId(from), stamp: Stamp(0), message })
}

#[test]
fn every_fence_counts_once_and_none_behind_a_later_one() {
    let mut keeper = Counter::new();
    let mut add = |count| hear(&mut keeper, 1, 2, Message::Add { fence: fence(count) });
    assert_eq!(add(5), [Message::Sum { fence: fence(5), total: 1 }]);
    assert_eq!(add(5), [Message::Sum { fence: fence(5), total: 1 }], "it was asked twice");
    assert_eq!(add(7), [Message::Sum { fence: fence(7), total: 2 }]);
    assert_eq!(add(6), [Message::Outdated { fence: fence(6) }]);
    assert_eq!(keeper.total(), 2);
}

#[test]
fn whoever_counts_asks_again_while_it_has_no_answer_and_is_told_once() {
    let mut node = Counter::new();
    let add = Message::Add { fence: fence(5) };
    assert_eq!(step(&mut node, 2, Input::Command(Command::Add { fence: fence(5) })), [add]);
    assert_eq!(step(&mut node, 2, Input::Timeout), []);
    assert_eq!(
        step(&mut node, 2, Input::Fact(Fact::PeerUp(NodeSet::slot(2)))),
        [],
        "the keeper was there all the time"
    );
    assert_eq!(step(&mut node, 2, Input::Fact(Fact::PeerUp(NodeSet::slot(0)))), [add]);
    hear(&mut node, 2, 1, Message::Sum { fence: fence(4), total: 8 });
    assert!(node.told.is_empty(), "that was another count");
    for _ in 0..2 {
        hear(&mut node, 2, 1, Message::Sum { fence: fence(5), total: 9 });
    }
    assert_eq!(node.told.pop_front(), Some(Notice::Counted { fence: fence(5), total: 9 }));
    assert_eq!((node.told.pop_front(), step(&mut node, 2, Input::Timeout)), (None, Vec::new()));
}

#[test]
fn the_keeper_counts_for_itself_without_a_letter() {
    let mut keeper = Counter::new();
    assert_eq!(step(&mut keeper, 1, Input::Command(Command::Add { fence: fence(3) })), []);
    assert_eq!(keeper.told.pop_front(), Some(Notice::Counted { fence: fence(3), total: 1 }));
}

#[test]
fn the_bytes_of_a_count_are_pinned() {
    let fence = Fence { term: Term { number: 5, by: NodeId(300) }, count: Stamp(4) };
    let cases: [(Message, &[u8]); 3] = [
        (Message::Add { fence }, &[0, 5, 0xAC, 2, 4]),
        (Message::Sum { fence, total: 7 }, &[1, 5, 0xAC, 2, 4, 7]),
        (Message::Outdated { fence }, &[2, 5, 0xAC, 2, 4]),
    ];
    for (message, bytes) in cases {
        let mut buffer = [0; 32];
        let len = wire::Message::encode(&message, &mut buffer).unwrap();
        assert_eq!(&buffer[..len], bytes, "{message:?}");
        assert_eq!(<Message as wire::Message>::decode(Kind::Counter, bytes), Some(message));
    }
}
