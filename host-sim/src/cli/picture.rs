//! Shared code of the commands that draw space-time diagrams.

use crate::Scenario;
use crate::compare::MessageCounter;
use crate::draw::map::Charset;
use crate::draw::spacetime::{History, Picture};
use crate::metrics::run::Outcome;
use crate::nodes::ScenarioNode;
use crate::nodes::protocol_node::AppNode;
use crate::trace::{Observer, TraceEvent};
use clap::Args;
use protocol::wire::Stage;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// How to draw the picture.
#[derive(Args)]
pub(super) struct PictureArgs {
    /// Also draw it into this file, as SVG. An existing file is replaced.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Draw with ASCII characters only.
    #[arg(long)]
    ascii: bool,
}

/// The history and the messages of a run.
pub(super) struct Witness {
    pub(super) history: History,
    counter: MessageCounter,
}

impl Observer for Witness {
    fn observe(&mut self, event: &TraceEvent) {
        self.history.observe(event);
    }

    fn on_frame(&mut self, frame: &[u8]) {
        self.counter.read(frame);
    }
}

impl Witness {
    pub(super) fn of(scenario: &Scenario, seed: u64) -> (Self, Outcome) {
        let counter = MessageCounter::new(<AppNode as ScenarioNode>::plan(scenario).key(), Stage::Service);
        let mut witness = Self { history: History::default(), counter };
        let outcome = crate::metrics::run::run_of(scenario, seed, &mut witness);
        (witness, outcome)
    }

    /// Returns how many messages of this name were sent.
    pub(super) fn count(&self, name: &str) -> u64 {
        self.counter.count.by_name.get(name).copied().unwrap_or(0)
    }
}

pub(super) struct Cost {
    pub(super) message: &'static str,
    pub(super) counted: u64,
    pub(super) expected: u64,
    pub(super) formula: String,
}

pub(super) fn costs(lines: &[Cost]) -> String {
    let mut text = format!("\n{:<12} {:>8} {:>8}   formula\n", "messages", "counted", "expected");
    for Cost { message, counted, expected, formula } in lines {
        let _ = writeln!(text, "{message:<12} {counted:>8} {expected:>8}   {formula}");
    }
    text
}

/// Returns a built-in scenario with one line replaced.
pub(super) fn with_line(text: &str, line: &str, instead: &str) -> String {
    let line = format!("\n{line}\n");
    assert!(text.contains(&line), "a built-in scenario has the lines to be replaced");
    text.replacen(&line, &format!("\n{instead}\n"), 1)
}

/// Whether a run is correct, or in a sentence what is wrong.
pub(super) type Check = Result<(), String>;

/// Passes if no checker found a violation.
pub(super) fn no_finding(outcome: &Outcome) -> Check {
    outcome.findings.first().map_or(Ok(()), |finding| Err(format!("{}: {}", finding.checker, finding.text)))
}

impl PictureArgs {
    /// Refuses a file that cannot be written, before the run.
    pub(super) fn check(&self) -> Result<(), String> {
        let Some(path) = &self.svg else { return Ok(()) };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !folder.is_dir() {
            let (path, folder) = (path.display(), folder.display());
            return Err(format!("{path}: there is no folder {folder}: make it first, or name another file."));
        }
        if path.is_dir() {
            return Err(format!("{}: this is a folder: name a file in it.", path.display()));
        }
        Ok(())
    }

    /// Prints a picture with the text below it; returns 0 if the run is correct, 1 if not.
    pub(super) fn show(&self, picture: &Picture<'_>, below: &str, check: Check) -> super::Ended {
        let charset = if self.ascii { Charset::Ascii } else { super::charset() };
        let drawn = picture.text(charset, super::colours()).unwrap_or_else(|sentence| sentence + "\n");
        let mut text = format!("{}\n\n{drawn}{below}", picture.title);
        if let Some(path) = &self.svg {
            let failed = |error| format!("{}: the picture cannot be written: {error}", path.display());
            std::fs::write(path, picture.svg()).map_err(failed)?;
            let _ = writeln!(text, "\ndrawn into {}", path.display());
        }
        super::print_text(&text);
        Ok(match check {
            Ok(()) => ExitCode::SUCCESS,
            Err(sentence) => {
                eprintln!("{sentence}");
                ExitCode::FAILURE
            }
        })
    }
}

/// Refuses an impossible number of nodes.
pub(super) fn check_nodes(nodes: u64) -> Result<u32, String> {
    super::in_range("--nodes", nodes, &(2..=crate::workload::apps::APP_GROUP_MAX as u32))
}

/// A time in milliseconds, with one decimal.
pub(super) fn millis(micros: u64) -> String {
    format!("{:.1} ms", micros as f64 / 1e3)
}
