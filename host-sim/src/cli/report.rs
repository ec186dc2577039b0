//! `conclave report`: plots of what was measured.

use crate::report::{csv, page, read};
use clap::Args;
use std::fs;
use std::ops::Range;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Args)]
pub(super) struct ReportArgs {
    /// What to report: scenarios, which are run, and files that `run --json` or `compare --json` wrote.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The folder for `report.html` and `report.csv`.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Run scenarios over these seeds, as A..B (B excluded), instead of their own.
    #[arg(long, value_parser = super::run::seeds)]
    seeds: Option<Range<u64>>,
}

pub(super) const EXAMPLES: &str = "Examples:
  conclave report grid64-leader-crash lan20-leader-crash --out report
  conclave compare elections --json > elections.json
  conclave report elections.json --out report";

pub(super) fn run(args: &ReportArgs) -> super::Ended {
    let bar = super::progress(args.files.len() as u64, "{msg:.30} {wide_bar} {pos}/{len} files, {elapsed}");
    let read = |file: &PathBuf| {
        bar.set_message(file.display().to_string());
        let source = read(file, args.seeds.as_ref());
        bar.inc(1);
        source
    };
    let sources = args.files.iter().map(read).collect::<Result<Vec<_>, String>>()?;
    bar.finish_and_clear();
    let failed = |error| format!("{}: {error}", args.out.display());
    fs::create_dir_all(&args.out).map_err(failed)?;
    fs::write(args.out.join("report.html"), page(&sources)).map_err(failed)?;
    fs::write(args.out.join("report.csv"), csv(&sources)).map_err(failed)?;
    super::print_line(args.out.join("report.html").display());
    Ok(ExitCode::SUCCESS)
}
