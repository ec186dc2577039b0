//! The central lock on whole nodes and message by message: the textbooks' example and figures, and what they leave open.

use crate::support::prelude::*;
use protocol::base::config::lease_at_grantor;
use protocol::election;
use protocol::mutex::central::Options;
use protocol::mutex::{Central, Command, Notice};
use protocol::node::Input;

fn group(count: usize) -> LockNet<Central> {
    LockNet::new(count, Central::KIND, Central::default())
}

fn ahead(locks: &LockNet<Central>, index: usize) -> Vec<u8> {
    let notices = locks.notices(index).into_iter();
    notices.filter_map(|notice| if let Notice::Waiting { ahead, .. } = notice { Some(ahead) } else { None }).collect()
}

const fn millis(millis: u32) -> Duration {
    Duration::from_millis(millis)
}

#[test]
fn mc2_p1_is_granted_and_p2_queued_until_p1_releases() {
    let mut locks = group(3);
    locks.acquire(0).run_ms(50).acquire(1).run_ms(50);
    assert_eq!((locks.holder(), ahead(&locks, 1)), (Some(0), vec![1]));
    locks.release(0).run_ms(50);
    assert_eq!(locks.holder(), Some(1));
    assert_eq!(locks.net.messages_named("waiting"), 1);
}

#[test]
fn mc1_requests_are_granted_in_the_order_of_arrival() {
    let mut locks = group(6);
    let order = [3, 0, 4, 1, 2];
    for index in order {
        locks.acquire(index).run_ms(20);
    }
    for index in order {
        locks.run_ms(20);
        assert_eq!(locks.holder(), Some(index));
        locks.release(index);
    }
}

#[test]
fn mc3_an_entry_and_exit_takes_three_messages_and_two_message_times() {
    for count in [2, 3, 5, 9, 16] {
        let mut locks = group(count);
        locks.acquire(0);
        assert_eq!(locks.await_holder(0), HOP.times(2), "{count} members");
        locks.release(0).run_ms(100);
        assert_eq!(locks.messages(), 3, "{count} members");
    }
}

#[test]
fn mc3_a_queued_request_takes_one_message_more() {
    let mut locks = group(9);
    locks.acquire_all(0..8);
    for _ in 0..8 {
        locks.run_ms(50);
        let holder = locks.holder().unwrap();
        locks.release(holder);
    }
    locks.run_ms(50);
    assert_eq!(locks.messages(), 8 * 3 + 7);
}

#[test]
fn mc3_the_next_is_granted_the_lock_two_message_times_after_its_release() {
    let mut locks = group(3);
    locks.enter(0).acquire(1).run_ms(50).release(0);
    assert_eq!(locks.await_holder(1), HOP.times(2), "the release, and the grant");
}

#[test]
fn mc1_a_leader_that_asks_sends_no_messages() {
    let mut locks = group(3);
    locks.acquire(2);
    assert_eq!(locks.holder(), Some(2));
    locks.renew(2).release(2).run_ms(50);
    assert_eq!((locks.holder(), locks.messages()), (None, 0));
    locks.acquire(0).run_ms(50).acquire(2);
    assert_eq!(ahead(&locks, 2), [1]);
    locks.release(0).run_ms(50);
    assert_eq!(locks.holder(), Some(2));
}

#[test]
fn mc4_a_waiting_node_is_answered_again_and_again() {
    let mut locks = group(4);
    locks.acquire(0).run_ms(50).acquire(1).run_ms(50).acquire(2);
    for _ in 0..10 {
        locks.renew(0).run_secs(1);
    }
    assert!((4..=8).contains(&locks.net.messages_named("waiting")), "{}", locks.net.messages_named("waiting"));
    assert_eq!((ahead(&locks, 1), ahead(&locks, 2)), (vec![1], vec![2]), "one notice for every number");
    locks.release(0).await_holder(1);
    locks.run_secs(4);
    assert_eq!(locks.holder(), Some(2), "the lease of the one before has run out");
}

#[test]
fn mc5_when_the_coordinator_crashes_the_holder_keeps_the_lock_and_the_waiting_are_served() {
    let mut locks = group(5);
    locks.acquire(0).run_ms(50);
    let first = locks.fence().unwrap();
    locks.acquire(1).acquire(2).run_ms(50).crash(4).run(LEASE.minus(millis(300)));
    assert_eq!(locks.holder(), Some(0));
    locks.run_ms(500);
    assert_eq!(locks.holder(), None);
    let mut entered = Vec::new();
    for _ in 0..2 {
        let end = locks.net.now.after(Duration::from_secs(25));
        while locks.holder().is_none_or(|holder| entered.contains(&holder)) {
            assert!(locks.net.now < end, "{entered:?}");
            locks.run_ms(1);
        }
        let holder = locks.holder().unwrap();
        assert!(locks.fence().unwrap() > first);
        entered.push(holder);
        locks.release(holder);
    }
    entered.sort_unstable();
    assert_eq!(entered, [1, 2], "both asked again by themselves");
}

/// Five members, the last of which leads; one holds the lock, and the others asked for it in this order.
fn queued(order: [usize; 3], holder: usize) -> LockNet<Central> {
    let mut locks = group(5);
    locks.acquire(holder).run_ms(50);
    for index in order {
        locks.acquire(index).run_ms(50);
    }
    locks
}

/// The order in which the lock is granted, released as soon as it is.
fn served(locks: &mut LockNet<Central>, count: usize) -> Vec<usize> {
    let mut order = Vec::new();
    let end = locks.net.now.after(Duration::from_secs(60));
    while order.len() < count {
        assert!(locks.net.now < end, "{order:?}");
        if let Some(holder) = locks.run_ms(1).holder() {
            order.push(holder);
            locks.release(holder);
        }
    }
    order
}

#[test]
fn mc5_waiters_keep_their_order_when_the_coordinator_crashes() {
    for order in [[1, 2, 3], [3, 2, 1], [2, 3, 1], [3, 1, 2]] {
        let mut locks = queued(order, 0);
        locks.crash(4).run_secs(2);
        let order_after: Vec<_> = served(&mut locks, 4).into_iter().filter(|&index| index != 0).collect();
        assert_eq!(order_after, order, "the next leader is 3, which waits too");
    }
}

#[test]
fn mc5_waiters_keep_their_order_over_two_failovers_and_come_before_those_that_asked_later() {
    let mut locks = queued([2, 1, 3], 0);
    locks.net.put(4, Input::Election(election::Command::Yield));
    locks.run_ms(1_700).acquire(4).run_ms(50);
    locks.net.put(3, Input::Election(election::Command::Yield));
    locks.run_ms(1_700);
    assert_ne!(locks.net.leader(), Some(NodeId(4)), "another leads");
    assert_eq!(served(&mut locks, 4), [2, 1, 3, 4], "the lease of the holder has ended");
}

#[test]
fn with_a_lock_delay_a_lock_that_was_not_released_stays_taken_for_longer() {
    let delay = Duration::from_secs(2);
    let wait = |lock: Central, crash: bool| {
        let mut locks = LockNet::new(5, Central::KIND, lock);
        locks.acquire(0).run_ms(50).acquire(1).run_ms(50);
        if crash {
            locks.crash(0)
        } else {
            locks.release(0)
        };
        locks.await_holder(1)
    };
    let delayed = || Central::new(Options { lock_delay: delay });
    assert!(wait(delayed(), false) < Duration::from_millis(50), "a lock that is released is free at once");
    let (without, with) = (wait(Central::default(), true), wait(delayed(), true));
    assert!(with >= without.plus(delay) && with < without.plus(delay).plus(millis(100)), "{without:?}, {with:?}");
}

#[test]
fn mc5_a_leader_that_yields_is_succeeded_without_waiting_a_lease_out() {
    let mut locks = group(5);
    locks.acquire(0).acquire_lock(1, "gate").run_ms(50).acquire(1).run_ms(50);
    for _ in 0..3 {
        locks.renew(0).renew_lock(1, "gate").run_ms(400);
    }
    let first = locks.fence().unwrap();
    locks.net.put(4, Input::Election(election::Command::Yield));
    locks.run_ms(1_700);
    assert_eq!(locks.net.leader().map(|id| id.0), Some(4));
    assert_eq!((locks.holder(), locks.holder_of("gate")), (Some(0), Some(1)), "holders keep their locks");
    locks.acquire_lock(2, "hall").release(0).run_ms(50);
    assert_eq!((locks.holder_of("hall"), locks.holder()), (Some(2), Some(1)), "every member has answered");
    assert!(locks.fence().unwrap() > first);
}

#[test]
fn mc5_a_grant_of_the_old_leader_can_be_renewed_at_the_new_one() {
    let mut locks = group(5);
    locks.acquire(0).run_ms(50);
    let first = locks.fence();
    locks.net.put(4, Input::Election(election::Command::Yield));
    locks.run_ms(1_700).acquire(1);
    for _ in 0..8 {
        locks.renew(0).run_secs(1);
        assert_eq!(locks.holder(), Some(0));
    }
    assert_eq!(locks.fence(), first, "it is the same grant");
    locks.release(0).run_ms(50);
    assert_eq!(locks.holder(), Some(1));
}

#[test]
fn mc5_while_a_member_is_silent_a_new_leader_waits_the_longest_lease_out() {
    let mut locks = group(5);
    locks.acquire(0).run_ms(50).crash(3);
    locks.net.put(4, Input::Election(election::Command::Yield));
    locks.release(0).acquire_lock(1, "hall");
    let took = locks.await_holder_of(1, "hall");
    assert!(took >= lease_at_grantor(Timing::RADIO.lock_lease), "{took:?}");
}

#[test]
fn mc6_when_a_holder_crashes_the_next_is_granted_the_lock_at_the_end_of_its_lease() {
    let mut locks = group(4);
    locks.enter(0);
    let (granted_at, first) = (locks.net.now, locks.fence().unwrap());
    locks.acquire(1).run_ms(500).crash(0).await_holder(1);
    let took = locks.net.now.since(granted_at);
    assert!(LEASE < took && took <= lease_at_grantor(LEASE).plus(HOP.times(4)), "{took:?}");
    assert!(locks.fence().unwrap() > first);
}

#[test]
fn mc6_a_restarted_node_waits_for_its_own_old_lease_like_any_other() {
    let mut locks = group(4);
    locks.enter(0);
    let (granted_at, first) = (locks.net.now, locks.fence().unwrap());
    locks.crash(0).run_ms(200).boot(0).run_ms(500).acquire(0).release(0); // it holds nothing to release
    locks.await_holder(0);
    let took = locks.net.now.since(granted_at);
    assert!(took >= lease_at_grantor(LEASE).minus(HOP), "{took:?}");
    assert!(locks.fence().unwrap() > first);
}

#[test]
fn mc6_the_lease_of_a_crashed_holder_under_a_crashed_coordinator_is_waited_out() {
    let mut locks = group(5);
    locks.acquire(0).run_ms(50);
    let first = locks.fence().unwrap();
    locks.acquire(1).run_ms(50).crash(0).crash(4).await_holder(1);
    assert!(locks.fence().unwrap() > first);
}

#[test]
fn a_waiting_node_that_was_cut_off_asks_again_when_it_is_back() {
    let mut locks = group(4);
    locks.acquire(0).run_ms(50).acquire(1).run_ms(50);
    locks.net.relink(|a, b| a != 1 && b != 1);
    locks.release(0).run_secs(8);
    locks.net.relink(complete);
    let took = locks.await_holder(1);
    assert!(took < Duration::from_secs(6), "{took:?}");
}

#[test]
fn a_grant_that_arrives_too_late_is_released_and_requested_again() {
    let mut locks = group(4);
    locks.net.set_filter(|_, receiver| receiver != 0); // it is heard, and receives nothing
    locks.put(0, Command::Acquire { lock: DOOR, lease: millis(300) }).run_ms(500);
    locks.net.set_filter(|_, _| true);
    locks.await_holder(0);
    assert!(matches!(locks.notices(0)[..], [Notice::Acquired { .. }]), "{:?}", locks.notices(0));
    let sent = ["request", "grant", "release"].map(|name| locks.net.messages_named(name));
    assert_eq!(sent, [2, 2, 1]);
}

#[test]
fn the_server_refuses_a_lock_for_which_it_has_no_room() {
    let mut locks = group(6);
    for (index, name) in [(0, "a"), (1, "b"), (2, "c"), (3, "d")] {
        locks.acquire_lock(index, name);
    }
    locks.run_ms(50).acquire_lock(4, "e").run_ms(50);
    assert!(matches!(locks.notices(4)[..], [Notice::Refused { reason: Refusal::Full, .. }]), "{:?}", locks.notices(4));
    locks.release_lock(0, "a").run_ms(50).acquire_lock(4, "e").run_ms(50);
    assert_eq!(locks.holder_of("e"), Some(4));
}

#[test]
fn m1_with_frames_lost_every_node_is_granted_the_lock_in_the_end() {
    for seed in 0..4 {
        let mut locks = group(5);
        locks.net.set_filter(lossy(20, seed));
        locks.acquire_all(0..5);
        for index in 0..5 {
            let mut waited = 0;
            while locks.notices(index).iter().all(|notice| !matches!(notice, Notice::Acquired { .. })) {
                locks.run_ms(50);
                if let Some(holder) = locks.holder() {
                    locks.release(holder);
                }
                waited += 1;
                assert!(waited < 1_200, "seed {seed}: node {index} waits for ever");
            }
        }
    }
}

#[test]
fn mc3_over_several_hops_it_takes_no_more_messages_only_longer() {
    let mut locks = LockNet::linked(5, Central::KIND, Central::default(), line);
    let took = locks.acquire(0).await_holder(0);
    assert!(took >= HOP.times(8), "four hops there and four back: {took:?}");
    locks.acquire(2).run_ms(200).release(0).await_holder(2);
    locks.release(2).run_ms(200);
    assert_eq!(locks.messages(), 3 + 4);
}

#[test]
fn a_node_that_waits_for_several_locks_asks_again_for_each_though_the_server_answers_it_all_the_time() {
    let [gate, hall] = ["gate", "hall"].map(LockId::from_name);
    for wanted in [&[DOOR][..], &[DOOR, gate]] {
        let mut lab = Lab::<Central>::by_hand(&[1, 2, 3]);
        let leader = Fact::Leader { leader: NodeId(3), term: Term { number: 1, by: NodeId(3) } };
        for name in [3, 1, 2] {
            lab.fact(name, |_| leader, &[]).deliver_all();
        }
        let put = |lab: &mut Lab<Central>, name, command| {
            lab.command(name, command).deliver_all();
        };
        for &lock in wanted {
            put(&mut lab, 2, Command::Acquire { lock, lease: LEASE });
            put(&mut lab, 1, Command::Acquire { lock, lease: LEASE });
        }
        // The server suspects 1 for a moment, of which 1 learns nothing, and has forgotten that it waits.
        lab.fact(3, Fact::PeerDown, &[1]).fact(3, Fact::PeerUp, &[1]);
        for &lock in wanted {
            put(&mut lab, 2, Command::Release { lock });
        }
        let step = Timing::RADIO.lease().mul_ratio(1, 4);
        for _ in 0..6 {
            put(&mut lab, 1, Command::Acquire { lock: hall, lease: LEASE });
            assert!(lab.holds(1, hall), "the server serves it");
            put(&mut lab, 1, Command::Release { lock: hall });
            lab.pass(step).deliver_all();
        }
        for &lock in wanted {
            assert!(lab.holds(1, lock), "{} wanted: {:?}", wanted.len(), lab.notices_of(1));
        }
    }
}
