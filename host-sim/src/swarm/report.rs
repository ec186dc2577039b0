//! The report on a swarm.

use super::bank::{self, Bank};
use super::board_log::Entry;
use super::board_node::BoardNode;
use super::board_time;
use super::clock::{self, Clock};
use super::count::{self, Count};
use super::device::Kind;
use super::fleet::Fleet;
use super::job::{self, Jobs};
use super::run::Options;
use super::uplink::{self, Station, Uplink};
use crate::base::Micros;
use crate::boards::App;
use crate::check::convergence::Convergence;
use crate::check::{self, Finding, Settled};
use crate::metrics::distribution::Distribution;
use crate::metrics::seeds::Violation;
use crate::scenario::Scenario;
use crate::sim::world::{PowerState, World, WorldPlan};
use firmware::report::{RecordsAtBoot, Status};
use protocol::base::records::Records;
use serde::Serialize;
use std::collections::BTreeMap;

/// The measure of how late this machine runs what is due in the boards' network: boards run in real time.
const HOST_DELAY: &str = "host_delay_us";

/// From which 99th percentile of that delay on what did not hold may be due to the machine: a quarter of a heartbeat, as much
/// as a lease allows for.
const HOST_DELAY_MAX: Micros = 250_000;

/// The report on a swarm.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The scenario's name.
    pub scenario: String,
    /// The seed of all randomness except the boards' timing.
    pub seed: u64,
    /// The number of emulated boards.
    pub boards: u32,
    /// The number of desktop nodes.
    pub desktops: u32,
    /// The leader of most nodes in the end.
    pub leader: Option<u32>,
    /// Whether all nodes of each component followed its best node.
    pub leader_is_best: bool,
    /// The measured times: of the whole swarm, and (`board_...`) by every board's own clock.
    pub measures: BTreeMap<&'static str, Distribution>,
    /// The grants of the lock and the counter, if the boards contended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<Count>,
    /// The snapshots, if the boards are a bank.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bank: Option<Bank>,
    /// The jobs, if the boards ran any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jobs: Option<Jobs>,
    /// The shared clock, if the boards have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<Clock>,
    /// The uplink, if the boards have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uplink: Option<Uplink>,
    /// The properties that did not hold.
    pub violations: Vec<Violation>,
    /// The nodes, by id.
    pub nodes: Vec<NodeReport>,
}

/// The report on a node.
#[derive(Clone, Debug, Default, Serialize)]
pub struct NodeReport {
    /// Its id.
    pub node: u32,
    /// The kind of its device.
    pub runs_on: Kind,
    /// Whether it is up.
    pub up: bool,
    /// Its capacity.
    pub capacity: Option<u16>,
    /// Its leader; `None` also if it is not up.
    pub leader: Option<u32>,
    /// Its boot counter.
    pub incarnation: Option<u32>,
    /// How often it reset itself.
    pub resets: u32,
    /// The state of its records at its last boot.
    #[serde(skip)]
    pub at_boot: Option<RecordsAtBoot>,
    /// The records it last stored.
    #[serde(skip)]
    pub records: Option<Records>,
    /// Its last counters.
    #[serde(skip)]
    pub status: Option<Status>,
    /// Its log.
    #[serde(skip)]
    pub log: Vec<Entry>,
}

impl Report {
    /// Returns in words that the machine was too busy for so many boards, where it was and something did not hold.
    #[must_use]
    pub fn overload(&self) -> Option<String> {
        let delay = self.measures.get(HOST_DELAY)?.p99;
        let overloaded = delay >= HOST_DELAY_MAX && !self.violations.is_empty();
        let devices = self.boards + self.desktops;
        overloaded.then(|| {
            format!(
                "this machine was too busy for {devices} nodes in real time: it carried frames up to {:.1} s late (p99). \
                 Try again with nothing else running, or with fewer nodes",
                delay as f64 / 1e6
            )
        })
    }
}

#[expect(clippy::too_many_arguments, reason = "everything that a run has come to")]
pub(super) fn report(
    scenario: &Scenario,
    world: &World<BoardNode>,
    fleet: &Fleet,
    convergence: &Convergence,
    findings: &[Finding],
    crashes: &[(Micros, u32)],
    delays: Vec<Micros>,
    options: &Options,
    station: Option<&Station>,
) -> Report {
    let plan = world.plan();
    let settled = Settled::of(world, convergence, scenario);
    let nodes: Vec<NodeReport> = (0..world.node_count()).map(|node| node_report(world, fleet, node)).collect();
    let mut values: BTreeMap<&'static str, Vec<u64>> =
        BTreeMap::from([("time_to_leader_us", Vec::new()), (HOST_DELAY, delays)]);
    let first_fault = plan.faults.first().map_or(plan.duration, |step| step.at);
    let board_start = nodes.iter().filter_map(|node| board_time::agreed_at(node.node, &node.log, first_fault));
    let board_start = board_start.map(|micros| ("board_time_to_leader_us", micros));
    let board_failover = failovers(plan, &nodes, crashes).map(|micros| ("board_failover_us", micros));
    for (name, value) in convergence.samples().iter().copied().chain(board_start).chain(board_failover) {
        values.entry(name).or_default().push(value);
    }
    let boards = nodes.iter().filter(|node| node.runs_on == Kind::Board).count() as u32;
    let resets = nodes.iter().filter(|node| node.resets > 0).map(|node| Finding {
        at: world.now(),
        checker: "nobody-resets",
        text: format!("node {} reset itself {} times", node.node, node.resets),
    });
    let violation = |finding: Finding| Violation {
        seed: world.seed(),
        time: finding.at,
        checker: finding.checker,
        text: finding.text,
        command: options.replay.clone(),
    };
    let (mut count, mut bank, mut jobs, mut clock, mut uplink, mut found) = (None, None, None, None, None, Vec::new());
    let first_crash = crashes.iter().map(|&(at, _)| at).min().unwrap_or(Micros::MAX);
    match options.app {
        App::Counter => count = Some(count::check(&nodes, world.now(), &mut found)),
        App::Tokens => bank = Some(bank::check(&nodes, first_crash, world.now(), &mut found)),
        App::Diffusing => jobs = Some(job::check(&nodes, first_crash, world.now(), &mut found)),
        App::Clock => clock = Some(clock::check(&nodes, world.now(), &mut found)),
        App::Uplink => {
            let lines = station.map(|station| station.lines(&nodes)).unwrap_or_default();
            uplink = Some(uplink::check(&nodes, &lines, world.now(), &mut found));
        }
        App::None => {}
    }
    Report {
        scenario: scenario.name.clone(),
        seed: world.seed(),
        boards,
        desktops: world.node_count() - boards,
        leader: world.leader(),
        leader_is_best: check::best_leads(&settled),
        measures: values.into_iter().map(|(name, values)| (name, Distribution::of(values))).collect(),
        count,
        bank,
        jobs,
        clock,
        uplink,
        violations: findings.iter().cloned().chain(resets).chain(found).map(violation).collect(),
        nodes,
    }
}

/// Returns how long each follower took to follow another leader, for each leader that crashed.
fn failovers(plan: &WorldPlan, nodes: &[NodeReport], crashes: &[(Micros, u32)]) -> impl Iterator<Item = u64> {
    crashes.iter().flat_map(move |&(at, crashed)| {
        let until = plan.faults.iter().map(|step| step.at).find(|&next| next > at).unwrap_or(plan.duration);
        let others = nodes
            .iter()
            .filter(move |node| node.node != crashed && board_time::is_led_by(node.node, &node.log, crashed, at));
        others.filter_map(move |node| board_time::recovered_after(node.node, &node.log, crashed, at, until))
    })
}

fn node_report(world: &World<BoardNode>, fleet: &Fleet, node: u32) -> NodeReport {
    let (view, runs_on) = (world.view(node), fleet.kind(node));
    fleet.with_log(node, |log| NodeReport {
        node,
        runs_on,
        up: view.power == PowerState::Up,
        capacity: view.capacity,
        leader: view.leader.map(|(leader, _)| leader),
        incarnation: log.records.map(|records| records.incarnation),
        resets: log.resets,
        at_boot: log.at_boot,
        records: log.records,
        status: log.status,
        log: log.entries.clone(),
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use firmware::report::Report as Line;
    use protocol::NodeId;

    /// Returns the report on a board with these lines, each with the board's time and the time it was received.
    pub(in crate::swarm) fn log(node: u32, lines: impl IntoIterator<Item = (Micros, Micros, String)>) -> NodeReport {
        let log = lines.into_iter().map(|(board_time, at, text)| Entry { at, board_time, text }).collect();
        NodeReport { node, log, ..NodeReport::default() }
    }

    /// Runs a check; returns what it collected and the checkers that found a violation.
    pub(in crate::swarm) fn found<T>(check: impl FnOnce(&mut Vec<Finding>) -> T) -> (T, Vec<&'static str>) {
        let mut findings = Vec::new();
        let collected = check(&mut findings);
        (collected, findings.iter().map(|finding| finding.checker).collect())
    }

    #[test]
    fn a_report_blames_the_machine_only_where_it_was_late_and_something_did_not_hold() {
        let report = |delay: Micros, violations: usize| {
            let violation =
                Violation { seed: 0, time: 0, checker: "readings-arrive", text: String::new(), command: String::new() };
            let measures = BTreeMap::from([(HOST_DELAY, Distribution::of(vec![delay]))]);
            Report {
                scenario: String::new(),
                seed: 0,
                boards: 16,
                desktops: 0,
                leader: None,
                leader_is_best: false,
                measures,
                count: None,
                bank: None,
                jobs: None,
                clock: None,
                uplink: None,
                violations: vec![violation; violations],
                nodes: Vec::new(),
            }
        };
        let text = report(1_500_000, 1).overload().unwrap();
        assert!(
            text.starts_with("this machine was too busy for 16 nodes in real time: it carried frames up to 1.5 s late")
        );
        assert_eq!([report(1_500_000, 0).overload(), report(20_000, 1).overload()], [None, None]);
    }

    pub(in crate::swarm) fn starting() -> String {
        Line::Starting { node: NodeId(0), capacity: 1, records: RecordsAtBoot::Kept }.to_string()
    }
}
