//! The counter's server and one client.

use super::*;
use crate::base::lamport::LamportTime;
use crate::base::term::Term;
use crate::mutex::test_support::at;
use std::vec::Vec;

fn fence(count: u64) -> Fence {
    Fence { term: Term::ZERO, count: LamportTime(count) }
}

/// Steps member `me` of three and returns the messages it sends; the first member is the server.
fn step(node: &mut Counter, me: u32, input: Input<Message, Command>) -> Vec<Message> {
    let mut out = Outbox::new();
    at(3, 60, 1, |cx| {
        let peers = cx.roster.all().without(cx.roster.set_of(NodeId(me)));
        let cx = &Context { me: NodeId(me), peers, up: peers, near: peers, ..*cx };
        node.handle(cx, input, &mut out);
        while node.poll_send(cx, &mut out) {}
    });
    let sent =
        |output: &_| if let crate::algorithm::Output::Send { message, .. } = output { Some(*message) } else { None };
    out.outputs().iter().filter_map(sent).collect()
}

fn receive(node: &mut Counter, me: u32, from: u32, message: Message) -> Vec<Message> {
    step(node, me, Input::Message { from: NodeId(from), sent_at: LamportTime(0), message })
}

#[test]
fn a_fence_counts_once_and_not_after_a_later_one() {
    let mut server = Counter::default();
    let mut add = |count| receive(&mut server, 1, 2, Message::Add { fence: fence(count) });
    assert_eq!(add(5), [Message::Sum { fence: fence(5), total: 1 }]);
    assert_eq!(add(5), [Message::Sum { fence: fence(5), total: 1 }], "duplicate request");
    assert_eq!(add(7), [Message::Sum { fence: fence(7), total: 2 }]);
    assert_eq!(add(6), [Message::Outdated { fence: fence(6) }]);
    assert_eq!(*server.server.counter.peek(), 2);
}

#[test]
fn a_client_repeats_a_request_without_a_reply_and_is_notified_once() {
    let mut node = Counter::default();
    let add = Message::Add { fence: fence(5) };
    assert_eq!(step(&mut node, 2, Input::Command(Command::Add { fence: fence(5) })), [add]);
    assert_eq!(step(&mut node, 2, Input::Timeout), []);
    assert_eq!(step(&mut node, 2, Input::Fact(Fact::PeerUp(NodeSet::slot(2)))), [], "the server was up all the time");
    assert_eq!(step(&mut node, 2, Input::Fact(Fact::PeerUp(NodeSet::slot(0)))), [add]);
    receive(&mut node, 2, 1, Message::Sum { fence: fence(4), total: 8 });
    assert!(node.notices.is_empty(), "reply to an earlier request");
    for _ in 0..2 {
        receive(&mut node, 2, 1, Message::Sum { fence: fence(5), total: 9 });
    }
    assert_eq!(node.notices.pop_front(), Some(Notice::Counted { fence: fence(5), total: 9 }));
    assert_eq!((node.notices.pop_front(), step(&mut node, 2, Input::Timeout)), (None, Vec::new()));
}

#[test]
fn the_server_counts_its_own_request_without_a_message() {
    let mut server = Counter::default();
    assert_eq!(step(&mut server, 1, Input::Command(Command::Add { fence: fence(3) })), []);
    assert_eq!(server.notices.pop_front(), Some(Notice::Counted { fence: fence(3), total: 1 }));
}
