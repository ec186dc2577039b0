//! What the application is promised of any lock.

extern crate std;

use super::*;
use crate::Timing;
use crate::clock::Term;
use crate::group::{NodeId, NodeSet, Roster};
use crate::mutex::Command as C;

const DOOR: LockId = LockId::from_name("door");
const LEASE: Span = Span::from_secs(4);
const FENCE: Fence = Fence { term: Term::ZERO, count: Stamp(9) };

/// Runs `step` at this second, with this stamp; what the application is told.
fn at<T>(second: u32, stamp: u64, step: impl FnOnce(&Context<'_>, &mut Outbox<(), Notice>) -> T) -> (T, Told) {
    in_view(NodeSet::slot(0), second, stamp, step)
}

type Told = std::vec::Vec<Notice>;

fn in_view<T>(
    view: NodeSet,
    second: u32,
    stamp: u64,
    step: impl FnOnce(&Context<'_>, &mut Outbox<(), Notice>) -> T,
) -> (T, Told) {
    let mut roster = Roster::<2>::new();
    roster.insert(NodeId(1));
    let cx = Context {
        now: moment(second),
        uptime: Span::from_secs(second),
        me: NodeId(1),
        standing: None,
        roster: roster.view(),
        peers: NodeSet::EMPTY,
        up: NodeSet::EMPTY,
        near: NodeSet::EMPTY,
        better: NodeSet::EMPTY,
        rival: None,
        view,
        stamp: Stamp(stamp),
        random: 0,
        timing: &Timing::RADIO,
    };
    let mut out = Outbox::new();
    let done = step(&cx, &mut out);
    let told = |output: &_| if let crate::algorithm::Output::Notify(notice) = output { Some(*notice) } else { None };
    (done, out.outputs().iter().filter_map(told).collect())
}

fn moment(second: u32) -> Instant {
    Instant::ZERO.after(Span::from_secs(second))
}

fn acquire(claims: &mut Claims, second: u32, stamp: u64) -> (Option<Task>, Told) {
    at(second, stamp, |cx, out| claims.command(cx, C::Acquire { lock: DOOR, lease: LEASE }, out))
}

fn granted(request: u64, until: u32) -> Granted {
    Granted { lock: DOOR, request: Stamp(request), fence: FENCE, until: moment(until) }
}

/// Claims of which one is held, since second 1 until second 5.
fn holding() -> Claims {
    let mut claims = Claims::new();
    acquire(&mut claims, 1, 7);
    assert_eq!(
        at(2, 8, |cx, out| claims.grant(cx, granted(7, 5), out)).1,
        [Notice::Acquired { lock: DOOR, fence: FENCE, until: moment(5) }]
    );
    claims
}

fn refused(why: Refusal) -> Notice {
    Notice::Refused { lock: DOOR, why }
}

#[test]
fn m2_a_lock_is_not_entered_twice() {
    let mut claims = Claims::new();
    assert!(matches!(acquire(&mut claims, 1, 7).0, Some(Task::Ask(claim)) if claim.request == Stamp(7)));
    assert_eq!(acquire(&mut claims, 1, 8), (None, std::vec![refused(Refusal::Reentry)]));
    assert_eq!(acquire(&mut holding(), 2, 9), (None, std::vec![refused(Refusal::Reentry)]));
}

#[test]
fn what_cannot_be_is_refused_with_its_reason() {
    let cases = [
        (C::Acquire { lock: DOOR, lease: Span::ZERO }, Refusal::Lease),
        (C::Try { lock: DOOR, lease: Timing::RADIO.lock_lease.plus(Span::from_micros(1)) }, Refusal::Lease),
        (C::Renew { lock: DOOR, lease: LEASE }, Refusal::NotHeld),
        (C::Release { lock: DOOR }, Refusal::NotHeld),
        (C::Cancel { lock: DOOR }, Refusal::NotHeld),
    ];
    for (command, why) in cases {
        let mut claims = Claims::new();
        assert_eq!(at(1, 1, |cx, out| claims.command(cx, command, out)), (None, std::vec![refused(why)]));
        assert_eq!(claims, Claims::new());
    }
}

#[test]
fn a_node_outside_the_view_asks_for_nothing() {
    let mut claims = Claims::new();
    let command = C::Acquire { lock: DOOR, lease: LEASE };
    let told = in_view(NodeSet::slot(1), 1, 1, |cx, out| claims.command(cx, command, out)).1;
    assert_eq!(told, [refused(Refusal::Outside)]);
}

#[test]
fn one_lock_more_than_there_is_room_for_is_refused() {
    let mut claims = Claims::new();
    let names = ["a", "b", "c", "d", "e"];
    for (place, name) in names.iter().enumerate() {
        let lock = LockId::from_name(name);
        let (task, told) = at(1, 1, |cx, out| claims.command(cx, C::Try { lock, lease: LEASE }, out));
        assert_eq!(task.is_some(), place < LOCKS_MAX);
        assert_eq!(told.is_empty(), place < LOCKS_MAX);
    }
}

#[test]
fn a_grant_of_another_request_or_past_its_end_is_no_grant() {
    let mut claims = Claims::new();
    acquire(&mut claims, 1, 7);
    let before = claims.clone();
    for grant in [granted(6, 5), granted(7, 2)] {
        assert_eq!(at(2, 8, |cx, out| claims.grant(cx, grant, out)), (false, Told::new()));
    }
    assert_eq!(claims, before);
    let again = at(3, 9, |cx, _| claims.again(cx, DOOR)).0.unwrap();
    assert_eq!((again.request, again.asked), (Stamp(9), moment(3)));
    assert!(at(3, 9, |cx, out| claims.grant(cx, granted(9, 5), out)).0);
    assert!(!at(3, 9, |cx, out| claims.grant(cx, granted(9, 6), out)).0, "it is held already");
}

#[test]
fn a_holder_is_warned_once_and_then_told_that_it_has_lost() {
    let mut claims = holding();
    assert_eq!(claims.deadline(), Some(moment(4)));
    assert_eq!(at(3, 1, |cx, out| claims.expire(cx.now, out)), (None, Told::new()));
    let warning = Notice::Expiring { lock: DOOR, until: moment(5) };
    assert_eq!(at(4, 1, |cx, out| claims.expire(cx.now, out)), (None, std::vec![warning]));
    assert_eq!(at(4, 1, |cx, out| claims.expire(cx.now, out)).1, []);
    assert_eq!((claims.holds(DOOR, moment(4)), claims.deadline()), (Some(FENCE), Some(moment(5))));
    assert_eq!(claims.holds(DOOR, moment(5)), None, "whether or not the timeout has been heard");
    let (lost, told) = at(5, 1, |cx, out| claims.expire(cx.now, out));
    assert_eq!((lost.unwrap().request, told), (Stamp(7), std::vec![Notice::Lost { lock: DOOR }]));
    assert_eq!(claims, Claims::new());
}

#[test]
fn a_holder_that_slept_through_its_end_can_neither_release_nor_renew() {
    for command in [C::Release { lock: DOOR }, C::Renew { lock: DOOR, lease: LEASE }] {
        let told = at(6, 10, |cx, out| holding().command(cx, command, out));
        assert_eq!(told, (None, std::vec![refused(Refusal::NotHeld)]));
    }
}

#[test]
fn only_the_answer_to_the_last_renewal_counts_and_it_never_shortens_a_hold() {
    let mut claims = holding();
    let renew = C::Renew { lock: DOOR, lease: LEASE };
    at(2, 10, |cx, out| claims.command(cx, renew, out));
    let (task, told) = at(3, 11, |cx, out| claims.command(cx, renew, out));
    assert!(matches!(task, Some(Task::Renew(_, Renewal { number: Stamp(11), .. }))) && told.is_empty());
    assert_eq!(at(3, 12, |_, out| claims.renewed(DOOR, Stamp(10), moment(6), out)).1, []);
    let held = |until| Notice::Acquired { lock: DOOR, fence: FENCE, until: moment(until) };
    assert_eq!(at(3, 12, |_, out| claims.renewed(DOOR, Stamp(11), moment(7), out)).1, [held(7)]);
    at(3, 13, |cx, out| claims.command(cx, renew, out));
    assert_eq!(at(3, 14, |_, out| claims.renewed(DOOR, Stamp(13), moment(6), out)).1, [held(7)]);
    assert_eq!(claims.holds(DOOR, moment(6)), Some(FENCE));
}

#[test]
fn what_is_given_back_or_given_up_is_gone() {
    let mut claims = holding();
    let (task, told) = at(3, 9, |cx, out| claims.command(cx, C::Release { lock: DOOR }, out));
    assert!(matches!(task, Some(Task::Release(_))));
    assert_eq!(told, [Notice::Released { lock: DOOR }]);
    acquire(&mut claims, 4, 12);
    let (task, told) = at(4, 13, |cx, out| claims.command(cx, C::Cancel { lock: DOOR }, out));
    assert!(matches!(task, Some(Task::Cancel(_))));
    assert_eq!(told, [refused(Refusal::Cancelled)]);
    assert_eq!(
        at(4, 13, |cx, out| holding().command(cx, C::Cancel { lock: DOOR }, out)).1,
        [refused(Refusal::NotHeld)]
    );
    assert_eq!(claims, Claims::new());
}

#[test]
fn whoever_waits_is_told_how_many_come_first_when_that_changes() {
    let mut claims = Claims::new();
    acquire(&mut claims, 1, 7);
    let mut told = |request, ahead| at(1, 8, |_, out| claims.wait(DOOR, Stamp(request), ahead, out)).1;
    assert_eq!(told(7, 2), [Notice::Waiting { lock: DOOR, ahead: 2 }]);
    assert_eq!(told(7, 2), []);
    assert_eq!(told(6, 1), []);
    assert_eq!(told(7, 1), [Notice::Waiting { lock: DOOR, ahead: 1 }]);
    at(1, 9, |_, out| claims.refuse(DOOR, Stamp(6), Refusal::Busy, out));
    assert_eq!(at(1, 9, |_, out| claims.refuse(DOOR, Stamp(7), Refusal::Busy, out)).1, [refused(Refusal::Busy)]);
    assert_eq!(claims, Claims::new());
}
