//! `conclave sizes`: the use of a board's flash and RAM, and the inspection of every image.

mod detail;
mod stages;

use crate::boards::{BOARDS, Board, Inspection, Parts, in_file};
use clap::Args;
use serde::Serialize;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

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

#[derive(Serialize)]
struct Table {
    boards: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    board: &'static str,
    target: &'static str,
    flash_limit: u64,
    ram_limit: u64,
    #[serde(flatten)]
    inspection: Inspection,
}

/// Measures; returns 0 if all images pass inspection, 1 if one does not.
pub(super) fn run(args: &SizesArgs) -> super::Ended {
    if args.stages {
        return print(&stages::sizes(), args.json, |sizes| out(&stages::table(sizes)));
    }
    let parts = args.parts.parts();
    let image = match (&args.image, args.board) {
        (Some(image), _) => image.clone(),
        (None, Some(board)) => super::image(board, &parts?)?,
        (None, None) => return compare(&parts?, args.json),
    };
    let sizes = fs::read(&image).map_err(|error| error.to_string()).and_then(|elf| detail::sizes(&elf));
    print(&sizes.map_err(in_file(&image))?, args.json, detail::show)
}

/// The RAM of each stage, as text.
pub(in crate::cli) fn stages_table() -> String {
    stages::table(&stages::sizes())
}

/// The images of all boards with these parts, as text. One that does not pass inspection is an error.
pub(in crate::cli) fn table_of(parts: &Parts) -> Result<String, String> {
    let table = measure(parts)?;
    match table.violations().next() {
        Some((board, text)) => Err(format!("{board}: {text}")),
        None => Ok(text(&table)),
    }
}

impl Table {
    fn violations(&self) -> impl Iterator<Item = (&'static str, &String)> {
        self.boards.iter().flat_map(|row| row.inspection.violations.iter().map(|text| (row.board, text)))
    }
}

/// Builds and inspects the images of all boards.
fn measure(parts: &Parts) -> Result<Table, String> {
    let mut table = Table { boards: Vec::new() };
    for board in &BOARDS {
        let (.., inspection) = super::inspected(board, parts)?;
        let limits = if parts.are_default() { board.limits } else { board.memory() };
        let Board { name, target, .. } = *board;
        table.boards.push(Row { board: name, target, flash_limit: limits.flash, ram_limit: limits.ram, inspection });
    }
    Ok(table)
}

/// Compares all boards, each against its limits.
fn compare(parts: &Parts, json: bool) -> super::Ended {
    let table = measure(parts)?;
    print(&table, json, |table| out(&text(table)))?;
    for (board, text) in table.violations() {
        eprintln!("{board}: {text}");
    }
    let passed = table.violations().next().is_none();
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print<R: Serialize>(report: &R, json: bool, text: fn(&R) -> io::Result<()>) -> super::Ended {
    super::print(report, json, text).map(|()| ExitCode::SUCCESS).map_err(|error| error.to_string())
}

fn out(text: &str) -> io::Result<()> {
    io::stdout().lock().write_all(text.as_bytes())
}

fn text(table: &Table) -> String {
    let mut text = String::from("| board | flash | limit | RAM | limit |\n| --- | ---: | ---: | ---: | ---: |\n");
    for Row { board, flash_limit, ram_limit, inspection, .. } in &table.boards {
        let used = inspection.used;
        let _ = writeln!(text, "| {board} | {} | {flash_limit} | {} | {ram_limit} |", used.flash, used.ram);
    }
    text
}
