//! `conclave serve`: the simulator in a page.

use crate::serve::{Server, Site};
use clap::Args;
use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

#[derive(Args)]
pub(super) struct ServeArgs {
    /// The port on 127.0.0.1; 0 for any that is free.
    #[arg(long, default_value_t = 8_047)]
    port: u16,
    /// Write the page's files to this folder, and serve nothing.
    #[arg(long, value_name = "DIR")]
    export: Option<PathBuf>,
    /// Do not open the page in a browser.
    #[arg(long)]
    no_open: bool,
}

pub(super) const EXAMPLES: &str = "Examples:
  conclave serve
  conclave serve --export public";

/// Serves until interrupted.
pub(super) fn run(args: &ServeArgs) -> super::Ended {
    let site = Site::build()?;
    if let Some(folder) = &args.export {
        site.export(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        super::print_line(format_args!("{}: the page, for any web server", folder.display()));
        return Ok(ExitCode::SUCCESS);
    }
    let failed = |error: io::Error| format!("127.0.0.1:{}: {error}", args.port);
    let server = Server::bind(args.port, site).map_err(failed)?;
    let interrupted = super::interrupts().map_err(failed)?;
    let address = format!("http://127.0.0.1:{}/", server.port());
    super::print_line(format_args!("{address} has the page; Ctrl-C ends it"));
    if !args.no_open && io::stdout().is_terminal() {
        open(&address);
    }
    server.run(&interrupted).map_err(failed)?;
    Ok(ExitCode::SUCCESS)
}

/// Opens an address in the user's browser; one who has none has the address.
fn open(address: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(program);
    let _ = command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
}
