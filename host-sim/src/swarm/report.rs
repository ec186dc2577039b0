//! What came of a swarm.

use super::bank::{self, Bank};
use super::clock::{self, Clock};
use super::count::{self, Count};
use super::device::Kind;
use super::job::{self, Jobs};
use super::own_time;
use super::rack::Rack;
use super::run::Options;
use super::slot::Entry;
use super::station::Station;
use crate::boards::App;
use crate::campaign::Violation;
use crate::checker::{self, Finding, Settled};
use crate::measure::Measure;
use crate::queue::Micros;
use crate::scenario::Scenario;
use crate::watch::Watch;
use crate::world::{Life, World};
use firmware::report::{Past, Status};
use protocol::records::Records;
use serde::Serialize;
use std::collections::BTreeMap;

/// What came of a swarm.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The scenario's name.
    pub scenario: String,
    /// The seed of everything but the boards' timing.
    pub seed: u64,
    /// How many emulated boards took part.
    pub boards: u32,
    /// How many nodes of this desktop took part.
    pub desktops: u32,
    /// Who led most nodes in the end.
    pub leader: Option<u32>,
    /// Whether everybody knew one leader, the best, per component.
    pub leader_is_best: bool,
    /// What was measured: of the swarm as a whole, and (`board_...`) by every board's own clock.
    pub measures: BTreeMap<&'static str, Measure>,
    /// What came of the lock that the boards contended for, if they did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<Count>,
    /// What came of the snapshots, if the boards are a bank.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bank: Option<Bank>,
    /// What came of the jobs, if the boards had any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jobs: Option<Jobs>,
    /// What came of the shared clock, if the boards show it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<Clock>,
    /// What did not hold.
    pub violations: Vec<Violation>,
    /// The nodes, by number.
    pub nodes: Vec<NodeReport>,
}

/// What is known of a node in the end.
#[derive(Clone, Debug, Serialize)]
pub struct NodeReport {
    /// Its number.
    pub node: u32,
    /// What it runs on.
    pub runs_on: Kind,
    /// Whether it is up.
    pub up: bool,
    /// What it is worth.
    pub capacity: Option<u16>,
    /// Whom it follows; `None` as well where it is not up.
    pub leader: Option<u32>,
    /// How often it has started, as it counts.
    pub incarnation: Option<u32>,
    /// How often it started over by itself.
    pub resets: u32,
    /// What became of its records when it last started.
    #[serde(skip)]
    pub past: Option<Past>,
    /// What it last stored.
    #[serde(skip)]
    pub records: Option<Records>,
    /// What it last counted.
    #[serde(skip)]
    pub status: Option<Status>,
    /// All it said.
    #[serde(skip)]
    pub diary: Vec<Entry>,
}

impl NodeReport {
    /// A board that has said these lines, each when it reached us.
    #[cfg(test)]
    pub(super) fn saying<'a>(node: u32, lines: impl IntoIterator<Item = (&'a String, Micros)>) -> Self {
        let diary = lines.into_iter().map(|(text, at)| Entry { at, own: at, text: text.clone() }).collect();
        Self {
            node,
            runs_on: Kind::Board,
            up: true,
            capacity: None,
            leader: None,
            incarnation: None,
            resets: 0,
            past: None,
            records: None,
            status: None,
            diary,
        }
    }
}

pub(super) fn report(
    world: &World<Station>,
    rack: &Rack,
    watch: &Watch,
    findings: &[Finding],
    crashes: &[(Micros, u32)],
    options: &Options,
) -> Report {
    let scenario = world.scenario();
    let settled = Settled::of(world, watch);
    let nodes: Vec<NodeReport> = (0..world.nodes()).map(|node| node_report(world, rack, node)).collect();
    let mut values: BTreeMap<&'static str, Vec<u64>> = BTreeMap::from([("time_to_leader_us", Vec::new())]);
    let first_fault = scenario.faults.first().map_or(scenario.duration, |step| step.at);
    let own_start = nodes.iter().filter_map(|node| own_time::agreed_at(node.node, &node.diary, first_fault));
    let own_start = own_start.map(|micros| ("board_time_to_leader_us", micros));
    let own_failover = failovers(scenario, &nodes, crashes).map(|micros| ("board_failover_us", micros));
    for (name, value) in watch.samples().iter().copied().chain(own_start).chain(own_failover) {
        values.entry(name).or_default().push(value);
    }
    let boards = nodes.iter().filter(|node| node.runs_on == Kind::Board).count() as u32;
    let resets = nodes.iter().filter(|node| node.resets > 0).map(|node| Finding {
        at: world.now(),
        checker: "nobody-resets",
        text: format!("node {} started over {} times by itself", node.node, node.resets),
    });
    let violation = |finding: Finding| Violation {
        seed: world.seed(),
        time: finding.at,
        checker: finding.checker,
        text: finding.text,
        command: options.replay.clone(),
    };
    let (mut count, mut bank, mut jobs, mut clock, mut found) = (None, None, None, None, Vec::new());
    let first_crash = crashes.iter().map(|&(at, _)| at).min().unwrap_or(Micros::MAX);
    match options.app {
        App::Counter => count = Some(count::judge(&nodes, world.now(), &mut found)),
        App::Tokens => bank = Some(bank::judge(&nodes, first_crash, world.now(), &mut found)),
        App::Diffusing => jobs = Some(job::judge(&nodes, first_crash, world.now(), &mut found)),
        App::Clock => clock = Some(clock::judge(&nodes, world.now(), &mut found)),
        App::None => {}
    }
    Report {
        scenario: scenario.name.clone(),
        seed: world.seed(),
        boards,
        desktops: world.nodes() - boards,
        leader: world.leader(),
        leader_is_best: checker::best_leads(&settled),
        measures: values.into_iter().map(|(name, values)| (name, Measure::of(values))).collect(),
        count,
        bank,
        jobs,
        clock,
        violations: findings.iter().cloned().chain(resets).chain(found).map(violation).collect(),
        nodes,
    }
}

/// How long each board took to know of another leader, for each leader that crashed.
fn failovers(scenario: &Scenario, nodes: &[NodeReport], crashes: &[(Micros, u32)]) -> impl Iterator<Item = u64> {
    crashes.iter().flat_map(move |&(at, dead)| {
        let until = scenario.faults.iter().map(|step| step.at).find(|&next| next > at).unwrap_or(scenario.duration);
        let others =
            nodes.iter().filter(move |node| node.node != dead && own_time::is_led_by(node.node, &node.diary, dead, at));
        others.filter_map(move |node| own_time::recovered_after(node.node, &node.diary, dead, at, until))
    })
}

fn node_report(world: &World<Station>, rack: &Rack, node: u32) -> NodeReport {
    let (view, runs_on) = (world.node(node), rack.kind(node));
    rack.with(node, |slot| NodeReport {
        node,
        runs_on,
        up: view.life == Life::Up,
        capacity: view.capacity,
        leader: view.leader.map(|(leader, _)| leader),
        incarnation: slot.records.map(|records| records.incarnation),
        resets: slot.resets,
        past: slot.past,
        records: slot.records,
        status: slot.status,
        diary: slot.diary.clone(),
    })
}
