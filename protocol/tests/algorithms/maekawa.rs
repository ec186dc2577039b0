//! Maekawa's algorithm: its voting sets, its example, its formulas, and a bad network.

use crate::support::prelude::*;
use crate::vote_locks::{contend, maekawas};
use protocol::base::config::ConfigError;
use protocol::base::membership::Group;
use protocol::election::Bully;
use protocol::mutex::maekawa::{Message, Options, VotingSets};
use protocol::mutex::{Maekawa, Notice};
use protocol::node::{Boot, Node, Stages};
use protocol::service::NoService;
use std::collections::BTreeMap;

fn lab(count: usize, order: Order, seed: u64) -> Lab<Maekawa> {
    Lab::at_random(count, order, seed, &Maekawa::default())
}

/// The size of the set that a node of so many asks.
fn set_size(count: usize, index: usize) -> usize {
    let all = NodeSet::first(count);
    VotingSets::Grid.choose(all, index, all).len() as usize
}

#[test]
fn mk5_an_uncontended_entry_and_exit_take_three_messages_for_every_other_voter() {
    for count in 1..=25 {
        for index in 0..count {
            let mut lab = lab(count, Order::Fifo, 1);
            lab.acquire(index).settle();
            assert_eq!(lab.holder(DOOR).map(|(holder, _)| holder), Some(index), "{index} of {count}");
            lab.release(index).settle();
            assert_eq!(lab.count(), 3 * (set_size(count, index) - 1), "{index} of {count}: {:?}", lab.sent);
        }
    }
}

#[test]
fn mk7_mk9_x8_the_six_process_deadlock_is_resolved_in_the_order_p1_p0_p2() {
    let family: &'static [NodeSet] = Box::leak(Box::new([
        slots(&[0, 1, 2]),
        slots(&[1, 3, 5]),
        slots(&[2, 4, 5]),
        slots(&[0, 3, 4]),
        slots(&[0, 3, 4]),
        slots(&[0, 5]),
    ]));
    assert!(VotingSets::Listed(family).is_valid_for(NodeSet::first(6)));
    let mut lab = Lab::at_random(6, Order::Fifo, 1, &Maekawa::new(Options { sets: VotingSets::Listed(family) }));
    lab.acquire(0).acquire(1); // votes for itself before it learns of P0
    lab.deliver_from(0, 2); // P0 has the votes of 0 and 2
    lab.acquire(2).deliver_from(1, 3); // P1 has the votes of 1 and 3
    lab.deliver_from(2, 4).deliver_from(2, 5); // P2 has the votes of 4 and 5
    assert_eq!(lab.holder(DOOR), None);
    let mut order = Vec::new();
    while order.len() < 3 {
        lab.settle();
        let (holder, _) = lab.holder(DOOR).expect("a node enters");
        order.push(holder);
        if order.len() == 1 {
            // Voter 1 asks P1, which has no reason to give anything back; voter 2 puts P0 before P2, and voter 5 gets
            // its vote back from P2. What a voter tells itself is no message.
            let sent = |name| lab.sent_named(name);
            assert_eq!((sent("inquire"), sent("relinquish")), (1, 1), "{:?}", lab.sent);
            assert_eq!(sent("confirm"), 0, "voter 5 takes back what it agreed to for P2");
        }
        lab.release(holder);
    }
    assert_eq!(order, [1, 0, 2]);
}

#[test]
fn mk8_x8_contended_runs_end_with_every_node_served_in_order_out_of_order_and_duplicated() {
    for order in [Order::Fifo, Order::Any, Order::Duplicated] {
        let (mut messages, mut bound) = (0, 0);
        for seed in 0..storms::seeds(1_500) {
            let count = 4 + usize::try_from(seed % 13).unwrap();
            let mut lab = lab(count, order, seed);
            let entered = contend(&mut lab, Duration::from_millis(500));
            assert_eq!(entered.len(), 3 * count);
            messages += lab.count();
            bound += entered.iter().map(|&index| 6 * (set_size(count, index) - 1)).sum::<usize>();
        }
        println!("{order:?}: {messages} messages, of 6(K-1) {bound}");
        assert!(order == Order::Duplicated || messages <= bound, "{order:?}: {messages} of {bound}");
    }
}

/// Whose request a message is about, and its number; `None` for those that no paper has: a place in the queue.
fn request_of((from, to, message): &(usize, usize, Message)) -> Option<(usize, LamportTime)> {
    match *message {
        Message::Request { request, .. }
        | Message::Relinquish { request, .. }
        | Message::Release { request, .. }
        | Message::Confirm { request, .. }
        | Message::Renew { request, .. } => Some((*from, request)),
        Message::Grant { request, .. }
        | Message::Fail { request, .. }
        | Message::Inquire { request, .. }
        | Message::Confirmed { request, .. }
        | Message::Full { request, .. } => Some((*to, request)),
        Message::Wait { .. } | Message::Renewed { .. } => None,
    }
}

#[test]
fn mk5_hardly_an_entry_takes_more_than_six_messages_for_every_other_voter_and_none_more_than_seven() {
    let (mut entries, mut above_six, mut above_seven) = (0, 0, 0);
    for seed in 0..storms::seeds(1_500) {
        let count = 4 + usize::try_from(seed % 13).unwrap();
        let mut lab = lab(count, Order::Fifo, seed);
        lab.kept = Some(Vec::new());
        contend(&mut lab, Duration::from_millis(500));
        let mut messages = BTreeMap::<_, usize>::new();
        lab.kept.take().unwrap().iter().filter_map(request_of).for_each(|of| *messages.entry(of).or_default() += 1);
        for ((index, _), messages) in messages {
            let voters = set_size(count, index) - 1;
            entries += 1;
            above_six += usize::from(messages > 6 * voters);
            above_seven += usize::from(messages > 7 * voters);
        }
    }
    println!(
        "{entries} entries, {above_six} of them above six messages for every other voter, {above_seven} above seven"
    );
    assert!(above_six * 100 < entries && above_seven == 0, "{above_six} and {above_seven} of {entries}");
}

#[test]
fn a_waiting_node_is_notified_and_a_try_is_refused() {
    let mut locks = maekawas(9);
    locks.enter(0).mark().acquire(8).try_acquire(4).run_ms(300);
    assert!(matches!(locks.notices(8)[..], [Notice::Waiting { lock: DOOR, .. }, ..]), "{:?}", locks.notices(8));
    assert_eq!(locks.notices(4), [Notice::Refused { lock: DOOR, reason: Refusal::Busy }]);
    locks.release(0).await_holder(8);
}

#[test]
fn a_cancelled_request_leaves_nothing_behind() {
    let mut locks = maekawas(4);
    locks.enter(0).acquire(1).acquire(2).run_ms(300).cancel(1).release(0);
    assert!(locks.await_holder(2) < Duration::from_millis(500));
    locks.release(2).acquire(1);
    assert!(locks.await_holder(1) < Duration::from_millis(500));
}

#[test]
fn x13_a_holder_that_crashes_loses_the_lock_within_its_lease() {
    let mut locks = maekawas(9);
    let took = locks.enter(0).acquire(8).run_ms(300).crash(0).await_holder(8);
    assert!(took < Duration::from_millis(3_600), "{took:?} with a lease of {LEASE:?}");
}

#[test]
fn a_voter_that_crashes_is_replaced_by_another_row_or_column() {
    let mut locks = maekawas(9);
    // 0 1 2 / 3 4 5 / 6 7 8: node 0 asks 0 1 2 3 6.
    let took = locks.crash(3).acquire(0).await_holder(0);
    assert!(took < Duration::from_secs(5), "{took:?}");
    locks.acquire(5).run_ms(500).release(0).await_holder(5);
    // Now that it is suspected, no node waits for it.
    locks.release(5).acquire(0);
    assert!(locks.await_holder(0) < Duration::from_millis(300));
}

#[test]
fn a_bystander_that_crashes_costs_nothing() {
    let mut locks = maekawas(9);
    locks.crash(4).acquire(0);
    assert!(locks.await_holder(0) < Duration::from_millis(300));
}

#[test]
fn a_diagonal_of_crashed_voters_is_stood_in_for_and_without_a_majority_the_lock_stops_until_one_is_back() {
    let mut locks = maekawas(9);
    for index in [2, 4, 6] {
        locks.crash(index);
    }
    locks.run_secs(10).enter(0).release(0).enter(8).release(8);
    for index in [3, 5] {
        locks.crash(index);
    }
    locks.run_secs(10).acquire(0).try_acquire(1);
    assert!(locks.notices(1).contains(&Notice::Refused { lock: DOOR, reason: Refusal::Busy }));
    locks.run_secs(10);
    assert_eq!(locks.holder(), None);
    let took = locks.boot(4).await_holder(0);
    // It abstains first.
    assert!(took > Duration::from_secs(5) && took < Duration::from_secs(9), "{took:?}");
}

#[test]
fn x8_a_voter_that_restarts_lends_no_vote_while_it_may_be_lent() {
    let mut locks = maekawas(4); // 0 1 / 2 3
    locks.acquire(0); // of 0, 1 and 2
    locks.await_holder(0);
    locks.acquire(3); // of 3, 1 and 2
    locks.run_ms(200);
    for index in [1, 2] {
        locks.boot(index);
    }
    let took = locks.await_holder(3); // `LockNet` checks that no two hold it
    assert!(took > Duration::from_secs(2), "{took:?}");
}

#[test]
fn a_grant_is_renewed_by_voters_that_have_restarted() {
    let mut locks = maekawas(4);
    locks.enter(0);
    for index in [1, 2] {
        locks.boot(index);
    }
    locks.run_secs(1).mark().renew(0).run_ms(1_500);
    assert!(matches!(locks.notices(0)[..], [Notice::Acquired { .. }]), "{:?}", locks.notices(0));
    locks.acquire(3).run_ms(500);
    assert_eq!(locks.holder(), Some(0));
    locks.release(0).await_holder(3);
}

#[test]
fn a_holder_that_restarts_is_waited_out() {
    let mut locks = maekawas(4);
    let took = locks.enter(0).boot(0).run_ms(100).acquire(3).await_holder(3);
    assert!(took > Duration::from_secs(2) && took < Duration::from_millis(3_600), "{took:?}");
}

#[test]
fn a_part_with_a_majority_enters_without_a_full_column_and_the_other_waits() {
    let mut locks = maekawas(9);
    locks.net.relink(|a, b| (a < 6) == (b < 6)); // two rows, and no full column on either side
    locks.run_secs(10).acquire(7).run_secs(10);
    assert_eq!(locks.holder(), None);
    locks.enter(0).release(0).enter(5).release(5);
    locks.net.relink(|_, _| true);
    locks.await_holder(7);
    locks.release(7).acquire_all(0..9).serve(0..9, 5, Duration::from_secs(75));
}

#[test]
fn several_locks_are_held_by_several_nodes_at_once() {
    let mut locks = maekawas(9);
    let names = ["a", "b", "c", "d"];
    for (index, name) in names.iter().enumerate() {
        locks.acquire_lock(index, name).acquire_lock(index + 4, name);
    }
    locks.run_secs(1);
    for name in names {
        assert!(locks.holder_of(name).is_some(), "{name}");
    }
    for (index, name) in names.iter().enumerate() {
        let first = locks.holder_of(name).unwrap();
        locks.release_lock(first, name).await_holder_of(2 * index + 4 - first, name);
    }
}

#[test]
fn a_node_that_waits_longer_than_its_votes_last_asks_for_them_again() {
    let mut locks = maekawas(4);
    locks.enter(0).acquire(3); // has its own vote, and waits for 1 and 2
    for _ in 0..6 {
        locks.run_ms(2_500);
        assert_eq!(locks.holder(), Some(0));
        locks.renew(0);
    }
    locks.release(0);
    assert!(locks.await_holder(3) < Duration::from_millis(500));
    locks.run_ms(1_000);
    assert_eq!(locks.holder(), Some(3), "its votes are not about to expire");
}

#[test]
fn a_lock_with_sets_that_do_not_meet_is_refused_its_maekawas() {
    let family: &'static [NodeSet] =
        Box::leak(Box::new([slots(&[0, 1]), slots(&[2, 3]), slots(&[0, 1]), slots(&[2, 3])]));
    let boot = Boot { records: None, capacity: None, seed: 1 };
    let lock = Maekawa::new(Options { sets: VotingSets::Listed(family) });
    let group = Group::of(&[1, 2, 3, 4].map(NodeId)).unwrap();
    let stages = Stages { election: Bully::default(), mutex: lock, service: NoService };
    let node = Node::<_, _, 4, _, _>::new(config(0), &group, boot, Instant::ZERO, stages);
    assert_eq!(node.err(), Some(ConfigError::UnsupportedGroup));
}

#[test]
fn a_fence_is_above_everything_a_voter_agreed_to_before_it_restarted() {
    for voter in 0..4 {
        let mut lab = lab(4, Order::Fifo, 1);
        lab.nodes[voter].algorithm.resume(LamportTime(50));
        let others = (0..4).filter(|&index| index != voter);
        for index in others {
            lab.acquire(index).settle();
            if let Some((holder, fence)) = lab.holder(DOOR) {
                assert!(fence.count > LamportTime(50) || fence.count == LamportTime(1), "{holder}: {fence:?}");
                lab.release(holder).settle();
            }
        }
        assert!(lab.sent.contains_key("confirm"), "a voter had to confirm the higher number");
    }
}
