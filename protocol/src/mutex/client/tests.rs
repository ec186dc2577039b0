//! The contract every lock keeps with the application.

use super::*;
use crate::Timing;
use crate::algorithm::Output;
use crate::base::ids::NodeSet;
use crate::base::term::Term;
use crate::mutex::Command as C;
use crate::mutex::test_support::{self, DOOR, second};
use std::vec;

const LEASE: Duration = Duration::from_secs(4);
const FENCE: Fence = Fence { term: Term::ZERO, count: LamportTime(9) };

type Notices = std::vec::Vec<Notice>;

/// Runs `step` at this second and Lamport time; returns its result and the notices to the application.
fn at<T>(now: u32, lamport: u64, step: impl FnOnce(&Context<'_>, &mut Outbox<(), Notice>) -> T) -> (T, Notices) {
    let mut out = Outbox::new();
    let result = test_support::at(1, now, lamport, |cx| step(cx, &mut out));
    let notice = |output: &_| if let Output::Notify(notice) = output { Some(*notice) } else { None };
    (result, out.outputs().iter().filter_map(notice).collect())
}

fn acquire(client: &mut LockClient, now: u32, lamport: u64) -> (Option<ClientAction>, Notices) {
    at(now, lamport, |cx, out| client.command(cx, C::Acquire { lock: DOOR, lease: LEASE }, out))
}

fn granted(request: u64, until: u32) -> Granted {
    Granted { lock: DOOR, request: LamportTime(request), fence: FENCE, until: second(until) }
}

/// Makes a client that holds a lock from second 1 to second 5.
fn holding() -> LockClient {
    let mut client = LockClient::default();
    acquire(&mut client, 1, 7);
    let (_, notices) = at(2, 8, |cx, out| client.grant(cx, granted(7, 5), out));
    assert_eq!(notices, [Notice::Acquired { lock: DOOR, fence: FENCE, until: second(5) }]);
    client
}

fn refused(reason: Refusal) -> Notice {
    Notice::Refused { lock: DOOR, reason }
}

#[test]
fn m2_a_lock_is_not_entered_twice() {
    let mut client = LockClient::default();
    let (action, _) = acquire(&mut client, 1, 7);
    assert!(matches!(action, Some(ClientAction::Acquire(request)) if request.number == LamportTime(7)));
    assert_eq!(acquire(&mut client, 1, 8), (None, vec![refused(Refusal::Reentry)]));
    assert_eq!(acquire(&mut holding(), 2, 9), (None, vec![refused(Refusal::Reentry)]));
}

#[test]
fn an_impossible_command_is_refused_with_its_reason() {
    let cases = [
        (C::Acquire { lock: DOOR, lease: Duration::ZERO }, Refusal::Lease),
        (C::Try { lock: DOOR, lease: Timing::RADIO.lock_lease.plus(Duration::from_micros(1)) }, Refusal::Lease),
        (C::Renew { lock: DOOR, lease: LEASE }, Refusal::NotHeld),
        (C::Release { lock: DOOR }, Refusal::NotHeld),
        (C::Cancel { lock: DOOR }, Refusal::NotHeld),
    ];
    for (command, reason) in cases {
        let mut client = LockClient::default();
        assert_eq!(at(1, 1, |cx, out| client.command(cx, command, out)), (None, vec![refused(reason)]));
        assert_eq!(client, LockClient::default());
    }
}

#[test]
fn a_node_outside_the_view_requests_nothing() {
    let command = C::Acquire { lock: DOOR, lease: LEASE };
    let (_, notices) = at(1, 1, |cx, out| {
        let outside = Context { view: NodeSet::slot(1), ..*cx };
        LockClient::default().command(&outside, command, out)
    });
    assert_eq!(notices, [refused(Refusal::Outside)]);
}

#[test]
fn one_lock_more_than_there_is_room_for_is_refused() {
    let mut client = LockClient::default();
    for (index, name) in ["a", "b", "c", "d", "e"].into_iter().enumerate() {
        let lock = LockId::from_name(name);
        let (action, notices) = at(1, 1, |cx, out| client.command(cx, C::Try { lock, lease: LEASE }, out));
        assert_eq!(action.is_some(), index < LOCKS_MAX);
        assert_eq!(notices.is_empty(), index < LOCKS_MAX);
    }
}

#[test]
fn a_grant_of_another_request_or_past_its_end_is_no_grant() {
    let mut client = LockClient::default();
    acquire(&mut client, 1, 7);
    let before = client.clone();
    for grant in [granted(6, 5), granted(7, 2)] {
        assert_eq!(at(2, 8, |cx, out| client.grant(cx, grant, out)), (false, vec![]));
    }
    assert_eq!(client, before);
    let request = at(3, 9, |cx, _| client.restart(cx, DOOR)).0.unwrap();
    assert_eq!((request.number, request.requested_at), (LamportTime(9), second(3)));
    assert!(at(3, 9, |cx, out| client.grant(cx, granted(9, 5), out)).0);
    assert!(!at(3, 9, |cx, out| client.grant(cx, granted(9, 6), out)).0, "it is held already");
}

#[test]
fn a_holder_is_warned_once_and_then_notified_of_the_loss() {
    let mut client = holding();
    assert_eq!(client.deadline(), Some(second(4)));
    assert_eq!(at(3, 1, |cx, out| client.expire(cx.now, out)), (None, vec![]));
    let warning = Notice::Expiring { lock: DOOR, until: second(5) };
    assert_eq!(at(4, 1, |cx, out| client.expire(cx.now, out)), (None, vec![warning]));
    assert_eq!(at(4, 1, |cx, out| client.expire(cx.now, out)).1, []);
    assert_eq!((client.holds(DOOR, second(4)), client.deadline()), (Some(FENCE), Some(second(5))));
    assert_eq!(client.holds(DOOR, second(5)), None, "with or without a timeout");
    let (lost, notices) = at(5, 1, |cx, out| client.expire(cx.now, out));
    assert_eq!((lost.unwrap().number, notices), (LamportTime(7), vec![Notice::Lost { lock: DOOR }]));
    assert_eq!(client, LockClient::default());
}

#[test]
fn a_holder_that_slept_past_its_end_can_neither_release_nor_renew() {
    for command in [C::Release { lock: DOOR }, C::Renew { lock: DOOR, lease: LEASE }] {
        let result = at(6, 10, |cx, out| holding().command(cx, command, out));
        assert_eq!(result, (None, vec![refused(Refusal::NotHeld)]));
    }
}

#[test]
fn only_a_reply_to_the_last_renewal_counts_and_it_never_shortens_a_hold() {
    let mut client = holding();
    let renew = C::Renew { lock: DOOR, lease: LEASE };
    at(2, 10, |cx, out| client.command(cx, renew, out));
    let (action, notices) = at(3, 11, |cx, out| client.command(cx, renew, out));
    assert!(matches!(action, Some(ClientAction::Renew(_, Renewal { number: LamportTime(11), .. }))));
    assert_eq!(notices, []);
    assert_eq!(at(3, 12, |_, out| client.extend(DOOR, LamportTime(10), second(6), out)).1, []);
    let held = |until| Notice::Acquired { lock: DOOR, fence: FENCE, until: second(until) };
    assert_eq!(at(3, 12, |_, out| client.extend(DOOR, LamportTime(11), second(7), out)).1, [held(7)]);
    at(3, 13, |cx, out| client.command(cx, renew, out));
    assert_eq!(at(3, 14, |_, out| client.extend(DOOR, LamportTime(13), second(6), out)).1, [held(7)]);
    assert_eq!(client.holds(DOOR, second(6)), Some(FENCE));
}

#[test]
fn a_released_lock_and_a_cancelled_request_are_gone() {
    let mut client = holding();
    let (action, notices) = at(3, 9, |cx, out| client.command(cx, C::Release { lock: DOOR }, out));
    assert!(matches!(action, Some(ClientAction::Release(_))));
    assert_eq!(notices, [Notice::Released { lock: DOOR }]);
    acquire(&mut client, 4, 12);
    let (action, notices) = at(4, 13, |cx, out| client.command(cx, C::Cancel { lock: DOOR }, out));
    assert!(matches!(action, Some(ClientAction::Cancel(_))));
    assert_eq!(notices, [refused(Refusal::Cancelled)]);
    let (_, notices) = at(4, 13, |cx, out| holding().command(cx, C::Cancel { lock: DOOR }, out));
    assert_eq!(notices, [refused(Refusal::NotHeld)]);
    assert_eq!(client, LockClient::default());
}

#[test]
fn a_waiting_application_is_notified_when_the_number_of_requests_ahead_changes() {
    let mut client = LockClient::default();
    acquire(&mut client, 1, 7);
    let mut waiting =
        |request, ahead| at(1, 8, |_, out| client.notify_waiting(DOOR, LamportTime(request), ahead, out)).1;
    assert_eq!(waiting(7, 2), [Notice::Waiting { lock: DOOR, ahead: 2 }]);
    assert_eq!(waiting(7, 2), []);
    assert_eq!(waiting(6, 1), []);
    assert_eq!(waiting(7, 1), [Notice::Waiting { lock: DOOR, ahead: 1 }]);
    at(1, 9, |_, out| client.refuse(DOOR, LamportTime(6), Refusal::Busy, out));
    assert_eq!(at(1, 9, |_, out| client.refuse(DOOR, LamportTime(7), Refusal::Busy, out)).1, [refused(Refusal::Busy)]);
    assert_eq!(client, LockClient::default());
}
