//! What becomes of tokens when members crash, restart and are cut off: the same on a ring and in a tree.

use crate::support::prelude::*;
use protocol::mutex::token_ring::Idle;
use protocol::mutex::{Raymond, TokenRing};

/// A group of so many.
type Group<M> = fn(usize) -> LockNet<M>;

pub(crate) fn ring(count: usize) -> LockNet<TokenRing> {
    LockNet::new(count, TokenRing::KIND, TokenRing::default())
}

pub(crate) fn circulating(count: usize) -> LockNet<TokenRing> {
    LockNet::new(count, TokenRing::KIND, TokenRing::new(Idle::Circulating))
}

pub(crate) fn tree(count: usize) -> LockNet<Raymond> {
    LockNet::new(count, Raymond::KIND, Raymond::default())
}

/// Long enough for a grant where nothing goes wrong, in milliseconds.
pub(crate) const MOMENT: u32 = 300;

/// Instantiates cases for both locks.
macro_rules! of_both {
    ($($case:ident)+) => {
        mod on_a_ring {
            $(#[test] fn $case() { super::$case(super::ring); })+
        }
        mod in_a_tree {
            $(#[test] fn $case() { super::$case(super::tree); })+
        }
    };
}

/// What does not depend on where an idle token is holds of one that circulates too.
mod on_a_ring_that_circulates {
    macro_rules! cases {
        ($($case:ident)+) => {
            $(#[test] fn $case() { super::$case(super::circulating); })+
        };
    }

    cases! {
        mt4_the_crash_of_a_bystander_breaks_no_lease
        mt4_the_crash_of_the_leader_costs_time_only
        mt4_a_holder_that_is_cut_off_loses_the_lock_before_another_is_granted_it
        mt4_the_lease_of_a_holder_that_restarts_is_waited_out
        mt4_a_token_lost_with_its_holder_is_reissued_at_the_end_of_its_lease
        a_leader_that_restarts_finds_or_reissues_every_token
        with_30_percent_of_all_frames_lost_all_enter_one_after_the_other
        m3_two_locks_are_held_by_two_nodes_at_once
        a_grant_is_renewed_for_as_long_as_the_leader_agrees
    }
}

of_both! {
    mt4_the_crash_of_a_bystander_breaks_no_lease
    mt4_the_crash_of_the_leader_costs_time_only
    mt4_a_holder_that_is_cut_off_loses_the_lock_before_another_is_granted_it
    mt4_the_lease_of_a_holder_that_restarts_is_waited_out
    mt4_a_token_lost_with_its_holder_is_reissued_at_the_end_of_its_lease
    a_leader_that_restarts_finds_or_reissues_every_token
    with_30_percent_of_all_frames_lost_all_enter_one_after_the_other
    the_fence_is_the_leaders_term_and_the_tokens_sequence
    m3_two_locks_are_held_by_two_nodes_at_once
    the_leader_enters_by_itself_when_the_token_rests_there
    a_grant_is_renewed_for_as_long_as_the_leader_agrees
}

fn mt4_the_crash_of_a_bystander_breaks_no_lease<M: TestMutex>(group: Group<M>) {
    let mut locks = group(5);
    locks.acquire(1).run_ms(MOMENT).crash(2); // a bystander, the next of a ring
    let took = locks.acquire(3).run_ms(500).release(1).await_holder(3);
    println!("after a bystander's crash: {took:?}");
    assert!(took < Duration::from_secs(6), "no lease is waited out: {took:?}");
}

fn mt4_the_crash_of_the_leader_costs_time_only<M: TestMutex>(group: Group<M>) {
    let mut locks = group(5);
    locks.acquire(1).run_ms(MOMENT);
    let before = locks.fence().unwrap();
    let took = locks.crash(4).acquire(2).run_secs(2).release(1).await_holder(2);
    println!("after the leader's crash: {took:?}");
    assert!(locks.fence().unwrap() > before);
}

fn mt4_a_holder_that_is_cut_off_loses_the_lock_before_another_is_granted_it<M: TestMutex>(group: Group<M>) {
    let mut locks = group(5);
    locks.acquire(0).run_ms(MOMENT);
    locks.net.relink(|a, b| (a == 0) == (b == 0));
    locks.acquire(2).await_holder(2);
    // The node that was cut off wants the lock again, and has an old token.
    locks.acquire(0).run_secs(3);
    assert_ne!(locks.holder(), Some(0), "an old token is void");
    locks.net.relink(complete);
    locks.await_holder(0);
}

fn mt4_the_lease_of_a_holder_that_restarts_is_waited_out<M: TestMutex>(group: Group<M>) {
    let mut locks = group(5);
    locks.acquire(1).run_ms(MOMENT).boot(1).acquire(2);
    assert_eq!(locks.holder(), None);
    let took = locks.await_holder(2);
    assert!(took > LEASE.mul_ratio(8, 10), "{took:?}");
}

fn a_leader_that_restarts_finds_or_reissues_every_token<M: TestMutex>(group: Group<M>) {
    let mut locks = group(5);
    locks.acquire(1).run_ms(MOMENT).boot(4);
    for _ in 0..4 {
        locks.run_secs(2);
        if locks.holder() == Some(1) {
            locks.renew(1);
        }
    }
    locks.run_secs(5).acquire(3).await_holder(3);
}

fn with_30_percent_of_all_frames_lost_all_enter_one_after_the_other<M: TestMutex>(group: Group<M>) {
    for seed in 0..10 {
        let mut locks = group(5);
        locks.net.set_filter(lossy(30, seed));
        for _ in 0..4 {
            locks.acquire_all(0..5);
            locks.serve(0..5, 10, Duration::from_secs(90));
        }
    }
}

fn the_fence_is_the_leaders_term_and_the_tokens_sequence<M: TestMutex>(group: Group<M>) {
    let mut locks = group(3);
    locks.acquire(0).run_ms(MOMENT);
    let Fence { term, count } = locks.fence().unwrap();
    assert_eq!(term.by, NodeId(3));
    assert_eq!(count.0, (1 << 32) + 2, "the first token of this leader, after a hop and an entry");
}

fn m3_two_locks_are_held_by_two_nodes_at_once<M: TestMutex>(group: Group<M>) {
    let mut locks = group(4);
    locks.acquire(0).acquire_lock(1, "printer").run_ms(MOMENT);
    assert_eq!((locks.holder(), locks.holder_of("printer")), (Some(0), Some(1)));
}

fn the_leader_enters_by_itself_when_the_token_rests_there<M: TestMutex>(group: Group<M>) {
    let mut locks = group(4);
    locks.acquire(3).run_ms(1);
    assert_eq!(locks.holder(), Some(3));
    assert_eq!(locks.messages(), 0);
}

fn a_grant_is_renewed_for_as_long_as_the_leader_agrees<M: TestMutex>(group: Group<M>) {
    let mut locks = group(4);
    for index in [0, 3] {
        locks.acquire(index).run_ms(MOMENT);
        for _ in 0..10 {
            locks.run_secs(2).renew(index).run_ms(MOMENT);
            assert_eq!(locks.holder(), Some(index));
        }
        locks.release(index).run_ms(MOMENT);
    }
}

fn mt4_a_token_lost_with_its_holder_is_reissued_at_the_end_of_its_lease<M: TestMutex>(group: Group<M>) {
    let mut locks = group(5);
    locks.acquire(1).run_ms(MOMENT);
    let before = locks.fence().unwrap();
    let took = locks.crash(1).acquire(2).await_holder(2);
    assert!(took > LEASE.mul_ratio(9, 10), "its lease was waited out: {took:?}");
    assert!(took < Duration::from_secs(12), "{took:?}");
    assert!(locks.fence().unwrap() > before);
}
