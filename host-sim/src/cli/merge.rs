//! `conclave merge`: the report on what many machines ran.

use super::campaign as drawn;
use super::shards::{self, Work};
use crate::Scenario;
use crate::campaign::{Campaign, Played};
use crate::check;
use crate::metrics::run::Outcome;
use crate::metrics::seeds;
use clap::Args;
use std::path::PathBuf;

#[derive(Args)]
pub(super) struct MergeArgs {
    /// The files that `run` or `campaign` wrote with --outcomes, all parts of one run.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// How many scenarios of a campaign with a violation are shrunk.
    #[arg(long, value_name = "N", default_value_t = drawn::SHRUNK)]
    shrink: usize,
    /// The folder for scenarios of a campaign with a violation.
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
    /// Print one JSON object and nothing else.
    #[arg(long)]
    json: bool,
    /// Print the measures of a scenario as comma-separated values and nothing else.
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

pub(super) const EXAMPLES: &str = "Examples:
  conclave run grid64-leader-crash --seeds 0..2 --shard 1/2 --outcomes 1.jsonl
  conclave run grid64-leader-crash --seeds 0..2 --shard 2/2 --outcomes 2.jsonl
  conclave merge 1.jsonl 2.jsonl --json";

/// Reports on all parts as one machine would; returns 0 if no checker found a violation, 1 if one did.
pub(super) fn run(args: &MergeArgs) -> super::Ended {
    let (header, parts) = shards::open(&args.files)?;
    match header.work {
        Work::Run { file, text, election, mutex, detection } => {
            let scenario = Scenario::parse(&file, &text, check::OF_LOCKS).map_err(|error| error.to_string())?;
            let scenario = super::run::overridden(scenario, [&election, &mutex, &detection])?;
            let outcomes: Vec<Outcome> = shards::outcomes(header.all, parts)?;
            Ok(super::run::print(&seeds::report(&scenario, &outcomes), args.json, args.csv))
        }
        Work::Campaign { seed, only, long } => {
            let campaign = drawn::of(seed, &only, long, args.shrink)?;
            let campaign = Campaign { runs: header.all.end, ..campaign };
            let played: Vec<Played> = shards::outcomes(header.all, parts)?;
            drawn::print(&campaign.report(&played), &args.out, args.json)
        }
    }
}
