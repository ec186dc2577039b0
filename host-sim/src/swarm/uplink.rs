//! The elected uplink of a swarm: a real broker, a consumer at it, and the check of what boards were told against what the
//! consumer accepted.

use super::broker::Broker;
use super::child::ChildProcess;
use super::report::NodeReport;
use crate::base::Micros;
use crate::check::Finding;
use firmware::report::UplinkReport;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{fmt, thread};

/// How long the consumer may take to receive what the broker has acknowledged.
const DRAIN_STEPS: u32 = 50;
const DRAIN_STEP: Duration = Duration::from_millis(100);

/// A broker, and `conclave mqtt-guard` as its consumer.
pub(super) struct Station {
    broker: Broker,
    lines: Arc<Mutex<Vec<Value>>>,
    _guard: ChildProcess,
}

impl Station {
    /// Starts both; returns when the consumer has subscribed.
    pub(super) fn start(program: &Path) -> Result<Self, String> {
        let broker = Broker::start()?;
        let mut command = Command::new(program);
        command.args(["mqtt-guard", "--json", "--mqtt", &broker.address().to_string()]);
        let failed = |error: std::io::Error| format!("mqtt-guard cannot be started: {error}");
        let (guard, stdout, _) = ChildProcess::start(&mut command).map_err(failed)?;
        let lines = Arc::new(Mutex::new(Vec::new()));
        let read = lines.clone();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                read.lock().unwrap_or_else(PoisonError::into_inner).extend(serde_json::from_str::<Value>(&line));
            }
        });
        let station = Self { broker, lines, _guard: guard };
        station.wait(|lines| !lines.is_empty());
        Ok(station)
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.broker.address()
    }

    fn wait(&self, mut is_so: impl FnMut(&[Value]) -> bool) {
        for _ in 0..DRAIN_STEPS {
            if is_so(&self.lines.lock().unwrap_or_else(PoisonError::into_inner)) {
                return;
            }
            thread::sleep(DRAIN_STEP);
        }
    }

    /// Returns what the consumer printed, after it had time for what boards were told.
    pub(super) fn lines(&self, nodes: &[NodeReport]) -> Vec<Value> {
        let told: u32 = nodes.iter().map(|node| stored(node).len() as u32).sum();
        self.wait(|lines| lines.iter().filter(|line| line["event"] == "accepted").count() as u32 >= told);
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What became of the readings of one node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Readings {
    /// How many the node was told are stored.
    pub stored: u32,
    /// How many the consumer accepted.
    pub accepted: u32,
    /// How many it refused because it had accepted them before.
    pub duplicates: u32,
    /// How many it refused because a later gateway had claimed the uplink.
    pub older_fence: u32,
    /// The gaps: before which number how many are missing.
    pub missing: Vec<(u64, u64)>,
}

/// The uplink of a swarm.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Uplink {
    /// The gateways, in order: node and term.
    pub gateways: Vec<(u32, u32)>,
    /// The readings, by node.
    pub nodes: BTreeMap<u32, Readings>,
}

/// The readings that a node was told are stored: boot and number. A boot begins with the line of its start.
fn stored(node: &NodeReport) -> Vec<(usize, u32)> {
    let mut boot = 0;
    let mut stored = Vec::new();
    for entry in &node.log {
        match UplinkReport::parse(&entry.text) {
            Some(UplinkReport::Stored { number }) => stored.push((boot, number)),
            Some(_) => {}
            None => boot += usize::from(entry.text.starts_with("starting: ")),
        }
    }
    stored
}

/// Collects the readings and checks them.
pub(super) fn check(nodes: &[NodeReport], lines: &[Value], now: Micros, findings: &mut Vec<Finding>) -> Uplink {
    let mut find = |checker, text| findings.push(Finding { at: now, checker, text });
    let mut uplink = Uplink { gateways: gateways(nodes), nodes: BTreeMap::new() };
    for node in nodes {
        let of_it = |line: &&Value| line["node"] == node.node;
        let accepted: Vec<(u64, u64)> =
            lines.iter().filter(of_it).filter(|line| line["event"] == "accepted").map(name).collect();
        let told = stored(node);
        let readings = uplink.nodes.entry(node.node).or_default();
        (readings.stored, readings.accepted) = (told.len() as u32, accepted.len() as u32);
        for line in lines.iter().filter(of_it) {
            match line["reason"].as_str() {
                Some("duplicate") => readings.duplicates += 1,
                Some("older fence") => readings.older_fence += 1,
                _ => {}
            }
            if let Some(missing) = line["missing"].as_u64() {
                readings.missing.push((name(line).1, missing));
            }
        }
        if accepted.iter().collect::<BTreeSet<_>>().len() != accepted.len() {
            find("accepted-once", format!("node {}: {accepted:?}", node.node));
        }
        if !in_order(&accepted) {
            find("accepted-in-order", format!("node {}: {accepted:?}", node.node));
        }
        // The consumer knows a boot by its number, the log by its order.
        let boots: Vec<u64> = accepted.iter().map(|(boot, _)| *boot).collect::<BTreeSet<_>>().into_iter().collect();
        let lost =
            told.iter().filter(|(_, number)| !boots.iter().any(|boot| accepted.contains(&(*boot, u64::from(*number)))));
        let lost: Vec<String> = lost.map(|(_, number)| number.to_string()).collect();
        if !lost.is_empty() {
            find("stored-is-accepted", format!("node {}: {} never arrived", node.node, lost.join(", ")));
        }
        if node.up && told.is_empty() {
            find("readings-arrive", format!("node {} was never told that a reading is stored", node.node));
        }
    }
    if uplink.gateways.is_empty() {
        find("readings-arrive", "no node served as gateway".to_owned());
    }
    uplink
}

/// The name of a reading, as the consumer prints it: boot and number.
fn name(line: &Value) -> (u64, u64) {
    (line["boot"].as_u64().unwrap_or(0), line["number"].as_u64().unwrap_or(0))
}

/// Returns whether numbers grow within each boot, and no boot comes back.
fn in_order(accepted: &[(u64, u64)]) -> bool {
    let mut ended = BTreeSet::new();
    accepted.windows(2).all(|pair| {
        let [(before, low), (after, high)] = pair else { return true };
        before == after && low < high || before != after && ended.insert(*before) && !ended.contains(after)
    })
}

fn gateways(nodes: &[NodeReport]) -> Vec<(u32, u32)> {
    let mut served: Vec<(Micros, u32, u32)> = Vec::new();
    for node in nodes {
        for entry in &node.log {
            if let Some(UplinkReport::Serving { term }) = UplinkReport::parse(&entry.text) {
                served.push((entry.at, node.node, term.number));
            }
        }
    }
    served.sort_unstable();
    let mut gateways: Vec<(u32, u32)> = served.into_iter().map(|(_, node, term)| (node, term)).collect();
    gateways.dedup();
    gateways
}

impl fmt::Display for Uplink {
    /// The gateways, and a table of what arrived, once and in order, with the gaps by name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gateways: Vec<String> =
            self.gateways.iter().map(|(node, term)| format!("node {node} (term {term})")).collect();
        writeln!(f, "gateways, one after the other: {}", gateways.join(", "))?;
        write!(
            f,
            "{:>6} {:>12} {:>9} {:>11} {:>12}  missing",
            "node", "told stored", "accepted", "duplicates", "older fence"
        )?;
        for (node, Readings { stored, accepted, duplicates, older_fence, missing }) in &self.nodes {
            let gaps: Vec<String> = missing.iter().map(|(before, count)| format!("{count} before {before}")).collect();
            let gaps = if gaps.is_empty() { "none".to_owned() } else { gaps.join(", ") };
            write!(f, "\n{node:>6} {stored:>12} {accepted:>9} {duplicates:>11} {older_fence:>12}  {gaps}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::swarm::report::tests::{found, log, starting};
    use protocol::NodeId;
    use protocol::base::term::Term;
    use serde_json::json;

    fn told(numbers: &[u32]) -> NodeReport {
        let term = Term { number: 3, by: NodeId(1) };
        let lines = [starting(), UplinkReport::Serving { term }.to_string()].into_iter();
        let lines = lines.chain(numbers.iter().map(|&number| UplinkReport::Stored { number }.to_string()));
        NodeReport { up: true, ..log(0, lines.map(|line| (0, 0, line))) }
    }

    fn accepted(names: &[(u64, u64)]) -> Vec<Value> {
        let line = |(boot, number)| json!({ "event": "accepted", "node": 0, "boot": boot, "number": number });
        names.iter().copied().map(line).collect()
    }

    #[test]
    fn readings_that_arrive_once_and_in_order_pass_and_gaps_are_named() {
        let mut lines = accepted(&[(1, 1), (1, 2), (2, 1)]);
        lines.push(json!({ "event": "refused", "reason": "older fence", "node": 0, "boot": 1, "number": 2 }));
        lines[2]["missing"] = 1.into();
        let (uplink, findings) = found(|findings| check(&[told(&[1, 2])], &lines, 9, findings));
        assert_eq!((&uplink.gateways[..], findings), (&[(0, 3)][..], vec![]));
        let table = uplink.to_string();
        assert!(table.starts_with("gateways, one after the other: node 0 (term 3)\n"), "{table}");
        assert!(table.ends_with("0            2         3           0            1  1 before 1"), "{table}");
    }

    #[test]
    fn a_reading_that_is_lost_or_comes_twice_or_late_is_found_and_so_is_silence() {
        let findings = |told: &NodeReport, lines: &[Value]| {
            found(|findings| check(std::slice::from_ref(told), lines, 9, findings)).1
        };
        assert_eq!(findings(&told(&[1, 2]), &accepted(&[(1, 1)])), ["stored-is-accepted"]);
        assert_eq!(findings(&told(&[1]), &accepted(&[(1, 1), (1, 1)])), ["accepted-once", "accepted-in-order"]);
        assert_eq!(findings(&told(&[1]), &accepted(&[(1, 2), (1, 1)])), ["accepted-in-order"]);
        assert_eq!(findings(&told(&[1]), &accepted(&[(1, 1), (2, 1), (1, 2)])), ["accepted-in-order"]);
        assert_eq!(findings(&told(&[]), &accepted(&[])), ["readings-arrive"]);
        let silent = NodeReport { up: true, ..NodeReport::default() };
        assert_eq!(findings(&silent, &[]), ["readings-arrive", "readings-arrive"]);
    }
}
