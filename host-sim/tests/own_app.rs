//! The simulator as a library, as a program outside the workspace uses it.

#[path = "../examples/simulate_my_app.rs"]
mod simulate_my_app;

use host_sim::own::{self, Checker, Command, Notice, OwnApp};
use host_sim::trace::{AppEvent, EventKind};
use host_sim::{Scenario, TraceEvent};
use protocol::algorithm::{Context, Input, Outbox};
use protocol::service::{AppService, Application, app_service};
use protocol::wire::{Kind, Kinded, Message};
use protocol::{Duration, Instant, NodeSet};

#[test]
fn counters_agree_in_bad_weather() {
    simulate_my_app::main();
}

/// Passes a number to all others, and notifies of each that arrives.
#[derive(Clone, Default)]
struct Gossip(Option<u32>);

#[derive(Clone, serde::Serialize, serde::Deserialize)]
struct Number(u32);

impl Kinded for Number {
    const KIND: Kind = Kind::application::<3>();
}

impl Message for Number {
    fn name(&self) -> &'static str {
        "number"
    }
}

impl Application for Gossip {
    type Message = Number;
    type Command = u32;
    type Notice = u32;

    fn handle(&mut self, _: &Context<'_>, input: Input<Number, u32>, out: &mut Outbox<Number, u32>) {
        match input {
            Input::Message { message: Number(number), .. } => out.notify(number),
            Input::Command(number) => self.0 = Some(number),
            Input::Fact(_) | Input::Timeout => {}
        }
    }

    fn poll_send(&mut self, cx: &Context<'_>) -> Option<(NodeSet, Number)> {
        Some((cx.up, Number(self.0.take()?)))
    }
}

impl OwnApp for Gossip {
    type Service = AppService<Self>;

    fn service() -> AppService<Self> {
        AppService::new(Self::default())
    }

    fn next_command(now: Instant, _: u32) -> Option<(Duration, Command<Self>)> {
        Some((Duration::from_secs(1), u32::try_from(now.as_micros() / 1_000_000).unwrap_or(0).into()))
    }

    fn event(notice: &Notice<Self>) -> Option<(&'static str, u64)> {
        match notice {
            app_service::Notice::Application(number) => Some(("number", (*number).into())),
            _ => None,
        }
    }
}

/// Reports the number seven, and that none arrived.
#[derive(Default)]
struct NoSeven(u32);

impl Checker for NoSeven {
    const NAME: &'static str = "no-seven";

    fn observe(&mut self, event: &TraceEvent) -> Option<String> {
        let EventKind::App { event: AppEvent::Own { name: "number", value } } = event.kind else { return None };
        self.0 += 1;
        (value == 7).then(|| "a seven".to_owned())
    }

    fn finish(&mut self) -> Option<String> {
        (self.0 == 0).then(|| "nothing arrived".to_owned())
    }
}

fn scenario(election: &str, nodes: u32, seconds: u32) -> Scenario {
    let lan = "[topology]\nshape = \"complete\"\n[medium]\nkind = \"lan\"\n";
    let text = format!(
        "name = \"gossip\"\nnodes = {nodes}\nduration = \"{seconds}s\"\nsettle_time = \"5s\"\nelection = \"{election}\"\n{lan}"
    );
    Scenario::parse("gossip.toml", &text, &[]).unwrap()
}

#[test]
fn a_checker_of_ones_own_is_part_of_the_report() {
    let found = |seconds| {
        let report = own::run_seeds::<Gossip, NoSeven>(&scenario("bully", 3, seconds), 0..2).unwrap();
        let texts: Vec<_> =
            report.violations.iter().map(|violation| (violation.seed, violation.text.clone())).collect();
        (texts, report.frames.contains_key("number"))
    };
    assert_eq!(found(7), (vec![], true), "messages are counted by their own names");
    let (texts, _) = found(12);
    assert_eq!(texts.len(), 2 * 6, "each of three members hears seven from two others: {texts:?}");
    assert!(texts.iter().all(|(_, text)| text == "a seven"));
    let (texts, _) = found(1);
    assert_eq!(texts, [(0, "nothing arrived".to_owned()), (1, "nothing arrived".to_owned())]);
}

#[test]
fn one_run_can_be_stepped_and_commanded() {
    let mut world = own::world::<Gossip>(&scenario("bully", 3, 20), 1).unwrap();
    let mut heard = Vec::new();
    world.run_until(6_000_000, &mut ());
    let mut observe = |event: &TraceEvent| {
        if let EventKind::App { event: AppEvent::Own { value: 1_000, .. } } = event.kind {
            heard.push(event.node);
        }
    };
    world.hand_to(1, &mut observe, |node, now| node.service_command(now, 1_000.into()));
    world.run_until(6_500_000, &mut observe);
    heard.sort();
    assert_eq!(heard, [Some(0), Some(2)]);
    assert!(world.node(1).unwrap().service().service().application().0.is_none(), "it was sent");
}

#[test]
fn a_scenario_that_cannot_run_an_application_is_refused_in_a_sentence() {
    let refused = |scenario| own::run_seeds::<Gossip, NoSeven>(&scenario, 0..1).unwrap_err();
    assert!(refused(scenario("wireless", 3, 5)).contains("needs a group"));
    assert!(refused(scenario("bully", 33, 5)).contains("33 nodes are more than the 32"));
}
