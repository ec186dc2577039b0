//! Majority voting: its formula, its queue, and a bad network.

use crate::support::prelude::*;
use crate::vote_locks::{contend, votings};
use protocol::mutex::{Command, Notice, Voting};

fn lab(count: usize, order: Order, seed: u64) -> Lab<Voting> {
    Lab::at_random(count, order, seed, &Voting::default())
}

fn holder(lab: &Lab<Voting>) -> Option<usize> {
    lab.holder(DOOR).map(|(holder, _)| holder)
}

#[test]
fn md1_an_uncontended_entry_and_exit_take_three_messages_for_every_other_member() {
    for count in 1..=16 {
        let mut lab = lab(count, Order::Fifo, 1);
        lab.acquire(0).settle();
        assert_eq!(holder(&lab), Some(0));
        lab.release(0).settle();
        assert_eq!(lab.count(), 3 * (count - 1), "{:?}", lab.sent);
    }
}

#[test]
fn md1_a_strict_majority_of_all_members_lets_in_and_one_less_does_not() {
    for count in 2..=9 {
        let mut lab = lab(count, Order::Fifo, 1);
        lab.acquire(0);
        for voter in 1..count {
            // Its own vote is one of them.
            assert_eq!(holder(&lab).is_some(), 2 * voter > count, "{voter} votes of {count}");
            lab.deliver_from(0, voter).deliver_from(voter, 0);
        }
        assert_eq!(holder(&lab), Some(0));
    }
}

/// Serves everybody who waits, without any time passing; returns the nodes in the order of entry.
fn serve_at_once(lab: &mut Lab<Voting>) -> Vec<usize> {
    let mut served = Vec::new();
    while let Some(index) = holder(lab.settle()) {
        served.push(index);
        lab.release(index);
    }
    served
}

#[test]
fn x17_three_with_a_third_of_the_votes_each_are_served_in_the_order_of_their_requests() {
    for seed in 0..200 {
        let mut lab = lab(3, Order::Fifo, seed);
        for index in 0..3 {
            lab.acquire(index); // each has its own vote
        }
        for (from, to) in [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)] {
            lab.deliver_from(from, to);
        }
        assert_eq!(lab.sent.get("vote"), None, "no node has another's vote");
        assert_eq!(serve_at_once(&mut lab), [0, 1, 2], "seed {seed}: {:?}", lab.notices);
    }
}

#[test]
fn x17_sixteen_that_request_at_once_are_all_served_without_a_timeout() {
    for order in [Order::Fifo, Order::Any, Order::Duplicated] {
        for seed in 0..storms::seeds(100) {
            let mut lab = lab(16, order, seed);
            for index in 0..16 {
                lab.acquire(index);
            }
            let mut served = serve_at_once(&mut lab);
            served.sort_unstable();
            assert!(served.iter().copied().eq(0..16), "{served:?}, {order:?}, seed {seed}: {:?}", lab.sent);
        }
    }
}

#[test]
fn md1_a_queued_request_takes_four_messages_for_every_other_member_and_its_turn_comes_in_order() {
    for count in 2..=16 {
        let mut lab = lab(count, Order::Fifo, 1);
        for index in 0..count {
            lab.acquire(index).settle(); // each after all before it
        }
        assert!(serve_at_once(&mut lab).into_iter().eq(0..count));
        let others = count - 1;
        assert_eq!(lab.count(), 3 * others + others * 4 * others, "{:?}", lab.sent);
    }
}

#[test]
fn a_vote_that_was_waited_for_lasts_as_long_as_one_that_was_not() {
    let mut lab = lab(5, Order::Fifo, 1);
    lab.acquire(0).settle().acquire(1).settle();
    for _ in 0..20 {
        lab.run(Duration::from_secs(2)).command(0, Command::Renew { lock: DOOR, lease: LEASE }).settle();
    }
    let released = lab.now;
    lab.release(0).settle();
    let Some(&(1, Notice::Acquired { until, .. })) = lab.notices.last() else { panic!("{:?}", lab.notices) };
    assert!(until > released.after(LEASE.mul_ratio(1, 2)), "{until:?} after {released:?}");
    assert!(until <= released.after(LEASE), "{until:?} after {released:?}");
}

#[test]
fn a_slow_holder_that_has_waited_loses_the_lock_before_fast_voters_lend_their_votes_again() {
    for waited in [0, 100, 1_000, 3_000, 12_000, 25_000] {
        let mut lab = lab(4, Order::Fifo, 1);
        for (machine, drift) in lab.nodes.iter_mut().zip([140, -140, 140, 140]) {
            machine.drift = drift;
        }
        lab.acquire(0).settle().acquire(1).settle().acquire(2).settle();
        let end = lab.now.after(Duration::from_millis(waited));
        while lab.now < end {
            lab.run(Duration::from_millis(500).min(end.since(lab.now)));
            lab.command(0, Command::Renew { lock: DOOR, lease: LEASE }).settle();
        }
        lab.release(0).settle();
        assert_eq!(holder(&lab), Some(1));
        while holder(&lab) != Some(2) {
            lab.run(Duration::from_millis(1)); // `holder` checks that there are never two
            assert!(lab.now < end.after(Duration::from_secs(10)), "2 waits for ever");
        }
    }
}

#[test]
fn a_vote_that_was_returned_counts_no_more_however_late_it_arrives() {
    let mut lab = lab(3, Order::Fifo, 1);
    lab.acquire(0).deliver_from(0, 2).acquire(2).deliver_from(2, 1);
    let late = lab.in_flight.iter().find(|envelope| (envelope.from, envelope.to) == (1, 2)).cloned();
    lab.settle(); // 2 has the vote of 1 but not its own, which 0 has: it returns the vote, and 0 enters
    assert_eq!((holder(&lab), lab.sent.get("relinquish")), (Some(0), Some(&1)));
    lab.blocked.push((0, 2));
    for _ in 0..4 {
        lab.run(Duration::from_secs(2)).command(0, Command::Renew { lock: DOOR, lease: LEASE }).settle();
    }
    lab.in_flight.extend(late); // 2 has its own vote by now, and one more would let it in
    lab.blocked.push((0, 1));
    lab.settle();
    assert_eq!(holder(&lab), Some(0));
}

#[test]
fn a_request_that_only_tries_is_not_queued() {
    let mut lab = lab(3, Order::Fifo, 1);
    lab.acquire(2).deliver_from(2, 1).deliver_from(1, 2);
    lab.command(0, Command::Try { lock: DOOR, lease: LEASE }).settle(); // it comes before the request of the holder
    assert_eq!(lab.notices.last(), Some(&(0, Notice::Refused { lock: DOOR, reason: Refusal::Busy })));
    assert_eq!((holder(&lab), lab.sent.get("inquire")), (Some(2), None));
    let votes = lab.sent["vote"];
    lab.release(2).settle();
    assert_eq!((holder(&lab), lab.sent["vote"]), (None, votes));
}

#[test]
fn a_request_that_no_other_voter_remembers_is_made_again() {
    let mut lab = lab(3, Order::Fifo, 1);
    lab.acquire(0).settle().acquire(1);
    lab.in_flight.clear(); // only its own voter knows of it
    for _ in 0..6 {
        lab.run(Duration::from_secs(2)).command(0, Command::Renew { lock: DOOR, lease: LEASE }).settle();
    }
    let votes = lab.sent["vote"];
    lab.release(0).settle();
    assert_eq!((holder(&lab), lab.sent["vote"]), (Some(1), votes + 2));
}

#[test]
fn a_member_that_returns_is_asked_too() {
    let mut lab = lab(5, Order::Fifo, 1);
    lab.acquire(1).settle();
    lab.suspect(0, 3);
    lab.acquire(0).settle();
    lab.trust(0, 3);
    lab.run(Duration::from_secs(1));
    let votes = lab.sent["vote"];
    lab.release(1).settle();
    assert_eq!((holder(&lab), lab.sent["vote"]), (Some(0), votes + 4));
}

#[test]
fn a_group_of_more_than_sixteen_is_not_supported() {
    let group = |count| Voting::default().supports(NodeSet::first(count));
    assert!(group(16) && !group(17));
}

#[test]
fn md1_contended_runs_end_with_every_node_served_in_order_out_of_order_and_duplicated() {
    for order in [Order::Fifo, Order::Any, Order::Duplicated] {
        let (mut messages, mut entries, mut formula) = (0, 0, 0);
        for seed in 0..storms::seeds(500) {
            let count = 3 + usize::try_from(seed % 8).unwrap();
            let mut lab = lab(count, order, seed);
            assert_eq!(contend(&mut lab, Duration::from_secs(300)).len(), 3 * count);
            messages += lab.count();
            entries += 3 * count;
            formula += 3 * count * 3 * (count - 1);
        }
        println!("{order:?}: {messages} messages for {entries} entries, of 3(N-1) {formula}");
    }
}

#[test]
fn a_waiting_node_is_notified_and_a_try_is_refused() {
    let mut locks = votings(5);
    locks.enter(0).mark().acquire(1).try_acquire(2).run_secs(1);
    assert_eq!(locks.notices(1), [Notice::Waiting { lock: DOOR, ahead: 1 }]);
    assert_eq!(locks.notices(2), [Notice::Refused { lock: DOOR, reason: Refusal::Busy }]);
    let took = locks.release(0).await_holder(1);
    assert!(took < Duration::from_millis(400), "{took:?}: it learns that the lock is free");
}

#[test]
fn a_cancelled_request_leaves_nothing_behind() {
    let mut locks = votings(3);
    locks.enter(0).acquire(1).run_ms(300).cancel(1).release(0).run_secs(5);
    assert_eq!(locks.holder(), None);
    locks.acquire(2);
    assert!(locks.await_holder(2) < Duration::from_millis(300));
}

#[test]
fn md2_a_minority_of_crashed_members_costs_nothing() {
    let mut locks = votings(5);
    locks.crash(3).crash(4).acquire(0);
    assert!(locks.await_holder(0) < Duration::from_millis(300));
    locks.renew(0).run_ms(3_500).renew(0); // its own renewal has run out by now
    locks.enter(1);
}

#[test]
fn md2_x13_a_holder_that_crashes_loses_the_lock_within_its_lease() {
    let mut locks = votings(5);
    let took = locks.enter(0).acquire(1).run_ms(300).crash(0).await_holder(1);
    assert!(took > Duration::from_secs(2) && took < Duration::from_secs(8), "{took:?} with a lease of {LEASE:?}");
}

#[test]
fn x17_voters_that_restart_lend_no_vote_while_it_may_be_lent() {
    let mut locks = votings(5);
    locks.enter(0);
    for index in 1..5 {
        locks.boot(index);
    }
    locks.run_ms(100).acquire(1).run_secs(2);
    assert_eq!(locks.holder(), Some(0));
    let took = locks.await_holder(1);
    assert!(took < Duration::from_secs(10), "{took:?}");
}

#[test]
fn a_holder_that_restarts_is_waited_out() {
    let mut locks = votings(5);
    let took = locks.enter(0).boot(0).run_ms(100).acquire(1).await_holder(1);
    assert!(took > Duration::from_secs(2) && took < Duration::from_secs(8), "{took:?}");
}

#[test]
fn a_renewal_that_finds_a_vote_lent_to_another_is_not_lost() {
    // 0 holds with the votes of 0 and 1; 2's own vote is lent to 2, which has not been refused yet.
    let mut lab = lab(3, Order::Fifo, 1);
    lab.acquire(2).acquire(0).deliver_from(0, 1).deliver_from(1, 0);
    assert_eq!(holder(&lab), Some(0));
    // 1 restarts: of the votes for 0 only its own is left, and 2's is lent.
    let delayed: Vec<_> = lab.in_flight.drain(..).filter(|envelope| envelope.from == 2).collect();
    lab.restart(1, Voting::default());
    lab.now = lab.now.after(Duration::from_secs(1));
    lab.command(0, Command::Renew { lock: DOOR, lease: LEASE }).settle();
    let granted = |lab: &Lab<Voting>| {
        let of_0 =
            lab.notices.iter().filter(|(index, notice)| *index == 0 && matches!(notice, Notice::Acquired { .. }));
        of_0.count()
    };
    assert_eq!(granted(&lab), 1, "2's vote is not to be had, 1 abstains");
    lab.in_flight.extend(delayed);
    lab.settle(); // 2 is refused by 0, and 1 abstains: it gives its own vote back
    lab.run(Duration::from_millis(900));
    assert_eq!(granted(&lab), 2, "{:?}", lab.sent);
    lab.run(Duration::from_millis(1_500));
    assert_eq!(holder(&lab), Some(0), "beyond its first lease");
}

#[test]
fn md1_the_minority_of_a_partition_cannot_enter_and_the_majority_can() {
    let mut locks = votings(5);
    locks.net.relink(|a, b| (a < 2) == (b < 2));
    locks.acquire(0).enter(4).run_secs(6);
    for _ in 0..5 {
        locks.run_secs(2);
        assert_ne!(locks.holder(), Some(0));
    }
    locks.mark().try_acquire(1);
    assert_eq!(locks.notices(1), [Notice::Refused { lock: DOOR, reason: Refusal::Busy }]);
    locks.net.relink(|_, _| true);
    let took = locks.await_holder(0);
    assert!(took < Duration::from_secs(10), "{took:?}");
}

#[test]
fn fences_grow_over_voters_that_agreed_to_higher_numbers() {
    // 1 and 2 agreed to a high number under an asker that never entered; 0 and 3, 4 know nothing of it.
    let mut lab = lab(5, Order::Fifo, 1);
    for _ in 0..40 {
        lab.command(4, Command::Try { lock: LockId::from_name("other"), lease: LEASE }); // its Lamport clock advances
        lab.command(4, Command::Cancel { lock: LockId::from_name("other") });
    }
    lab.in_flight.clear();
    lab.acquire(0); // its time is low
    lab.acquire(4); // and this one's high
    lab.deliver_from(4, 1).deliver_from(4, 2);
    lab.in_flight.retain(|envelope| envelope.from != 1 && envelope.from != 2); // 4 never receives its votes
    lab.crash(4);
    let end = lab.now.after(Duration::from_secs(20));
    while holder(&lab).is_none() {
        assert!(lab.wait(end), "its votes come back by their time");
        lab.settle();
    }
    let (holder, fence) = lab.holder(DOOR).unwrap();
    assert_eq!(holder, 0);
    assert!(fence.count.0 > 80, "{fence:?}");
    assert_eq!(lab.down, NodeSet::slot(4));
}

#[test]
fn a_fence_is_above_everything_a_voter_agreed_to_before_it_restarted() {
    let mut confirmed = false;
    for voter in 0..4 {
        let mut lab = lab(4, Order::Fifo, 1);
        // Of any three out of four, one is among these two.
        let restarted = [voter, (voter + 1) % 4];
        for index in restarted {
            lab.nodes[index].algorithm.resume(LamportTime(50));
        }
        for index in (0..4).filter(|index| !restarted.contains(index)) {
            lab.acquire(index).settle();
            if let Some((holder, fence)) = lab.holder(DOOR) {
                assert!(fence.count > LamportTime(50), "{holder}: {fence:?}");
                lab.release(holder).settle();
            }
        }
        confirmed |= lab.sent.contains_key("confirm");
    }
    assert!(confirmed, "a voter had to confirm the higher number");
}
