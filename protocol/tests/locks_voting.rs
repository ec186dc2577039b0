//! Majority voting: its formula, its livelock, and a bad network.

mod common;

use common::bag::{Bag, Order, afflict, contend};
use common::locks::{DOOR, LEASE, Locks};
use common::lossy;
use protocol::clock::Stamp;
use protocol::mutex::{Command, LockId, Mutex, Notice, Refusal, Voting};
use protocol::wire::Kind;
use protocol::{NodeSet, Span, Timing};

const LOCK: LockId = LockId::from_name(DOOR);

fn group(count: usize) -> Locks<Voting> {
    Locks::new(count, Kind::Voting, Voting::default())
}

fn bag(count: usize, order: Order, seed: u64) -> Bag<Voting> {
    Bag::new(vec![Voting::default(); count], order, seed)
}

fn acquire(bag: &mut Bag<Voting>, index: usize) {
    bag.command(index, Command::Acquire { lock: LOCK, lease: LEASE });
}

fn release(bag: &mut Bag<Voting>, index: usize) {
    bag.command(index, Command::Release { lock: LOCK });
}

fn holder(bag: &Bag<Voting>) -> Option<usize> {
    bag.holder(LOCK).map(|(holder, _)| holder)
}

#[test]
fn md1_an_entry_and_exit_that_nobody_contends_take_three_letters_for_every_other_member() {
    for count in 1..=16 {
        let mut bag = bag(count, Order::Fifo, 1);
        acquire(&mut bag, 0);
        bag.settle();
        assert_eq!(holder(&bag), Some(0));
        release(&mut bag, 0);
        bag.settle();
        assert_eq!(bag.count(), 3 * (count - 1), "{:?}", bag.said);
    }
}

#[test]
fn md1_a_strict_majority_of_all_members_lets_in_and_one_less_does_not() {
    for count in 2..=9 {
        let mut bag = bag(count, Order::Fifo, 1);
        acquire(&mut bag, 0);
        for voter in 1..count {
            // Its own vote is one of them.
            assert_eq!(holder(&bag).is_some(), 2 * voter > count, "{voter} votes of {count}");
            bag.carry(0, voter);
            bag.carry(voter, 0);
        }
        assert_eq!(holder(&bag), Some(0));
    }
}

#[test]
fn x17_three_with_a_third_of_the_votes_each_give_them_back_and_are_served_one_by_one() {
    for seed in 0..200 {
        let mut bag = bag(3, Order::Fifo, seed);
        for index in 0..3 {
            acquire(&mut bag, index); // each has its own vote
        }
        for (from, to) in [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)] {
            bag.carry(from, to);
        }
        bag.settle();
        assert_eq!(holder(&bag), None);
        assert_eq!(bag.said.get("vote"), None, "nobody has another's vote");
        assert_eq!(bag.told.len(), 3, "all are told that they wait: {:?}", bag.told);
        let mut served = Vec::new();
        for _ in 0..3 {
            let end = bag.now.after(Span::from_secs(5));
            while holder(&bag).is_none() {
                assert!(bag.wait(end), "seed {seed}: {served:?}");
                bag.settle();
            }
            let index = holder(&bag).unwrap();
            served.push(index);
            release(&mut bag, index);
            bag.settle();
        }
        served.sort_unstable();
        assert_eq!(served, [0, 1, 2], "seed {seed}");
    }
}

#[test]
fn md1_contended_runs_end_with_everybody_served_in_order_out_of_order_and_twice() {
    for order in [Order::Fifo, Order::Any, Order::Twice] {
        let (mut letters, mut entries, mut formula) = (0, 0, 0);
        for seed in 0..500 {
            let count = 3 + usize::try_from(seed % 8).unwrap();
            let contest = contend(&mut bag(count, order, seed), LOCK, 3, Span::from_secs(300));
            assert_eq!(contest.entered.len(), 3 * count);
            letters += contest.letters;
            entries += contest.entered.len();
            formula += contest.entered.len() * 3 * (count - 1);
        }
        println!("{order:?}: {letters} letters for {entries} entries, of 3(N-1) {formula}");
    }
}

#[test]
fn nodes_in_a_network_take_three_letters_for_every_other_member_too() {
    let mut locks = group(5);
    locks.acquire(0, DOOR);
    locks.await_holder(0, DOOR);
    locks.release(0, DOOR);
    locks.run(Span::from_secs(1));
    assert_eq!(locks.letters(), 3 * 4);
}

#[test]
fn whoever_waits_is_told_so_and_whoever_only_tries_is_refused() {
    let mut locks = group(5);
    locks.acquire(0, DOOR);
    locks.await_holder(0, DOOR);
    locks.mark();
    locks.acquire(1, DOOR);
    locks.try_(2, DOOR);
    locks.run(Span::from_secs(1));
    assert_eq!(locks.told(1), [Notice::Waiting { lock: LOCK, ahead: 1 }]);
    assert_eq!(locks.told(2), [Notice::Refused { lock: LOCK, why: Refusal::Busy }]);
    locks.release(0, DOOR);
    let took = locks.await_holder(1, DOOR);
    assert!(took < Span::from_millis(400), "{took:?}: it hears that the lock is free");
}

#[test]
fn a_cancelled_request_comes_to_nothing() {
    let mut locks = group(3);
    locks.acquire(0, DOOR);
    locks.await_holder(0, DOOR);
    locks.acquire(1, DOOR);
    locks.run(Span::from_millis(300));
    locks.cancel(1, DOOR);
    locks.release(0, DOOR);
    locks.run(Span::from_secs(5));
    assert_eq!(locks.holder(DOOR), None);
    locks.acquire(2, DOOR);
    assert!(locks.await_holder(2, DOOR) < Span::from_millis(300));
}

#[test]
fn md2_a_minority_of_crashed_members_costs_nothing() {
    let mut locks = group(5);
    locks.net.crash(3);
    locks.net.crash(4);
    locks.acquire(0, DOOR);
    assert!(locks.await_holder(0, DOOR) < Span::from_millis(300));
    locks.renew(0, DOOR);
    locks.run(Span::from_millis(3_500));
    locks.renew(0, DOOR); // its own renewal has run out by now
    locks.acquire(1, DOOR);
    locks.await_holder(1, DOOR);
}

#[test]
fn md2_x13_a_holder_that_crashes_loses_the_lock_within_its_lease() {
    let mut locks = group(5);
    locks.acquire(0, DOOR);
    locks.await_holder(0, DOOR);
    locks.acquire(1, DOOR);
    locks.run(Span::from_millis(300));
    locks.net.crash(0);
    let took = locks.await_holder(1, DOOR);
    assert!(took > Span::from_secs(2) && took < Span::from_secs(8), "{took:?} with a lease of {LEASE:?}");
}

#[test]
fn x17_voters_that_restart_lend_their_votes_to_nobody_while_they_may_be_lent() {
    let mut locks = group(5);
    locks.acquire(0, DOOR);
    locks.await_holder(0, DOOR);
    for index in 1..5 {
        locks.net.boot(index);
    }
    locks.run(Span::from_millis(100));
    locks.acquire(1, DOOR);
    locks.run(Span::from_secs(2));
    assert_eq!(locks.holder(DOOR), Some(0));
    let took = locks.await_holder(1, DOOR);
    assert!(took < Span::from_secs(10), "{took:?}");
}

#[test]
fn a_holder_that_restarts_is_waited_out() {
    let mut locks = group(5);
    locks.acquire(0, DOOR);
    locks.await_holder(0, DOOR);
    locks.net.boot(0);
    locks.run(Span::from_millis(100));
    locks.acquire(1, DOOR);
    let took = locks.await_holder(1, DOOR);
    assert!(took > Span::from_secs(2) && took < Span::from_secs(8), "{took:?}");
}

#[test]
fn a_hold_is_renewed_again_and_again_while_others_ask() {
    let mut locks = group(5);
    locks.acquire(0, DOOR);
    locks.await_holder(0, DOOR);
    let fence = locks.fence(DOOR);
    for index in 1..4 {
        locks.acquire(index, DOOR);
    }
    for _ in 0..8 {
        locks.run(Span::from_secs(2));
        assert_eq!((locks.holder(DOOR), locks.fence(DOOR)), (Some(0), fence));
        locks.mark();
        locks.renew(0, DOOR);
        locks.run(Span::from_millis(400));
        assert!(matches!(locks.told(0)[..], [Notice::Acquired { .. }]), "{:?}", locks.told(0));
    }
}

#[test]
fn a_renewal_that_finds_a_voter_s_vote_lent_elsewhere_is_not_lost() {
    // 0 holds with the votes of 0 and 1; 2's own vote is lent to 2, which has not been refused yet.
    let mut bag = bag(3, Order::Fifo, 1);
    acquire(&mut bag, 2);
    acquire(&mut bag, 0);
    bag.carry(0, 1);
    bag.carry(1, 0);
    assert_eq!(holder(&bag), Some(0));
    // 1 starts anew: of the votes for 0 only its own is left, and 2's is lent.
    let unheard: Vec<_> = bag.letters.drain(..).filter(|letter| letter.0 == 2).collect();
    bag.restart(1, Voting::default());
    bag.now = bag.now.after(Span::from_secs(1));
    bag.command(0, Command::Renew { lock: LOCK, lease: LEASE });
    bag.settle();
    let granted = |bag: &Bag<Voting>| {
        let of_0 = bag.told.iter().filter(|(index, notice)| *index == 0 && matches!(notice, Notice::Acquired { .. }));
        of_0.count()
    };
    assert_eq!(granted(&bag), 1, "2's vote is not to be had, 1 abstains");
    bag.letters.extend(unheard);
    bag.settle(); // 2 is refused by 0, and 1 abstains: it gives its own vote back
    bag.run(Span::from_millis(900));
    assert_eq!(granted(&bag), 2, "{:?}", bag.said);
    bag.run(Span::from_millis(1_500));
    assert_eq!(holder(&bag), Some(0), "beyond its first lease");
}

#[test]
fn md1_the_minority_of_a_cut_cannot_enter_and_the_majority_can() {
    let mut locks = group(5);
    locks.net.relink(|a, b| (a < 2) == (b < 2));
    locks.acquire(0, DOOR);
    locks.acquire(4, DOOR);
    locks.await_holder(4, DOOR);
    locks.run(Span::from_secs(6));
    for _ in 0..5 {
        locks.run(Span::from_secs(2));
        assert_ne!(locks.holder(DOOR), Some(0));
    }
    locks.mark();
    locks.try_(1, DOOR);
    assert_eq!(locks.told(1), [Notice::Refused { lock: LOCK, why: Refusal::Busy }]);
    locks.net.relink(|_, _| true);
    let took = locks.await_holder(0, DOOR);
    assert!(took < Span::from_secs(10), "{took:?}");
}

#[test]
fn all_who_want_the_lock_get_it_whatever_is_lost() {
    for seed in 0..12 {
        let mut locks = group(5);
        locks.net.set_fate(lossy(20, seed));
        for index in 0..5 {
            locks.acquire(index, DOOR);
        }
        let mut served = 0;
        while served < 5 {
            locks.run(Span::from_millis(10));
            if let Some(holder) = locks.holder(DOOR) {
                served += 1;
                locks.release(holder, DOOR);
            }
            assert!(locks.net.now.as_micros() < 90_000_000, "seed {seed}: {served} served");
        }
    }
}

#[test]
fn fences_grow_over_voters_that_agreed_to_higher_numbers() {
    // 1 and 2 agreed to a high number under an asker that never entered; 0 and 3, 4 know nothing of it.
    let mut bag = bag(5, Order::Fifo, 1);
    for _ in 0..40 {
        bag.command(4, Command::Try { lock: LockId::from_name("other"), lease: LEASE }); // its clock runs on
        bag.command(4, Command::Cancel { lock: LockId::from_name("other") });
    }
    bag.letters.clear();
    acquire(&mut bag, 0); // its stamp is low
    acquire(&mut bag, 4); // and this one's high
    bag.carry(4, 1);
    bag.carry(4, 2);
    bag.letters.retain(|letter| letter.0 != 1 && letter.0 != 2); // 4 never hears of its votes
    bag.crash(4);
    let end = bag.now.after(Span::from_secs(20));
    while holder(&bag).is_none() {
        assert!(bag.wait(end), "its votes come back by their time");
        bag.settle();
    }
    let (holder, fence) = bag.holder(LOCK).unwrap();
    assert_eq!(holder, 0);
    assert!(fence.count.0 > 80, "{fence:?}");
    assert_eq!(bag.down, NodeSet::slot(4));
}

#[test]
fn never_two_hold_a_lock_whatever_goes_wrong_and_all_are_served_when_it_is_over() {
    for seed in 0..2000 {
        afflict(&Voting::default(), 3 + usize::try_from(seed % 5).unwrap(), seed);
    }
}

#[test]
fn a_fence_is_above_everything_a_voter_agreed_to_before_it_restarted() {
    for voter in 0..4 {
        let mut bag = bag(4, Order::Fifo, 1);
        bag.nodes[voter].resume(Stamp(50));
        let others = (0..4).filter(|&index| index != voter);
        for index in others {
            acquire(&mut bag, index);
            bag.settle();
            if let Some((holder, fence)) = bag.holder(LOCK) {
                assert!(fence.count > Stamp(50) || fence.count == Stamp(1), "{holder}: {fence:?}");
                release(&mut bag, holder);
                bag.settle();
            }
        }
        assert!(bag.said.contains_key("confirm"), "somebody had to be told of the higher number");
    }
}

#[test]
fn a_slow_holder_s_lease_ends_before_fast_voters_lend_their_votes_again() {
    let mut bag = bag(4, Order::Fifo, 1);
    bag.drift = vec![-140, 140, 140, 140];
    bag.command(0, Command::Acquire { lock: LOCK, lease: Timing::RADIO.lock_lease });
    bag.settle();
    assert!(bag.holder(LOCK).is_some());
    bag.command(3, Command::Acquire { lock: LOCK, lease: LEASE });
    while bag.holder(LOCK).is_none_or(|(holder, _)| holder == 0) {
        bag.run(Span::from_millis(1)); // `holder` sees to it that there are never two
        assert!(bag.now.as_micros() < 80_000_000, "3 waits for ever");
    }
}

#[test]
fn sixteen_members_that_all_want_four_locks_are_all_served() {
    for percent in [0, 10] {
        let mut locks = group(16);
        locks.net.set_fate(lossy(percent, 7));
        let names = ["a", "b", "c", "d"];
        let mut waiting = Vec::new();
        for index in 0..16 {
            for name in names {
                locks.acquire(index, name);
                waiting.push((index, name));
            }
        }
        let start = locks.net.now;
        while !waiting.is_empty() {
            locks.run(Span::from_millis(10));
            for name in names {
                if let Some(holder) = locks.holder(name) {
                    waiting.retain(|&waiting| waiting != (holder, name));
                    locks.release(holder, name);
                }
            }
            assert!(locks.net.now.since(start) < Span::from_secs(200), "{percent} %: {waiting:?} wait for ever");
        }
        println!("{percent} %: {:?}", locks.net.now.since(start));
    }
}
