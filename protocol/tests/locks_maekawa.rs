//! Maekawa's algorithm: its voting sets, its example, its formulas, and a bad network.

mod common;

use common::bag::{Bag, Order, contend};
use common::locks::{DOOR, LEASE, Locks};
use common::lossy;
use protocol::mutex::maekawa::Sets;
use protocol::mutex::{Command, LockId, Maekawa, Notice, Refusal};
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
        }
        release(&mut bag, holder);
    }
    assert_eq!(order, [1, 0, 2]);
}

#[test]
fn mk8_x8_fifteen_hundred_contended_runs_end_with_everybody_served_in_order_and_out_of_order() {
    for order in [Order::Fifo, Order::Any] {
        let (mut letters, mut bound) = (0, 0);
        for seed in 0..1500 {
            let count = 4 + seed as usize % 13;
            let mut bag = bag(count, order, seed);
            let contest = contend(&mut bag, LOCK, 3, Span::from_millis(500));
            assert_eq!(contest.entered.len(), 3 * count);
            letters += contest.letters;
            bound += contest.entered.iter().map(|&index| 6 * (set_size(count, index) - 1)).sum::<usize>();
        }
        println!("{order:?}: {letters} letters, of 6(K-1) {bound}");
        assert!(letters <= bound, "{order:?}: {letters} of {bound}");
    }
}
