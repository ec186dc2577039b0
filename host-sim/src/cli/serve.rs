//! `conclave serve`: the simulator in a page, or a swarm of boards.

use super::boards::swarm::{BoardArgs, prepare};
use crate::play::{Play, overview};
use crate::serve::{Act, Feed, Live, Server, Site};
use crate::sim::world::World;
use crate::swarm::{self, BoardNode, Fleet, Options, SwarmError};
use crate::{Scenario, base::Micros};
use clap::Args;
use std::io::{self, IsTerminal as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

#[derive(Args)]
#[command(mut_group("BoardArgs", |group| group.requires("swarm")))]
pub(super) struct ServeArgs {
    /// The port; 0 for any that is free.
    #[arg(long, default_value_t = 8_047)]
    port: u16,
    /// Listen on this address instead of 127.0.0.1: then other machines can open the page.
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST), hide_default_value = true)]
    listen: IpAddr,
    /// Write the page's files to this folder, and serve nothing.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["swarm", "listen", "port"])]
    export: Option<PathBuf>,
    /// Do not open the page in a browser.
    #[arg(long)]
    no_open: bool,
    /// Boot emulated boards, or nodes of this desktop (--desktops), for the page to follow and to break.
    ///
    /// They run for an hour and without a fault, unless --scenario says something else. Who opens the page needs the
    /// token in the address that is printed.
    #[arg(long)]
    swarm: bool,
    #[command(flatten)]
    boards: BoardArgs,
}

pub(super) const EXAMPLES: &str = "Examples:
  conclave serve
  conclave serve --export public
  conclave serve --swarm --nodes 5";

/// How long a swarm runs that has no scenario of its own.
const SWARM_DURATION: Micros = 3_600_000_000;
/// How often pages get the time, and where nodes are if that has changed.
const ANNOUNCE_EVERY: Micros = 250_000;

/// Serves until interrupted.
pub(super) fn run(args: &ServeArgs) -> super::Ended {
    if let Some(folder) = &args.export {
        Site::build()?.export(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        super::print_line(format_args!("{}: the page, for any web server", folder.display()));
        return Ok(ExitCode::SUCCESS);
    }
    let address = SocketAddr::new(args.listen, args.port);
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::AddrInUse => format!("{address} is in use: choose another --port, or 0 for any that is free"),
        io::ErrorKind::AddrNotAvailable => format!("{} is no address of this machine", args.listen),
        _ => format!("{address}: {error}"),
    };
    // What is built takes long: an address that cannot be had is refused first.
    let listener = TcpListener::bind(address).map_err(failed)?;
    let site = Site::build()?;
    let interrupted = super::interrupts().map_err(failed)?;
    if !args.swarm {
        let server = Server::new(listener, site, None).map_err(failed)?;
        announce(args, &format!("http://{}/", server.address()), "the page");
        server.run(&interrupted).map_err(failed)?;
        return Ok(ExitCode::SUCCESS);
    }
    let (mut scenario, options) = prepare(&args.boards, &interrupted).map_err(|error| error.to_string())?;
    if args.boards.scenario.is_none() {
        "Boards that run now, for an hour at most.".clone_into(&mut scenario.about);
        scenario.world.faults.clear();
        scenario.world.duration = SWARM_DURATION;
    }
    let (sender, acts) = channel();
    let outline = Play::of(scenario.clone(), "", args.boards.seed).outline();
    let feed = Arc::new(Feed::new(&outline, sender));
    let live = Live::new(Arc::clone(&feed)).map_err(failed)?;
    let token = live.token().to_owned();
    let server = Server::new(listener, site, Some(live)).map_err(failed)?;
    announce(args, &format!("http://{}/#swarm={token}", server.address()), "the swarm");
    thread::scope(|scope| {
        scope.spawn(|| follow(&scenario, args.boards.seed, &options, &feed, acts, &interrupted));
        server.run(&interrupted).map_err(failed)
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the address, and opens it in the user's browser.
fn announce(args: &ServeArgs, address: &str, what: &str) {
    super::print_line(format_args!("{address} has {what}; Ctrl-C ends it"));
    if !args.no_open && io::stdout().is_terminal() {
        open(address);
    }
}

/// Runs a swarm, sends its events to all pages, and injects the faults that their readers ask for.
fn follow(
    scenario: &Scenario,
    seed: u64,
    options: &Options,
    feed: &Feed,
    acts: Receiver<Act>,
    interrupted: &AtomicBool,
) {
    let mut read = vec![0; scenario.world.nodes as usize];
    let mut announced = 0;
    let mut map = (Vec::new(), None);
    let mut meanwhile = |now: Micros, fleet: &Fleet, world: &World<BoardNode>| {
        for (node, read) in (0..).zip(&mut read) {
            let lines = fleet.lines(node, *read);
            *read += lines.len();
            for line in lines {
                feed.log(line.at, node, &line.text);
            }
        }
        if now >= announced + ANNOUNCE_EVERY {
            announced = now;
            feed.time(now);
            let shown = (overview::rows(world, scenario.horizon()), Some(world.topology_version()));
            if map != shown {
                feed.map(now, &shown.0, &overview::links(world));
                map = shown;
            }
        }
    };
    // Its end is the end of acts.
    let mut next_act = move |at: Micros, number: u32| {
        let Act { fault, answer } = acts.try_recv().ok()?;
        let step = swarm::act(scenario, &fault, at, number);
        let _ = answer.send(step.as_ref().map(|_| at).map_err(Clone::clone)); // who asked may be gone
        step.ok()
    };
    let mut observer = feed;
    let ended =
        swarm::run_with_acts(scenario, seed, options, &mut observer, &mut meanwhile, &mut next_act, interrupted);
    let how = match ended {
        Ok(report) if report.violations.is_empty() => "the swarm has run to its end".to_owned(),
        Ok(report) => format!("the swarm has run to its end; violations: {}", report.violations.len()),
        Err(SwarmError::Interrupted) => return,
        Err(error) => error.to_string(),
    };
    eprintln!("{how}");
    feed.end(&how);
}

/// Opens an address in the user's browser; one who has none has the address.
fn open(address: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(program);
    let _ = command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
}
