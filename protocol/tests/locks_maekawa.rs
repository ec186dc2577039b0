//! Maekawa's algorithm: its voting sets, its example, its formulas, and a bad network.

mod common;

use common::bag::{Bag, Order, afflict, contend};
use common::locks::{DOOR, LEASE, Locks};
use common::lossy;
use protocol::clock::Stamp;
use protocol::mutex::maekawa::Sets;
use protocol::mutex::{Command, LockId, Maekawa, Mutex, Notice, Refusal};
use protocol::wire::Kind;
use protocol::{NodeSet, Span, Timing};

const LOCK: LockId = LockId::from_name(DOOR);

fn group(count: usize) -> Locks<Maekawa> {
    Locks::new(count, Kind::Maekawa, Maekawa::default())
}

fn bag(count: usize, order: Order, seed: u64) -> Bag<Maekawa> {
    Bag::new(vec![Maekawa::default(); count], order, seed)
}

/// The size of the set that a node of so many asks.
fn set_size(count: usize, index: usize) -> usize {
    let all = NodeSet::first(count);
    Sets::Grid.choose(all, index, all).len() as usize
}

fn places(slots: &[usize]) -> NodeSet {
    slots.iter().fold(NodeSet::EMPTY, |set, &slot| set.with(NodeSet::slot(slot)))
}

fn acquire(bag: &mut Bag<Maekawa>, index: usize) {
    bag.command(index, Command::Acquire { lock: LOCK, lease: LEASE });
}

fn release(bag: &mut Bag<Maekawa>, index: usize) {
    bag.command(index, Command::Release { lock: LOCK });
}

#[test]
fn mk5_an_entry_and_exit_that_nobody_contends_take_three_letters_for_every_other_voter() {
    for count in 1..=25 {
        for index in 0..count {
            let mut bag = bag(count, Order::Fifo, 1);
            acquire(&mut bag, index);
            bag.settle();
            assert_eq!(bag.holder(LOCK).map(|(holder, _)| holder), Some(index), "{index} of {count}");
            release(&mut bag, index);
            bag.settle();
            assert_eq!(bag.count(), 3 * (set_size(count, index) - 1), "{index} of {count}: {:?}", bag.said);
        }
    }
}

#[test]
fn mk7_mk9_x8_the_six_process_deadlock_is_resolved_in_the_order_p1_p0_p2() {
    let family: &'static [NodeSet] = Box::leak(Box::new([
        places(&[0, 1, 2]),
        places(&[1, 3, 5]),
        places(&[2, 4, 5]),
        places(&[0, 3, 4]),
        places(&[0, 3, 4]),
        places(&[0, 5]),
    ]));
    assert!(Sets::Given(family).suit(NodeSet::first(6)));
    let mut bag = Bag::new(vec![Maekawa::new(Sets::Given(family)); 6], Order::Fifo, 1);
    acquire(&mut bag, 0);
    acquire(&mut bag, 1); // votes for itself before it hears of P0
    bag.carry(0, 2); // P0 has the votes of 0 and 2
    acquire(&mut bag, 2);
    bag.carry(1, 3); // P1 has the votes of 1 and 3
    bag.carry(2, 4);
    bag.carry(2, 5); // P2 has the votes of 4 and 5
    assert_eq!(bag.holder(LOCK), None);
    let mut order = Vec::new();
    while order.len() < 3 {
        bag.settle();
        let (holder, _) = bag.holder(LOCK).expect("somebody enters");
        order.push(holder);
        if order.len() == 1 {
            // Voter 1 asks P1, which has no reason to give anything back; voter 2 puts P0 before P2, and voter 5 gets
            // its vote back from P2. What a voter says to itself is no letter.
            let said = |word: &str| bag.said.get(word).copied().unwrap_or(0);
            assert_eq!((said("inquire"), said("relinquish")), (1, 1), "{:?}", bag.said);
            assert_eq!(said("confirm"), 0, "voter 5 takes back what it agreed to for P2");
        }
        release(&mut bag, holder);
    }
    assert_eq!(order, [1, 0, 2]);
}

#[test]
fn mk8_x8_fifteen_hundred_contended_runs_end_with_everybody_served_in_order_out_of_order_and_twice() {
    for order in [Order::Fifo, Order::Any, Order::Twice] {
        let (mut letters, mut bound) = (0, 0);
        for seed in 0..1500 {
            let count = 4 + usize::try_from(seed % 13).unwrap();
            let mut bag = bag(count, order, seed);
            let contest = contend(&mut bag, LOCK, 3, Span::from_millis(500));
            assert_eq!(contest.entered.len(), 3 * count);
            letters += contest.letters;
            bound += contest.entered.iter().map(|&index| 6 * (set_size(count, index) - 1)).sum::<usize>();
        }
        println!("{order:?}: {letters} letters, of 6(K-1) {bound}");
        assert!(order == Order::Twice || letters <= bound, "{order:?}: {letters} of {bound}");
    }
}

#[test]
fn mk8_without_time_passing_a_request_put_last_but_first_in_order_is_served_next() {
    let mut bag = bag(9, Order::Fifo, 3);
    for index in 0..9 {
        acquire(&mut bag, index);
    }
    let mut served = Vec::new();
    for _ in 0..9 {
        bag.run(Span::from_millis(200));
        let (holder, _) = bag.holder(LOCK).expect("somebody enters");
        served.push(holder);
        release(&mut bag, holder);
    }
    served.sort_unstable();
    assert!(served.into_iter().eq(0..9), "everybody once");
}

#[test]
fn mk5_nodes_in_a_network_take_three_letters_for_every_other_voter_too() {
    let mut locks = group(9);
    locks.acquire(0, DOOR);
    locks.await_holder(0, DOOR);
    locks.release(0, DOOR);
    locks.run(Span::from_secs(1));
    assert_eq!(locks.letters(), 3 * (5 - 1));
}

#[test]
fn whoever_waits_is_told_so_and_whoever_only_tries_is_refused() {
    let mut locks = group(9);
    locks.acquire(0, DOOR);
    locks.await_holder(0, DOOR);
    locks.mark();
    locks.acquire(8, DOOR);
    locks.try_(4, DOOR);
    locks.run(Span::from_millis(300));
    assert!(matches!(locks.told(8)[..], [Notice::Waiting { lock: LOCK, .. }, ..]), "{:?}", locks.told(8));
    assert_eq!(locks.told(4), [Notice::Refused { lock: LOCK, why: Refusal::Busy }]);
    locks.release(0, DOOR);
    locks.await_holder(8, DOOR);
}

#[test]
fn a_request_that_is_cancelled_leaves_nothing_behind() {
    let mut locks = group(4);
    locks.acquire(0, DOOR);
    locks.await_holder(0, DOOR);
    locks.acquire(1, DOOR);
    locks.acquire(2, DOOR);
    locks.run(Span::from_millis(300));
    locks.cancel(1, DOOR);
    locks.release(0, DOOR);
    assert!(locks.await_holder(2, DOOR) < Span::from_millis(500));
    locks.release(2, DOOR);
    locks.acquire(1, DOOR);
    assert!(locks.await_holder(1, DOOR) < Span::from_millis(500));
}

#[test]
fn a_renewed_lock_is_held_on_and_on_while_another_waits() {
    let mut locks = group(9);
    locks.acquire(0, DOOR);
    locks.await_holder(0, DOOR);
    let fence = locks.fence(DOOR);
    locks.acquire(8, DOOR);
    for _ in 0..8 {
        locks.run(Span::from_secs(2));
        assert_eq!((locks.holder(DOOR), locks.fence(DOOR)), (Some(0), fence));
        locks.mark();
        locks.renew(0, DOOR);
        locks.run(Span::from_millis(200));
        assert!(matches!(locks.told(0)[..], [Notice::Acquired { .. }]), "{:?}", locks.told(0));
    }
    locks.release(0, DOOR);
    assert!(locks.await_holder(8, DOOR) < Span::from_secs(1));
}

#[test]
fn x13_a_holder_that_crashes_loses_the_lock_within_its_lease() {
    let mut locks = group(9);
    locks.acquire(0, DOOR);
    locks.await_holder(0, DOOR);
    locks.acquire(8, DOOR);
    locks.run(Span::from_millis(300));
    locks.net.crash(0);
    let took = locks.await_holder(8, DOOR);
    assert!(took < Span::from_millis(3_600), "{took:?} with a lease of {LEASE:?}");
}

#[test]
fn a_voter_that_crashes_is_replaced_by_another_row_or_column() {
    let mut locks = group(9);
    // 0 1 2 / 3 4 5 / 6 7 8: node 0 asks 0 1 2 3 6.
    locks.net.crash(3);
    locks.acquire(0, DOOR);
    let took = locks.await_holder(0, DOOR);
    assert!(took < Span::from_secs(5), "{took:?}");
    locks.acquire(5, DOOR);
    locks.run(Span::from_millis(500));
    locks.release(0, DOOR);
    locks.await_holder(5, DOOR);
    // Now that it is known to be down, nobody waits for it.
    locks.release(5, DOOR);
    locks.acquire(0, DOOR);
    assert!(locks.await_holder(0, DOOR) < Span::from_millis(300));
}

#[test]
fn a_bystander_that_crashes_is_not_noticed() {
    let mut locks = group(9);
    locks.net.crash(4);
    locks.acquire(0, DOOR);
    assert!(locks.await_holder(0, DOOR) < Span::from_millis(300));
}

#[test]
fn a_diagonal_of_crashed_voters_stops_the_lock_until_one_is_back() {
    let mut locks = group(9);
    for index in [2, 4, 6] {
        locks.net.crash(index);
    }
    locks.run(Span::from_secs(10));
    locks.acquire(0, DOOR);
    locks.try_(1, DOOR);
    assert!(locks.told(1).contains(&Notice::Refused { lock: LOCK, why: Refusal::Busy }));
    locks.run(Span::from_secs(10));
    assert_eq!(locks.holder(DOOR), None);
    locks.net.boot(4);
    let took = locks.await_holder(0, DOOR);
    // It abstains first.
    assert!(took > Span::from_secs(5) && took < Span::from_secs(9), "{took:?}");
}

#[test]
fn x8_a_voter_that_restarts_lends_its_vote_to_nobody_while_it_may_be_lent() {
    let mut locks = group(4); // 0 1 / 2 3
    locks.acquire(0, DOOR); // of 0, 1 and 2
    locks.await_holder(0, DOOR);
    locks.acquire(3, DOOR); // of 3, 1 and 2
    locks.run(Span::from_millis(200));
    for index in [1, 2] {
        locks.net.boot(index);
    }
    let took = locks.await_holder(3, DOOR); // `Locks` sees to it that never two hold it
    assert!(took > Span::from_secs(2), "{took:?}");
}

#[test]
fn a_hold_is_renewed_by_voters_that_have_restarted() {
    let mut locks = group(4);
    locks.acquire(0, DOOR);
    locks.await_holder(0, DOOR);
    for index in [1, 2] {
        locks.net.boot(index);
    }
    locks.run(Span::from_secs(1));
    locks.mark();
    locks.renew(0, DOOR);
    locks.run(Span::from_millis(1_500));
    assert!(matches!(locks.told(0)[..], [Notice::Acquired { .. }]), "{:?}", locks.told(0));
    locks.acquire(3, DOOR);
    locks.run(Span::from_millis(500));
    assert_eq!(locks.holder(DOOR), Some(0));
    locks.release(0, DOOR);
    locks.await_holder(3, DOOR);
}

#[test]
fn an_asker_that_restarts_has_to_wait_for_what_it_may_have_held() {
    let mut locks = group(4);
    locks.acquire(0, DOOR);
    locks.await_holder(0, DOOR);
    locks.net.boot(0);
    locks.run(Span::from_millis(100));
    locks.acquire(3, DOOR);
    let took = locks.await_holder(3, DOOR);
    assert!(took > Span::from_secs(2) && took < Span::from_millis(3_600), "{took:?}");
}

#[test]
fn a_part_without_a_full_row_and_column_cannot_enter_and_the_other_can() {
    let mut locks = group(9);
    locks.net.relink(|a, b| (a < 6) == (b < 6)); // two rows, and no full column on either side
    locks.run(Span::from_secs(10));
    for index in 0..9 {
        locks.acquire(index, DOOR);
    }
    locks.run(Span::from_secs(20));
    assert_eq!(locks.holder(DOOR), None);
    locks.net.relink(|_, _| true);
    let mut served = 0;
    while served < 9 {
        locks.run(Span::from_millis(5));
        if let Some(holder) = locks.holder(DOOR) {
            served += 1;
            locks.release(holder, DOOR);
        }
        assert!(locks.net.now.as_micros() < 120_000_000, "{served} served");
    }
}

#[test]
fn all_who_want_the_lock_get_it_whatever_is_lost() {
    for seed in 0..12 {
        let mut locks = group(7);
        locks.net.set_fate(lossy(20, seed));
        for index in 0..7 {
            locks.acquire(index, DOOR);
        }
        let mut served = 0;
        while served < 7 {
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
fn several_locks_are_held_by_several_nodes_at_once() {
    let mut locks = group(9);
    let names = ["a", "b", "c", "d"];
    for (index, name) in names.iter().enumerate() {
        locks.acquire(index, name);
        locks.acquire(index + 4, name);
    }
    locks.run(Span::from_secs(1));
    for name in names {
        assert!(locks.holder(name).is_some(), "{name}");
    }
    for (index, name) in names.iter().enumerate() {
        let first = locks.holder(name).unwrap();
        locks.release(first, name);
        locks.await_holder(2 * index + 4 - first, name);
    }
}

#[test]
fn whoever_waits_longer_than_its_votes_last_asks_for_them_anew() {
    let mut locks = group(4);
    locks.acquire(0, DOOR);
    locks.await_holder(0, DOOR);
    locks.acquire(3, DOOR); // has its own vote, and waits for 1 and 2
    for _ in 0..6 {
        locks.run(Span::from_millis(2_500));
        assert_eq!(locks.holder(DOOR), Some(0));
        locks.renew(0, DOOR);
    }
    locks.release(0, DOOR);
    assert!(locks.await_holder(3, DOOR) < Span::from_millis(500));
    locks.run(Span::from_millis(1_000));
    assert_eq!(locks.holder(DOOR), Some(3), "what it has now is not about to run out");
}

#[test]
fn a_lock_with_sets_that_do_not_meet_is_refused_its_group() {
    use protocol::config::ConfigError;
    use protocol::election::Bully;
    use protocol::node::{Boot, Node};
    use protocol::{Instant, NodeId};
    let family: &'static [NodeSet] =
        Box::leak(Box::new([places(&[0, 1]), places(&[2, 3]), places(&[0, 1]), places(&[2, 3])]));
    let boot = Boot { records: None, seed: 1 };
    let lock = Maekawa::new(Sets::Given(family));
    let node = Node::<_, _, 4>::new(common::config(0), boot, Instant::ZERO, Bully::default(), lock).unwrap();
    assert_eq!(node.in_group(&[1, 2, 3, 4].map(NodeId)).err(), Some(ConfigError::VotingSets));
}

#[test]
fn never_two_hold_a_lock_whatever_goes_wrong_and_all_are_served_when_it_is_over() {
    for seed in 0..2000 {
        afflict(&Maekawa::default(), 4 + usize::try_from(seed % 6).unwrap(), seed);
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
