//! What both locks that collect votes have in common, in the lab and on whole nodes.

use crate::support::prelude::*;
use protocol::mutex::{Command, Maekawa, Notice, Voting};
use std::collections::BTreeMap;

/// A group of so many.
type Group<M> = fn(usize) -> LockNet<M>;

pub(crate) fn maekawas(count: usize) -> LockNet<Maekawa> {
    LockNet::new(count, Maekawa::KIND, Maekawa::default())
}

pub(crate) fn votings(count: usize) -> LockNet<Voting> {
    LockNet::new(count, Voting::KIND, Voting::default())
}

/// Instantiates cases for both locks.
macro_rules! of_both {
    ($($case:ident)+) => {
        mod maekawa {
            $(#[test] fn $case() { super::$case(super::maekawas, 4); })+
        }
        mod voting {
            $(#[test] fn $case() { super::$case(super::votings, 3); })+
        }
    };
}

of_both! {
    no_two_hold_a_lock_whatever_goes_wrong_and_all_are_served_when_it_is_over
    the_lease_of_a_slow_holder_ends_before_fast_voters_lend_their_votes_again
    all_that_want_the_lock_enter_although_frames_are_lost
    sixteen_members_that_all_want_several_locks_are_all_served
    a_held_lock_is_renewed_again_and_again_while_others_wait
}

fn no_two_hold_a_lock_whatever_goes_wrong_and_all_are_served_when_it_is_over<M: TestMutex + Default>(
    _: Group<M>,
    least: usize,
) {
    for seed in 0..storms::seeds(2_000) {
        storm(&M::default(), least + usize::try_from(seed % (least as u64 + 2)).unwrap(), seed);
    }
}

fn the_lease_of_a_slow_holder_ends_before_fast_voters_lend_their_votes_again<M: TestMutex + Default>(
    _: Group<M>,
    _: usize,
) {
    let mut lab = Lab::at_random(4, Order::Fifo, 1, &M::default());
    for (machine, drift) in lab.nodes.iter_mut().zip([-140, 140, 140, 140]) {
        machine.drift = drift;
    }
    lab.acquire_for(0, Timing::RADIO.lock_lease).settle();
    assert!(lab.holder(DOOR).is_some());
    lab.acquire(3);
    while lab.holder(DOOR).is_none_or(|(holder, _)| holder == 0) {
        lab.run(Duration::from_millis(1)); // `holder` checks that there are never two
        assert!(lab.now.as_micros() < 80_000_000, "3 waits for ever");
    }
}

fn all_that_want_the_lock_enter_although_frames_are_lost<M: TestMutex>(group: Group<M>, least: usize) {
    let count = least + 3;
    for seed in 0..12 {
        let mut locks = group(count);
        locks.net.set_filter(lossy(20, seed));
        locks.acquire_all(0..count);
        locks.serve(0..count, 10, Duration::from_secs(75));
    }
}

fn sixteen_members_that_all_want_several_locks_are_all_served<M: TestMutex>(group: Group<M>, least: usize) {
    // With majorities every member answers every request: the answers for more than two locks do not fit its queue.
    let names = if least == 4 { &["a", "b", "c", "d"][..] } else { &["a", "b"] };
    for percent in [0, 10] {
        let mut locks = group(16);
        locks.net.set_filter(lossy(percent, 7));
        let wanted = |index| names.iter().map(move |&name| (index, name));
        let waiting: Vec<_> = (0..16).flat_map(wanted).collect();
        for &(index, name) in &waiting {
            locks.acquire_lock(index, name);
        }
        let start = locks.net.now;
        locks.serve_locks(waiting, 10, Duration::from_secs(200));
        println!("{percent} %: {:?}", locks.net.now.since(start));
    }
}

fn a_held_lock_is_renewed_again_and_again_while_others_wait<M: TestMutex>(group: Group<M>, _: usize) {
    let mut locks = group(9);
    locks.enter(0);
    let fence = locks.fence();
    for index in [1, 2, 3, 8] {
        locks.acquire(index);
    }
    for _ in 0..8 {
        locks.run_secs(2);
        assert_eq!((locks.holder(), locks.fence()), (Some(0), fence));
        locks.mark().renew(0).run_ms(400);
        assert!(matches!(locks.notices(0)[..], [Notice::Acquired { .. }]), "{:?}", locks.notices(0));
    }
    locks.release(0);
    locks.serve([1, 2, 3, 8], 5, Duration::from_secs(10));
}

#[test]
fn mk5_md1_on_whole_nodes_too_it_takes_three_messages_for_every_other_voter() {
    fn messages<M: TestMutex>(mut locks: LockNet<M>) -> usize {
        locks.enter(0).release(0).run_secs(1);
        locks.messages()
    }
    assert_eq!((messages(maekawas(9)), messages(votings(5))), (3 * (5 - 1), 3 * 4));
}

/// Every node wants the lock three times, all at once; messages arrive in any order and take no time. Each enters so often,
/// no two at a time, each under a higher fence than the one before, within `most`. Returns the nodes in the order of entry.
pub(crate) fn contend<M: Mutex>(lab: &mut Lab<M>, most: Duration) -> Vec<usize> {
    let (lock, rounds) = (DOOR, 3);
    let count = lab.nodes.len();
    let (mut left, mut asked) = (vec![rounds; count], vec![false; count]);
    let (mut entered, mut last) = (Vec::new(), Fence::ZERO);
    let mut inside = None;
    let end = lab.now.after(most);
    while left.iter().any(|&left| left > 0) {
        let index = lab.draw(count);
        match lab.draw(4) {
            0 if !asked[index] && left[index] > 0 => {
                asked[index] = true;
                lab.command(index, Command::Acquire { lock, lease: Timing::RADIO.lock_lease });
            }
            1 if inside.is_some() => {
                let holder: usize = inside.take().unwrap();
                asked[holder] = false;
                left[holder] -= 1;
                lab.command(holder, Command::Release { lock });
            }
            _ if lab.deliver() => {}
            _ if inside.is_some() || (0..count).any(|index| !asked[index] && left[index] > 0) => {}
            _ => assert!(lab.wait(end), "stuck after {entered:?}: {:?}", lab.sent),
        }
        let holder = lab.holder(lock);
        if let (None, Some((holder, fence))) = (inside, holder) {
            assert!(fence > last, "{holder} entered under {fence:?} after {last:?}");
            last = fence;
            entered.push(holder);
        }
        inside = holder.map(|(holder, _)| holder);
    }
    entered
}

/// Nodes acquire, release, renew and cancel, restart, are suspected without reason and miss deadlines; messages are late
/// and abandoned; clocks differ by 2 %. No two hold a lock, and fences grow. When all that is over, every node that waits is
/// served.
fn storm<M: Mutex + Clone>(make: &M, count: usize, seed: u64) {
    let mut lab = Lab::at_random(count, Order::Fifo, seed, make);
    let locks = ["door", "window"].map(LockId::from_name);
    for index in 0..count {
        lab.nodes[index].drift = i64::try_from(lab.draw(201)).unwrap() - 100;
    }
    let mut checker = Checker::default();
    let restarts = lab.draw(4);
    for _ in 0..restarts {
        faults(&mut lab, &locks, &mut checker);
        let index = lab.draw(count);
        lab.restart(index, make.clone());
    }
    faults(&mut lab, &locks, &mut checker);
    let mut waiting: Vec<(usize, LockId)> = (0..count).flat_map(|index| locks.map(|lock| (index, lock))).collect();
    for &(index, lock) in &waiting {
        lab.command(index, Command::Cancel { lock }).command(index, Command::Release { lock });
    }
    let mut handled = lab.notices.len();
    for &(index, lock) in &waiting {
        lab.command(index, Command::Acquire { lock, lease: Duration::from_secs(2) });
    }
    for _ in 0..3 * count {
        lab.deliver();
    }
    for (index, other) in (0..count).flat_map(|index| (0..count).map(move |other| (index, other))) {
        if lab.nodes[index].suspects.meets(NodeSet::slot(other)) {
            lab.trust(index, other);
        }
    }
    // From now on nothing goes wrong.
    let end = lab.now.after(Duration::from_secs(200));
    while !waiting.is_empty() {
        if !lab.deliver() {
            assert!(lab.wait(end), "seed {seed}: {waiting:?} wait for ever");
        }
        checker.check(&lab, &locks);
        while let Some(&(index, notice)) = lab.notices.get(handled) {
            handled += 1;
            match notice {
                Notice::Acquired { lock, .. } => {
                    waiting.retain(|&waiting| waiting != (index, lock));
                    lab.command(index, Command::Release { lock });
                }
                Notice::Refused { .. } | Notice::Lost { .. } => panic!("seed {seed}: node {index}: {notice:?}"),
                Notice::Waiting { .. } | Notice::Expiring { .. } | Notice::Released { .. } => {}
            }
        }
    }
}

/// Some seconds of faults.
fn faults<M: Mutex>(lab: &mut Lab<M>, locks: &[LockId], checker: &mut Checker) {
    let count = lab.nodes.len();
    for _ in 0..150 {
        let (index, other) = (lab.draw(count), lab.draw(count));
        let lock = locks[lab.draw(locks.len())];
        let lease = Duration::from_millis(u32::try_from(200 + lab.draw(4_800)).unwrap());
        match lab.draw(14) {
            0 | 1 => _ = lab.command(index, Command::Acquire { lock, lease }),
            2 => _ = lab.command(index, Command::Try { lock, lease }),
            3 => _ = lab.command(index, Command::Renew { lock, lease }),
            4 => _ = lab.command(index, Command::Release { lock }),
            5 if lab.draw(4) == 0 => _ = lab.command(index, Command::Cancel { lock }),
            6 if index != other && lab.draw(3) == 0 => lab.suspect(index, other),
            7 if lab.nodes[index].suspects.meets(NodeSet::slot(other)) => lab.trust(index, other),
            // Time passes, and nodes meet their deadlines or are late.
            8 => {
                let end = lab.now.after(Duration::from_millis(u32::try_from(lab.draw(20) * lab.draw(20)).unwrap()));
                while lab.draw(10) > 0 && lab.wait(end) {
                    checker.check(lab, locks);
                }
                lab.now = lab.now.max(end);
            }
            _ => {
                for _ in 0..count {
                    lab.deliver();
                    checker.check(lab, locks);
                }
            }
        }
        checker.check(lab, locks);
    }
}

/// Checks that no two hold a lock, and that every grant has a higher fence than those before.
#[derive(Default)]
struct Checker {
    last: BTreeMap<LockId, (usize, Fence)>,
}

impl Checker {
    fn check<M: Mutex>(&mut self, lab: &Lab<M>, locks: &[LockId]) {
        for &lock in locks {
            let Some(held) = lab.holder(lock) else { continue };
            if let Some(before) = self.last.insert(lock, held).filter(|&before| before != held) {
                assert!(held.1 > before.1, "{held:?} after {before:?}");
            }
        }
    }
}
