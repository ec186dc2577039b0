//! Every lock on whole nodes while nodes crash, come back and are cut apart, and frames are lost: never two holders, never
//! a fence below an earlier one ([`Locks`] looks at every millisecond), and whoever still wants the lock when it is over
//! gets it.

mod common;

use common::locks::{DOOR, Locks};
use common::{complete, lossy};
use protocol::dice::Dice;
use protocol::mutex::{AnyMutex, Command, LockId};
use protocol::{Instant, Span};

/// How long everybody may have to wait when all is well again: for those cut off to be known again, a leader, the longest
/// lease, and all who come first.
const PEACE: Span = Span::from_secs(90);

/// How many histories; the simulator has thousands.
const SEEDS: u64 = 25;

/// What the application of one node may want.
fn whim(draw: &mut impl FnMut(u32) -> u32) -> Command {
    let lock = LockId::from_name(["door", "door", "gate"][draw(3) as usize]);
    let lease = Span::from_millis(100 + draw(30) * draw(30) * 5);
    match draw(8) {
        0..4 => Command::Acquire { lock, lease },
        4 => Command::Try { lock, lease },
        5 => Command::Renew { lock, lease },
        6 => Command::Release { lock },
        _ => Command::Cancel { lock },
    }
}

fn afflict(name: &str, seed: u64) {
    let mut dice = Dice::new(seed);
    let mut draw = move |sides: u32| dice.throw() % sides;
    println!("{name}, seed {seed}"); // shown where the test fails
    let count = 3 + draw(3);
    let lock = AnyMutex::by_name(name).unwrap();
    let mut locks = Locks::new(count as usize, lock.kind(), lock);
    let percent = u64::from(draw(31));
    locks.net.set_fate(lossy(percent, seed));
    let mut story = vec![format!("{name}, seed {seed}: {count} nodes, {percent} % lost")];
    let mut tell = |now: Instant, what: String| {
        story.push(format!("{:>6} {what}", now.as_micros() / 1_000));
    };
    for _ in 0..20 + draw(40) {
        locks.run(Span::from_millis(draw(30) * draw(30)));
        let node = draw(count) as usize;
        let now = locks.net.now;
        match draw(16) {
            0 => {
                tell(now, format!("crash {node}"));
                locks.net.crash(node);
            }
            1 | 2 => {
                tell(now, format!("boot {node}"));
                locks.net.boot(node);
            }
            3 => {
                tell(now, format!("cut before {node}"));
                locks.net.relink(move |a, b| (a < node) == (b < node));
            }
            4 | 5 => {
                tell(now, "join".into());
                locks.net.relink(complete);
            }
            _ if locks.net.nodes[node].is_some() => {
                let command = whim(&mut draw);
                tell(now, format!("{node}: {command:?}"));
                locks.put(node, command);
            }
            _ => {} // it is down
        }
    }
    locks.net.relink(complete);
    for node in 0..count as usize {
        if locks.net.nodes[node].is_none() {
            locks.net.boot(node);
        }
    }
    locks.run(Span::from_secs(15));
    locks.net.set_fate(|_, _, _| true);
    locks.run(Span::from_secs(10));
    for node in 0..count as usize {
        locks.acquire(node, DOOR); // unless it waits already
    }
    let end = locks.net.now.after(PEACE);
    let mut waiting: Vec<usize> = (0..count as usize).collect();
    while !waiting.is_empty() {
        assert!(locks.net.now < end, "{waiting:?} wait for ever\n{}", story.join("\n"));
        locks.run(Span::from_millis(5));
        if let Some(holder) = locks.holder(DOOR) {
            waiting.retain(|&node| node != holder);
            locks.release(holder, DOOR);
        }
    }
}

#[test]
fn m1_never_two_hold_a_lock_and_whoever_wants_it_gets_it_in_the_end() {
    for name in AnyMutex::NAMES {
        for seed in 0..SEEDS {
            afflict(name, seed);
        }
    }
}
