//! `conclave run`: a scenario, once or over many seeds.

use super::files::FileArgs;
use super::shards::{Header, ShardArgs, Work};
use crate::Scenario;
use crate::check;
use crate::metrics::distribution::Distribution;
use crate::metrics::frames::SteadyReport;
use crate::metrics::run::run_of;
use crate::metrics::seeds::{self, Report, Violation};
use crate::scenario::shipped::find_text;
use clap::Args;
use std::collections::BTreeMap;
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Args)]
pub(super) struct RunArgs {
    /// The scenario to run: a file, or the name of a shipped one (see `conclave scenarios`).
    #[arg(value_name = "SCENARIO")]
    file: PathBuf,
    /// Run this seed only.
    #[arg(long, conflicts_with = "seeds")]
    seed: Option<u64>,
    /// Run these seeds, as A..B (B excluded).
    #[arg(long, value_parser = seeds)]
    seeds: Option<Range<u64>>,
    /// The election algorithm, instead of the scenario's: NAME or NAME:OPTION=VALUE,...
    #[arg(long, value_name = "NAME")]
    election: Option<String>,
    /// The lock algorithm, instead of the scenario's: NAME or NAME:OPTION=VALUE,...
    #[arg(long, value_name = "NAME")]
    mutex: Option<String>,
    /// The termination detection algorithm, instead of the scenario's.
    #[arg(long, value_name = "NAME")]
    detection: Option<String>,
    /// Print one JSON object and nothing else.
    #[arg(long)]
    json: bool,
    /// Print the measures as comma-separated values and nothing else.
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    #[command(flatten)]
    files: FileArgs,
    #[command(flatten)]
    shards: ShardArgs,
    /// Watch one seed on the terminal, with keys: pause, step, speed, kill, cut, heal.
    #[cfg(unix)]
    #[arg(long, conflicts_with_all = ["seeds", "json", "csv", "trace", "pcap", "outcomes"])]
    watch: bool,
}

pub(super) const EXAMPLES: &str = "Examples:
  conclave run grid64-leader-crash --seeds 0..100
  conclave run my-network.toml --seed 7 --trace trace.jsonl
  conclave run my-network.toml --seed 7 --pcap frames.pcapng
  conclave run grid64-split-heal --watch
  conclave run lan20-leader-crash --election ring:winner=lowest,direction=backward
  conclave run lock-storm --mutex suzuki-kasami --json";

const BAR: &str = "{msg:.30} {wide_bar} {pos}/{len} seeds, {elapsed}, {left}";

/// The most seeds of a run, whose outcomes are all kept until its report.
const SEEDS_MAX: u64 = 1_000_000;

pub(super) fn seeds(text: &str) -> Result<Range<u64>, String> {
    let parsed = text.split_once("..").and_then(|(start, end)| Some(start.parse().ok()?..end.parse().ok()?));
    let range: Range<u64> = parsed.ok_or("expected A..B, such as 0..100")?;
    if range.is_empty() {
        return Err("there is no seed in it: the second number is excluded, as in 0..100".to_owned());
    }
    if range.end - range.start > SEEDS_MAX {
        return Err(format!("at most {SEEDS_MAX} seeds at a time"));
    }
    Ok(range)
}

/// Runs the scenario; returns 0 if no checker found a violation, 1 if one did.
pub(super) fn run(args: &RunArgs) -> super::Ended {
    #[cfg(unix)]
    if args.watch {
        let scenario = scenario(args)?;
        return super::watch::run(&scenario, args.seed.unwrap_or(scenario.seeds.start));
    }
    if let Some(path) = &args.shards.outcomes {
        return outcomes(args, path);
    }
    Ok(print(&report(args)?, args.json, args.csv))
}

/// Prints a report; returns 0 if no checker found a violation, 1 if one did.
pub(super) fn print(report: &Report, json: bool, csv: bool) -> ExitCode {
    let text = if csv { show_csv } else { show };
    super::report(report, json, text, report.violations.is_empty())
}

/// Reads the scenario, with what the flags choose instead.
fn scenario(args: &RunArgs) -> Result<Scenario, String> {
    overridden(Scenario::find(&args.file, check::OF_LOCKS)?, [&args.election, &args.mutex, &args.detection])
}

/// Returns a scenario with another election, lock or detection, where one is given.
pub(super) fn overridden(mut scenario: Scenario, names: [&Option<String>; 3]) -> Result<Scenario, String> {
    let [election, mutex, detection] = names;
    if let Some(name) = election {
        scenario = scenario.with_election(name)?;
    }
    if let Some(name) = mutex {
        scenario = scenario.with_mutex(name)?;
    }
    if let Some(name) = detection {
        scenario = scenario.with_detection(name)?;
    }
    Ok(scenario)
}

/// The seeds that the flags choose, or the scenario's own.
fn chosen_seeds(args: &RunArgs, scenario: &Scenario) -> Range<u64> {
    let seeds = args.seed.map(|seed| seed..seed.saturating_add(1)).or(args.seeds.clone());
    seeds.unwrap_or(scenario.seeds.clone())
}

/// Runs a part of the seeds, and writes what `conclave merge` needs.
fn outcomes(args: &RunArgs, path: &Path) -> super::Ended {
    if let Some(noun) = args.files.noun() {
        return Err(format!("a {noun} holds one run, and --outcomes many"));
    }
    let scenario = scenario(args)?;
    let seeds = chosen_seeds(args, &scenario);
    let work = Work::Run {
        file: args.file.display().to_string(),
        text: find_text(&args.file)?,
        election: args.election.clone(),
        mutex: args.mutex.clone(),
        detection: args.detection.clone(),
    };
    let part = args.shards.part(seeds.clone());
    let bar = super::progress(part.len() as u64, BAR);
    bar.set_message(scenario.name.clone());
    let outcomes = seeds::outcomes_of(&scenario, part.clone(), || bar.inc(1));
    bar.finish_and_clear();
    Header::new(work, seeds)?.write(path, part.into_iter().zip(outcomes))?;
    Ok(ExitCode::SUCCESS)
}

fn report(args: &RunArgs) -> Result<Report, String> {
    let scenario = scenario(args)?;
    let seeds = chosen_seeds(args, &scenario);
    let count = seeds.end - seeds.start;
    if let Some(noun) = args.files.noun() {
        if count != 1 {
            return Err(format!("a {noun} holds one run: choose one seed with --seed"));
        }
        let mut files = args.files.create(&scenario)?;
        let outcome = run_of(&scenario, seeds.start, &mut files);
        files.finish()?;
        return Ok(seeds::report(&scenario, &[outcome]));
    }
    let bar = super::progress(count, BAR);
    bar.set_message(scenario.name.clone());
    let report = seeds::run_seeds_of(&scenario, seeds, || bar.inc(1));
    bar.finish_and_clear();
    Ok(report)
}

/// Prints a line for each measure; times are in microseconds, as the names say.
fn show_csv(report: &Report) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "scenario,seeds,measure,count,p50,p99,p999,max")?;
    // A name with a comma or a quote is quoted, and its quotes are doubled.
    let name = format!("\"{}\"", report.scenario.replace('"', "\"\""));
    for (measure, Distribution { count, p50, p99, p999, max }) in &report.measures {
        writeln!(out, "{name},{},{measure},{count},{p50},{p99},{p999},{max}", report.seeds)?;
    }
    Ok(())
}

fn show(report: &Report) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let Report { scenario, seeds, nodes, converged, leader_is_best, .. } = report;
    let [many_nodes, many_seeds] = [u64::from(*nodes), *seeds as u64].map(|count| if count == 1 { "" } else { "s" });
    writeln!(out, "{scenario}: {nodes} node{many_nodes}, {seeds} seed{many_seeds}")?;
    if !report.about.is_empty() {
        writeln!(out, "{}", super::wrapped(&report.about, 2))?;
    }
    writeln!(out)?;
    writeln!(out, "  one leader, known to all   {converged} of {seeds}")?;
    writeln!(out, "  the best node leads        {leader_is_best} of {seeds}")?;
    let (mean, worst) = (report.availability.mean, report.availability.min);
    writeln!(out, "  time with a leader         {mean:.2} % (worst node {worst:.2} %)")?;
    if let Some(SteadyReport { mean, leader, busiest }) = report.steady_frames_per_node_minute {
        writeln!(out, "  frames a node and minute   {mean:.1} when calm (leader {leader:.1}, busiest {busiest:.1})")?;
    }
    writeln!(out, "\n  {:<20} {:>7} {:>11} {:>11} {:>11} {:>11}", "measure", "count", "p50", "p99", "p99.9", "max")?;
    for (name, measure) in &report.measures {
        let (name, unit) = name.strip_suffix("_us").map_or((*name, 1.0), |name| (name, 1e6));
        let cell = |value: u64| {
            if unit > 1.0 { format!("{:.3} s", value as f64 / unit) } else { value.to_string() }
        };
        let [p50, p99, p999, max] = [measure.p50, measure.p99, measure.p999, measure.max].map(cell);
        writeln!(out, "  {name:<20} {:>7} {p50:>11} {p99:>11} {p999:>11} {max:>11}", measure.count)?;
    }
    writeln!(out, "\n  {:<20} {:>12} {:>12} {:>12}", "frames per run", "frames", "bytes", "ms each")?;
    for (kind, frames) in &report.frames {
        let (bytes, hop) = (report.bytes[kind], report.hop_us[kind] / 1e3);
        writeln!(out, "  {kind:<20} {frames:>12.1} {bytes:>12.1} {hop:>12.2}")?;
    }
    let medium = &report.medium;
    writeln!(
        out,
        "  received {:.0}, collided {:.0}, lost {:.0}\n  dropped {:.0} (full queue) and {:.0} (busy medium)",
        medium.received, medium.collided, medium.lost, medium.queue_full, medium.medium_busy
    )?;
    if let Some(hash) = &report.trace_hash {
        writeln!(out, "  trace hash {hash}")?;
    }
    if !report.claims.is_empty() {
        writeln!(out, "\n  claimed:")?;
    }
    for claim in &report.claims {
        writeln!(out, "  - {claim}")?;
    }
    show_violations(&mut out, &report.violations)?;
    match report.violations.len() {
        0 => writeln!(out, "\nPASSED: no checker reports a violation, and every claim holds"),
        1 => writeln!(out, "\nFAILED: 1 violation"),
        count => writeln!(out, "\nFAILED: {count} violations"),
    }
}

/// How many violations that one checker reports are shown.
const SHOWN_MAX: usize = 3;

/// Shows the first violations that each checker reports, and how many more it does.
fn show_violations(out: &mut impl Write, violations: &[Violation]) -> std::io::Result<()> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for violation in violations {
        let Violation { checker, seed, text, command, .. } = violation;
        let count = counts.entry(checker).or_default();
        *count += 1;
        if *count <= SHOWN_MAX {
            let seconds = violation.time as f64 / 1e6;
            writeln!(out, "\nVIOLATION {checker} in seed {seed} at {seconds:.3} s: {text}\n  replay: {command}")?;
        }
    }
    let more = counts.iter().filter(|(_, count)| **count > SHOWN_MAX);
    let more: Vec<_> = more.map(|(checker, count)| format!("{} of {checker}", count - SHOWN_MAX)).collect();
    if !more.is_empty() {
        writeln!(out, "\nand more violations: {}", more.join(", "))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_checker_that_reports_is_shown() {
        let violation = |checker| Violation { seed: 7, time: 0, checker, text: String::new(), command: String::new() };
        let mut violations = vec![violation("one-leader"); 50];
        violations.push(violation("one-holder"));
        let mut out = Vec::new();
        show_violations(&mut out, &violations).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.matches("VIOLATION one-leader in seed 7").count(), SHOWN_MAX);
        assert_eq!(text.matches("VIOLATION one-holder in seed 7").count(), 1);
        assert!(text.ends_with("\nand more violations: 47 of one-leader\n"), "{text}");
    }
}
