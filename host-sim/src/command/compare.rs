//! `conclave compare`: algorithms side by side.

use clap::{Args, Subcommand};
use host_sim::compare::{Comparison, NODES, Row, SIZES, elections, mutexes, text};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::ops::RangeInclusive;
use std::process::ExitCode;

/// What `conclave compare` is given.
#[derive(Args)]
pub(crate) struct CompareArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Compares the elections: messages, bytes and time to a leader, beside the textbooks' formula.
    ///
    /// The real nodes hold elections in the simulator, on a network where everybody hears everybody and
    /// a frame takes a millisecond. All are worth the same, so the highest name is the best.
    ///
    /// best          the best node that is up calls the election
    /// average       any node calls: the mean over all of them (four, beyond 16 nodes)
    /// worst         the worst node calls; on a ring it comes right after the best
    /// loss          the worst node calls, and 10 % of all frames are lost
    /// leader-crash  the worst node calls, and the one that is to win crashes in the middle
    ///
    /// With loss or a crash, the formula is that of the same start undisturbed. The average of
    /// chang-roberts is over random rings on which all start at once, and counts the numbers passed on
    /// but not the n messages that tell the result: that is what n * H(n) is about.
    ///
    /// A message to several members counts once for each; a broadcast of a wireless election counts
    /// once. Receipts, beats, hellos and whatever is sent again count apart; bytes are those of all
    /// frames of the election, with those sent again. For bully the coordinator that crashed counts as a
    /// node, and it is asked like the others: the best start costs n - 1 messages, where an election
    /// that skips members known to be down would cost n - 2.
    #[command(verbatim_doc_comment, after_help = ELECTION_EXAMPLES)]
    Elections(Asked),

    /// Compares the locks: messages for one entry and exit and delays, beside the textbooks' formula.
    ///
    /// The real nodes contend for a lock in the simulator, on a network where everybody hears everybody
    /// and a frame takes a millisecond. All are worth the same, so the highest name leads and is the
    /// coordinator where there is one; it does not ask itself. A lock is held for 20 ms.
    ///
    /// uncontended        every other node in turn asks, holds and gives back, three seconds apart
    /// contended          all of them ask at the same moment
    /// holder-crash       all of them ask again and again; one crashes while it holds the lock
    /// coordinator-crash  the same, and the leader crashes
    /// bystander-crash    the same, and a node crashes that wants nothing
    ///
    /// Whoever crashes is back after four seconds, and in the end everybody must have had its turn. With
    /// a crash, the formula is that of contention undisturbed. For maekawa K is the measured size of a
    /// voting set: 3(K-1) messages, and under contention 6(K-1) at most. For the token ring there is no
    /// formula: what one entry costs depends on where the token is and who else wants it.
    ///
    /// A message to several members counts once for each. Receipts and whatever is sent again count
    /// apart, and so do courtesies: what tells somebody that others come first, which textbooks leave
    /// out. The delay is from asking to getting the lock, the sync delay from one that gives it back to
    /// the next that waits; both are in message times of a millisecond. Times in JSON are in
    /// microseconds.
    #[command(verbatim_doc_comment, after_help = MUTEX_EXAMPLES)]
    Mutexes(Asked),
}

const ELECTION_EXAMPLES: &str = "Examples:
  conclave compare elections
  conclave compare elections --nodes 8 --json";

const MUTEX_EXAMPLES: &str = "Examples:
  conclave compare mutexes
  conclave compare mutexes --nodes 9
  conclave compare mutexes --nodes 16 --json";

/// What any comparison is given.
#[derive(Args)]
struct Asked {
    /// Compare with this many nodes only, from 2 to 64, or 16 with locks [default: 4, 8, 16 and, without locks, 64 in turn].
    #[arg(long, value_name = "N")]
    nodes: Option<u64>,
    /// Print one JSON object and nothing else.
    #[arg(long)]
    json: bool,
}

/// Compares; 0 if what must hold did everywhere, 1 if not, 2 for bad input.
pub(crate) fn run(args: &CompareArgs) -> ExitCode {
    match &args.what {
        What::Elections(asked) => compare(asked, &SIZES, &NODES, |sizes| {
            let bar = progress(elections::runs(sizes));
            let comparison = elections::compare(sizes, || bar.inc(1));
            bar.finish_and_clear();
            comparison
        }),
        What::Mutexes(asked) => compare(asked, &mutexes::SIZES, &mutexes::NODES, |sizes| {
            let bar = progress(mutexes::runs(sizes));
            let comparison = mutexes::compare(sizes, || bar.inc(1));
            bar.finish_and_clear();
            comparison
        }),
    }
}

/// One comparison of any kind.
fn compare<R: Row>(
    asked: &Asked,
    usual: &[u32],
    possible: &RangeInclusive<u32>,
    comparison: impl Fn(&[u32]) -> Comparison<R>,
) -> ExitCode {
    let sizes = match asked.nodes.map(u32::try_from) {
        None => usual.to_vec(),
        Some(Ok(nodes)) if possible.contains(&nodes) => vec![nodes],
        Some(_) => {
            let nodes = asked.nodes.unwrap_or_default();
            eprintln!("--nodes must be from {} to {}, which {nodes} is not.", possible.start(), possible.end());
            return ExitCode::from(2);
        }
    };
    let comparison = comparison(&sizes);
    let shown = if asked.json { super::show_json(&comparison) } else { show(&comparison) };
    if shown.is_ok() && comparison.holds() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn progress(runs: usize) -> ProgressBar {
    let bar = if std::io::stderr().is_terminal() { ProgressBar::new(runs as u64) } else { ProgressBar::hidden() };
    if let Ok(style) = ProgressStyle::with_template("comparing {bar:40} {pos}/{len} runs, {eta} left") {
        bar.set_style(style);
    }
    bar
}

fn show<R: Row>(comparison: &Comparison<R>) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let colours = std::io::stdout().is_terminal() && console::colors_enabled();
    out.write_all(text(&comparison.rows, colours).as_bytes())
}
