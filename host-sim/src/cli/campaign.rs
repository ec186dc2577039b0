//! `conclave campaign`: scenarios drawn at random, every checker, and a small file for each violation.

use super::shards::{Header, ShardArgs, Work};
use crate::campaign::{Campaign, CampaignReport, Found, Length, Only};
use clap::Args;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Args)]
pub(super) struct CampaignArgs {
    /// Draw scenarios until so many hours are simulated (1 if neither --hours nor --runs is given).
    #[arg(long, value_name = "H", conflicts_with = "runs")]
    hours: Option<f64>,
    /// Draw so many scenarios.
    #[arg(long, value_name = "N")]
    runs: Option<u64>,
    /// The seed that scenarios are drawn from.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Draw these elections, locks and applications only.
    #[arg(long, value_name = "NAME", num_args = 1..)]
    only: Vec<String>,
    /// Draw scenarios of hours, with outages of up to an hour and more, among few nodes.
    #[arg(long)]
    long: bool,
    /// Let what was reached guide the draws: networks that led to new states are drawn again with other faults.
    #[arg(long, conflicts_with = "outcomes")]
    guided: bool,
    /// Play the scenario of this number only; of a guided campaign, the numbers of its network and of its faults: 12-40.
    #[arg(long, value_name = "INDEX", value_parser = numbers, conflicts_with_all = ["hours", "runs", "outcomes", "guided"])]
    scenario: Option<(u64, u64)>,
    /// How many scenarios with a violation are shrunk; the others are kept as they were drawn.
    #[arg(long, value_name = "N", default_value_t = SHRUNK)]
    shrink: usize,
    /// The folder for scenarios with a violation.
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
    #[command(flatten)]
    shards: ShardArgs,
    /// Print one JSON object and nothing else.
    #[arg(long)]
    json: bool,
}

pub(super) const EXAMPLES: &str = "Examples:
  conclave campaign --hours 10
  conclave campaign --runs 200 --seed 7 --only bully lamport
  conclave campaign --hours 5 --guided
  conclave campaign --hours 1000 --long --json > campaign.json";

/// Reads the number of a scenario, or those of its network and of its faults.
fn numbers(text: &str) -> Result<(u64, u64), String> {
    let (network, faults) = text.split_once('-').unwrap_or((text, text));
    let both = network.parse().ok().zip(faults.parse().ok());
    both.ok_or("expected a number, or two as in 12-40".to_owned())
}

/// How many scenarios are shrunk, if the user does not say.
pub(super) const SHRUNK: usize = 5;
/// The most scenarios of a campaign, whose outcomes are all kept until its report.
const RUNS_MAX: u64 = 10_000_000;
/// The most hours of a campaign.
const HOURS_MAX: f64 = 100_000.0;

/// Plays the campaign; returns 0 if nothing was found and, in a long one, every kind of fault and message occurred.
pub(super) fn run(args: &CampaignArgs) -> super::Ended {
    let campaign = campaign(args)?;
    let bar = super::progress(campaign.runs, "{wide_bar} {pos}/{len} scenarios, {elapsed}, {left}");
    let part = args.shards.part(0..campaign.runs);
    let played = match args.scenario {
        Some((network, faults)) => vec![campaign.play_on(network, faults)],
        None if args.guided => campaign.play_guided(|| bar.inc(1)),
        None => campaign.play(part.clone(), || bar.inc(1)),
    };
    bar.finish_and_clear();
    if let Some(path) = &args.shards.outcomes {
        let work = Work::Campaign { seed: campaign.seed, only: args.only.clone(), long: args.long };
        Header::new(work, 0..campaign.runs)?.write(path, part.into_iter().zip(played))?;
        return Ok(ExitCode::SUCCESS);
    }
    print(&campaign.report(&played), &args.out, args.json)
}

/// Prints a report, and writes the scenarios with a violation; returns 0 if the report holds.
pub(super) fn print(report: &CampaignReport, folder: &Path, json: bool) -> super::Ended {
    write_files(report, folder)?;
    Ok(super::report(report, json, show, report.holds()))
}

/// Returns a campaign of one scenario.
pub(super) fn of(seed: u64, only: &[String], long: bool, shrink: usize) -> Result<Campaign, String> {
    let length = if long { Length::Hours } else { Length::Minutes };
    Ok(Campaign { seed, runs: 1, only: Only::new(only)?, length, shrink })
}

fn campaign(args: &CampaignArgs) -> Result<Campaign, String> {
    let all = of(args.seed, &args.only, args.long, args.shrink)?;
    match (args.runs, args.hours) {
        (Some(runs), _) if !(1..=RUNS_MAX).contains(&runs) => Err(format!("--runs must be from 1 to {RUNS_MAX}")),
        (Some(runs), _) => Ok(Campaign { runs, ..all }),
        (None, None) if args.scenario.is_some() => Ok(all),
        (None, hours) => {
            let hours = hours.unwrap_or(1.0);
            if hours > 0.0 && hours <= HOURS_MAX {
                return Ok(all.of_hours(hours));
            }
            Err(format!("--hours must be above 0 and at most {HOURS_MAX}"))
        }
    }
}

fn write_files(report: &CampaignReport, folder: &Path) -> Result<(), String> {
    for Found { file, scenario, .. } in &report.violations {
        let path = folder.join(file);
        let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, scenario));
        written.map_err(|error| format!("{}: the scenario cannot be written: {error}", path.display()))?;
    }
    Ok(())
}

fn show(report: &CampaignReport) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let CampaignReport { seed, scenarios, hours, .. } = report;
    let plural = if *scenarios == 1 { "" } else { "s" };
    writeln!(out, "campaign {seed}: {scenarios} scenario{plural}, {hours} simulated hours")?;
    writeln!(out, "\n  {:<28} {:>12}", "faults", "count")?;
    for (kind, count) in &report.faults {
        writeln!(out, "  {kind:<28} {count:>12}")?;
    }
    writeln!(out, "  {:<28} {:>12}", "frames lost or collided", report.frames_lost)?;
    writeln!(out, "\n  {:<28} {:>12}", "frames", "count")?;
    for (kind, count) in &report.frames {
        writeln!(out, "  {kind:<28} {count:>12}")?;
    }
    writeln!(out, "\n  {} pairs of a node's state and a message that arrived in it", report.pairs)?;
    match report.missing.len() {
        0 => writeln!(out, "\n  every kind of fault and message occurred")?,
        _ if report.complete => writeln!(out, "\n  did not occur: {}", report.missing.join(", "))?,
        // A short campaign, or one of some algorithms, misses many.
        count => writeln!(out, "\n  kinds of faults and messages that did not occur: {count}")?,
    }
    for Found { checker, text, file, seed, index, shrunk_by, .. } in &report.violations {
        writeln!(out, "\nVIOLATION {checker} in scenario {index}: {text}")?;
        if *shrunk_by > 0 {
            writeln!(out, "  shrunk by {shrunk_by} runs")?;
        }
        writeln!(out, "  replay: conclave run {file} --seed {seed}")?;
    }
    match (report.violations.len(), report.holds()) {
        (0, true) => writeln!(out, "\nPASSED: no checker reports a violation"),
        (0, false) => writeln!(out, "\nFAILED: not every kind of fault and message occurred"),
        (1, _) => writeln!(out, "\nFAILED: 1 scenario with a violation"),
        (count, _) => writeln!(out, "\nFAILED: {count} scenarios with a violation"),
    }
}
