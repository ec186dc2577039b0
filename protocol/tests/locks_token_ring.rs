//! The token ring on whole nodes: what it costs, and what becomes of lost tokens.

mod common;

use common::locks::{DOOR, Locks};
use common::tokens;
use protocol::Span;
use protocol::mutex::{Notice, Refusal, TokenRing};
use protocol::wire::Kind;

fn ring(count: usize) -> Locks<TokenRing> {
    Locks::new(count, Kind::TokenRing, TokenRing::new())
}

fn moment(locks: &mut Locks<TokenRing>) {
    locks.run(Span::from_millis(300));
}

#[test]
fn mt1_the_token_goes_round_and_each_enters_when_it_comes_by() {
    let mut locks = ring(5);
    for index in [0, 2, 1] {
        locks.acquire(index, DOOR);
    }
    let mut order = Vec::new();
    for _ in 0..3 {
        moment(&mut locks);
        let holder = locks.holder(DOOR).expect("somebody has it");
        order.push(holder);
        locks.release(holder, DOOR);
    }
    assert_eq!(order, [0, 1, 2], "the order is the ring's, from the leader on");
}

#[test]
fn mt3_an_entry_costs_a_call_a_warrant_and_a_round() {
    for count in [3, 5, 8] {
        let mut locks = ring(count);
        locks.acquire(0, DOOR);
        moment(&mut locks);
        assert_eq!(locks.holder(DOOR), Some(0));
        locks.release(0, DOOR);
        moment(&mut locks);
        assert_eq!(locks.letters(), 2 + count, "{count} members");
        locks.run(Span::from_secs(20));
        assert_eq!(locks.letters(), 2 + count, "an idle token rests");
    }
}

#[test]
fn mt3_those_that_enter_in_one_round_share_its_hops() {
    let mut locks = ring(6);
    for index in 0..5 {
        locks.acquire(index, DOOR);
    }
    for index in 0..5 {
        locks.await_holder(index, DOOR);
        locks.release(index, DOOR);
    }
    moment(&mut locks);
    println!("five entries: {} letters", locks.letters());
    assert!(locks.letters() <= 5 * 2 + 2 * 6, "a call and a warrant each, and at most two rounds: {}", locks.letters());
}

#[test]
fn mt2_nobody_starves_though_two_neighbours_always_want_it() {
    let mut locks = ring(5);
    locks.acquire(0, DOOR);
    moment(&mut locks);
    locks.acquire(3, DOOR);
    let mut entries = 0;
    while locks.holder(DOOR) != Some(3) {
        for index in [0, 1] {
            if locks.holder(DOOR) == Some(index) {
                entries += 1;
                locks.release(index, DOOR);
                locks.acquire(index, DOOR);
            }
        }
        assert!(entries < 5);
        moment(&mut locks);
    }
}

#[test]
fn m3_two_locks_are_held_by_two_nodes_at_once() {
    tokens::two_locks_are_held_by_two_nodes_at_once(ring);
}

#[test]
fn the_leader_enters_by_itself_when_the_token_rests_there() {
    tokens::the_leader_enters_by_itself_when_the_token_rests_there(ring);
}

#[test]
fn a_try_is_refused_while_another_is_inside_and_granted_when_nobody_is() {
    let mut locks = ring(4);
    locks.acquire(0, DOOR);
    moment(&mut locks);
    locks.mark();
    locks.try_(1, DOOR);
    moment(&mut locks);
    assert_eq!(locks.told(1), [Notice::Refused { lock: protocol::mutex::LockId::from_name(DOOR), why: Refusal::Busy }]);
    locks.release(0, DOOR);
    moment(&mut locks);
    locks.try_(1, DOOR);
    moment(&mut locks);
    assert_eq!(locks.holder(DOOR), Some(1));
}

#[test]
fn a_hold_is_renewed_for_as_long_as_the_leader_agrees() {
    tokens::a_hold_is_renewed_for_as_long_as_the_leader_agrees(ring);
}

#[test]
fn mt4_a_token_lost_with_its_holder_is_made_anew_when_its_lease_is_over() {
    tokens::a_token_lost_with_its_holder_is_made_anew_when_its_lease_is_over(ring);
}

#[test]
fn mt4_a_broken_ring_is_mended_and_the_token_found_at_once() {
    tokens::a_bystanders_crash_costs_no_lease(ring);
}

#[test]
fn mt4_a_leaders_crash_loses_nothing_but_time() {
    tokens::a_leaders_crash_loses_nothing_but_time(ring);
}

#[test]
fn mt4_a_holder_that_is_cut_off_loses_the_lock_before_another_has_it() {
    tokens::a_holder_that_is_cut_off_loses_the_lock_before_another_has_it(ring);
}

#[test]
fn mt4_a_holder_that_restarts_does_not_hold_and_its_lease_is_waited_out() {
    tokens::a_holder_that_restarts_does_not_hold_and_its_lease_is_waited_out(ring);
}

#[test]
fn a_leader_that_restarts_finds_or_makes_every_token() {
    tokens::a_leader_that_restarts_finds_or_makes_every_token(ring);
}

#[test]
fn with_30_percent_of_all_frames_lost_all_enter_one_after_the_other() {
    tokens::with_30_percent_of_all_frames_lost_all_enter_one_after_the_other(ring);
}

#[test]
fn the_fence_is_the_leaders_term_and_the_tokens_sequence() {
    tokens::the_fence_is_the_leaders_term_and_the_tokens_sequence(ring);
}
