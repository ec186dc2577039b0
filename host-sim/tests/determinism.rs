//! The same seed gives the same run, with the real protocol too.

use host_sim::{Peer, Scenario, World};

const SCENARIO: &str = r#"
name = "determinism"
nodes = 25
duration = "12s"
boot_spread = "300ms"
drift_ppm = 100

[topology]
shape = "geometric"

[mobility]
speed = [0.5, 1.5]

[medium]
loss = "10%"
one_way = "5%"

[capacity]
noise = "5%"

[[faults]]
at = "5s"
do = "crash"
node = "leader"
for = "2s"

[[faults]]
at = "6s"
do = "duplicate"
share = "10%"
"#;

fn hash(seed: u64) -> u64 {
    let scenario = Scenario::parse("determinism.toml", SCENARIO).unwrap();
    let mut world = World::<Peer>::new(&scenario, seed);
    while world.step(&mut ()) {}
    world.hash()
}

#[test]
fn the_same_seed_gives_the_same_hash() {
    assert_eq!(hash(3), hash(3));
}

#[test]
fn another_seed_gives_another_hash() {
    assert_ne!(hash(3), hash(4));
}
