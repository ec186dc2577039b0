//! The results that the page of limits names: quorums, contended locks and crowds on a radio.

use super::{Effort, seconds};
use crate::Scenario;
use crate::check;
use crate::metrics::seeds::Report;
use protocol::mutex::Mutex as _;
use protocol::registry::AnyMutex;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Runs of each network.
const SEEDS: u64 = 10;
/// Runs of each lock.
const LOCK_SEEDS: u64 = 3;
/// How long each run is, in seconds; on a quick page it is shorter.
const DURATION: u64 = 60;
const QUICK_DURATION: u64 = 15;

/// The checker that reports a leader which is replaced, or loses its lease, without a reason.
const STAYS: &str = "leader-stays";
const WAITS: &str = "nobody-waits-for-ever";

/// A radio network: what the page calls it, how many nodes it has, its topology and its hop limit.
type Network = (&'static str, u32, &'static str, u8);

const GRID: Network = ("grid of 4 x 4", 16, "shape = \"grid\"\ncolumns = 4", 8);
const LINE: Network = ("line of 12", 12, "shape = \"line\"", 12);
const ROOM: Network = ("room of 16", 16, "shape = \"complete\"", 1);

const QUORUMS: [Network; 7] = [
    GRID,
    ("grid of 8 x 8", 64, "shape = \"grid\"\ncolumns = 8", 8),
    ROOM,
    ("room of 32", 32, "shape = \"complete\"", 1),
    ("room of 64", 64, "shape = \"complete\"", 1),
    LINE,
    ("line of 30", 30, "shape = \"line\"", 30),
];

/// Networks with more neighbours than a node has slots.
const CROWDS: [Network; 3] = [
    ("room of 200", 200, "shape = \"complete\"", 1),
    ("star of 60 leaves", 61, "shape = \"star\"", 1),
    ("1,000 nodes, 80 in range of each", 1_000, "shape = \"geometric\"\ndegree = 80", 1),
];

impl Effort {
    fn duration(self) -> u64 {
        if self.quick { QUICK_DURATION } else { DURATION }
    }

    /// Runs a network over so many seeds, whatever its checkers find.
    fn network(self, network: Network, mode: &str, tables: &str, seeds: u64) -> Result<Report, String> {
        let (name, nodes, topology, hops) = network;
        let text = format!(
            "name = \"{name}\"\nnodes = {nodes}\nduration = \"{}s\"\nsettle_time = \"10s\"\nmode = \"{mode}\"\n\
             hops = {hops}\n[topology]\n{topology}\n[medium]\nkind = \"radio\"\nloss = \"10%\"\n{tables}",
            self.duration()
        );
        let scenario = Scenario::parse("results", &text, check::OF_LOCKS).map_err(|error| error.to_string())?;
        let seeds = self.seeds(seeds);
        eprintln!("{name}, {mode}, seeds 0..{seeds}");
        Ok(crate::metrics::seeds::run_seeds_of(&scenario, 0..seeds, || {}))
    }
}

pub(super) fn limits(effort: Effort) -> Result<String, String> {
    let mut text = format!(
        "
## Quorums, locks and crowds on a radio

250 kbit/s, 10 % of all frames lost, {DURATION} simulated seconds a run: the figures that the page of limits names. A run in
which nodes never agree has no time to a leader.

| network in mode *quorum* | time to a leader: p50, max | runs with one leader at the end | runs in which the leader loses its lease | frames a node and minute when calm |
| --- | --- | ---: | ---: | ---: |
"
    );
    for network in QUORUMS {
        let report = effort.network(network, "quorum", "", SEEDS)?;
        safe(&report)?;
        let (of, lost) = (report.seeds, seeds_with(&report, STAYS));
        let calm =
            report.steady_frames_per_node_minute.map_or_else(|| "-".to_owned(), |calm| format!("{:.0}", calm.mean));
        let (name, time, agreed) = (network.0, time_to_leader(&report), report.converged);
        let _ = writeln!(text, "| {name} | {time} | {agreed} of {of} | {lost} of {of} | {calm} |");
    }
    text += "
All members ask for one lock without a pause: they think for 5 to 50 ms, and hold it for 5 to 20 ms. Locks that ask many members for
every entry are refused over several hops.

| lock | network | requests granted a second | longest wait | runs in which the leader loses its lease | runs in which a request waits for too long |
| --- | --- | ---: | ---: | ---: | ---: |
";
    for mutex in AnyMutex::NAMES {
        for network in [ROOM, GRID, LINE] {
            if AnyMutex::by_name(mutex).is_some_and(|lock| network.3 <= lock.hops_max()) {
                text += &lock(effort, mutex, network)?;
            }
        }
    }
    text += "
In mode *available*, where more nodes are in range than a node has slots for:

| network | time to a leader: p50, max | runs with one leader at the end | changes of leader in a run: p50, max |
| --- | --- | ---: | --- |
";
    for network in CROWDS.into_iter().take(if effort.quick { 2 } else { CROWDS.len() }) {
        let report = effort.network(network, "available", "", LOCK_SEEDS)?;
        let changes = report.measures.get("leader_changes").copied().unwrap_or_default();
        let (name, time, agreed, of) = (network.0, time_to_leader(&report), report.converged, report.seeds);
        let _ = writeln!(text, "| {name} | {time} | {agreed} of {of} | {}, {} |", changes.p50, changes.max);
    }
    Ok(text)
}

/// The row of a contended lock.
fn lock(effort: Effort, mutex: &str, network: Network) -> Result<String, String> {
    let locks = format!("[locks]\nmutex = \"{mutex}\"\nthink = [\"5ms\", \"50ms\"]\nhold = [\"5ms\", \"20ms\"]\n");
    let report = effort.network(network, "quorum", &locks, LOCK_SEEDS)?;
    safe(&report)?;
    let [grants, wait] = ["grants", "lock_wait_us"].map(|name| report.measures.get(name).copied().unwrap_or_default());
    let (rate, wait, of) = (grants.p50 as f64 / effort.duration() as f64, seconds(wait.max), report.seeds);
    let [lost, late] = [STAYS, WAITS].map(|checker| seeds_with(&report, checker));
    Ok(format!("| `{mutex}` | {} | {rate:.1} | {wait} s | {lost} of {of} | {late} of {of} |\n", network.0))
}

/// Returns an error where a checker found what must never be: two that act, or two holders.
fn safe(report: &Report) -> Result<(), String> {
    let unsafe_at = report.violations.iter().find(|found| ["one-acts", "one-holder"].contains(&found.checker));
    unsafe_at.map_or(Ok(()), |found| Err(format!("{}, seed {}: {}", report.scenario, found.seed, found.text)))
}

fn time_to_leader(report: &Report) -> String {
    match report.measures.get("time_to_leader_us").filter(|measure| measure.count > 0) {
        Some(time) => format!("{}, {} s", seconds(time.p50), seconds(time.max)),
        None => "-".to_owned(),
    }
}

/// Returns in how many runs a checker found something.
fn seeds_with(report: &Report, checker: &str) -> usize {
    report
        .violations
        .iter()
        .filter(|found| found.checker == checker)
        .map(|found| found.seed)
        .collect::<BTreeSet<_>>()
        .len()
}
