//! `conclave swarm`: real firmware on emulated boards.

use crate::boards::{App, Parts, toolchain};
use crate::check;
use crate::metrics::seeds::Violation;
use crate::swarm::{self, Count, Entry, Fleet, Image, NODES_MAX, Options, Report, SwarmError};
use crate::trace::Observer;
use crate::trace::narrator::{Narrator, time};
use crate::{Scenario, TraceEvent};
use clap::Args;
use protocol::base::quorum::Mode;
use protocol::election::Wireless;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Args)]
pub(crate) struct SwarmArgs {
    #[command(flatten)]
    boards: BoardArgs,
    /// Print one JSON object and nothing else.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    files: super::FileArgs,
}

/// Which boards there are, and what they run.
#[derive(Args)]
pub(crate) struct BoardArgs {
    /// The number of nodes.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=i64::from(NODES_MAX)))]
    nodes: u32,
    /// How many of them, the last ones, run as processes of this desktop instead of on boards.
    #[arg(long, default_value_t = 0)]
    desktops: u32,
    /// Run this scenario, a file or a shipped one by its name, instead of the built-in one.
    #[arg(long, value_name = "SCENARIO", conflicts_with = "nodes")]
    pub(in crate::cli) scenario: Option<PathBuf>,
    /// The election algorithm, the only one in the image.
    #[arg(long, value_name = "NAME")]
    election: Option<String>,
    /// Have the boards contend for a lock with this algorithm, and increment a counter while they hold it.
    #[arg(long, value_name = "NAME")]
    mutex: Option<String>,
    /// Have the boards run this application, and check it: tokens, diffusing, clock or uplink.
    ///
    /// tokens: a bank; each board in turn takes snapshots, which must find every token. diffusing: jobs that spread
    /// over the boards; their termination must be announced to all, and not too early. clock: boards that flash
    /// together at every second of a shared clock. uplink: sensors whose readings the leader publishes at an MQTT broker;
    /// the gateway is killed, paused and cut off, and a consumer must accept each stored reading once.
    #[arg(long, value_name = "NAME", conflicts_with = "mutex", value_parser = App::by_name)]
    app: Option<App>,
    /// Boot this image instead of building one: firmware of your own for the board mps2-an385.
    ///
    /// Lines of its log that are no reports of its node are printed. Its election is bully, unless --election names
    /// another. The folder template/board has such firmware.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["mutex", "app", "desktops"])]
    image: Option<PathBuf>,
    /// The seed of capacities, positions and losses.
    #[arg(long, default_value_t = 0)]
    pub(in crate::cli) seed: u64,
}

pub(super) const EXAMPLES: &str = "Examples:
  conclave swarm
  conclave swarm --nodes 3 --election bully --mutex central
  conclave swarm --nodes 4 --app tokens --pcap frames.pcapng
  conclave swarm --nodes 3 --desktops 3";

/// Runs the swarm; returns 0 if no checker found a violation, 1 if one did.
pub(super) fn run(args: &SwarmArgs) -> super::Ended {
    match report(args) {
        Ok(report) => Ok(super::report(&report, args.json, show, report.violations.is_empty())),
        Err(SwarmError::Interrupted) => {
            eprintln!("interrupted; every board is switched off");
            Ok(ExitCode::from(super::EXIT_INTERRUPTED))
        }
        Err(error) => Err(error.to_string()),
    }
}

/// Chooses the scenario, and builds the image.
pub(in crate::cli) fn prepare(args: &BoardArgs, interrupted: &AtomicBool) -> Result<(Scenario, Options), SwarmError> {
    if args.desktops > 0 && (args.mutex.is_some() || args.app.is_some()) {
        return Err(refused("nodes on this desktop have no locks and no applications"));
    }
    let mut scenario = match (&args.scenario, args.app) {
        (Some(file), _) => Scenario::find(file, check::OF_LOCKS).map_err(refused)?,
        (None, Some(app)) => swarm::app_scenario(app, args.nodes),
        (None, None) if args.image.is_some() => swarm::own_scenario(args.nodes),
        (None, None) if args.mutex.is_some() => swarm::lock_scenario(args.nodes),
        (None, None) => swarm::default_scenario(args.nodes),
    };
    if let Some(name) = &args.election {
        scenario = scenario.with_election(name).map_err(refused)?;
    }
    if args.desktops > 0 && scenario.election != Wireless::NAME {
        return Err(refused("nodes on this desktop run the election \"wireless\" and no other"));
    }
    if args.desktops > scenario.world.nodes {
        let (desktops, nodes) = (args.desktops, scenario.world.nodes);
        return Err(refused(format_args!("--desktops {desktops} is more than the {nodes} nodes there are")));
    }
    let parts = parts(&scenario, args).map_err(refused)?;
    swarm::check(&scenario, parts.app)?;
    // The interrupt also ended the compiler.
    let failed = |text| if interrupted.load(Ordering::Relaxed) { SwarmError::Interrupted } else { refused(text) };
    let options = Options {
        image: match &args.image {
            Some(file) => {
                Image::open(file.clone()).and_then(|image| toolchain::prepare_emulator().map(|()| Some(image)))
            }
            None if args.desktops == scenario.world.nodes => Ok(None), // no board runs
            None => build(&parts).map(Some),
        }
        .map_err(failed)?,
        desktop: std::env::current_exe().map_err(refused)?,
        desktops: args.desktops,
        board_options: 0,
        app: parts.app,
        replay: replay(args),
    };
    Ok((scenario, options))
}

fn report(args: &SwarmArgs) -> Result<Report, SwarmError> {
    let interrupted = super::interrupts().map_err(refused)?;
    let (scenario, options) = prepare(&args.boards, &interrupted)?;
    eprintln!("booting; boards: {}, desktop nodes: {}", scenario.world.nodes - options.desktops, options.desktops);
    let files = args.files.create(&scenario).map_err(refused)?;
    let mut observers = Observers { narrator: Narrator::new(scenario.world.nodes), quiet: args.json, files };
    let mut own_lines = OwnLines(vec![0; scenario.world.nodes as usize]);
    let mut meanwhile = |_, fleet: &Fleet| {
        if args.boards.image.is_some() && !args.json {
            own_lines.print(fleet);
        }
    };
    let report = swarm::run(&scenario, args.boards.seed, &options, &mut observers, &mut meanwhile, &interrupted);
    observers.files.finish().map_err(refused)?;
    report
}

/// Narrates a run, and writes its files.
struct Observers<'a> {
    narrator: Narrator,
    quiet: bool,
    files: super::Files<'a>,
}

impl Observer for Observers<'_> {
    fn observe(&mut self, event: &TraceEvent) {
        if let Some(line) = self.narrator.line(event).filter(|_| !self.quiet) {
            let _ = writeln!(std::io::stdout(), "{line}"); // a reader may close the pipe
        }
        self.files.observe(event);
    }

    fn on_frame(&mut self, frame: &[u8]) {
        self.files.on_frame(frame);
    }
}

/// How many lines of each board's log were read.
struct OwnLines(Vec<usize>);

impl OwnLines {
    /// Prints the new lines that the image itself has written.
    fn print(&mut self, fleet: &Fleet) {
        for (node, read) in (0..).zip(&mut self.0) {
            let lines = fleet.lines(node, *read);
            *read += lines.len();
            for Entry { at, text, .. } in lines.iter().filter(|line| line.report().is_none()) {
                super::print_line(format_args!("{} node {node} logs: {text}", time(*at)));
            }
        }
    }
}

/// Bad input, or a missing tool.
fn refused(reason: impl std::fmt::Display) -> SwarmError {
    SwarmError::Refused(reason.to_string())
}

fn parts(scenario: &Scenario, args: &BoardArgs) -> Result<Parts, String> {
    let parts = Parts::choose(Some(&scenario.election), args.mutex.as_deref())?;
    if let Some(app) = args.app {
        if !scenario.is_group() {
            return Err("an application needs an election in a group, such as bully".to_owned());
        }
        return Ok(Parts { app, ..parts });
    }
    if args.mutex.is_none() {
        return Ok(parts);
    }
    if scenario.world.mode != Mode::Quorum || !scenario.is_group() {
        return Err("locks need an election in a group and mode = \"quorum\"".to_owned());
    }
    Ok(Parts { app: App::Counter, ..parts })
}

fn build(parts: &Parts) -> Result<Image, String> {
    let toolchain = toolchain::prepare()?;
    eprintln!("building the firmware");
    Image::build(parts, toolchain)
}

fn replay(args: &BoardArgs) -> String {
    let BoardArgs { nodes, scenario, election, mutex, app, image, seed, .. } = args;
    let scenario =
        scenario.as_ref().map_or_else(|| format!("--nodes {nodes}"), |file| format!("--scenario {}", file.display()));
    let part = |flag, name: Option<&str>| name.map_or_else(String::new, |name| format!(" --{flag} {name}"));
    let [election, mutex] = [part("election", election.as_deref()), part("mutex", mutex.as_deref())];
    let app = part("app", app.map(App::name));
    let image = image.as_ref().map_or_else(String::new, |file| format!(" --image {}", file.display()));
    format!("conclave swarm {scenario}{election}{mutex}{app}{image} --seed {seed}")
}

fn show(report: &Report) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let leader = report.leader.map_or_else(|| "nobody leads".to_owned(), |leader| format!("node {leader} leads"));
    let verdict = if report.leader_is_best {
        "it is the best node that is up and reachable, and all nodes follow it"
    } else {
        "but NOT all nodes that are up follow the best that is reachable"
    };
    writeln!(out, "\n{leader}: {verdict}")?;
    for (name, distribution) in &report.measures {
        let name = name.trim_end_matches("_us");
        let [p50, max] = [distribution.p50, distribution.max].map(|micros| micros as f64 / 1e6);
        writeln!(out, "  {name:<24} {p50:>8.3} s (p50), {max:>8.3} s (max of {})", distribution.count)?;
    }
    if let Some(Count { grants, cut_short, total, .. }) = report.count {
        writeln!(out, "\nthe lock was granted {grants} times, and the counter is at {total}")?;
        if cut_short > 0 {
            writeln!(out, "{cut_short} of its holders lost power before its increment was confirmed")?;
        }
    }
    let summaries: [Option<&dyn std::fmt::Display>; 4] = [
        report.bank.as_ref().map(|bank| bank as _),
        report.jobs.as_ref().map(|jobs| jobs as _),
        report.clock.as_ref().map(|clock| clock as _),
        report.uplink.as_ref().map(|uplink| uplink as _),
    ];
    for summary in summaries.into_iter().flatten() {
        writeln!(out, "\n{summary}")?;
    }
    for Violation { time, checker, text, command, .. } in &report.violations {
        writeln!(out, "\nVIOLATION {checker} at {:.3} s: {text}\n  replay: {command}", *time as f64 / 1e6)?;
    }
    if let Some(overload) = report.overload() {
        writeln!(out, "\n{overload}")?;
    }
    Ok(())
}
