//! What holds of every lock, whatever goes wrong on the way.

mod common;

use common::turmoil::{Tally, turmoil};
use protocol::mutex::AnyMutex;

/// How many seeds of each kind.
const SEEDS: u64 = 200;

/// Lets everything go wrong for the lock called `name`.
fn afflict(name: &str) {
    let lock = AnyMutex::by_name(name).unwrap();
    let mut sum = Tally::default();
    for seed in 0..SEEDS {
        println!("{name} {seed}");
        let tally = turmoil(seed, &lock, false);
        sum.in_turmoil += tally.in_turmoil;
        sum.grants += tally.grants;
    }
    println!("{name}: {sum:?}");
    assert!(sum.in_turmoil > 200, "{name}: {sum:?}");
}

#[test]
fn m1_a_central_lock_is_safe_whatever_goes_wrong_and_serves_all_in_the_end() {
    afflict("central");
}

#[test]
fn m1_a_token_ring_is_safe_whatever_goes_wrong_and_serves_all_in_the_end() {
    afflict("token-ring");
}

#[test]
fn m1_the_lock_of_lamport_is_safe_whatever_goes_wrong_and_serves_all_in_the_end() {
    afflict("lamport");
}

#[test]
fn m1_the_lock_of_ricart_and_agrawala_is_safe_whatever_goes_wrong_and_serves_all_in_the_end() {
    afflict("ricart-agrawala");
}

#[test]
fn m1_the_lock_of_maekawa_is_safe_whatever_goes_wrong_and_serves_all_in_the_end() {
    afflict("maekawa");
}

#[test]
fn m1_a_vote_of_all_is_safe_whatever_goes_wrong_and_serves_all_in_the_end() {
    afflict("voting");
}

#[test]
fn m1_the_lock_of_raymond_is_safe_whatever_goes_wrong_and_serves_all_in_the_end() {
    afflict("raymond");
}
