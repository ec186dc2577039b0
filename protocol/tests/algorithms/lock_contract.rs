//! The contract of every lock with its application, whatever algorithm is behind it.

use crate::support::prelude::*;
use protocol::mutex::{Command, Notice};
use protocol::registry::AnyMutex;

/// How long it may take until every algorithm has given up on a crashed member, on top of any lease.
const RECOVERY: Duration = Duration::from_secs(30);

/// Runs `test` for every lock there is, with so many members.
fn every(count: usize, test: impl Fn(&mut LockNet<AnyMutex>)) {
    for name in AnyMutex::NAMES {
        println!("{name}, {count} members"); // shown where the test fails
        let lock = AnyMutex::by_name(name).unwrap();
        test(&mut LockNet::new(count, lock.kind(), lock));
    }
}

#[test]
fn every_lock_is_found_by_its_name() {
    for name in AnyMutex::NAMES {
        let kind = AnyMutex::by_name(name).unwrap().kind();
        assert!(protocol::registry::kinds().any(|listed| listed == (kind, *name)), "{name}");
    }
    assert_eq!(AnyMutex::by_name("none"), None);
}

#[test]
fn m1_every_member_that_asks_is_granted_the_lock_once() {
    for count in [2, 3, 5] {
        every(count, |locks| {
            locks.acquire_all(0..count);
            for _ in 0..count {
                let end = locks.net.now.after(Duration::from_secs(20));
                while locks.holder().is_none() {
                    assert!(locks.net.now < end, "a node waits for ever");
                    locks.run_ms(1);
                }
                let holder = locks.holder().unwrap();
                locks.run_ms(20).release(holder);
            }
            locks.run_secs(5);
            for index in 0..count {
                let notices = locks.notices(index);
                let granted = notices.iter().filter(|notice| matches!(notice, Notice::Acquired { .. })).count();
                assert_eq!(granted, 1, "node {index}: {notices:?}");
            }
        });
    }
}

#[test]
fn a_request_that_may_wait_for_a_while_is_refused_at_the_end_of_it_and_lets_the_others_pass() {
    let wait = Duration::from_millis(700);
    every(3, |locks| {
        locks.enter(0).mark().put(1, Command::AcquireWithin { lock: DOOR, lease: LEASE, wait }).acquire(2);
        locks.run_ms(690);
        assert_eq!(locks.refusals(1), []);
        locks.run_ms(20);
        assert_eq!(locks.refusals(1), [Refusal::TimedOut]);
        locks.release(0).await_holder(2);
        locks.release(2).put(1, Command::AcquireWithin { lock: DOOR, lease: LEASE, wait: LEASE }).await_holder(1);
        assert_eq!(locks.run_secs(1).holder(), Some(1), "a lock that was granted in time is kept");
        assert_eq!(locks.refusals(1), [Refusal::TimedOut]);
    });
}

#[test]
fn m2_a_second_request_of_a_holder_or_a_waiting_node_is_refused() {
    every(3, |locks| {
        locks.enter(0).acquire(0).acquire(1).try_acquire(1);
        for index in [0, 1] {
            assert_eq!(locks.refusals(index), [Refusal::Reentry]);
        }
        assert_eq!(locks.holder(), Some(0));
        locks.release(0).await_holder(1);
    });
}

#[test]
fn a_try_is_refused_while_another_holds_the_lock_and_granted_when_none_does() {
    every(3, |locks| {
        locks.enter(0);
        for index in [1, 2] {
            locks.try_acquire(index);
            for _ in 0..4 {
                locks.renew(0).run(LEASE.mul_ratio(1, 4));
            }
            assert_eq!(locks.refusals(index), [Refusal::Busy], "node {index}");
        }
        assert_eq!(locks.holder(), Some(0));
        locks.release(0).run_secs(1);
        for index in [1, 2] {
            locks.try_acquire(index).await_holder(index);
            locks.release(index).run_secs(1);
        }
    });
}

#[test]
fn a_cancelled_request_is_passed_over() {
    every(4, |locks| {
        locks.enter(0);
        for index in [1, 2, 3] {
            locks.acquire(index).run_ms(50);
        }
        for index in [1, 3] {
            locks.cancel(index);
            assert_eq!(locks.refusals(index), [Refusal::Cancelled]);
        }
        locks.run_ms(100).release(0).await_holder(2);
        locks.release(2).run_secs(3);
        assert_eq!(locks.holder(), None, "no other node wants it");
        locks.cancel(1);
        assert_eq!(locks.refusals(1), [Refusal::Cancelled, Refusal::NotHeld]);
        locks.enter(1);
    });
}

#[test]
fn a_request_that_is_cancelled_at_once_leaves_the_lock_free() {
    every(3, |locks| {
        locks.acquire(0).cancel(0).enter(1);
        assert_eq!(locks.refusals(0), [Refusal::Cancelled]);
        assert!(!locks.notices(0).iter().any(|notice| matches!(notice, Notice::Acquired { .. })));
    });
}

#[test]
fn a_waiting_node_is_notified_that_it_waits() {
    every(3, |locks| {
        locks.enter(0).acquire(1);
        for _ in 0..4 {
            locks.renew(0).run(LEASE.mul_ratio(1, 2)); // soon enough to tell a long wait from a failure
        }
        let notices = locks.notices(1);
        assert!(notices.iter().any(|notice| matches!(notice, Notice::Waiting { .. })), "{notices:?}");
    });
}

#[test]
fn a_holder_that_renews_keeps_the_lock_under_the_same_fence() {
    every(3, |locks| {
        locks.enter(0);
        let fence = locks.fence();
        locks.acquire(1);
        for _ in 0..6 {
            locks.run(LEASE.mul_ratio(1, 2)).renew(0);
            assert_eq!((locks.holder(), locks.fence()), (Some(0), fence));
        }
        assert!(!locks.notices(0).iter().any(|notice| matches!(notice, Notice::Expiring { .. } | Notice::Lost { .. })));
        locks.release(0).await_holder(1);
        assert!(locks.fence() > fence);
    });
}

#[test]
fn a_holder_that_does_not_renew_is_warned_and_loses_the_lock_to_the_next() {
    every(3, |locks| {
        locks.enter(0);
        let fence = locks.fence();
        locks.enter(1);
        assert!(locks.fence() > fence);
        let mut notices = locks.notices(0);
        notices.retain(|notice| !matches!(notice, Notice::Waiting { .. }));
        let [Notice::Acquired { .. }, Notice::Expiring { .. }, Notice::Lost { .. }] = notices[..] else {
            panic!("{notices:?}")
        };
        locks.release(0);
        assert_eq!(locks.refusals(0), [Refusal::NotHeld]);
        assert_eq!(locks.holder(), Some(1));
    });
}

#[test]
fn when_a_holder_crashes_the_next_is_granted_the_lock_under_a_higher_fence() {
    for count in [3, 5] {
        every(count, |locks| {
            locks.enter(0);
            let fence = locks.fence();
            locks.acquire(1).run_ms(100).crash(0);
            let start = locks.net.now;
            while locks.holder() != Some(1) && locks.net.now.since(start) < RECOVERY {
                locks.run_ms(10);
            }
            if locks.holder() != Some(1) {
                locks.boot(0); // a quorum that cannot be replaced has to be waited for
            }
            locks.await_holder(1);
            assert!(locks.fence() > fence);
        });
    }
}

#[test]
fn fences_grow_when_the_holder_restarts() {
    every(3, |locks| {
        locks.enter(0);
        let mut fence = locks.fence();
        for _ in 0..2 {
            locks.crash(0).run_ms(300).boot(0).run_secs(12).enter(0);
            assert!(locks.fence() > fence);
            fence = locks.fence();
        }
    });
}

#[test]
fn fences_grow_when_the_leader_restarts_and_when_all_do() {
    every(3, |locks| {
        locks.enter(0);
        let first = locks.fence();
        locks.acquire(1).run_ms(100).crash(2);
        let start = locks.net.now;
        while locks.holder() != Some(1) && locks.net.now.since(start) < Duration::from_secs(10) {
            locks.run_ms(10); // some need no leader, and grant meanwhile
        }
        locks.boot(2);
        if locks.holder() != Some(1) {
            locks.await_holder(1);
        }
        let second = locks.fence();
        assert!(second > first);
        (0..3).for_each(|index| _ = locks.crash(index));
        (0..3).for_each(|index| _ = locks.boot(index));
        locks.run_secs(15).enter(0);
        assert!(locks.fence() > second);
    });
}

#[test]
fn m3_locks_of_different_names_are_held_at_the_same_time() {
    every(3, |locks| {
        let names = ["printer", "table:students", "door"];
        for (index, name) in names.iter().enumerate() {
            locks.acquire_lock(index, name);
        }
        for (index, name) in names.iter().enumerate() {
            locks.await_holder_of(index, name);
            locks.renew_lock(index, name);
        }
        let holders = names.map(|name| locks.holder_of(name));
        assert_eq!(holders, [Some(0), Some(1), Some(2)]);
        locks.acquire_lock(1, "printer").release_lock(0, "printer").await_holder_of(1, "printer");
        assert_eq!(locks.holder_of("table:students"), Some(1), "one node may hold several");
    });
}

#[test]
fn a_second_release_is_refused_as_not_held() {
    every(3, |locks| {
        locks.enter(0).mark().release(0).release(0);
        let lock = DOOR;
        assert_eq!(locks.notices(0), [Notice::Released { lock }, Notice::Refused { lock, reason: Refusal::NotHeld }]);
        for command in [Command::Release { lock }, Command::Cancel { lock }, Command::Renew { lock, lease: LEASE }] {
            locks.mark().put(1, command);
            assert_eq!(locks.refusals(1), [Refusal::NotHeld]);
        }
    });
}

#[test]
fn a_lease_of_zero_and_one_above_the_limit_are_refused() {
    every(3, |locks| {
        let lock = DOOR;
        for lease in [Duration::ZERO, Duration::from_secs(60)] {
            locks.mark().put(0, Command::Acquire { lock, lease });
            assert_eq!(locks.refusals(0), [Refusal::Lease]);
        }
    });
}
