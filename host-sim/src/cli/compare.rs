//! `conclave compare`: algorithms side by side.

use crate::compare::mutexes::Cable;
use crate::compare::{Case, Comparison, Figures, NODES, SIZES, elections, mutexes};
use clap::{Args, Subcommand};
use std::io::Write as _;
use std::ops::RangeInclusive;

#[derive(Args)]
pub(super) struct CompareArgs {
    #[command(subcommand)]
    subject: Subject,
}

#[derive(Subcommand)]
enum Subject {
    /// Compares the elections: messages, bytes and time to a leader, beside the textbooks' formula
    ///
    /// The real nodes hold elections in the simulator, on a LAN where every frame reaches every node in
    /// a millisecond. All capacities are equal, so the node with the highest id is the best.
    ///
    /// best          the best node that is up starts the election
    /// average       any node starts it: the mean over all of them (four, beyond 16 nodes)
    /// worst         the worst node starts it; on a ring it comes right after the best
    /// loss          the worst node starts it, and 10 % of all frames are lost
    /// leader-crash  the worst node starts it, and the node that would win crashes in the middle
    ///
    /// With loss or a crash, the formula is that of the same start without faults. The average of
    /// chang-roberts is over random rings on which all nodes start at once, and counts the candidates
    /// passed on but not the n messages that announce the result: that is what n * H(n) is about.
    ///
    /// A message to several members counts once per recipient; a broadcast of a wireless election counts
    /// once. Acks, heartbeats, hellos and retransmits count apart; bytes are those of all frames of the
    /// election, retransmissions included. For bully the coordinator that crashed counts as a node, and
    /// it is asked like the others: the best start costs n - 1 messages, where an election that skips
    /// members known to be down would cost n - 2.
    #[command(verbatim_doc_comment, after_help = ELECTION_EXAMPLES)]
    Elections(ComparisonArgs),

    /// Compares the locks: messages for one entry and exit and delays, beside the textbooks' formula
    ///
    /// The real nodes contend for a lock in the simulator, on a LAN where every frame reaches every node
    /// in a millisecond. All capacities are equal, so the node with the highest id leads and is the
    /// coordinator of locks that have one; it requests nothing itself. A lock is held for 20 ms.
    ///
    /// uncontended        every other node in turn requests, holds and releases, three seconds apart
    /// contended          all of them request at the same moment
    /// holder-crash       all of them request again and again; one crashes while it holds the lock
    /// coordinator-crash  the same, and the leader crashes
    /// bystander-crash    the same, and a node crashes that requests nothing
    ///
    /// A node that crashes restarts after four seconds, and in the end every request must have been
    /// granted. With a crash, the formula is that of contention without one. For maekawa K is the
    /// measured size of a voting set: 3(K-1) messages, and under contention 6(K-1) at most. The token
    /// ring has no formula: the cost of an entry depends on where the token is and which nodes wait.
    ///
    /// A message to several members counts once per recipient. Acks and retransmits count apart, and so
    /// do extra messages: those that report a place in the queue, which textbooks leave out. The delay
    /// is from request to grant, the sync delay from a release to the next waiting node's grant; both
    /// are in message times of a millisecond. Times in JSON are in microseconds. The network is switched;
    /// --shared makes it one cable, on which a frame waits until those before it have passed: there
    /// asking everybody takes as long as everybody's answers.
    #[command(verbatim_doc_comment, after_help = MUTEX_EXAMPLES)]
    Mutexes(MutexArgs),
}

const ELECTION_EXAMPLES: &str = "Examples:
  conclave compare elections
  conclave compare elections --nodes 8 --json
  conclave compare elections --csv > elections.csv";

const MUTEX_EXAMPLES: &str = "Examples:
  conclave compare mutexes
  conclave compare mutexes --nodes 9
  conclave compare mutexes --nodes 9 --shared
  conclave compare mutexes --nodes 16 --json";

/// The arguments of a comparison of locks.
#[derive(Args)]
struct MutexArgs {
    #[command(flatten)]
    comparison: ComparisonArgs,
    /// Compare on one cable that all nodes share, on which frames follow each other.
    #[arg(long)]
    shared: bool,
}

/// The arguments of any comparison.
#[derive(Args)]
struct ComparisonArgs {
    /// Compare with this many nodes only, from 2 to 64, or 16 with locks [default: 4, 8, 16 and, without locks, 64 in
    /// turn].
    #[arg(long, value_name = "N")]
    nodes: Option<u64>,
    /// Print one JSON object and nothing else.
    #[arg(long)]
    json: bool,
    /// Print the table as comma-separated values and nothing else.
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

/// Compares; returns 0 if the required properties held in every row, 1 if not.
pub(super) fn run(args: &CompareArgs) -> super::Ended {
    match &args.subject {
        Subject::Elections(args) => {
            compare(args, &SIZES, &NODES, elections::runs, |sizes, tick| elections::compare(sizes, tick))
        }
        Subject::Mutexes(MutexArgs { comparison, shared }) => {
            let cable = if *shared { Cable::Shared } else { Cable::Switched };
            let compared = |sizes: &[u32], tick: &(dyn Fn() + Sync)| mutexes::compare(sizes, cable, tick);
            compare(comparison, &mutexes::SIZES, &mutexes::NODES, mutexes::runs, compared)
        }
    }
}

fn compare<C: Case, F: Figures>(
    args: &ComparisonArgs,
    default_sizes: &[u32],
    possible: &RangeInclusive<u32>,
    runs: impl Fn(&[u32]) -> usize,
    comparison: impl Fn(&[u32], &(dyn Fn() + Sync)) -> Comparison<C, F>,
) -> super::Ended {
    let nodes = args.nodes.map(|nodes| super::in_range("--nodes", nodes, possible)).transpose()?;
    let sizes = nodes.map_or(default_sizes.to_vec(), |nodes| vec![nodes]);
    let bar = super::progress(runs(&sizes) as u64, "comparing {bar:40} {pos}/{len} runs, {left}");
    let comparison = comparison(&sizes, &|| bar.inc(1));
    bar.finish_and_clear();
    let text = if args.csv { show_csv } else { show };
    Ok(super::report(&comparison, args.json, text, comparison.holds()))
}

fn show_csv<C: Case, F: Figures>(comparison: &Comparison<C, F>) -> std::io::Result<()> {
    std::io::stdout().lock().write_all(comparison.csv().as_bytes())
}

fn show<C: Case, F: Figures>(comparison: &Comparison<C, F>) -> std::io::Result<()> {
    std::io::stdout().lock().write_all(comparison.text(super::colours()).as_bytes())
}
