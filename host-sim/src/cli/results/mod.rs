//! `conclave results`: measures everything on the page of results, and prints that page.

#[cfg(unix)]
mod boards;
mod simulated;

use crate::Scenario;
use crate::check;
use crate::metrics::campaign::{self, Report};
use crate::metrics::distribution::Distribution;
use clap::Args;
use std::path::Path;
use std::process::ExitCode;

#[derive(Args)]
pub(super) struct ResultsArgs {
    /// Run few seeds, and leave out the largest networks and the boards: the page as it looks, in seconds.
    #[arg(long)]
    quick: bool,
}

pub(super) const EXAMPLES: &str = "Examples:
  conclave results > docs/RESULTS.md         about half an hour
  conclave results --quick";

/// How many seeds of a quick page.
const QUICK_SEEDS: u64 = 2;

/// Measures and prints the page. Where a safety property does not hold, there is no page but an error.
pub(super) fn run(args: &ResultsArgs) -> super::Ended {
    let effort = Effort { quick: args.quick };
    for section in [simulated::elections, simulated::comparisons, simulated::locks, simulated::global_state] {
        super::print_text(&section(effort)?);
    }
    #[cfg(unix)]
    {
        super::print_text(&boards::memory());
        if !args.quick {
            super::print_text(&boards::emulated()?);
            super::print_text(&boards::images()?);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// How much is measured.
#[derive(Clone, Copy)]
struct Effort {
    quick: bool,
}

impl Effort {
    fn seeds(self, full: u64) -> u64 {
        if self.quick { QUICK_SEEDS } else { full }
    }

    /// Runs a shipped scenario, changed by `change`, over so many seeds. A violation is an error.
    fn report(
        self,
        name: &str,
        seeds: u64,
        change: impl Fn(Scenario) -> Result<Scenario, String>,
    ) -> Result<Report, String> {
        let report = self.campaign(name, seeds, change)?;
        // Few seeds decide no percentile.
        let mut violations = report.violations.iter().filter(|found| !self.quick || found.checker != "expect");
        match violations.next() {
            Some(found) => Err(format!("{}: {}\n  replay: {}", found.checker, found.text, found.command)),
            None => Ok(report),
        }
    }

    /// Runs a shipped scenario, changed by `change`, over so many seeds, whatever its checkers find.
    fn campaign(
        self,
        name: &str,
        seeds: u64,
        change: impl Fn(Scenario) -> Result<Scenario, String>,
    ) -> Result<Report, String> {
        let scenario = change(Scenario::find(Path::new(name), check::OF_LOCKS)?)?;
        let seeds = self.seeds(seeds);
        eprintln!("{name}{}, seeds 0..{seeds}", scenario.overrides);
        Ok(campaign::campaign_of(&scenario, 0..seeds, || {}))
    }
}

/// Returns a measure of a report. None is an error: a page with a hole says nothing.
fn measure(report: &Report, name: &'static str) -> Result<Distribution, String> {
    let found = report.measures.get(name).copied().filter(|measure| measure.count > 0);
    found.ok_or_else(|| format!("{} has no {name} in {} seeds", report.scenario, report.seeds))
}

/// Microseconds in seconds.
fn seconds(micros: u64) -> String {
    format!("{:.2}", micros as f64 / 1e6)
}

/// Median, 99th percentile and maximum in seconds.
fn p50_p99_max(measure: Distribution) -> String {
    format!("{}, {}, {} s", seconds(measure.p50), seconds(measure.p99), seconds(measure.max))
}
