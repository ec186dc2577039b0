//! The same seed gives the same run.

use host_sim::Scenario;
use host_sim::metrics::run::run_of;

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
probability = "10%"
"#;

fn trace_hash(seed: u64) -> u64 {
    run_of(&Scenario::parse("determinism.toml", SCENARIO, &[]).unwrap(), seed, &mut ()).hash
}

#[test]
fn the_same_seed_gives_the_same_trace_and_another_seed_another() {
    let hash = trace_hash(3);
    assert_eq!(trace_hash(3), hash);
    assert_ne!(trace_hash(4), hash);
}
