//! What holds of both locks that hand a token round, whatever goes wrong on the way.

mod common;

use common::locks::{DOOR, Locks};
use common::{complete, line, lossy};
use protocol::Span;
use protocol::dice::Dice;
use protocol::mutex::{Mutex, Raymond, TokenRing};
use protocol::wire::Kind;

/// Members crash, come back, are cut off and meet again while all want one of two locks and frames are lost. Then nothing
/// is, and everybody who wants a lock gets it. [`Locks`] looks at every millisecond that never two hold one.
fn afflict<M: Mutex + Clone + 'static>(seed: u64, kind: Kind, lock: M) {
    let mut dice = Dice::new(seed);
    let mut draw = move |sides: u32| (dice.throw() % sides) as usize;
    let (count, spread) = (3 + draw(3), draw(3) == 0);
    let linked = if spread { line } else { complete };
    let mut locks = Locks::linked(count, kind, lock, linked);
    let percent = draw(25) as u64;
    locks.net.set_fate(lossy(percent, seed));
    let mut faults = Vec::new();
    let names = [DOOR, "printer"];
    for _ in 0..20 {
        let node = draw(u32::try_from(count).unwrap());
        let fault = draw(10);
        faults.push((locks.net.now, fault, node));
        match fault {
            0 => locks.net.crash(node),
            1 => locks.net.boot(node),
            2 => locks.net.relink(move |a, b| linked(a, b) && (a < node) == (b < node)),
            3 | 4 => locks.net.relink(linked),
            _ => {
                let name = names[draw(2)];
                if locks.net.nodes[node].is_some() {
                    if locks.holder(name) == Some(node) && draw(3) > 0 {
                        locks.release(node, name);
                    } else {
                        locks.acquire(node, name);
                    }
                }
            }
        }
        locks.run(Span::from_millis(u32::try_from(draw(60) * draw(60)).unwrap()));
    }
    locks.net.relink(linked);
    for index in 0..count {
        if locks.net.nodes[index].is_none() {
            locks.net.boot(index);
        }
    }
    locks.run(Span::from_secs(5));
    locks.net.set_fate(|_, _, _| true);
    for index in 0..count {
        for name in names {
            locks.acquire(index, name);
        }
    }
    let mut left: Vec<(usize, &str)> = (0..count).flat_map(|index| names.map(|name| (index, name))).collect();
    let start = locks.net.now;
    while !left.is_empty() {
        locks.run(Span::from_millis(20));
        for name in names {
            if let Some(holder) = locks.holder(name) {
                left.retain(|&entry| entry != (holder, name));
                locks.release(holder, name);
            }
        }
        let waited = locks.net.now.since(start);
        assert!(
            waited < Span::from_secs(100),
            "seed {seed}: {count} nodes, {percent} % lost, line {spread}, {faults:?}: {left:?} wait; led by {:?}",
            locks.net.leaders()
        );
    }
}

#[test]
fn m1_whatever_goes_wrong_no_two_members_of_the_ring_are_inside_and_all_enter_in_the_end() {
    for seed in 0..20 {
        afflict(seed, Kind::TokenRing, TokenRing::new());
    }
}

#[test]
fn m1_whatever_goes_wrong_no_two_members_of_the_tree_are_inside_and_all_enter_in_the_end() {
    for seed in 0..20 {
        afflict(seed, Kind::Raymond, Raymond::new());
    }
}
