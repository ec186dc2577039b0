//! The commands, one file each.

pub(crate) mod compare;
pub(crate) mod demo;
#[cfg(unix)]
pub(crate) mod node;
pub(crate) mod run;
#[cfg(unix)]
pub(crate) mod sizes;
#[cfg(unix)]
pub(crate) mod swarm;

use std::io::Write as _;

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
