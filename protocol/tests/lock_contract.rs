//! What an application is promised of a lock, whatever algorithm is behind it.

mod common;

use common::locks::{DOOR, LEASE, Locks};
use protocol::Span;
use protocol::mutex::{AnyMutex, Command, LockId, Notice, Refusal};

/// How long it may take until nobody is asked any more who is gone, on top of any lease.
const UPHEAVAL: Span = Span::from_secs(30);

/// Runs `test` for every lock there is, with so many members.
fn every(count: usize, test: impl Fn(&mut Locks<AnyMutex>)) {
    for name in AnyMutex::NAMES {
        println!("{name}, {count} members"); // shown where the test fails
        let lock = AnyMutex::by_name(name).unwrap();
        test(&mut Locks::new(count, lock.kind(), lock));
    }
}

fn refused(notices: &[Notice]) -> Vec<Refusal> {
    notices
        .iter()
        .filter_map(|notice| if let Notice::Refused { why, .. } = notice { Some(*why) } else { None })
        .collect()
}

#[test]
fn every_lock_has_a_name_by_which_it_is_found() {
    for name in AnyMutex::NAMES {
        assert_eq!(AnyMutex::by_name(name).unwrap().kind().name(), *name);
    }
    assert_eq!(AnyMutex::by_name("none"), None);
}

#[test]
fn m1_every_member_that_asks_gets_the_lock_once_and_in_turn() {
    for count in [2, 3, 5] {
        every(count, |locks| {
            for index in 0..count {
                locks.acquire(index, DOOR);
            }
            for _ in 0..count {
                let end = locks.net.now.after(Span::from_secs(20));
                while locks.holder(DOOR).is_none() {
                    assert!(locks.net.now < end, "somebody waits for ever");
                    locks.run(Span::from_millis(1));
                }
                let holder = locks.holder(DOOR).unwrap();
                locks.run(Span::from_millis(20));
                locks.release(holder, DOOR);
            }
            locks.run(Span::from_secs(5));
            for index in 0..count {
                let got = locks.told(index).iter().filter(|notice| matches!(notice, Notice::Acquired { .. })).count();
                assert_eq!(got, 1, "node {index}: {:?}", locks.told(index));
            }
        });
    }
}

#[test]
fn m2_a_holder_that_asks_again_is_refused_and_so_is_one_that_waits() {
    every(3, |locks| {
        locks.acquire(0, DOOR);
        locks.await_holder(0, DOOR);
        locks.acquire(0, DOOR);
        locks.acquire(1, DOOR);
        locks.try_(1, DOOR);
        for index in [0, 1] {
            assert_eq!(refused(&locks.told(index)), [Refusal::Reentry]);
        }
        assert_eq!(locks.holder(DOOR), Some(0));
        locks.release(0, DOOR);
        locks.await_holder(1, DOOR);
    });
}

#[test]
fn one_that_only_tries_is_refused_while_another_holds_the_lock_and_granted_it_when_not() {
    every(3, |locks| {
        locks.acquire(0, DOOR);
        locks.await_holder(0, DOOR);
        for index in [1, 2] {
            locks.try_(index, DOOR);
            for _ in 0..4 {
                locks.renew(0, DOOR);
                locks.run(LEASE.share(1, 4));
            }
            assert_eq!(refused(&locks.told(index)), [Refusal::Busy], "node {index}");
        }
        assert_eq!(locks.holder(DOOR), Some(0));
        locks.release(0, DOOR);
        locks.run(Span::from_secs(1));
        for index in [1, 2] {
            locks.try_(index, DOOR);
            locks.await_holder(index, DOOR);
            locks.release(index, DOOR);
            locks.run(Span::from_secs(1));
        }
    });
}

#[test]
fn whoever_takes_its_request_back_is_passed_over() {
    every(4, |locks| {
        locks.acquire(0, DOOR);
        locks.await_holder(0, DOOR);
        for index in [1, 2, 3] {
            locks.acquire(index, DOOR);
            locks.run(Span::from_millis(50));
        }
        for index in [1, 3] {
            locks.cancel(index, DOOR);
            assert_eq!(refused(&locks.told(index)), [Refusal::Cancelled]);
        }
        locks.run(Span::from_millis(100));
        locks.release(0, DOOR);
        locks.await_holder(2, DOOR);
        locks.release(2, DOOR);
        locks.run(Span::from_secs(3));
        assert_eq!(locks.holder(DOOR), None, "nobody else wants it any more");
        locks.cancel(1, DOOR);
        assert_eq!(refused(&locks.told(1)), [Refusal::Cancelled, Refusal::NotHeld]);
        locks.acquire(1, DOOR);
        locks.await_holder(1, DOOR);
    });
}

#[test]
fn a_request_that_is_taken_back_at_once_leaves_the_lock_free() {
    every(3, |locks| {
        locks.acquire(0, DOOR);
        locks.cancel(0, DOOR);
        locks.acquire(1, DOOR);
        locks.await_holder(1, DOOR);
        assert_eq!(refused(&locks.told(0)), [Refusal::Cancelled]);
        assert!(!locks.told(0).iter().any(|notice| matches!(notice, Notice::Acquired { .. })));
    });
}

#[test]
fn whoever_waits_is_told_so() {
    every(3, |locks| {
        locks.acquire(0, DOOR);
        locks.await_holder(0, DOOR);
        locks.acquire(1, DOOR);
        for _ in 0..4 {
            locks.renew(0, DOOR);
            locks.run(LEASE.share(1, 2)); // soon enough to tell a long wait from a failure
        }
        assert!(locks.told(1).iter().any(|notice| matches!(notice, Notice::Waiting { .. })), "{:?}", locks.told(1));
    });
}

#[test]
fn a_holder_that_renews_keeps_the_lock_under_the_same_fence() {
    every(3, |locks| {
        locks.acquire(0, DOOR);
        locks.await_holder(0, DOOR);
        let fence = locks.fence(DOOR);
        locks.acquire(1, DOOR);
        for _ in 0..6 {
            locks.run(LEASE.share(1, 2));
            locks.renew(0, DOOR);
            assert_eq!((locks.holder(DOOR), locks.fence(DOOR)), (Some(0), fence));
        }
        assert!(!locks.told(0).iter().any(|notice| matches!(notice, Notice::Expiring { .. } | Notice::Lost { .. })));
        locks.release(0, DOOR);
        locks.await_holder(1, DOOR);
        assert!(locks.fence(DOOR) > fence);
    });
}

#[test]
fn a_holder_that_does_nothing_is_warned_and_loses_the_lock_to_the_next() {
    every(3, |locks| {
        locks.acquire(0, DOOR);
        locks.await_holder(0, DOOR);
        let fence = locks.fence(DOOR);
        locks.acquire(1, DOOR);
        locks.await_holder(1, DOOR);
        assert!(locks.fence(DOOR) > fence);
        let mut told = locks.told(0);
        told.retain(|notice| !matches!(notice, Notice::Waiting { .. }));
        assert!(
            matches!(told[..], [Notice::Acquired { .. }, Notice::Expiring { .. }, Notice::Lost { .. }]),
            "{told:?}"
        );
        locks.release(0, DOOR);
        assert_eq!(refused(&locks.told(0)), [Refusal::NotHeld]);
        assert_eq!(locks.holder(DOOR), Some(1));
    });
}

#[test]
fn when_a_holder_crashes_the_next_gets_the_lock_under_a_higher_fence() {
    for count in [3, 5] {
        every(count, |locks| {
            locks.acquire(0, DOOR);
            locks.await_holder(0, DOOR);
            let fence = locks.fence(DOOR);
            locks.acquire(1, DOOR);
            locks.run(Span::from_millis(100));
            locks.net.crash(0);
            let start = locks.net.now;
            while locks.holder(DOOR) != Some(1) && locks.net.now.since(start) < UPHEAVAL {
                locks.run(Span::from_millis(10));
            }
            if locks.holder(DOOR) != Some(1) {
                locks.net.boot(0); // one that asks members that cannot be replaced has to wait until they are back
            }
            locks.await_holder(1, DOOR);
            assert!(locks.fence(DOOR) > fence);
        });
    }
}

#[test]
fn fences_grow_when_the_holder_starts_anew() {
    every(3, |locks| {
        locks.acquire(0, DOOR);
        locks.await_holder(0, DOOR);
        let mut fence = locks.fence(DOOR);
        for _ in 0..2 {
            locks.net.crash(0);
            locks.run(Span::from_millis(300));
            locks.net.boot(0);
            locks.run(Span::from_secs(12));
            locks.acquire(0, DOOR);
            locks.await_holder(0, DOOR);
            assert!(locks.fence(DOOR) > fence);
            fence = locks.fence(DOOR);
        }
    });
}

#[test]
fn fences_grow_when_the_leader_starts_anew_and_when_all_do() {
    every(3, |locks| {
        locks.acquire(0, DOOR);
        locks.await_holder(0, DOOR);
        let first = locks.fence(DOOR);
        locks.acquire(1, DOOR);
        locks.run(Span::from_millis(100));
        locks.net.crash(2);
        let start = locks.net.now;
        while locks.holder(DOOR) != Some(1) && locks.net.now.since(start) < Span::from_secs(10) {
            locks.run(Span::from_millis(10)); // some need no leader, and are granted meanwhile
        }
        locks.net.boot(2);
        if locks.holder(DOOR) != Some(1) {
            locks.await_holder(1, DOOR);
        }
        let second = locks.fence(DOOR);
        assert!(second > first);
        for index in 0..3 {
            locks.net.crash(index);
        }
        for index in 0..3 {
            locks.net.boot(index);
        }
        locks.run(Span::from_secs(15));
        locks.acquire(0, DOOR);
        locks.await_holder(0, DOOR);
        assert!(locks.fence(DOOR) > second);
    });
}

#[test]
fn m3_locks_of_different_names_are_held_at_the_same_time() {
    every(3, |locks| {
        let names = ["printer", "table:students", "door"];
        for (index, name) in names.iter().enumerate() {
            locks.acquire(index, name);
        }
        for (index, name) in names.iter().enumerate() {
            locks.await_holder(index, name);
            locks.renew(index, name);
        }
        let holders = names.map(|name| locks.holder(name));
        assert_eq!(holders, [Some(0), Some(1), Some(2)]);
        locks.acquire(1, "printer");
        locks.release(0, "printer");
        locks.await_holder(1, "printer");
        assert_eq!(locks.holder("table:students"), Some(1), "one node may hold several");
    });
}

#[test]
fn what_is_given_back_twice_was_not_held_the_second_time() {
    every(3, |locks| {
        locks.acquire(0, DOOR);
        locks.await_holder(0, DOOR);
        locks.mark();
        locks.release(0, DOOR);
        locks.release(0, DOOR);
        let lock = LockId::from_name(DOOR);
        assert_eq!(locks.told(0), [Notice::Released { lock }, Notice::Refused { lock, why: Refusal::NotHeld }]);
        for command in [Command::Release { lock }, Command::Cancel { lock }, Command::Renew { lock, lease: LEASE }] {
            locks.mark();
            locks.put(1, command);
            assert_eq!(refused(&locks.told(1)), [Refusal::NotHeld]);
        }
    });
}

#[test]
fn a_lease_of_nothing_and_one_longer_than_any_may_be_are_refused() {
    every(3, |locks| {
        let lock = LockId::from_name(DOOR);
        for lease in [Span::ZERO, Span::from_secs(60)] {
            locks.mark();
            locks.put(0, Command::Acquire { lock, lease });
            assert_eq!(refused(&locks.told(0)), [Refusal::Lease]);
        }
    });
}
