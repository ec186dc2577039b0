//! What becomes of tokens when members crash, restart and are cut off: the same for a ring and for a tree.

use super::locks::{DOOR, LEASE, Locks};
use super::{complete, lossy};
use protocol::mutex::{Fence, Mutex};
use protocol::{NodeId, Span};

/// A group of so many.
pub type Group<M> = fn(usize) -> Locks<M>;

/// Long enough for whatever goes well.
const MOMENT: Span = Span::from_millis(300);

pub fn a_bystanders_crash_costs_no_lease<M: Mutex + Clone + 'static>(group: Group<M>) {
    let mut locks = group(5);
    locks.acquire(1, DOOR);
    locks.run(MOMENT);
    locks.net.crash(2); // a bystander, the next of a ring
    locks.acquire(3, DOOR);
    locks.run(Span::from_millis(500));
    locks.release(1, DOOR);
    let took = locks.await_holder(3, DOOR);
    println!("after a bystander's crash: {took:?}");
    assert!(took < Span::from_secs(6), "nobody's lease is waited out: {took:?}");
}

pub fn a_leaders_crash_loses_nothing_but_time<M: Mutex + Clone + 'static>(group: Group<M>) {
    let mut locks = group(5);
    locks.acquire(1, DOOR);
    locks.run(MOMENT);
    let before = locks.fence(DOOR).unwrap();
    locks.net.crash(4);
    locks.acquire(2, DOOR);
    locks.run(Span::from_secs(2));
    locks.release(1, DOOR);
    let took = locks.await_holder(2, DOOR);
    println!("after the leader's crash: {took:?}");
    assert!(locks.fence(DOOR).unwrap() > before);
}

pub fn a_holder_that_is_cut_off_loses_the_lock_before_another_has_it<M: Mutex + Clone + 'static>(group: Group<M>) {
    let mut locks = group(5);
    locks.acquire(0, DOOR);
    locks.run(MOMENT);
    locks.net.relink(|a, b| (a == 0) == (b == 0));
    locks.acquire(2, DOOR);
    locks.await_holder(2, DOOR);
    // Two parts meet: the one that was cut off wants the lock again, and has an old token.
    locks.acquire(0, DOOR);
    locks.run(Span::from_secs(3));
    assert_ne!(locks.holder(DOOR), Some(0), "an old token is good for nothing");
    locks.net.relink(complete);
    locks.await_holder(0, DOOR);
}

pub fn a_holder_that_restarts_does_not_hold_and_its_lease_is_waited_out<M: Mutex + Clone + 'static>(group: Group<M>) {
    let mut locks = group(5);
    locks.acquire(1, DOOR);
    locks.run(MOMENT);
    locks.net.boot(1);
    locks.acquire(2, DOOR);
    assert_eq!(locks.holder(DOOR), None);
    let took = locks.await_holder(2, DOOR);
    assert!(took > LEASE.share(8, 10), "{took:?}");
}

pub fn a_leader_that_restarts_finds_or_makes_every_token<M: Mutex + Clone + 'static>(group: Group<M>) {
    let mut locks = group(5);
    locks.acquire(1, DOOR);
    locks.run(MOMENT);
    locks.net.boot(4);
    for _ in 0..4 {
        locks.run(Span::from_secs(2));
        if locks.holder(DOOR) == Some(1) {
            locks.renew(1, DOOR);
        }
    }
    locks.run(Span::from_secs(5));
    locks.acquire(3, DOOR);
    locks.await_holder(3, DOOR);
}

pub fn with_30_percent_of_all_frames_lost_all_enter_one_after_the_other<M: Mutex + Clone + 'static>(group: Group<M>) {
    for seed in 0..10 {
        let mut locks = group(5);
        locks.net.set_fate(lossy(30, seed));
        for round in 0..4 {
            for index in 0..5 {
                locks.acquire(index, DOOR);
            }
            let mut left: Vec<usize> = (0..5).collect();
            let start = locks.net.now;
            while !left.is_empty() {
                locks.run(Span::from_millis(10));
                if let Some(holder) = locks.holder(DOOR) {
                    left.retain(|&index| index != holder);
                    locks.release(holder, DOOR);
                }
                assert!(locks.net.now.since(start) < Span::from_secs(90), "seed {seed}, round {round}: {left:?} wait");
            }
        }
    }
}

pub fn the_fence_is_the_leaders_term_and_the_tokens_sequence<M: Mutex + Clone + 'static>(group: Group<M>) {
    let mut locks = group(3);
    locks.acquire(0, DOOR);
    locks.run(MOMENT);
    let Fence { term, count } = locks.fence(DOOR).unwrap();
    assert_eq!(term.by, NodeId(3));
    assert_eq!(count.0, (1 << 32) + 2, "the first token of this leader, after a hop and an entry");
}

pub fn two_locks_are_held_by_two_nodes_at_once<M: Mutex + Clone + 'static>(group: Group<M>) {
    let mut locks = group(4);
    locks.acquire(0, DOOR);
    locks.acquire(1, "printer");
    locks.run(MOMENT);
    assert_eq!((locks.holder(DOOR), locks.holder("printer")), (Some(0), Some(1)));
}

pub fn the_leader_enters_by_itself_when_the_token_rests_there<M: Mutex + Clone + 'static>(group: Group<M>) {
    let mut locks = group(4);
    locks.acquire(3, DOOR);
    locks.run(Span::from_millis(1));
    assert_eq!(locks.holder(DOOR), Some(3));
    assert_eq!(locks.letters(), 0);
}

pub fn a_hold_is_renewed_for_as_long_as_the_leader_agrees<M: Mutex + Clone + 'static>(group: Group<M>) {
    let mut locks = group(4);
    for index in [0, 3] {
        locks.acquire(index, DOOR);
        locks.run(MOMENT);
        for _ in 0..10 {
            locks.run(Span::from_secs(2));
            locks.renew(index, DOOR);
            locks.run(MOMENT);
            assert_eq!(locks.holder(DOOR), Some(index));
        }
        locks.release(index, DOOR);
        locks.run(MOMENT);
    }
}

pub fn a_token_lost_with_its_holder_is_made_anew_when_its_lease_is_over<M: Mutex + Clone + 'static>(group: Group<M>) {
    let mut locks = group(5);
    locks.acquire(1, DOOR);
    locks.run(MOMENT);
    let before = locks.fence(DOOR).unwrap();
    locks.net.crash(1);
    locks.acquire(2, DOOR);
    let took = locks.await_holder(2, DOOR);
    assert!(took > LEASE.share(9, 10), "its lease was waited out: {took:?}");
    assert!(took < Span::from_secs(12), "{took:?}");
    assert!(locks.fence(DOOR).unwrap() > before);
}
