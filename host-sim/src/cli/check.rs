//! `conclave check`: every order of events of a few nodes.

#![expect(clippy::disallowed_types, reason = "how fast a search is, the wall clock tells")]

use crate::base::nearest::unknown;
use crate::explore::schedule::{IMPOSSIBLE, Schedule};
use crate::explore::search::{Limits, Violation};
use crate::explore::{self, Outcome, Search, diagram};
use clap::Args;
use serde::Serialize;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

#[derive(Args)]
pub(super) struct CheckArgs {
    /// The elections, locks and services to explore; all, if none is named. `textbook` is a lock with a known fault.
    #[arg(value_name = "ALGORITHM")]
    algorithms: Vec<String>,
    /// How many nodes there are, from 2 to 4.
    #[arg(long, value_name = "N", default_value_t = 3)]
    nodes: u64,
    /// Follow at most so many moves from the first state.
    #[arg(long, value_name = "D")]
    depth: Option<u32>,
    /// Visit at most so many states in each search, up to 100 million.
    #[arg(long, value_name = "N", default_value_t = 10_000_000)]
    states: u64,
    /// Run the searches that take minutes too.
    #[arg(long)]
    full: bool,
    /// The folder for the schedules of runs that break a property.
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
    /// Replay the schedule of a run that broke a property, move by move.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["algorithms", "nodes", "full", "out"])]
    replay: Option<PathBuf>,
    /// Print one JSON object and nothing else.
    #[arg(long)]
    json: bool,
}

pub(super) const EXAMPLES: &str = "Examples:
  conclave check ricart-agrawala
  conclave check bully ring --nodes 4 --states 100000000
  conclave check textbook                    the lock of the textbooks, and how it breaks
  conclave check --replay check-textbook-3-duplicates-and-loss.toml
  conclave check --full --json > check.json";

/// What came of all searches.
#[derive(Serialize)]
struct CheckReport {
    nodes: usize,
    states: usize,
    /// Whether every search visited every state within its bounds.
    complete: bool,
    violations: Vec<Broken>,
    searches: Vec<Searched>,
    /// How long it took; not in JSON, which is the same on every machine.
    #[serde(skip)]
    seconds: f64,
}

/// A run that must not be.
#[derive(Serialize)]
struct Broken {
    algorithm: &'static str,
    search: &'static str,
    why: &'static str,
    /// Its moves, none of which can be left out.
    steps: Vec<String>,
    /// The file that replays it; none for a violation that is about a whole search, or that was replayed.
    file: Option<String>,
    #[serde(skip)]
    picture: String,
}

#[derive(Serialize)]
struct Searched {
    algorithm: &'static str,
    search: &'static str,
    states: usize,
    depth: u32,
    /// States from which a move led beyond the bounds.
    cut: usize,
    complete: bool,
}

/// Runs the searches; returns 0 if none found a violation.
pub(super) fn run(args: &CheckArgs) -> super::Ended {
    let limits = limits(args)?;
    if let Some(path) = &args.replay {
        return replay(path, limits, args.json);
    }
    let searches = chosen(args)?;
    let bar = super::progress(searches.len() as u64, "{wide_bar} {pos}/{len} searches, {elapsed}");
    let began = Instant::now();
    // One after the other: each uses all cores.
    let outcomes: Vec<Outcome> = searches
        .iter()
        .map(|search| {
            let outcome = search.run(limits);
            bar.inc(1);
            outcome
        })
        .collect();
    bar.finish_and_clear();
    let mut report = CheckReport::new(&searches, &outcomes, began.elapsed().as_secs_f64());
    report.write_schedules(&searches, &outcomes, &args.out)?;
    Ok(super::report(&report, args.json, show, report.violations.is_empty()))
}

/// Replays a schedule; returns 1 if it still breaks a property.
fn replay(path: &Path, limits: Limits, json: bool) -> super::Ended {
    let name = path.display();
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("{name}: the schedule cannot be read: {error}"))?;
    let schedule = Schedule::parse(&text).map_err(|why| format!("{name}: {why}"))?;
    let nodes =
        super::in_range("nodes", schedule.nodes as u64, &explore::NODES).map_err(|why| format!("{name}: {why}"))?;
    let mut all = explore::all(nodes as usize);
    all.push(explore::textbook(nodes as usize));
    all.retain(|search| search.algorithm == schedule.algorithm && search.name == schedule.search);
    let [search] = &all[..] else {
        let Schedule { algorithm, search, nodes, .. } = &schedule;
        return Err(format!("{name}: there is no search \"{search}\" of {algorithm} among {nodes} nodes"));
    };
    let began = Instant::now();
    let outcome = search.replay(&schedule.moves, limits);
    if let Some(Violation { why: IMPOSSIBLE, steps, .. }) = &outcome.violation {
        let (number, step) = (steps.len() + 1, schedule.moves.get(steps.len()).map_or("", String::as_str));
        return Err(format!("{name}: move {number} is impossible: {step}\n  the algorithm or the search has changed"));
    }
    let report = CheckReport::new(&all, &[outcome], began.elapsed().as_secs_f64());
    Ok(super::report(&report, json, show, report.violations.is_empty()))
}

fn limits(args: &CheckArgs) -> Result<Limits, String> {
    let states = usize::try_from(args.states).unwrap_or(usize::MAX);
    if !(1..=Limits::STATES_MAX).contains(&states) {
        return Err(format!("--states must be from 1 to {}, which {states} is not.", Limits::STATES_MAX));
    }
    Ok(Limits { states, depth: args.depth.unwrap_or(u32::MAX) })
}

fn chosen(args: &CheckArgs) -> Result<Vec<Search>, String> {
    let nodes = super::in_range("--nodes", args.nodes, &explore::NODES)? as usize;
    let all = explore::all(nodes);
    let mut searches = Vec::new();
    for name in &args.algorithms {
        if name == explore::TEXTBOOK {
            searches.push(explore::textbook(nodes));
        } else if !all.iter().any(|search| search.algorithm == name) {
            let mut names: Vec<&str> = all.iter().map(|search| search.algorithm).chain([explore::TEXTBOOK]).collect();
            names.dedup();
            return Err(unknown("algorithm", name, names.into_iter()));
        }
    }
    let named = |search: &Search| args.algorithms.is_empty() || args.algorithms.iter().any(|n| n == search.algorithm);
    searches.extend(all.into_iter().filter(|search| named(search) && (args.full || !search.is_long)));
    Ok(searches)
}

impl CheckReport {
    fn new(searches: &[Search], outcomes: &[Outcome], seconds: f64) -> Self {
        let pairs = || searches.iter().zip(outcomes);
        let broken = |(search, outcome): (&Search, &Outcome)| {
            let Violation { why, steps, .. } = outcome.violation.as_ref()?;
            Some(Broken {
                algorithm: search.algorithm,
                search: search.name,
                why,
                steps: steps.iter().map(|step| step.detail.clone()).collect(),
                file: None,
                picture: diagram(steps, search.nodes),
            })
        };
        let figures = |(search, outcome): (&Search, &Outcome)| Searched {
            algorithm: search.algorithm,
            search: search.name,
            states: outcome.states,
            depth: outcome.depth,
            cut: outcome.cut,
            complete: outcome.complete,
        };
        Self {
            nodes: searches.first().map_or(0, |search| search.nodes),
            states: outcomes.iter().map(|outcome| outcome.states).sum(),
            complete: outcomes.iter().all(|outcome| outcome.complete),
            violations: pairs().filter_map(broken).collect(),
            searches: pairs().map(figures).collect(),
            seconds,
        }
    }

    /// Writes a schedule for each violation that has moves.
    fn write_schedules(&mut self, searches: &[Search], outcomes: &[Outcome], folder: &Path) -> Result<(), String> {
        let violations = searches.iter().zip(outcomes).filter_map(|(search, outcome)| {
            let violation = outcome.violation.as_ref()?;
            Some(Schedule::new(search, violation))
        });
        for (broken, schedule) in self.violations.iter_mut().zip(violations) {
            let Some(schedule) = schedule else { continue };
            let path = folder.join(schedule.file());
            let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, schedule.text()));
            written.map_err(|error| format!("{}: the schedule cannot be written: {error}", path.display()))?;
            broken.file = Some(schedule.file());
        }
        Ok(())
    }
}

fn show(report: &CheckReport) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let CheckReport { nodes, states, seconds, .. } = report;
    writeln!(out, "every order of events of {nodes} nodes\n")?;
    writeln!(out, "  {:<18} {:<28} {:>12} {:>6} {:>11}", "algorithm", "search", "states", "depth", "complete")?;
    for Searched { algorithm, search, states, depth, complete, .. } in &report.searches {
        let complete = if *complete { "yes" } else { "no" };
        writeln!(out, "  {algorithm:<18} {search:<28} {states:>12} {depth:>6} {complete:>11}")?;
    }
    for Broken { algorithm, search, why, steps, file, picture } in &report.violations {
        writeln!(out, "\nVIOLATION in {algorithm}, {search}: {why}")?;
        if !steps.is_empty() {
            writeln!(out, "\n{picture}")?;
            for (number, step) in (1..).zip(steps) {
                writeln!(out, "{number:>4}  {step}")?;
            }
        }
        if let Some(file) = file {
            writeln!(out, "\n  replay: conclave check --replay {file}")?;
        }
    }
    let rate = *states as f64 / seconds.max(1e-3);
    writeln!(out, "\n{states} states in {seconds:.1} s: {rate:.0} a second")?;
    match (report.violations.len(), report.complete) {
        (0, true) => writeln!(out, "PASSED: no violation, and every search is complete within its bounds"),
        (0, false) => writeln!(out, "PASSED: no violation, but not every search is complete"),
        (1, _) => writeln!(out, "FAILED: 1 search with a violation"),
        (count, _) => writeln!(out, "FAILED: {count} searches with a violation"),
    }
}
