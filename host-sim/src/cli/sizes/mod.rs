//! `conclave sizes`: the use of a board's flash and RAM, and the inspection of every image.

mod detail;
mod stages;

use clap::Args;
use host_sim::boards::{BOARDS, Board, Inspection, Parts, inspect};
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The arguments of `conclave sizes`.
#[derive(Args)]
pub(crate) struct SizesArgs {
    /// Show this board's image in detail, instead of comparing all boards.
    #[arg(value_name = "BOARD", value_parser = Board::by_name)]
    board: Option<&'static Board>,
    #[command(flatten)]
    parts: super::PartsArgs,
    /// Show this image in detail, instead of building one.
    #[arg(long, value_name = "FILE")]
    image: Option<PathBuf>,
    /// Show the RAM of each stage of a node, instead of building an image.
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
    inspection: Inspection,
}

/// Measures; returns 0 if all images pass inspection, 1 if one does not, 2 if an image cannot be measured.
pub(crate) fn run(args: &SizesArgs) -> ExitCode {
    let done = match (args.board, &args.image) {
        (None, None) if args.stages => show_stages(args.json),
        (None, None) => args.parts.parts().and_then(|parts| compare(&parts, args.json)),
        (_, Some(image)) => show_detail(image, args.json),
        (Some(board), None) => args
            .parts
            .parts()
            .and_then(|parts| super::image(board, &parts))
            .and_then(|image| show_detail(&image, args.json)),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(reason) => super::refuse(reason),
    }
}

/// Shows one image in detail.
fn show_detail(image: &Path, json: bool) -> Result<bool, String> {
    let sizes = detail::sizes(&read(image)?).map_err(|error| format!("{}: {error}", image.display()))?;
    super::print(&sizes, json, detail::show).map(|()| true).map_err(|error| error.to_string())
}

/// Shows the stages of a node.
fn show_stages(json: bool) -> Result<bool, String> {
    let stages = stages::sizes();
    super::print(&stages, json, stages::show).map(|()| true).map_err(|error| error.to_string())
}

/// Compares all boards, each against its limits.
fn compare(parts: &Parts, json: bool) -> Result<bool, String> {
    let mut table = Table { boards: Vec::new() };
    for board in &BOARDS {
        let image = super::image(board, parts)?;
        let limits = parts.are_default().then_some(board.limits);
        let failed = |error| format!("{}: {error}", image.display());
        let inspection = inspect(board, limits, &read(&image)?).map_err(failed)?;
        let Board { name, target, .. } = *board;
        let limits = limits.unwrap_or_else(|| board.memory());
        table.boards.push(Row { board: name, target, flash_limit: limits.flash, ram_limit: limits.ram, inspection });
    }
    super::print(&table, json, show).map_err(|error| error.to_string())?;
    let violations =
        table.boards.iter().flat_map(|row| row.inspection.violations.iter().map(move |text| (row.board, text)));
    let mut passed = true;
    for (board, text) in violations {
        eprintln!("{board}: {text}");
        passed = false;
    }
    Ok(passed)
}

fn read(image: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(image).map_err(|error| format!("{}: {error}", image.display()))
}

fn show(table: &Table) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "| board | flash | limit | RAM | limit |\n| --- | ---: | ---: | ---: | ---: |")?;
    for Row { board, flash_limit, ram_limit, inspection, .. } in &table.boards {
        let used = inspection.used;
        writeln!(out, "| {board} | {} | {flash_limit} | {} | {ram_limit} |", used.flash, used.ram)?;
    }
    Ok(())
}
