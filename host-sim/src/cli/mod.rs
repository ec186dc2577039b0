//! The command line: one file for each command.

#[cfg(unix)]
mod boards;
mod campaign;
mod check;
mod compare;
mod demo;
mod dissector;
mod files;
mod merge;
mod picture;
mod report;
mod results;
mod run;
mod scenarios;
mod screen;
#[cfg(unix)]
mod serve;
mod shards;
mod snapshot;
mod terminate;
#[cfg(unix)]
mod watch;

use crate::base::nearest::unknown;
use crate::draw::map::Charset;
use clap::{Parser, Subcommand};
use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};
use std::io::{self, IsTerminal as _, Write as _};
use std::ops::RangeInclusive;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The exit code of an interrupted program, as shells give it.
const EXIT_INTERRUPTED: u8 = 130;

/// Agreement for swarms of microcontrollers, simulated and on boards.
#[derive(Parser)]
#[command(name = "conclave", version, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    demo: demo::DemoArgs,
}

#[derive(Subcommand)]
enum Command {
    /// Plays an election on a small simulated radio network (the default command).
    Demo(demo::DemoArgs),
    /// Runs a scenario, once or over many seeds.
    #[command(after_help = run::EXAMPLES)]
    Run(run::RunArgs),
    /// Draws scenarios at random, runs each with every checker, and shrinks what fails.
    ///
    /// A scenario follows from the campaign's seed and its number: elections, locks, applications, topologies, media and
    /// faults that the documents promise something about. Each ends with a calm stretch, in which liveness is judged. One
    /// with a violation is shrunk and written to a file, with the command that replays it.
    #[command(after_help = campaign::EXAMPLES)]
    Campaign(campaign::CampaignArgs),
    /// Explores every order of events of a few nodes, on the state machines that run on boards.
    ///
    /// Messages are lost, duplicated, delayed and reordered, nodes crash, reboot with their records and without them and
    /// are suspected without reason, between any two steps. Checked in every state: no term has two leaders, no two nodes
    /// hold a lock, fences grow, nobody waits for ever, snapshots and terminations are true. The shortest run that breaks
    /// a property is drawn. If there is one, the exit code is 1.
    #[command(after_help = check::EXAMPLES)]
    Check(check::CheckArgs),
    /// Reports on a run or a campaign whose parts ran on many machines.
    ///
    /// Prints what one machine would have printed. Refuses files of another program, another scenario or other seeds,
    /// and files in which a seed is missing or is there twice.
    #[command(after_help = merge::EXAMPLES)]
    Merge(merge::MergeArgs),
    /// Lists the scenarios that ship with the program.
    Scenarios(scenarios::ScenariosArgs),
    /// Compares algorithms with each other and with the textbooks' formulas.
    Compare(compare::CompareArgs),
    /// Opens the simulator in a page, to watch and to break.
    ///
    /// The page is served to this machine alone, unless --listen says something else, and needs nothing but its files:
    /// the simulator itself runs in it. `--export` leaves the same files in a folder, for any web server. `--swarm` boots
    /// boards for the page to follow.
    #[cfg(unix)]
    #[command(after_help = serve::EXAMPLES)]
    Serve(serve::ServeArgs),
    /// Plots what scenarios and comparisons measured, in one page and as comma-separated values.
    #[command(after_help = report::EXAMPLES)]
    Report(report::ReportArgs),
    /// Takes a snapshot of a running bank, and draws it
    ///
    /// The real nodes run in the simulator and pass tokens to each other; a message takes 1 to 10 ms.
    /// After some seconds one node begins a snapshot with the algorithm of Chandy and Lamport.
    ///
    /// The picture has a column for each node, and time runs downwards. The line of a node changes where
    /// the cut passes it. A message that crosses the cut is in flight, and part of the snapshot; none is
    /// sent after the cut and received before it. Below, the states and the messages in flight are summed:
    /// no token is missing, and none counts twice. If that is not so, the exit code is 1.
    #[command(verbatim_doc_comment)]
    Snapshot(snapshot::SnapshotArgs),
    /// Runs a diffusing job, detects its termination, and draws it
    ///
    /// The real nodes run in the simulator. One of them starts a job; while it works it passes units of work
    /// to others, which do the same. The job is over when all nodes are idle and no work is in flight, which
    /// no single node can see. It is detected by waves of queries from another node, or by acknowledging all
    /// work along a tree, as Dijkstra and Scholten do.
    ///
    /// The picture has a column for each node, and time runs downwards. It shows the busy nodes, the waves,
    /// the true end of the job, and when each node knew of it. If that was too early, or never, the exit
    /// code is 1.
    #[command(verbatim_doc_comment)]
    Terminate(terminate::TerminateArgs),
    /// Measures everything on the page of results, and prints that page.
    #[command(after_help = results::EXAMPLES)]
    Results(results::ResultsArgs),
    /// Prints the script with which Wireshark and tshark read captures of `run --pcap`.
    #[command(after_help = dissector::EXAMPLES)]
    Dissector(dissector::DissectorArgs),
    /// Prints the completions of a shell, to be sourced by it.
    #[command(after_help = COMPLETIONS)]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Prints a page of the manual, for man.
    #[command(after_help = MAN)]
    Man {
        /// The command that the page is about; without it, the page is about the program.
        command: Option<String>,
    },
    #[cfg(unix)]
    #[command(flatten)]
    Boards(boards::BoardCommand),
}

/// Runs the command that the arguments of this process name; returns its exit code.
#[must_use]
pub fn main() -> ExitCode {
    let Cli { command, demo } = Cli::parse();
    let ended = match command.unwrap_or(Command::Demo(demo)) {
        Command::Demo(args) => Ok(demo::run(&args)),
        Command::Run(args) => run::run(&args),
        Command::Campaign(args) => campaign::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Merge(args) => merge::run(&args),
        Command::Scenarios(args) => scenarios::run(&args),
        Command::Compare(args) => compare::run(&args),
        #[cfg(unix)]
        Command::Serve(args) => serve::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Snapshot(args) => snapshot::run(&args),
        Command::Terminate(args) => terminate::run(&args),
        Command::Results(args) => results::run(&args),
        Command::Dissector(args) => dissector::run(&args),
        Command::Completions { shell } => Ok(completions(shell)),
        Command::Man { command } => man(command.as_deref()),
        #[cfg(unix)]
        Command::Boards(command) => boards::run(&command),
    };
    ended.unwrap_or_else(|reason| {
        eprintln!("{reason}");
        ExitCode::from(2)
    })
}

const COMPLETIONS: &str = "Examples:
  conclave completions bash > ~/.local/share/bash-completion/completions/conclave
  conclave completions fish > ~/.config/fish/completions/conclave.fish";

fn completions(shell: clap_complete::Shell) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut <Cli as clap::CommandFactory>::command(), "conclave", &mut script);
    print_text(&String::from_utf8_lossy(&script));
    ExitCode::SUCCESS
}

const MAN: &str = "Examples:
  conclave man > ~/.local/share/man/man1/conclave.1
  conclave man run > ~/.local/share/man/man1/conclave-run.1";

fn man(command: Option<&str>) -> Ended {
    let mut program = <Cli as clap::CommandFactory>::command();
    program.build();
    let about = match command {
        None => program,
        Some(name) => {
            let shown = program.get_subcommands().filter(|command| !command.is_hide_set());
            let names: Vec<&str> = shown.map(clap::Command::get_name).collect();
            let found = program.find_subcommand(name).cloned();
            found.ok_or_else(|| unknown("command", name, names.into_iter()))?
        }
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(about).render(&mut page).map_err(|error| error.to_string())?;
    print_text(&String::from_utf8_lossy(&page));
    Ok(ExitCode::SUCCESS)
}

/// How a command ends: with an exit code, or with the reason why it cannot run, for which the exit code is 2.
type Ended = Result<ExitCode, String>;

/// Returns the id of a node that a flag was given.
fn id(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| "the id of a node is a number".to_owned())
}

/// Returns a number that a flag was given, if it is possible.
fn in_range(flag: &str, number: u64, possible: &RangeInclusive<u32>) -> Result<u32, String> {
    let (first, last) = (possible.start(), possible.end());
    let sentence = || format!("{flag} must be from {first} to {last}, which {number} is not.");
    u32::try_from(number).ok().filter(|number| possible.contains(number)).ok_or_else(sentence)
}

/// Returns whether standard output shows colours.
fn colours() -> bool {
    io::stdout().is_terminal() && console::colors_enabled()
}

/// Returns the character set that the terminal can show.
fn charset() -> Charset {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let terminal = set("TERM").unwrap_or_default();
    // Without a locale, a terminal is taken to know Unicode; a multiplexer may run on one that does not.
    let unicode = match ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set) {
        Some(locale) => locale.to_lowercase().replace('-', "").contains("utf8"),
        None => !["screen", "tmux"].iter().any(|name| terminal.starts_with(name)),
    };
    if unicode && terminal != "linux" { Charset::Unicode } else { Charset::Ascii }
}

/// Prints a report, as one JSON object or as text; returns 0 if it was printed and holds, otherwise 1.
fn report<R: serde::Serialize>(report: &R, json: bool, text: fn(&R) -> io::Result<()>, holds: bool) -> ExitCode {
    let printed = unless_closed(print(report, json, text));
    if let Err(error) = &printed {
        eprintln!("the report cannot be written: {error}");
    }
    if printed.is_ok() && holds { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A reader that closes the pipe, as `head` does, is no failure.
fn unless_closed(printed: io::Result<()>) -> io::Result<()> {
    printed.or_else(|error| if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) })
}

fn print<R: serde::Serialize>(report: &R, json: bool, text: fn(&R) -> io::Result<()>) -> io::Result<()> {
    if !json {
        return text(report);
    }
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, report)?;
    writeln!(out)
}

/// Prints a line. A reader that closes the pipe is no failure.
fn print_line(line: impl std::fmt::Display) {
    print_text(&format!("{line}\n"));
}

/// Prints text. A reader that closes the pipe is no failure.
fn print_text(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Returns a paragraph in rows no wider than the terminal; where there is none, in one row.
fn wrapped(text: &str, indent: usize) -> String {
    let width = if io::stdout().is_terminal() { usize::from(console::Term::stdout().size().1) } else { usize::MAX };
    in_rows(text, indent, width)
}

/// Returns a paragraph in rows of at most `width`, each after `indent` spaces.
fn in_rows(text: &str, indent: usize, width: usize) -> String {
    let mut rows = vec![" ".repeat(indent)];
    for word in text.split(' ') {
        let last = rows.last_mut().expect("there is a first row");
        let used = last.chars().count();
        if used > indent && used + 1 + word.chars().count() > width {
            rows.push(format!("{:indent$}{word}", ""));
        } else {
            let space = if used > indent { " " } else { "" };
            last.push_str(space);
            last.push_str(word);
        }
    }
    rows.join("\n")
}

/// Returns a progress bar of `len` steps, hidden unless standard error is a terminal.
fn progress(len: u64, template: &str) -> ProgressBar {
    let bar = if len > 1 && io::stderr().is_terminal() { ProgressBar::new(len) } else { ProgressBar::hidden() };
    let bar = match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style.with_key("left", left)),
        Err(_) => bar,
    };
    bar.enable_steady_tick(std::time::Duration::from_millis(200)); // a step may take long
    bar
}

/// Writes how long a bar still takes; before its first step is done, nothing is known of that.
fn left(state: &ProgressState, out: &mut dyn std::fmt::Write) {
    // What draws the bar ignores errors, too.
    let _ = match state.pos() {
        0 => out.write_str("? left"),
        _ => write!(out, "{:#} left", HumanDuration(state.eta())),
    };
}

/// Returns a flag that becomes true on SIGINT, SIGTERM or SIGHUP; on other systems than Unix it does not.
fn interrupts() -> io::Result<Arc<AtomicBool>> {
    let interrupted = Arc::default();
    #[cfg(unix)]
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
    }
    Ok(interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paragraph_is_broken_between_words() {
        assert_eq!(in_rows("one two three", 2, 9), "  one two\n  three");
        assert_eq!(in_rows("a-word-that-is-longer than", 1, 8), " a-word-that-is-longer\n than");
        assert_eq!(in_rows("one two three", 2, usize::MAX), "  one two three");
    }

    #[test]
    fn no_summary_of_a_command_ends_with_a_full_stop() {
        fn check(command: &clap::Command) {
            for command in command.get_subcommands() {
                let about = command.get_about().map(ToString::to_string).unwrap_or_default();
                assert!(!about.is_empty() && !about.ends_with('.'), "{}: {about}", command.get_name());
                check(command);
            }
        }
        check(&<Cli as clap::CommandFactory>::command());
    }
}
