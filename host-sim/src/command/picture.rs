//! What the commands that draw space-time diagrams share.

use clap::Args;
use host_sim::Scenario;
use host_sim::compare::{Clerk, Mail};
use host_sim::machine::Machine;
use host_sim::map::Ink;
use host_sim::peer::Actor;
use host_sim::run::Outcome;
use host_sim::spacetime::{History, Picture};
use host_sim::trace::{Observer, TraceEvent};
use protocol::wire::Stage;
use std::fmt::Write as _;
use std::io::{IsTerminal, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// How a picture is to be drawn.
#[derive(Args)]
pub(super) struct PictureArgs {
    /// Draw it into this file, too, as SVG. A file that is there is replaced.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Draw with letters that every terminal knows.
    #[arg(long)]
    ascii: bool,
}

/// What was seen of a run.
pub(super) struct Witness {
    pub(super) history: History,
    clerk: Clerk,
}

impl Observer for Witness {
    fn see(&mut self, event: &TraceEvent) {
        self.history.see(event);
    }

    fn read(&mut self, frame: &[u8]) {
        self.clerk.read(frame);
    }
}

impl Witness {
    /// Looks on while a scenario runs.
    pub(super) fn of(scenario: &Scenario, seed: u64) -> (Self, Outcome) {
        let clerk = Clerk::new(Actor::plan(scenario).key(), Stage::Upper);
        let mut witness = Self { history: History::default(), clerk };
        let outcome = host_sim::run::run::<Actor>(scenario, seed, &mut witness);
        (witness, outcome)
    }

    fn mail(&self) -> &Mail {
        self.clerk.mail()
    }

    /// How many messages of this word there were.
    pub(super) fn said(&self, word: &str) -> u64 {
        self.mail().said.get(word).copied().unwrap_or(0)
    }
}

/// A line of the table of costs.
pub(super) struct Cost {
    /// What was said.
    pub(super) what: &'static str,
    /// How often.
    pub(super) counted: u64,
    /// How often it should have been, in letters.
    pub(super) formula: String,
    /// The same as a number.
    pub(super) number: u64,
}

/// The table of costs.
pub(super) fn costs(lines: &[Cost]) -> String {
    let mut text = format!("\n{:<12} {:>8} {:>8}   formula\n", "messages", "counted", "expected");
    for Cost { what, counted, formula, number } in lines {
        let _ = writeln!(text, "{what:<12} {counted:>8} {number:>8}   {formula}");
    }
    text
}

/// A built-in scenario with a line of it changed.
pub(super) fn with_line(text: &str, line: &str, instead: &str) -> String {
    let line = format!("\n{line}\n");
    assert!(text.contains(&line), "a built-in scenario has the lines that are changed");
    text.replacen(&line, &format!("\n{instead}\n"), 1)
}

/// What a run came to.
pub(super) enum Verdict {
    Right,
    /// What is wrong with it.
    Wrong(String),
}

impl PictureArgs {
    /// Refuses a file that cannot be written, before anything is done.
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

    /// Draws a picture and prints it, with what is to be said below; 0 if all is right, 1 if not, 2 if it cannot be
    /// written.
    pub(super) fn show(&self, picture: &Picture<'_>, below: &str, verdict: &Verdict) -> ExitCode {
        let terminal = std::io::stdout().is_terminal();
        let ink = if self.ascii { Ink::Ascii } else { super::ink() };
        let drawn = picture.text(ink, terminal && console::colors_enabled());
        let mut text = match drawn {
            Ok(drawn) => format!("{}\n\n{drawn}", picture.title),
            Err(sentence) => format!("{}\n\n{sentence}\n", picture.title),
        };
        text += below;
        if let Some(path) = &self.svg {
            if let Err(error) = std::fs::write(path, picture.svg()) {
                eprintln!("{}: the picture cannot be written: {error}", path.display());
                return ExitCode::from(2);
            }
            let _ = writeln!(text, "\ndrawn into {}", path.display());
        }
        let mut out = std::io::stdout().lock();
        // Whoever closed the pipe does not want to read on; that is no failure.
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        match verdict {
            Verdict::Right => ExitCode::SUCCESS,
            Verdict::Wrong(sentence) => {
                eprintln!("{sentence}");
                ExitCode::FAILURE
            }
        }
    }
}

/// Refuses a number of nodes that cannot be.
pub(super) fn check_nodes(nodes: u64) -> Result<u32, String> {
    let most = host_sim::app::ACTORS_MAX as u64;
    match u32::try_from(nodes) {
        Ok(count) if (2..=most).contains(&nodes) => Ok(count),
        _ => Err(format!("--nodes must be from 2 to {most}, which {nodes} is not.")),
    }
}

/// Milliseconds with a digit behind the point.
pub(super) fn millis(micros: u64) -> String {
    format!("{:.1} ms", micros as f64 / 1e3)
}
