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

use host_sim::map::Ink;
use std::io::Write as _;

/// What an image is to be built with.
#[cfg(unix)]
#[derive(clap::Args)]
pub(crate) struct PartsArgs {
    /// Elect by this algorithm, and link no other.
    #[arg(long, value_name = "NAME")]
    election: Option<String>,
    /// Lock by this algorithm; without this, the image only elects.
    #[arg(long, value_name = "NAME")]
    mutex: Option<String>,
    /// Put this on top of the node: tokens, diffusing or clock. With `clock` the lights of all boards flash together.
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

/// What this terminal, or whoever reads what is printed, can show.
pub(crate) fn ink() -> Ink {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let terminal = set("TERM").unwrap_or_default();
    // Where nothing says which letters there are, terminals of today know all of them; multiplexers do not say so.
    let fine = match ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set) {
        Some(locale) => locale.to_lowercase().replace('-', "").contains("utf8"),
        None => !["screen", "tmux"].iter().any(|name| terminal.starts_with(name)),
    };
    if fine && terminal != "linux" { Ink::Fine } else { Ink::Ascii }
}

/// Prints a report as one JSON object.
pub(crate) fn show_json(report: &impl serde::Serialize) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    serde_json::to_writer(&mut out, report)?;
    writeln!(out)
}

/// Becomes true when the user wants us to end: an interrupt at the terminal, a polite request, a closed window.
#[cfg(unix)]
pub(crate) fn interrupts() -> std::io::Result<std::sync::Arc<std::sync::atomic::AtomicBool>> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let interrupted = std::sync::Arc::default();
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, std::sync::Arc::clone(&interrupted))?;
    }
    Ok(interrupted)
}

/// What a command ends with: 0, or a sentence and 2.
#[cfg(unix)]
pub(crate) fn end(result: Result<(), String>) -> std::process::ExitCode {
    match result {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(text) => {
            eprintln!("{text}");
            std::process::ExitCode::from(2)
        }
    }
}

/// Builds the image of a board, with what that needs.
#[cfg(unix)]
pub(crate) fn image(
    board: &host_sim::boards::Board,
    parts: &host_sim::boards::Parts,
) -> Result<std::path::PathBuf, String> {
    let toolchain = board.prepare(|command| eprintln!("setting up: {command}"))?;
    eprintln!("building the image of {}", board.name);
    host_sim::boards::build(board, parts, toolchain)
}
