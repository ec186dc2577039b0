//! The application in the simulator: no value falls, and all nodes agree in the end.

use host_sim::own::{self, Checker, Command, Notice, OwnApp};
use host_sim::trace::{AppEvent, EventKind};
use host_sim::{Scenario, TraceEvent};
use my_app::Service;
use my_app::counter::{Add, Counter, Value};
use protocol::service::app_service;
use protocol::{Duration, Instant};
use std::collections::BTreeMap;

const SCENARIO: &str = r#"
name = "my app"
nodes = 8
duration = "60s"
settle_time = "15s"
election = "bully"

[topology]
shape = "complete"

[medium]
kind = "lan"
loss = "10%"

[[faults]]
at = "20s"
do = "crash"
node = "leader"
for = "5s"
"#;

/// The orphan rule asks for a type of this crate.
#[derive(Clone)]
struct Simulated;

impl OwnApp for Simulated {
    type Service = Service;

    fn service() -> Service {
        Service::new(Counter::default())
    }

    fn next_command(now: Instant, random: u32) -> Option<(Duration, Command<Self>)> {
        (now < Instant::from_micros(25_000_000)).then(|| (Duration::from_millis(1_000 + random % 2_000), Add(1).into()))
    }

    fn event(notice: &Notice<Self>) -> Option<(&'static str, u64)> {
        match *notice {
            app_service::Notice::Application(Value(value)) => Some(("value", value)),
            _ => None,
        }
    }
}

#[derive(Default)]
struct Agreement(BTreeMap<u32, u64>);

impl Checker for Agreement {
    const NAME: &'static str = "values-agree";

    fn observe(&mut self, event: &TraceEvent) -> Option<String> {
        let node = event.node?;
        match event.kind {
            EventKind::Crash => _ = self.0.remove(&node),
            EventKind::App { event: AppEvent::Own { value, .. } } => {
                let before = self.0.insert(node, value).unwrap_or(0);
                return (value < before).then(|| format!("the value of node {node} falls from {before} to {value}"));
            }
            _ => {}
        }
        None
    }

    fn finish(&mut self) -> Option<String> {
        let (least, most) = (self.0.values().min().unwrap_or(&0), self.0.values().max().unwrap_or(&0));
        (least != most || *most == 0).then(|| format!("the values are from {least} to {most} in the end"))
    }
}

#[test]
fn the_nodes_agree_in_the_end() {
    let scenario = Scenario::parse("my-app.toml", SCENARIO, &[]).unwrap();
    let report = own::run_seeds::<Simulated, Agreement>(&scenario, 0..10).unwrap();
    assert_eq!(report.violations, []);
}
