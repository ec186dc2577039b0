//! `conclave results`: measures everything on the page of results, and prints that page.

#![expect(clippy::disallowed_types, reason = "how long a section takes, the wall clock tells")]

#[cfg(unix)]
mod boards;
mod limits;
mod simulated;
mod verification;

use crate::Scenario;
use crate::check;
use crate::metrics::distribution::Distribution;
use crate::metrics::seeds::{self, Report};
use clap::{Args, ValueEnum};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

#[derive(Args)]
pub(super) struct ResultsArgs {
    /// Print these sections only.
    #[arg(value_name = "SECTION")]
    sections: Vec<Section>,
    /// Run few seeds, and leave out the largest networks and the boards: the page as it looks, in seconds.
    #[arg(long)]
    quick: bool,
}

pub(super) const EXAMPLES: &str = "Examples:
  conclave results > docs/RESULTS.md         about half an hour, most of it for elections and boards
  conclave results --quick
  conclave results comparisons limits        seconds
  conclave results locks global-state        a minute or two each
  conclave results verification              the explorations, for docs/VERIFICATION.md";

/// How many seeds of a quick page.
const QUICK_SEEDS: u64 = 2;

/// Measures and prints the page. Where a safety property does not hold, there is no page but an error.
pub(super) fn run(args: &ResultsArgs) -> super::Ended {
    let effort = Effort { quick: args.quick };
    let of_page = |section: &Section| args.sections.is_empty() && *section != Section::Verification;
    let chosen = |section: &&Section| of_page(section) || args.sections.contains(section);
    for section in Section::value_variants().iter().filter(chosen) {
        if !args.quick || !section.needs_boards() {
            let start = Instant::now();
            super::print_text(&section.text(effort)?);
            let name = section.to_possible_value();
            let name = name.as_ref().map_or("", |value| value.get_name());
            eprintln!("{name} took {:.0} s", start.elapsed().as_secs_f64());
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A section of the page.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Section {
    Elections,
    Comparisons,
    Locks,
    /// Quorums, contended locks and crowds on a radio: what the page of limits names.
    Limits,
    GlobalState,
    #[cfg(unix)]
    Memory,
    #[cfg(unix)]
    EmulatedBoards,
    #[cfg(unix)]
    Images,
    /// The explorations, which are on the page of verification.
    Verification,
}

impl Section {
    fn needs_boards(self) -> bool {
        match self {
            Self::Elections | Self::Comparisons | Self::Locks => false,
            Self::Limits | Self::GlobalState | Self::Verification => false,
            #[cfg(unix)]
            Self::Memory => false,
            #[cfg(unix)]
            Self::EmulatedBoards | Self::Images => true,
        }
    }

    fn text(self, effort: Effort) -> Result<String, String> {
        match self {
            Self::Elections => simulated::elections(effort),
            Self::Comparisons => simulated::comparisons(effort),
            Self::Locks => simulated::locks(effort),
            Self::Limits => limits::limits(effort),
            Self::GlobalState => simulated::global_state(effort),
            Self::Verification => verification::explorations(effort),
            #[cfg(unix)]
            Self::Memory => Ok(boards::memory()),
            #[cfg(unix)]
            Self::EmulatedBoards => boards::emulated(),
            #[cfg(unix)]
            Self::Images => boards::images(),
        }
    }
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

    /// Runs a shipped scenario, changed by `change`, over so many seeds. A violation of a checker is an error; what the file
    /// claims besides is not asked.
    fn report(
        self,
        name: &str,
        seeds: u64,
        change: impl Fn(Scenario) -> Result<Scenario, String>,
    ) -> Result<Report, String> {
        let report = self.run_seeds(name, seeds, change)?;
        match report.violations.iter().find(|found| found.checker != "expect") {
            Some(found) => Err(format!("{}: {}\n  replay: {}", found.checker, found.text, found.command)),
            None => Ok(report),
        }
    }

    /// Runs a shipped scenario, changed by `change`, over so many seeds, whatever its checkers find.
    fn run_seeds(
        self,
        name: &str,
        seeds: u64,
        change: impl Fn(Scenario) -> Result<Scenario, String>,
    ) -> Result<Report, String> {
        let scenario = change(Scenario::find(Path::new(name), check::OF_LOCKS)?)?;
        let seeds = self.seeds(seeds);
        eprintln!("{name}{}, seeds 0..{seeds}", scenario.overrides);
        Ok(seeds::run_seeds_of(&scenario, 0..seeds, || {}))
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
