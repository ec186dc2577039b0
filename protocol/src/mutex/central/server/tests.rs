//! The lock server alone, second by second.

use super::*;
use crate::Timing;
use crate::mutex::test_support::{self, DOOR, second};

const GATE: LockId = LockId::from_name("gate");
const LEASE: Duration = Duration::from_secs(2);
const TERM: Term = Term { number: 3, by: NodeId(1) };

/// Runs `step` at member 1 of three.
fn at<T>(now: u32, step: impl FnOnce(&Context<'_>) -> T) -> T {
    test_support::at(3, now, 1, step)
}

fn request(node: u32, lock: LockId, number: u64) -> Request {
    Request { node: NodeId(node), lock, number: LamportTime(number), lease: LEASE }
}

/// Returns the grant made at this second: node, request number and fence count.
fn granted_at(server: &mut LockServer, now: u32) -> Option<(u32, u64, u64)> {
    at(now, |cx| server.expire(cx));
    let Grant { node, number, fence, .. } = server.next_grant(second(now))?;
    assert_eq!(fence.term, server.term());
    Some((node.0, number.0, fence.count.0))
}

/// Makes a server at second 10 to which all members have reported that they hold nothing.
fn open() -> LockServer {
    let mut server = LockServer::default();
    at(10, |cx| {
        server.take_over(cx, TERM, &[]);
        server.on_report(cx, NodeId(2), &[], (true, LamportTime(u64::MAX)));
        server.on_report(cx, NodeId(3), &[None], (true, LamportTime(u64::MAX)));
        server.expire(cx);
    });
    assert!(server.is_open());
    server
}

#[test]
fn a_repeated_request_gets_the_same_grant() {
    let mut server = open();
    assert_eq!(server.request(second(10), request(2, DOOR, 7), None), QueueStatus::Behind(0));
    assert_eq!(server.deadline(), Some(Instant::ZERO), "a grant is to be sent");
    assert_eq!(granted_at(&mut server, 10), Some((2, 7, 1)));
    assert_eq!(granted_at(&mut server, 10), None);
    assert_eq!(server.request(second(11), request(2, DOOR, 7), None), QueueStatus::Held);
    assert_eq!(granted_at(&mut server, 11), Some((2, 7, 1)));
    at(11, |cx| server.notify_again(cx, NodeSet::slot(1)));
    assert_eq!(granted_at(&mut server, 11), Some((2, 7, 1)));
    at(11, |cx| server.notify_again(cx, NodeSet::slot(2)));
    assert_eq!(granted_at(&mut server, 11), None);
    assert_eq!(server.deadline(), Some(second(10).after(lease_at_grantor(LEASE))), "counted from the grant");
}

#[test]
fn a_new_request_of_the_holder_ends_its_earlier_grant() {
    let mut server = open();
    server.request(second(10), request(2, DOOR, 7), None);
    granted_at(&mut server, 10);
    server.request(second(10), request(3, DOOR, 5), None);
    assert_eq!(server.request(second(11), request(2, DOOR, 9), None), QueueStatus::Held);
    assert_eq!(server.request(second(11), request(2, DOOR, 8), None), QueueStatus::Stale);
    assert_eq!(granted_at(&mut server, 11), Some((2, 9, 2)), "a new grant, with a fence of its own");
    server.end(NodeId(2), DOOR, LamportTime(8));
    assert_eq!(granted_at(&mut server, 11), None, "the end of an earlier request");
    server.end(NodeId(2), DOOR, LamportTime(9));
    assert_eq!(granted_at(&mut server, 11), Some((3, 5, 3)));
}

#[test]
fn a_repeated_request_keeps_its_position_and_waits_from_then_on() {
    let mut server = open();
    for node in [1, 2, 3] {
        server.request(second(10), request(node, DOOR, 7), None);
    }
    assert_eq!(granted_at(&mut server, 10), Some((1, 7, 1)));
    assert_eq!(server.request(second(11), request(2, DOOR, 8), None), QueueStatus::Behind(1));
    assert_eq!(server.request(second(11), request(3, DOOR, 7), None), QueueStatus::Behind(2));
    assert_eq!(server.request(second(11), request(2, DOOR, 7), None), QueueStatus::Stale);
    at(12, |cx| server.expire(cx));
    assert_eq!(server.next_grant(second(12)), None, "the lease is over for the holder, not yet for the server");
    at(13, |cx| server.expire(cx));
    let grant = server.next_grant(second(13)).unwrap();
    assert_eq!((grant.node, grant.number, grant.waited), (NodeId(2), LamportTime(8), Duration::from_secs(2)));
}

#[test]
fn a_renewal_makes_a_hold_longer_and_never_shorter() {
    let mut server = open();
    server.request(second(10), request(2, DOOR, 7), None);
    granted_at(&mut server, 10);
    let end = second(10).after(lease_at_grantor(LEASE));
    let brief = Request { lease: Duration::from_millis(1), ..request(2, DOOR, 7) };
    assert!(server.renew(second(11), brief));
    assert_eq!(server.deadline(), Some(end));
    assert!(server.renew(second(11), request(2, DOOR, 7)));
    assert_eq!(server.deadline(), Some(second(11).after(lease_at_grantor(LEASE))));
    assert!(!server.renew(second(11), request(3, DOOR, 7)) && !server.renew(second(11), request(2, GATE, 7)));
    assert!(!server.renew(second(11), request(2, DOOR, 6)), "another request");
}

#[test]
fn the_lease_of_a_restarted_holder_has_to_pass() {
    let mut server = open();
    server.request(second(10), request(2, DOOR, 7), None);
    granted_at(&mut server, 10);
    server.request(second(10), request(3, DOOR, 7), None);
    at(11, |cx| server.on_peer_reset(cx, NodeSet::slot(1).with(NodeSet::slot(2))));
    server.end(NodeId(2), DOOR, LamportTime(90));
    at(11, |cx| server.on_report(cx, NodeId(2), &[], (true, LamportTime(u64::MAX))));
    let status = server.request(second(11), request(2, DOOR, 91), None);
    assert_eq!(status, QueueStatus::Behind(1), "the other waiter restarted too");
    assert_eq!(granted_at(&mut server, 12), None);
    assert_eq!(granted_at(&mut server, 13), Some((2, 91, 2)));
}

#[test]
fn nothing_is_granted_before_all_members_have_reported_their_holds() {
    let mut server = LockServer::default();
    at(10, |cx| server.take_over(cx, TERM, &[Some(GATE)]));
    at(10, |cx| server.on_report(cx, NodeId(2), &[Some(DOOR)], (true, LamportTime(u64::MAX))));
    for lock in [DOOR, GATE, LockId::from_name("hall")] {
        server.request(second(10), request(3, lock, 7), None);
    }
    assert_eq!(granted_at(&mut server, 10), None);
    at(10, |cx| server.on_report(cx, NodeId(3), &[], (false, LamportTime(u64::MAX))));
    assert_eq!(granted_at(&mut server, 10), None, "it may have forgotten holds");
    at(10, |cx| server.on_report(cx, NodeId(3), &[], (true, LamportTime(u64::MAX))));
    for lock in [DOOR, GATE, LockId::from_name("hall")] {
        server.request(second(10), request(3, lock, 7), None);
    }
    assert_eq!(granted_at(&mut server, 10), Some((3, 7, 1)), "the hall");
    assert_eq!(granted_at(&mut server, 10), None);
    server.end(NodeId(2), DOOR, LamportTime(4)); // any number: this server granted none
    assert_eq!(granted_at(&mut server, 10), Some((3, 7, 2)));
    assert!(server.renew(second(11), request(1, GATE, 2)));
    server.end(NodeId(1), GATE, LamportTime(2));
    assert_eq!(granted_at(&mut server, 11), Some((3, 7, 3)));
}

#[test]
fn without_a_report_the_longest_lease_has_to_pass() {
    let mut server = LockServer::default();
    at(10, |cx| server.take_over(cx, TERM, &[]));
    at(10, |cx| server.on_report(cx, NodeId(2), &[Some(DOOR)], (true, LamportTime(u64::MAX))));
    server.request(second(10), request(1, DOOR, 7), None);
    server.request(second(10), request(1, GATE, 7), None);
    assert_eq!(server.deadline(), Some(second(10).after(lease_at_grantor(Timing::RADIO.lock_lease))));
    assert_eq!(granted_at(&mut server, 15), None);
    assert_eq!(granted_at(&mut server, 16), Some((1, 7, 1)));
    assert_eq!(granted_at(&mut server, 16), Some((1, 7, 2)), "reported holds are over too");
}

#[test]
fn a_server_that_has_just_started_does_not_know_its_own_holds() {
    let mut server = LockServer::default();
    at(5, |cx| server.take_over(cx, TERM, &[]));
    for node in [2, 3] {
        at(5, |cx| server.on_report(cx, NodeId(node), &[], (true, LamportTime(u64::MAX))));
    }
    server.request(second(5), request(2, DOOR, 7), None);
    assert_eq!(granted_at(&mut server, 10), None);
    assert_eq!(granted_at(&mut server, 11), Some((2, 7, 1)));
}

#[test]
fn reported_holds_beyond_the_table_have_to_pass() {
    let mut server = LockServer::default();
    let locks = ["a", "b", "c", "d"].map(|name| Some(LockId::from_name(name)));
    at(10, |cx| server.take_over(cx, TERM, &[]));
    at(10, |cx| server.on_report(cx, NodeId(2), &locks, (true, LamportTime(u64::MAX))));
    at(10, |cx| server.on_report(cx, NodeId(3), &[Some(DOOR)], (true, LamportTime(u64::MAX))));
    at(10, |cx| server.on_report(cx, NodeId(2), &[], (true, LamportTime(u64::MAX))));
    server.request(second(10), request(2, DOOR, 7), None);
    assert_eq!(granted_at(&mut server, 15), None);
    assert_eq!(granted_at(&mut server, 16), Some((2, 7, 1)));
}

#[test]
fn fences_grow_over_terms_and_within_a_term_that_is_taken_over_again() {
    let mut server = open();
    server.request(second(10), request(2, DOOR, 7), None);
    assert_eq!(granted_at(&mut server, 10), Some((2, 7, 1)));
    server.set_term(Term { number: 4, ..TERM });
    server.end(NodeId(2), DOOR, LamportTime(7));
    server.request(second(10), request(2, DOOR, 8), None);
    assert_eq!(granted_at(&mut server, 10), Some((2, 8, 2)));
    at(10, |cx| server.take_over(cx, TERM, &[]));
    server.request(second(10), request(2, DOOR, 9), None);
    assert_eq!(granted_at(&mut server, 20), Some((2, 9, 3)));
}

#[test]
fn a_full_server_refuses_and_has_room_again_when_a_request_ends() {
    let mut server = open();
    for name in ["a", "b", "c", "d"] {
        assert_eq!(server.request(second(10), request(2, LockId::from_name(name), 7), None), QueueStatus::Behind(0));
    }
    assert_eq!(server.request(second(10), request(2, DOOR, 7), None), QueueStatus::Full);
    server.end(NodeId(2), LockId::from_name("b"), LamportTime(7));
    for (node, ahead) in (1..=16).zip(0..) {
        assert_eq!(server.request(second(10), request(node, DOOR, 7), None), QueueStatus::Behind(ahead));
    }
    assert_eq!(server.request(second(10), request(17, DOOR, 7), None), QueueStatus::Full);
    at(10, |cx| server.remove_waiters(cx, NodeSet::slot(0)));
    assert_eq!(server.request(second(10), request(17, DOOR, 7), None), QueueStatus::Behind(15));
}
