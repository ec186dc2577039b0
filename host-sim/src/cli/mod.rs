//! The commands, one file each.

pub(crate) mod compare;
pub(crate) mod demo;
#[cfg(unix)]
pub(crate) mod firmware;
#[cfg(unix)]
pub(crate) mod flash_board;
#[cfg(unix)]
pub(crate) mod node;
mod picture;
#[cfg(unix)]
pub(crate) mod provision;
pub(crate) mod run;
#[cfg(unix)]
pub(crate) mod sizes;
pub(crate) mod snapshot;
#[cfg(unix)]
pub(crate) mod swarm;
pub(crate) mod terminate;

use host_sim::draw::map::Charset;
use indicatif::{ProgressBar, ProgressStyle};
use std::fmt::Display;
use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;

/// The exit code of an interrupted program, as shells give it.
const EXIT_INTERRUPTED: u8 = 130;

/// The algorithms and the application of an image.
#[cfg(unix)]
#[derive(clap::Args)]
pub(crate) struct PartsArgs {
    /// The election algorithm, the only one in the image.
    #[arg(long, value_name = "NAME")]
    election: Option<String>,
    /// The lock algorithm; without it, the image has no locks.
    #[arg(long, value_name = "NAME")]
    mutex: Option<String>,
    /// The application: tokens, diffusing or clock. With `clock` the LEDs of all boards flash together.
    #[arg(long, value_name = "NAME", value_parser = host_sim::boards::App::by_name)]
    app: Option<host_sim::boards::App>,
}

#[cfg(unix)]
impl PartsArgs {
    fn parts(&self) -> Result<host_sim::boards::Parts, String> {
        let parts = host_sim::boards::Parts::choose(self.election.as_deref(), self.mutex.as_deref())?;
        Ok(host_sim::boards::Parts { app: self.app.unwrap_or_default(), ..parts })
    }
}

/// Returns the character set that the terminal can show.
pub(crate) fn charset() -> Charset {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let terminal = set("TERM").unwrap_or_default();
    // Without a locale, a terminal is taken to know Unicode; a multiplexer may run on one that does not.
    let unicode = match ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set) {
        Some(locale) => locale.to_lowercase().replace('-', "").contains("utf8"),
        None => !["screen", "tmux"].iter().any(|name| terminal.starts_with(name)),
    };
    if unicode && terminal != "linux" { Charset::Unicode } else { Charset::Ascii }
}

/// Prints a report: as one JSON object, or as text.
pub(crate) fn print<R: serde::Serialize>(
    report: &R,
    json: bool,
    text: impl FnOnce(&R) -> io::Result<()>,
) -> io::Result<()> {
    if !json {
        return text(report);
    }
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, report)?;
    writeln!(out)
}

/// Prints text. A reader that closes the pipe is no failure.
pub(crate) fn print_text(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Returns 0 if the report was printed and holds, otherwise 1.
pub(crate) fn exit_if(printed: &io::Result<()>, holds: bool) -> ExitCode {
    if printed.is_ok() && holds { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Prints why the command cannot run; returns the exit code 2.
pub(crate) fn refuse(reason: impl Display) -> ExitCode {
    eprintln!("{reason}");
    ExitCode::from(2)
}

/// Returns a progress bar of `len` steps, hidden unless standard error is a terminal.
pub(crate) fn progress(len: u64, template: &str) -> ProgressBar {
    let bar = if len > 1 && io::stderr().is_terminal() { ProgressBar::new(len) } else { ProgressBar::hidden() };
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// Returns a flag that becomes true on SIGINT, SIGTERM or SIGHUP.
#[cfg(unix)]
pub(crate) fn interrupts() -> io::Result<std::sync::Arc<std::sync::atomic::AtomicBool>> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let interrupted = std::sync::Arc::default();
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, std::sync::Arc::clone(&interrupted))?;
    }
    Ok(interrupted)
}

/// Returns 0, or prints the error and returns 2.
#[cfg(unix)]
pub(crate) fn exit_code(result: Result<(), String>) -> ExitCode {
    result.map_or_else(refuse, |()| ExitCode::SUCCESS)
}

/// Builds the image of a board, after setting up the toolchain.
#[cfg(unix)]
pub(crate) fn image(
    board: &host_sim::boards::Board,
    parts: &host_sim::boards::Parts,
) -> Result<std::path::PathBuf, String> {
    let toolchain = board.prepare_toolchain(|command| eprintln!("setting up: {command}"))?;
    eprintln!("building the image of {}", board.name);
    host_sim::boards::build(board, parts, toolchain)
}
