//! The central lock on whole nodes: the textbooks' example and figures, and what they leave open.

mod common;
#[path = "common/council.rs"]
mod council;

use common::locks::{DOOR, LEASE, Locks};
use common::{HOP, line, lossy};
use council::{Council, door};
use protocol::algorithm::Fact;
use protocol::clock::Term;
use protocol::config::granted;
use protocol::election;
use protocol::mutex::{Central, Command, LockId, Notice, Refusal};
use protocol::node::Input;
use protocol::wire::Kind;
use protocol::{NodeId, Span, Timing};

fn group(count: usize) -> Locks<Central> {
    Locks::new(count, Kind::Central, Central::default())
}

fn ahead(locks: &Locks<Central>, index: usize) -> Vec<u8> {
    let told = locks.told(index).into_iter();
    told.filter_map(|notice| if let Notice::Waiting { ahead, .. } = notice { Some(ahead) } else { None }).collect()
}

const fn millis(millis: u32) -> Span {
    Span::from_millis(millis)
}

#[test]
fn mc2_p1_is_granted_and_p2_queued_until_p1_releases() {
    let mut locks = group(3);
    locks.acquire(0, DOOR);
    locks.run(millis(50));
    locks.acquire(1, DOOR);
    locks.run(millis(50));
    assert_eq!((locks.holder(DOOR), ahead(&locks, 1)), (Some(0), vec![1]));
    locks.release(0, DOOR);
    locks.run(millis(50));
    assert_eq!(locks.holder(DOOR), Some(1));
    assert_eq!(locks.net.said("waiting"), 1);
}

#[test]
fn mc1_whoever_asks_first_is_granted_first() {
    let mut locks = group(6);
    let order = [3, 0, 4, 1, 2];
    for index in order {
        locks.acquire(index, DOOR);
        locks.run(millis(20));
    }
    for index in order {
        locks.run(millis(20));
        assert_eq!(locks.holder(DOOR), Some(index));
        locks.release(index, DOOR);
    }
}

#[test]
fn mc3_an_entry_and_exit_takes_three_letters_and_two_message_times() {
    for count in [2, 3, 5, 9, 16] {
        let mut locks = group(count);
        locks.acquire(0, DOOR);
        assert_eq!(locks.await_holder(0, DOOR), HOP.times(2), "{count} members");
        locks.release(0, DOOR);
        locks.run(millis(100));
        assert_eq!(locks.letters(), 3, "{count} members");
    }
}

#[test]
fn mc3_one_that_was_queued_takes_one_letter_more() {
    let mut locks = group(9);
    for index in 0..8 {
        locks.acquire(index, DOOR);
    }
    for _ in 0..8 {
        locks.run(millis(50));
        let holder = locks.holder(DOOR).unwrap();
        locks.release(holder, DOOR);
    }
    locks.run(millis(50));
    assert_eq!(locks.letters(), 8 * 3 + 7);
}

#[test]
fn mc3_the_next_one_gets_the_lock_two_message_times_after_it_was_given_back() {
    let mut locks = group(3);
    locks.acquire(0, DOOR);
    locks.await_holder(0, DOOR);
    locks.acquire(1, DOOR);
    locks.run(millis(50));
    locks.release(0, DOOR);
    assert_eq!(locks.await_holder(1, DOOR), HOP.times(2), "the release, and the grant");
}

#[test]
fn mc1_a_leader_that_asks_writes_no_letters() {
    let mut locks = group(3);
    locks.acquire(2, DOOR);
    assert_eq!(locks.holder(DOOR), Some(2));
    locks.renew(2, DOOR);
    locks.release(2, DOOR);
    locks.run(millis(50));
    assert_eq!((locks.holder(DOOR), locks.letters()), (None, 0));
    locks.acquire(0, DOOR);
    locks.run(millis(50));
    locks.acquire(2, DOOR);
    assert_eq!(ahead(&locks, 2), [1]);
    locks.release(0, DOOR);
    locks.run(millis(50));
    assert_eq!(locks.holder(DOOR), Some(2));
}

#[test]
fn mc4_whoever_waits_is_answered_again_and_again() {
    let mut locks = group(4);
    locks.acquire(0, DOOR);
    locks.run(millis(50));
    locks.acquire(1, DOOR);
    locks.run(millis(50));
    locks.acquire(2, DOOR);
    for _ in 0..10 {
        locks.renew(0, DOOR);
        locks.run(Span::from_secs(1));
    }
    assert!((4..=8).contains(&locks.net.said("waiting")), "{}", locks.net.said("waiting"));
    assert_eq!((ahead(&locks, 1), ahead(&locks, 2)), (vec![1], vec![2]), "told once for every number");
    locks.release(0, DOOR);
    locks.await_holder(1, DOOR);
    locks.run(Span::from_secs(4));
    assert_eq!(locks.holder(DOOR), Some(2), "the lease of the one before has run out");
}

#[test]
fn mc5_when_the_coordinator_crashes_the_holder_keeps_the_lock_and_the_waiting_wait_on() {
    let mut locks = group(5);
    locks.acquire(0, DOOR);
    locks.run(millis(50));
    let first = locks.fence(DOOR).unwrap();
    locks.acquire(1, DOOR);
    locks.acquire(2, DOOR);
    locks.run(millis(50));
    locks.net.crash(4);
    locks.run(LEASE.minus(millis(300)));
    assert_eq!(locks.holder(DOOR), Some(0));
    locks.run(millis(500));
    assert_eq!(locks.holder(DOOR), None);
    let mut entered = Vec::new();
    for _ in 0..2 {
        let end = locks.net.now.after(Span::from_secs(25));
        while locks.holder(DOOR).is_none_or(|holder| entered.contains(&holder)) {
            assert!(locks.net.now < end, "{entered:?}");
            locks.run(millis(1));
        }
        let holder = locks.holder(DOOR).unwrap();
        assert!(locks.fence(DOOR).unwrap() > first);
        entered.push(holder);
        locks.release(holder, DOOR);
    }
    entered.sort_unstable();
    assert_eq!(entered, [1, 2], "both asked anew by themselves");
}

#[test]
fn mc5_a_leader_that_yields_is_followed_without_waiting_a_lease_out() {
    let mut locks = group(5);
    locks.acquire(0, DOOR);
    locks.acquire(1, "gate");
    locks.run(millis(50));
    locks.acquire(1, DOOR);
    locks.run(millis(50));
    for _ in 0..3 {
        locks.renew(0, DOOR);
        locks.renew(1, "gate");
        locks.run(millis(400));
    }
    let first = locks.fence(DOOR).unwrap();
    locks.net.put(4, Input::Election(election::Command::Yield));
    locks.run(millis(1_700));
    assert_eq!(locks.net.leader().map(|id| id.0), Some(4));
    assert_eq!((locks.holder(DOOR), locks.holder("gate")), (Some(0), Some(1)), "what is held is held on");
    locks.acquire(2, "hall");
    locks.release(0, DOOR);
    locks.run(millis(50));
    assert_eq!((locks.holder("hall"), locks.holder(DOOR)), (Some(2), Some(1)), "everybody has answered");
    assert!(locks.fence(DOOR).unwrap() > first);
}

#[test]
fn mc5_a_hold_of_before_can_be_renewed_at_the_new_leader() {
    let mut locks = group(5);
    locks.acquire(0, DOOR);
    locks.run(millis(50));
    let first = locks.fence(DOOR);
    locks.net.put(4, Input::Election(election::Command::Yield));
    locks.run(millis(1_700));
    locks.acquire(1, DOOR);
    for _ in 0..8 {
        locks.renew(0, DOOR);
        locks.run(Span::from_secs(1));
        assert_eq!(locks.holder(DOOR), Some(0));
    }
    assert_eq!(locks.fence(DOOR), first, "it is the same hold");
    locks.release(0, DOOR);
    locks.run(millis(50));
    assert_eq!(locks.holder(DOOR), Some(1));
}

#[test]
fn mc5_while_one_of_the_group_is_silent_a_new_leader_waits_the_longest_lease_out() {
    let mut locks = group(5);
    locks.acquire(0, DOOR);
    locks.run(millis(50));
    locks.net.crash(3);
    locks.net.put(4, Input::Election(election::Command::Yield));
    locks.release(0, DOOR);
    locks.acquire(1, "hall");
    let gained = locks.net.now;
    locks.await_holder(1, "hall");
    assert!(locks.net.now.since(gained) >= granted(Timing::RADIO.lock_lease), "{:?}", locks.net.now.since(gained));
}

#[test]
fn mc6_when_a_holder_crashes_the_next_gets_the_lock_when_its_lease_is_over() {
    let mut locks = group(4);
    locks.acquire(0, DOOR);
    locks.await_holder(0, DOOR);
    let (granted_at, first) = (locks.net.now, locks.fence(DOOR).unwrap());
    locks.acquire(1, DOOR);
    locks.run(millis(500));
    locks.net.crash(0);
    locks.await_holder(1, DOOR);
    let took = locks.net.now.since(granted_at);
    assert!(LEASE < took && took <= granted(LEASE).plus(HOP.times(4)), "{took:?}");
    assert!(locks.fence(DOOR).unwrap() > first);
}

#[test]
fn mc6_one_that_starts_anew_waits_for_its_own_old_lease_like_anybody() {
    let mut locks = group(4);
    locks.acquire(0, DOOR);
    locks.await_holder(0, DOOR);
    let (granted_at, first) = (locks.net.now, locks.fence(DOOR).unwrap());
    locks.net.crash(0);
    locks.run(millis(200));
    locks.net.boot(0);
    locks.run(millis(500));
    locks.acquire(0, DOOR);
    locks.release(0, DOOR); // it holds nothing that it could give back
    locks.await_holder(0, DOOR);
    let took = locks.net.now.since(granted_at);
    assert!(took >= granted(LEASE).minus(HOP), "{took:?}");
    assert!(locks.fence(DOOR).unwrap() > first);
}

#[test]
fn mc6_what_a_crashed_holder_held_under_the_crashed_coordinator_is_waited_out() {
    let mut locks = group(5);
    locks.acquire(0, DOOR);
    locks.run(millis(50));
    let first = locks.fence(DOOR).unwrap();
    locks.acquire(1, DOOR);
    locks.run(millis(50));
    locks.net.crash(0);
    locks.net.crash(4);
    locks.await_holder(1, DOOR);
    assert!(locks.fence(DOOR).unwrap() > first);
}

#[test]
fn one_that_was_cut_off_while_it_waited_asks_anew_when_it_is_back() {
    let mut locks = group(4);
    locks.acquire(0, DOOR);
    locks.run(millis(50));
    locks.acquire(1, DOOR);
    locks.run(millis(50));
    locks.net.relink(|a, b| a != 1 && b != 1);
    locks.release(0, DOOR);
    locks.run(Span::from_secs(8));
    locks.net.relink(common::complete);
    let took = locks.await_holder(1, DOOR);
    assert!(took < Span::from_secs(6), "{took:?}");
}

#[test]
fn a_grant_that_came_too_late_is_given_back_and_asked_for_anew() {
    let mut locks = group(4);
    locks.net.set_fate(|_, receiver, _| receiver != 0); // it is heard, and hears nothing
    locks.put(0, Command::Acquire { lock: LockId::from_name(DOOR), lease: millis(300) });
    locks.run(millis(500));
    locks.net.set_fate(|_, _, _| true);
    locks.await_holder(0, DOOR);
    assert!(matches!(locks.told(0)[..], [Notice::Acquired { .. }]), "{:?}", locks.told(0));
    let said = ["request", "grant", "release"].map(|word| locks.net.said(word));
    assert_eq!(said, [2, 2, 1]);
}

#[test]
fn the_server_refuses_a_lock_for_which_it_has_no_room() {
    let mut locks = group(6);
    for (index, name) in [(0, "a"), (1, "b"), (2, "c"), (3, "d")] {
        locks.acquire(index, name);
    }
    locks.run(millis(50));
    locks.acquire(4, "e");
    locks.run(millis(50));
    assert!(matches!(locks.told(4)[..], [Notice::Refused { why: Refusal::Full, .. }]), "{:?}", locks.told(4));
    locks.release(0, "a");
    locks.run(millis(50));
    locks.acquire(4, "e");
    locks.run(millis(50));
    assert_eq!(locks.holder("e"), Some(4));
}

#[test]
fn m1_with_frames_lost_everybody_gets_the_lock_in_the_end() {
    for seed in 0..4 {
        let mut locks = group(5);
        locks.net.set_fate(lossy(20, seed));
        for index in 0..5 {
            locks.acquire(index, DOOR);
        }
        for index in 0..5 {
            let mut waited = 0;
            while locks.told(index).iter().all(|notice| !matches!(notice, Notice::Acquired { .. })) {
                locks.run(millis(50));
                if let Some(holder) = locks.holder(DOOR) {
                    locks.release(holder, DOOR);
                }
                waited += 1;
                assert!(waited < 1_200, "seed {seed}: node {index} waits for ever");
            }
        }
    }
}

#[test]
fn mc3_over_several_hops_it_takes_no_more_letters_only_longer() {
    let mut locks = Locks::linked(5, Kind::Central, Central::default(), line);
    locks.acquire(0, DOOR);
    let took = locks.await_holder(0, DOOR);
    assert!(took >= HOP.times(8), "four hops there and four back: {took:?}");
    locks.acquire(2, DOOR);
    locks.run(millis(200));
    locks.release(0, DOOR);
    locks.await_holder(2, DOOR);
    locks.release(2, DOOR);
    locks.run(millis(200));
    assert_eq!(locks.letters(), 3 + 4);
}

#[test]
fn one_that_waits_for_several_locks_asks_again_for_each_though_the_server_answers_it_all_the_time() {
    let [gate, hall] = ["gate", "hall"].map(LockId::from_name);
    for wanted in [&[door()][..], &[door(), gate]] {
        let mut council = Council::<Central>::new(&[1, 2, 3]);
        let leader = Fact::Leader { leader: NodeId(3), term: Term { number: 1, by: NodeId(3) } };
        for name in [3, 1, 2] {
            council.fact(name, |_| leader, &[]);
            council.deliver_all();
        }
        let put = |council: &mut Council<Central>, name, command| {
            council.command(name, command);
            council.deliver_all();
        };
        for &lock in wanted {
            put(&mut council, 2, Command::Acquire { lock, lease: LEASE });
            put(&mut council, 1, Command::Acquire { lock, lease: LEASE });
        }
        // The server takes 1 to be down for a moment, of which 1 hears nothing, and has forgotten that it waits.
        council.fact(3, Fact::PeerDown, &[1]);
        council.fact(3, Fact::PeerUp, &[1]);
        for &lock in wanted {
            put(&mut council, 2, Command::Release { lock });
        }
        let step = Timing::RADIO.lease().share(1, 4);
        for _ in 0..6 {
            put(&mut council, 1, Command::Acquire { lock: hall, lease: LEASE });
            assert!(council.holds(1, hall), "the server serves it");
            put(&mut council, 1, Command::Release { lock: hall });
            council.pass(step);
            council.deliver_all();
        }
        for &lock in wanted {
            assert!(council.holds(1, lock), "{} wanted: {:?}", wanted.len(), council.notices(1));
        }
    }
}
