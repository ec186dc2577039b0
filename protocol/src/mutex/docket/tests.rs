//! The docket by itself: told this or that, second by second.

extern crate std;

use super::*;
use crate::Timing;
use crate::group::Roster;

const DOOR: LockId = LockId::from_name("door");
const GATE: LockId = LockId::from_name("gate");
const LEASE: Span = Span::from_secs(2);
const TERM: Term = Term { number: 3, by: NodeId(1) };

fn second(second: u32) -> Instant {
    Instant::ZERO.after(Span::from_secs(second))
}

/// Runs `step` at member 1 of three, at this second of its life.
fn at<T>(now: u32, step: impl FnOnce(&Context<'_>) -> T) -> T {
    let mut roster = Roster::<3>::new();
    for name in 1..=3 {
        roster.insert(NodeId(name));
    }
    let all = roster.view().all();
    let others = all.without(NodeSet::slot(0));
    step(&Context {
        now: second(now),
        uptime: Span::from_secs(now),
        me: NodeId(1),
        standing: None,
        roster: roster.view(),
        peers: others,
        up: others,
        near: others,
        better: NodeSet::EMPTY,
        rival: None,
        view: all,
        stamp: Stamp(1),
        random: 0,
        timing: &Timing::RADIO,
    })
}

fn want(who: u32, lock: LockId, request: u64) -> Want {
    Want { who: NodeId(who), lock, request: Stamp(request), lease: LEASE }
}

/// To whom what is granted at this second: request and count of the fence.
fn granted_at(docket: &mut Docket, now: u32) -> Option<(u32, u64, u64)> {
    at(now, |cx| docket.expire(cx));
    let Grant { who, request, fence, .. } = docket.grant(second(now))?;
    assert_eq!(fence.term, docket.term());
    Some((who.0, request.0, fence.count.0))
}

/// A docket at second 10, of which everybody has said that it holds nothing.
fn open() -> Docket {
    let mut docket = Docket::new();
    at(10, |cx| {
        docket.begin(cx, TERM, &[]);
        docket.answer(cx, NodeId(2), &[], true);
        docket.answer(cx, NodeId(3), &[None], true);
        docket.expire(cx);
    });
    assert!(docket.is_open());
    docket
}

#[test]
fn a_request_that_is_repeated_gets_the_same_grant() {
    let mut docket = open();
    assert_eq!(docket.ask(second(10), want(2, DOOR, 7)), Place::Behind(0));
    assert_eq!(docket.deadline(), Some(Instant::ZERO), "there is something to be told");
    assert_eq!(granted_at(&mut docket, 10), Some((2, 7, 1)));
    assert_eq!(granted_at(&mut docket, 10), None);
    assert_eq!(docket.ask(second(11), want(2, DOOR, 7)), Place::Held);
    assert_eq!(granted_at(&mut docket, 11), Some((2, 7, 1)));
    at(11, |cx| docket.tell_again(cx, NodeSet::slot(1)));
    assert_eq!(granted_at(&mut docket, 11), Some((2, 7, 1)));
    at(11, |cx| docket.tell_again(cx, NodeSet::slot(2)));
    assert_eq!(granted_at(&mut docket, 11), None);
    assert_eq!(docket.deadline(), Some(second(10).after(granted(LEASE))), "counted from when it was granted");
}

#[test]
fn a_holder_that_asks_anew_holds_nothing_by_what_it_asked_before() {
    let mut docket = open();
    docket.ask(second(10), want(2, DOOR, 7));
    granted_at(&mut docket, 10);
    docket.ask(second(10), want(3, DOOR, 5));
    assert_eq!(docket.ask(second(11), want(2, DOOR, 9)), Place::Held);
    assert_eq!(docket.ask(second(11), want(2, DOOR, 8)), Place::Over);
    assert_eq!(granted_at(&mut docket, 11), Some((2, 9, 2)), "a new grant, with a fence of its own");
    docket.end(NodeId(2), DOOR, Stamp(8));
    assert_eq!(granted_at(&mut docket, 11), None, "an earlier request is over, not this one");
    docket.end(NodeId(2), DOOR, Stamp(9));
    assert_eq!(granted_at(&mut docket, 11), Some((3, 5, 3)));
}

#[test]
fn one_that_waits_and_asks_anew_keeps_its_place_and_has_waited_since_then() {
    let mut docket = open();
    for who in [1, 2, 3] {
        docket.ask(second(10), want(who, DOOR, 7));
    }
    assert_eq!(granted_at(&mut docket, 10), Some((1, 7, 1)));
    assert_eq!(docket.ask(second(11), want(2, DOOR, 8)), Place::Behind(1));
    assert_eq!(docket.ask(second(11), want(3, DOOR, 7)), Place::Behind(2));
    assert_eq!(docket.ask(second(11), want(2, DOOR, 7)), Place::Over);
    at(12, |cx| docket.expire(cx));
    assert_eq!(docket.grant(second(12)), None, "the lease is over for the holder, not yet for whoever granted it");
    at(13, |cx| docket.expire(cx));
    let grant = docket.grant(second(13)).unwrap();
    assert_eq!((grant.who, grant.request, grant.waited), (NodeId(2), Stamp(8), Span::from_secs(2)));
}

#[test]
fn a_renewal_makes_a_hold_longer_and_never_shorter() {
    let mut docket = open();
    docket.ask(second(10), want(2, DOOR, 7));
    granted_at(&mut docket, 10);
    let end = second(10).after(granted(LEASE));
    let brief = Want { lease: Span::from_millis(1), ..want(2, DOOR, 7) };
    assert!(docket.renew(second(11), brief));
    assert_eq!(docket.deadline(), Some(end));
    assert!(docket.renew(second(11), want(2, DOOR, 7)));
    assert_eq!(docket.deadline(), Some(second(11).after(granted(LEASE))));
    assert!(!docket.renew(second(11), want(3, DOOR, 7)) && !docket.renew(second(11), want(2, GATE, 7)));
    assert!(!docket.renew(second(11), want(2, DOOR, 6)), "it is not the request it was granted to");
}

#[test]
fn what_one_held_that_started_anew_is_waited_out() {
    let mut docket = open();
    docket.ask(second(10), want(2, DOOR, 7));
    granted_at(&mut docket, 10);
    docket.ask(second(10), want(3, DOOR, 7));
    at(11, |cx| docket.reset(cx, NodeSet::slot(1).with(NodeSet::slot(2))));
    docket.end(NodeId(2), DOOR, Stamp(90));
    at(11, |cx| docket.answer(cx, NodeId(2), &[], true));
    assert_eq!(docket.ask(second(11), want(2, DOOR, 91)), Place::Behind(1), "the other has forgotten that it waits");
    assert_eq!(granted_at(&mut docket, 12), None);
    assert_eq!(granted_at(&mut docket, 13), Some((2, 91, 2)));
}

#[test]
fn nothing_is_granted_before_everybody_has_said_what_it_holds() {
    let mut docket = Docket::new();
    at(10, |cx| docket.begin(cx, TERM, &[Some(GATE)]));
    at(10, |cx| docket.answer(cx, NodeId(2), &[Some(DOOR)], true));
    for lock in [DOOR, GATE, LockId::from_name("hall")] {
        docket.ask(second(10), want(3, lock, 7));
    }
    assert_eq!(granted_at(&mut docket, 10), None);
    at(10, |cx| docket.answer(cx, NodeId(3), &[], false));
    assert_eq!(granted_at(&mut docket, 10), None, "it may have held more before it started");
    at(10, |cx| docket.answer(cx, NodeId(3), &[], true));
    for lock in [DOOR, GATE, LockId::from_name("hall")] {
        docket.ask(second(10), want(3, lock, 7));
    }
    assert_eq!(granted_at(&mut docket, 10), Some((3, 7, 1)), "the hall");
    assert_eq!(granted_at(&mut docket, 10), None);
    docket.end(NodeId(2), DOOR, Stamp(4)); // whatever its number: nobody here has given it one
    assert_eq!(granted_at(&mut docket, 10), Some((3, 7, 2)));
    assert!(docket.renew(second(11), want(1, GATE, 2)));
    docket.end(NodeId(1), GATE, Stamp(2));
    assert_eq!(granted_at(&mut docket, 11), Some((3, 7, 3)));
}

#[test]
fn what_nobody_answers_for_is_waited_out() {
    let mut docket = Docket::new();
    at(10, |cx| docket.begin(cx, TERM, &[]));
    at(10, |cx| docket.answer(cx, NodeId(2), &[Some(DOOR)], true));
    docket.ask(second(10), want(1, DOOR, 7));
    docket.ask(second(10), want(1, GATE, 7));
    assert_eq!(docket.deadline(), Some(second(10).after(granted(Timing::RADIO.lock_lease))));
    assert_eq!(granted_at(&mut docket, 15), None);
    assert_eq!(granted_at(&mut docket, 16), Some((1, 7, 1)));
    assert_eq!(granted_at(&mut docket, 16), Some((1, 7, 2)), "what was held before is over too");
}

#[test]
fn one_that_has_just_started_does_not_know_what_it_held_itself() {
    let mut docket = Docket::new();
    at(5, |cx| docket.begin(cx, TERM, &[]));
    for who in [2, 3] {
        at(5, |cx| docket.answer(cx, NodeId(who), &[], true));
    }
    docket.ask(second(5), want(2, DOOR, 7));
    assert_eq!(granted_at(&mut docket, 10), None);
    assert_eq!(granted_at(&mut docket, 11), Some((2, 7, 1)));
}

#[test]
fn more_than_can_be_written_down_is_waited_out() {
    let mut docket = Docket::new();
    let locks = ["a", "b", "c", "d"].map(|name| Some(LockId::from_name(name)));
    at(10, |cx| docket.begin(cx, TERM, &[]));
    at(10, |cx| docket.answer(cx, NodeId(2), &locks, true));
    at(10, |cx| docket.answer(cx, NodeId(3), &[Some(DOOR)], true));
    at(10, |cx| docket.answer(cx, NodeId(2), &[], true));
    docket.ask(second(10), want(2, DOOR, 7));
    assert_eq!(granted_at(&mut docket, 15), None);
    assert_eq!(granted_at(&mut docket, 16), Some((2, 7, 1)));
}

#[test]
fn fences_grow_over_terms_and_within_one_that_is_begun_again() {
    let mut docket = open();
    docket.ask(second(10), want(2, DOOR, 7));
    assert_eq!(granted_at(&mut docket, 10), Some((2, 7, 1)));
    docket.go_on(Term { number: 4, ..TERM });
    docket.end(NodeId(2), DOOR, Stamp(7));
    docket.ask(second(10), want(2, DOOR, 8));
    assert_eq!(granted_at(&mut docket, 10), Some((2, 8, 2)));
    at(10, |cx| docket.begin(cx, TERM, &[]));
    docket.ask(second(10), want(2, DOOR, 9));
    assert_eq!(granted_at(&mut docket, 20), Some((2, 9, 3)));
}

#[test]
fn a_full_docket_refuses_and_has_room_again_when_something_is_over() {
    let mut docket = open();
    for name in ["a", "b", "c", "d"] {
        assert_eq!(docket.ask(second(10), want(2, LockId::from_name(name), 7)), Place::Behind(0));
    }
    assert_eq!(docket.ask(second(10), want(2, DOOR, 7)), Place::Full);
    docket.end(NodeId(2), LockId::from_name("b"), Stamp(7));
    for who in 1..=16 {
        assert_eq!(docket.ask(second(10), want(who, DOOR, 7)), Place::Behind(u8::try_from(who - 1).unwrap()));
    }
    assert_eq!(docket.ask(second(10), want(17, DOOR, 7)), Place::Full);
    at(10, |cx| docket.forget_waiting(cx, NodeSet::slot(0)));
    assert_eq!(docket.ask(second(10), want(17, DOOR, 7)), Place::Behind(15));
}
