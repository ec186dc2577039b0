//! `conclave swarm`: real firmware on emulated boards.

use clap::Args;
use host_sim::boards::{App, Parts};
use host_sim::story::Story;
use host_sim::swarm::{self, Count, Image, NODES_MAX, Options, Report, SwarmError, setup};
use host_sim::{Scenario, TraceEvent};
use protocol::mandate::Mode;
use protocol::wire::Kind;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

/// What a shell calls a program that was interrupted.
const EXIT_INTERRUPTED: u8 = 130;

/// What `conclave swarm` is given.
#[derive(Args)]
pub(crate) struct SwarmArgs {
    /// How many nodes there are.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=i64::from(NODES_MAX)))]
    nodes: u32,
    /// How many of them, the last ones, are processes of this desktop instead of boards.
    #[arg(long, default_value_t = 0)]
    desktops: u32,
    /// Run this scenario instead of the built-in story.
    #[arg(long, value_name = "FILE", conflicts_with = "nodes")]
    scenario: Option<PathBuf>,
    /// Elect by this algorithm: an image is built that links it and no other.
    #[arg(long, value_name = "NAME")]
    election: Option<String>,
    /// Have the boards contend for a lock of this algorithm, and count under it.
    #[arg(long, value_name = "NAME")]
    mutex: Option<String>,
    /// Have the boards run this application, and check it: tokens, diffusing or clock.
    ///
    /// tokens: a bank, of which each board in turn takes snapshots that must find every token. diffusing: jobs that spread
    /// over the boards, whose end must be told to all when it is there. clock: boards that flash together, at every second
    /// of a clock they share. For example: conclave swarm --nodes 4 --app tokens
    #[arg(long, value_name = "NAME", conflicts_with = "mutex", value_parser = App::by_name)]
    app: Option<App>,
    /// The seed of capacities, places, losses and chance.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Print one JSON object and nothing else.
    #[arg(long)]
    json: bool,
}

enum Failure {
    /// The input or the system does not let us.
    Bad(String),
    Interrupted,
}

/// Runs; 0 if everything held, 1 if something did not, 2 for bad input or a system without what is needed.
pub(crate) fn run(args: &SwarmArgs) -> ExitCode {
    match report(args) {
        Ok(report) => {
            let shown = if args.json { super::show_json(&report) } else { show(&report) };
            match shown {
                Ok(()) if report.violations.is_empty() => ExitCode::SUCCESS,
                Ok(()) | Err(_) => ExitCode::FAILURE,
            }
        }
        Err(Failure::Bad(text)) => {
            eprintln!("{text}");
            ExitCode::from(2)
        }
        Err(Failure::Interrupted) => {
            eprintln!("interrupted; every board is switched off");
            ExitCode::from(EXIT_INTERRUPTED)
        }
    }
}

fn report(args: &SwarmArgs) -> Result<Report, Failure> {
    let bad = |error: &dyn std::fmt::Display| Failure::Bad(error.to_string());
    let interrupted = super::interrupts().map_err(|error| bad(&error))?;
    if args.desktops > 0 && (args.mutex.is_some() || args.app.is_some()) {
        return Err(Failure::Bad("nodes on this desktop have no locks and no applications".to_owned()));
    }
    let mut scenario = match (&args.scenario, args.app) {
        (Some(file), _) => Scenario::load(file).map_err(|error| bad(&error))?,
        (None, Some(app)) => swarm::app_scenario(app, args.nodes),
        (None, None) if args.mutex.is_some() => swarm::lock_scenario(args.nodes),
        (None, None) => swarm::default_scenario(args.nodes),
    };
    if let Some(name) = &args.election {
        scenario = scenario.with_election(name).map_err(|text| bad(&text))?;
    }
    if args.desktops > 0 && scenario.election != Kind::Wireless.name() {
        return Err(Failure::Bad("nodes on this desktop run the election \"wireless\" and no other".to_owned()));
    }
    swarm::check(&scenario).map_err(|error| bad(&error))?;
    let parts = parts(&scenario, args).map_err(|text| bad(&text))?;
    let image = build(&parts).map_err(|text| {
        // What was being run was interrupted as well, and failed.
        if interrupted.load(Ordering::Relaxed) { Failure::Interrupted } else { Failure::Bad(text) }
    })?;
    let options = Options {
        image,
        desktop: std::env::current_exe().map_err(|error| bad(&error))?,
        desktops: args.desktops.min(scenario.nodes),
        board_options: 0,
        app: parts.app,
        replay: replay(args),
    };
    eprintln!("switching on; boards: {}, desktop nodes: {}", scenario.nodes - options.desktops, options.desktops);
    let mut story = Story::new(scenario.nodes);
    let mut tell = |event: &TraceEvent| {
        if let Some(line) = story.line(event).filter(|_| !args.json) {
            let _ = writeln!(std::io::stdout(), "{line}"); // whoever closed it does not want to read on
        }
    };
    swarm::run(&scenario, args.seed, &options, &mut tell, |_, _| {}, &interrupted).map_err(|error| match error {
        SwarmError::Interrupted => Failure::Interrupted,
        SwarmError::Scenario(_) | SwarmError::Device(_) | SwarmError::Ended(_) => Failure::Bad(error.to_string()),
    })
}

/// What the boards of a scenario are built with.
fn parts(scenario: &Scenario, args: &SwarmArgs) -> Result<Parts, String> {
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
    if scenario.mode != Mode::Quorum || !scenario.is_group() {
        return Err("locks need an election in a group and mode = \"quorum\"".to_owned());
    }
    Ok(Parts { app: App::Counter, ..parts })
}

fn build(parts: &Parts) -> Result<Image, String> {
    let toolchain = setup::prepare(|command| eprintln!("setting up: {command}"))?;
    eprintln!("building the firmware");
    Image::build(parts, toolchain)
}

fn replay(args: &SwarmArgs) -> String {
    let what = args
        .scenario
        .as_ref()
        .map_or_else(|| format!("--nodes {}", args.nodes), |file| format!("--scenario {}", file.display()));
    let election = args.election.as_ref().map_or_else(String::new, |name| format!(" --election {name}"));
    let mutex = args.mutex.as_ref().map_or_else(String::new, |name| format!(" --mutex {name}"));
    let app = args.app.map_or_else(String::new, |app| format!(" --app {}", app.name()));
    format!("conclave swarm {what}{election}{mutex}{app} --seed {}", args.seed)
}

fn show(report: &Report) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let leader = report.leader.map_or_else(|| "nobody leads".to_owned(), |leader| format!("node {leader} leads"));
    let verdict = if report.leader_is_best {
        "of all that are up and in reach the best leads, and everybody knows"
    } else {
        "but NOT all that are up agree that the best in reach leads"
    };
    writeln!(out, "\n{leader}: {verdict}")?;
    for (name, measure) in &report.measures {
        let name = name.trim_end_matches("_us");
        let [p50, max] = [measure.p50, measure.max].map(|micros| micros as f64 / 1e6);
        writeln!(out, "  {name:<24} {p50:>8.3} s (half), {max:>8.3} s (longest of {})", measure.count)?;
    }
    if let Some(Count { grants, cut_short, total, .. }) = report.count {
        writeln!(out, "\nthe lock was granted {grants} times, and the counter says {total}")?;
        if cut_short > 0 {
            writeln!(out, "{cut_short} of its holders lost its power before it heard of its count")?;
        }
    }
    let tales: [Option<&dyn std::fmt::Display>; 3] = [
        report.bank.as_ref().map(|bank| bank as _),
        report.jobs.as_ref().map(|jobs| jobs as _),
        report.clock.as_ref().map(|clock| clock as _),
    ];
    for tale in tales.into_iter().flatten() {
        writeln!(out, "\n{tale}")?;
    }
    for violation in &report.violations {
        let seconds = violation.time as f64 / 1e6;
        writeln!(out, "\nVIOLATION {} at {seconds:.3} s: {}", violation.checker, violation.text)?;
        writeln!(out, "  again: {}", violation.command)?;
    }
    Ok(())
}
