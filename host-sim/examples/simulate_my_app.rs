//! An application of one's own in the simulator: thirty-two counters in bad weather, with a checker of one's own.
//!
//! `cargo run -p conclave-sim --example simulate_my_app`. Users raise the counter at all nodes; a tenth of all frames is
//! lost, the network is partitioned, nodes crash, restart and sleep. The checker demands that no node's value falls while
//! it is up, and that all nodes have the same value in the end.

#[path = "../../protocol/examples/counter/mod.rs"]
mod counter;

use counter::{Add, Counter, Value};
use host_sim::own::{self, Checker, Command, Notice, OwnApp};
use host_sim::trace::{AppEvent, EventKind};
use host_sim::{Scenario, TraceEvent};
use protocol::service::{AppService, app_service};
use protocol::{Duration, Instant};
use std::collections::BTreeMap;

const WEATHER: &str = r#"
name = "counters in bad weather"
nodes = 32
duration = "110s"
settle_time = "20s"
election = "bully"

[topology]
shape = "complete"

[medium]
kind = "lan"
loss = "10%"

[[faults]]
at = "15s"
do = "crash"
node = "leader"
for = "5s"

[[faults]]
at = "30s"
do = "pause"
node = "random"
for = "8s"

[[faults]]
at = "50s"
do = "partition"
cut = "random"
for = "20s"
"#;

impl OwnApp for Counter {
    type Service = AppService<Counter>;

    fn service() -> AppService<Counter> {
        AppService::new(Counter::default())
    }

    /// For a minute, every node's user raises the counter about every ten seconds.
    fn next_command(now: Instant, random: u32) -> Option<(Duration, Command<Self>)> {
        let pause = Duration::from_millis(5_000 + random % 10_000);
        (now < Instant::from_micros(60_000_000)).then(|| (pause, Add(1).into()))
    }

    fn event(notice: &Notice<Self>) -> Option<(&'static str, u64)> {
        match *notice {
            app_service::Notice::Application(Value(value)) => Some(("value", value)),
            _ => None, // there is no observer
        }
    }
}

/// The value at each node that is up.
#[derive(Default)]
struct Agreement(BTreeMap<u32, u64>);

impl Checker for Agreement {
    const NAME: &'static str = "counters-agree";

    fn observe(&mut self, event: &TraceEvent) -> Option<String> {
        let node = event.node?;
        match event.kind {
            EventKind::Crash => _ = self.0.remove(&node),
            EventKind::App { event: AppEvent::Own { value, .. } } => {
                let before = self.0.insert(node, value).unwrap_or(0);
                return (value < before).then(|| format!("the value of node {node} falls from {before} to {value}"));
            }
            _ => {} // no other event changes a value
        }
        None
    }

    fn finish(&mut self) -> Option<String> {
        let (least, most) = (self.0.values().min().unwrap_or(&0), self.0.values().max().unwrap_or(&0));
        let agree = least == most && *most > 100; // a network that does nothing agrees, too
        (!agree).then(|| format!("the values are from {least} to {most} in the end"))
    }
}

pub(crate) fn main() {
    let scenario = Scenario::parse("weather.toml", WEATHER, &[]).unwrap_or_else(|error| panic!("{error}"));
    let report = own::run_seeds::<Counter, Agreement>(&scenario, 0..2).unwrap_or_else(|error| panic!("{error}"));
    println!("{} seeds; all agree on a leader in {}", report.seeds, report.converged);
    println!("{:.0} frames of the counter in a run", report.frames.get("total").copied().unwrap_or(0.0));
    for violation in &report.violations {
        println!("seed {}, {}: {}", violation.seed, violation.checker, violation.text);
    }
    assert!(report.violations.is_empty() && report.seeds > 0);
}
