//! `conclave sizes`: what takes how much of a board's flash and RAM, and whether every image is as it must be.

mod detail;
mod stages;

use clap::Args;
use host_sim::boards::{BOARDS, Board, Parts, Verdict, inspect};
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What `conclave sizes` is given.
#[derive(Args)]
pub(crate) struct SizesArgs {
    /// Take this board's image apart, instead of comparing all boards.
    #[arg(value_name = "BOARD", value_parser = Board::by_name)]
    board: Option<&'static Board>,
    #[command(flatten)]
    parts: super::PartsArgs,
    /// Take this image apart, instead of building one.
    #[arg(long, value_name = "FILE")]
    image: Option<PathBuf>,
    /// Show what each stage of a node takes of RAM, instead of building any image.
    #[arg(long, conflicts_with_all = ["board", "image"])]
    stages: bool,
    /// Print one JSON object and nothing else.
    #[arg(long)]
    json: bool,
}

/// All boards beside each other.
#[derive(Serialize)]
struct Table {
    boards: Vec<Row>,
}

/// One board.
#[derive(Serialize)]
struct Row {
    board: &'static str,
    target: &'static str,
    flash_limit: u64,
    ram_limit: u64,
    #[serde(flatten)]
    verdict: Verdict,
}

/// Measures; 0 if all is well, 1 if an image is not as it must be, 2 if nothing could be measured.
pub(crate) fn run(args: &SizesArgs) -> ExitCode {
    let done = match (args.board, &args.image) {
        (None, None) if args.stages => show_stages(args.json),
        (None, None) => args.parts.parts().and_then(|parts| compare(&parts, args.json)),
        (_, Some(image)) => take_apart(image, args.json),
        (Some(board), None) => args
            .parts
            .parts()
            .and_then(|parts| super::image(board, &parts))
            .and_then(|image| take_apart(&image, args.json)),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(text) => super::end(Err(text)),
    }
}

/// One image in detail.
fn take_apart(image: &Path, json: bool) -> Result<bool, String> {
    let sizes = detail::sizes(&read(image)?).map_err(|error| format!("{}: {error}", image.display()))?;
    let shown = if json { super::show_json(&sizes) } else { detail::show(&sizes) };
    shown.map(|()| true).map_err(|error| error.to_string())
}

/// The stages of a node beside each other.
fn show_stages(json: bool) -> Result<bool, String> {
    let stages = stages::sizes();
    let shown = if json { super::show_json(&stages) } else { stages::show(&stages) };
    shown.map(|()| true).map_err(|error| error.to_string())
}

/// All boards, each held to what it must be.
fn compare(parts: &Parts, json: bool) -> Result<bool, String> {
    let mut table = Table { boards: Vec::new() };
    for board in &BOARDS {
        let image = super::image(board, parts)?;
        let limits = parts.are_usual().then_some(board.limits);
        let complain = |error| format!("{}: {error}", image.display());
        let verdict = inspect(board, limits, &read(&image)?).map_err(complain)?;
        let Board { name, target, .. } = *board;
        let limits = limits.unwrap_or_else(|| board.memory());
        table.boards.push(Row { board: name, target, flash_limit: limits.flash, ram_limit: limits.ram, verdict });
    }
    let shown = if json { super::show_json(&table) } else { show(&table) };
    shown.map_err(|error| error.to_string())?;
    let violations =
        table.boards.iter().flat_map(|row| row.verdict.violations.iter().map(move |text| (row.board, text)));
    let mut well = true;
    for (board, text) in violations {
        eprintln!("{board}: {text}");
        well = false;
    }
    Ok(well)
}

fn read(image: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(image).map_err(|error| format!("{}: {error}", image.display()))
}

fn show(table: &Table) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "| board | flash | of at most | RAM | of at most |\n| --- | ---: | ---: | ---: | ---: |")?;
    for Row { board, flash_limit, ram_limit, verdict, .. } in &table.boards {
        let taken = verdict.taken;
        writeln!(out, "| {board} | {} | {flash_limit} | {} | {ram_limit} |", taken.flash, taken.ram)?;
    }
    Ok(())
}
