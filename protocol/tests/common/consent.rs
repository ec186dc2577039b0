//! What both locks that ask everybody are put through, on whole nodes.

use crate::common::locks::{DOOR, LEASE, Locks};
use crate::common::{complete, lossy};
use protocol::config::granted;
use protocol::dice::Dice;
use protocol::mutex::{Mutex, Notice};
use protocol::{Span, Timing};

/// How long it takes at most until a member that crashed is out of the view: its signs of life, which over several hops
/// may take a heartbeat longer, and the leader's next question.
const VIEW_CHANGE: Span = Span::from_millis(4_500);

/// A frame there and one back, and the time a letter waits for another.
const ROUND_TRIP: Span = Span::from_millis(50);

/// The letters of one entry and exit by a node that does not lead.
pub(crate) fn uncontended<M: Mutex + Clone + 'static>(mut locks: Locks<M>) -> usize {
    locks.acquire(1, DOOR);
    locks.run(Span::from_millis(100));
    assert_eq!(locks.holder(DOOR), Some(1));
    locks.release(1, DOOR);
    locks.run(Span::from_secs(1));
    locks.letters()
}

/// The letters of an entry and exit by everybody, who all asked at once. They enter in the order of their stamps.
pub(crate) fn contended<M: Mutex + Clone + 'static>(mut locks: Locks<M>) -> usize {
    let count = locks.net.nodes.len();
    for index in 0..count {
        locks.acquire(index, DOOR);
    }
    let mut entered = Vec::new();
    while entered.len() < count {
        locks.run(Span::from_millis(1));
        let Some(holder) = locks.holder(DOOR) else { continue };
        entered.push((locks.fence(DOOR).unwrap(), holder));
        locks.run(Span::from_millis(20));
        locks.release(holder, DOOR);
    }
    assert!(entered.is_sorted());
    entered.sort_by_key(|&(_, holder)| holder);
    assert!(entered.iter().map(|&(_, holder)| holder).eq(0..count), "{entered:?}");
    locks.run(Span::from_secs(1));
    locks.letters()
}

/// Node 1 crashes while it holds the lock, just after it was granted or when its lease is almost over.
pub(crate) fn holder_crash<M: Mutex + Clone + 'static>(group: fn(usize) -> Locks<M>) {
    for count in [3, 5] {
        for held in [Span::from_millis(10), Span::from_millis(2_500)] {
            let mut locks = group(count);
            locks.acquire(1, DOOR);
            locks.await_holder(1, DOOR);
            locks.run(held);
            locks.acquire(0, DOOR);
            locks.run(ROUND_TRIP);
            locks.net.crash(1);
            let waited = locks.await_holder(0, DOOR);
            let bound = granted(LEASE).minus(held).max(VIEW_CHANGE).plus(ROUND_TRIP);
            println!("{count} members, holder crashed after {held:?}: {waited:?} of {bound:?}");
            assert!(waited <= bound, "{waited:?} of {bound:?}");
            assert!(waited >= LEASE.minus(held).minus(ROUND_TRIP), "its lease was not over");
        }
    }
}

/// A waiter and a bystander crash; the lock is held by node 0, and wanted by node 2.
pub(crate) fn others_crash<M: Mutex + Clone + 'static>(group: fn(usize) -> Locks<M>) {
    let mut locks = group(5);
    for index in 0..3 {
        locks.acquire(index, DOOR);
        locks.run(ROUND_TRIP);
    }
    locks.net.crash(1); // a waiter that comes before node 2
    locks.run(ROUND_TRIP);
    locks.release(0, DOOR);
    let waited = locks.await_holder(2, DOOR);
    println!("waiter crashed: {waited:?}");
    assert!(waited <= granted(LEASE).max(VIEW_CHANGE).plus(ROUND_TRIP), "{waited:?}: it may have been let in");
    locks.release(2, DOOR);
    locks.run(ROUND_TRIP);
    locks.net.crash(3); // who never asked for anything
    locks.acquire(0, DOOR);
    let waited = locks.await_holder(0, DOOR);
    println!("bystander crashed: {waited:?}");
    assert!(waited <= VIEW_CHANGE.plus(ROUND_TRIP), "{waited:?}");
    assert!(waited > Span::from_secs(2), "nobody enters on mere suspicion");
}

/// Node 1 loses its RAM while it holds the lock, and is back at once.
pub(crate) fn holder_reboots<M: Mutex + Clone + 'static>(group: fn(usize) -> Locks<M>) {
    let mut locks = group(3);
    locks.acquire(1, DOOR);
    locks.await_holder(1, DOOR);
    let before = locks.fence(DOOR).unwrap();
    locks.acquire(0, DOOR);
    locks.run(ROUND_TRIP);
    locks.net.boot(1);
    let booted = locks.net.now;
    locks.run(Span::from_secs(1));
    locks.acquire(1, DOOR); // it wants it again
    locks.await_holder(0, DOOR);
    let waited = locks.net.now.since(booted);
    println!("holder rebooted: {waited:?}");
    assert!(waited >= LEASE.minus(ROUND_TRIP), "{waited:?}");
    assert!(waited <= granted(Timing::RADIO.lock_lease).plus(ROUND_TRIP), "{waited:?}");
    assert!(locks.fence(DOOR).unwrap() > before);
    locks.release(0, DOOR);
    locks.await_holder(1, DOOR);
}

/// Up to 30 % of all frames are lost, and links' repeats arrive twice; everybody enters twice.
pub(crate) fn losses<M: Mutex + Clone + 'static>(group: fn(usize) -> Locks<M>) {
    for (seed, percent) in [(1, 10), (2, 20), (3, 30)] {
        let mut locks = group(5);
        locks.net.set_fate(lossy(percent, seed));
        for _ in 0..2 {
            for index in 0..5 {
                locks.acquire(index, DOOR);
            }
            drain(&mut locks, DOOR, &[0, 1, 2, 3, 4], &format!("{percent} % lost"));
        }
    }
}

/// Five are cut into two and three.
pub(crate) fn partition<M: Mutex + Clone + 'static>(group: fn(usize) -> Locks<M>) {
    let mut locks = group(5);
    locks.acquire(3, DOOR);
    locks.await_holder(3, DOOR); // in the minority, with the leader
    locks.net.relink(|a, b| (a < 3) == (b < 3));
    locks.acquire(0, DOOR);
    locks.acquire(4, DOOR);
    let waited = locks.await_holder(0, DOOR);
    println!("cut off from the holder: {waited:?}");
    assert!(waited >= LEASE.minus(ROUND_TRIP));
    locks.release(0, DOOR);
    locks.run(Span::from_secs(20));
    assert_eq!(locks.holder(DOOR), None, "the minority waits");
    locks.acquire(1, DOOR);
    locks.await_holder(1, DOOR);
    let fence = locks.fence(DOOR).unwrap();
    locks.net.relink(complete);
    locks.release(1, DOOR);
    locks.await_holder(4, DOOR);
    assert!(locks.fence(DOOR).unwrap() > fence, "though it asked before");
}

/// Lets everybody that waits for a lock in and out again.
fn drain<M: Mutex + Clone + 'static>(locks: &mut Locks<M>, name: &str, waiting: &[usize], told: &str) {
    let mut waiting = waiting.to_vec();
    let end = locks.net.now.after(Span::from_secs(120));
    let mut again = locks.net.now.after(Span::from_secs(1));
    while !waiting.is_empty() {
        if again <= locks.net.now {
            again = locks.net.now.after(Span::from_secs(1));
            for &index in &waiting {
                locks.acquire(index, name); // where it was refused, for want of room to ask
            }
        }
        assert!(locks.net.now < end, "{told}: {waiting:?} wait for {name} for ever");
        locks.run(Span::from_millis(1));
        if let Some(holder) = locks.holder(name) {
            locks.run(Span::from_millis(20));
            if locks.holder(name) == Some(holder) {
                locks.release(holder, name);
            }
            waiting.retain(|&index| index != holder);
        }
    }
}

/// Half a minute or so in which members crash, come back, are cut off and want locks, while up to 30 % of all frames are
/// lost. Then nothing is, and everybody that still wants one gets it.
pub(crate) fn afflict<M: Mutex + Clone + 'static>(seed: u64, group: fn(usize) -> Locks<M>) {
    let mut dice = Dice::new(seed);
    let mut draw = move |sides: u32| (dice.throw() % sides) as usize;
    let count = 3 + draw(3);
    let names = &[DOOR, "gate", "hatch", "window"][..=draw(4)];
    let percent = draw(31) as u64;
    let mut locks = group(count);
    locks.net.set_fate(lossy(percent, seed));
    let mut faults = Vec::new();
    for _ in 0..30 {
        locks.run(Span::from_millis(u32::try_from(draw(50) * draw(50)).unwrap()));
        let (index, fault) = (draw(u32::try_from(count).unwrap()), draw(16));
        faults.push((locks.net.now.as_micros() / 1_000, fault, index));
        let up = locks.net.nodes[index].is_some();
        let first = draw(4);
        for name in &names[first.min(names.len() - 1)..] {
            match fault {
                6 if up => locks.cancel(index, name),
                7 if up => locks.try_(index, name),
                8 if up => locks.renew(index, name),
                9 | 10 if up => locks.release(index, name),
                11.. if up => locks.acquire(index, name),
                _ => {}
            }
        }
        match fault {
            0 => locks.net.crash(index),
            2 => locks.net.relink(move |a, b| (a < index) == (b < index)),
            3 => locks.net.relink(|a, b| (a != 0) == (b != 0)),
            4 | 5 => locks.net.relink(complete),
            1 => locks.net.boot(index),
            _ if !up => locks.net.boot(index),
            _ => {}
        }
    }
    locks.net.relink(complete);
    for index in 0..count {
        if locks.net.nodes[index].is_none() {
            locks.net.boot(index);
        }
    }
    locks.net.set_fate(|_, _, _| true);
    locks.run(Span::from_secs(10));
    let told = format!("seed {seed}: {count} members, {percent} % lost, {names:?}, {faults:?}");
    let all: Vec<usize> = (0..count).collect();
    for name in names {
        for &index in &all {
            locks.acquire(index, name); // refused, where it waits already
        }
        drain(&mut locks, name, &all, &told);
    }
}

pub(crate) fn a_waiter_whose_consents_ran_out_asks_all_again_under_the_same_number<M: Mutex + Clone + 'static>(
    mut locks: Locks<M>,
) {
    locks.acquire(0, DOOR);
    locks.await_holder(0, DOOR);
    locks.acquire(1, DOOR);
    locks.run(Span::from_millis(2_700));
    locks.acquire(2, DOOR);
    locks.renew(0, DOOR);
    locks.run(Span::from_secs(1));
    assert_eq!(locks.holder(DOOR), Some(0), "renewed over the waiters' heads");
    locks.release(0, DOOR);
    locks.run(Span::from_millis(100));
    assert_eq!(locks.holder(DOOR), Some(1), "it has not lost its place");
    let Some(Notice::Acquired { until, .. }) = locks.told(1).pop() else { panic!("{:?}", locks.told(1)) };
    assert!(until.since(locks.net.now) > LEASE.share(3, 4), "and holds it for a whole lease");
    locks.release(1, DOOR);
    locks.run(Span::from_millis(100));
    assert_eq!(locks.holder(DOOR), Some(2));
}

pub(crate) fn a_request_that_is_taken_back_is_struck_out<M: Mutex + Clone + 'static>(mut locks: Locks<M>) {
    locks.acquire(0, DOOR);
    locks.await_holder(0, DOOR);
    locks.acquire(1, DOOR);
    locks.acquire(2, DOOR);
    locks.run(Span::from_millis(100));
    locks.cancel(1, DOOR);
    locks.run(Span::from_millis(100));
    locks.release(0, DOOR);
    locks.run(Span::from_millis(100));
    assert_eq!(locks.holder(DOOR), Some(2));
}
