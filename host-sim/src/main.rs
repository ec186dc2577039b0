//! The command line.

#![allow(clippy::cast_precision_loss, reason = "times and counts are shown to three digits")]

mod cli;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Agreement for swarms of microcontrollers, simulated and on boards.
#[derive(Parser)]
#[command(name = "conclave", version, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    demo: cli::demo::DemoArgs,
}

#[derive(Subcommand)]
enum Command {
    /// Plays an election on a small simulated radio network (the default command).
    Demo(cli::demo::DemoArgs),
    /// Runs a scenario, once or over many seeds.
    Run(cli::run::RunArgs),
    /// Compares algorithms with each other and with the textbooks' formulas.
    Compare(cli::compare::CompareArgs),
    /// Takes a snapshot of a running bank, and draws it.
    ///
    /// The real nodes run in the simulator and pass tokens to each other; a message takes 1 to 10 ms.
    /// After some seconds one node begins a snapshot with the algorithm of Chandy and Lamport.
    ///
    /// The picture has a column for each node, and time runs downwards. The line of a node changes where
    /// the cut passes it. A message that crosses the cut is in flight, and part of the snapshot; none is
    /// sent after the cut and received before it. Below, the states and the messages in flight are summed:
    /// no token is missing, and none counts twice. If that is not so, the exit code is 1.
    #[command(verbatim_doc_comment)]
    Snapshot(cli::snapshot::SnapshotArgs),
    /// Runs a diffusing job, detects its termination, and draws it.
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
    Terminate(cli::terminate::TerminateArgs),
    /// Boots emulated boards with the real firmware and narrates their election.
    #[cfg(unix)]
    Swarm(cli::swarm::SwarmArgs),
    /// Runs this desktop as a node of a real network.
    #[cfg(unix)]
    Node(cli::node::NodeArgs),
    /// Shows what uses a board's flash and RAM, and checks every image.
    #[cfg(unix)]
    Sizes(cli::sizes::SizesArgs),
    /// Builds the image of a board.
    #[cfg(unix)]
    Firmware(cli::firmware::FirmwareArgs),
    /// Builds the image of a board and writes it to the board plugged in.
    #[cfg(unix)]
    FlashBoard(cli::flash_board::FlashBoardArgs),
    /// Writes a board's identity, group key and access point to the board plugged in.
    #[cfg(unix)]
    Provision(cli::provision::ProvisionArgs),
}

fn main() -> ExitCode {
    let Cli { command, demo } = Cli::parse();
    match command.unwrap_or(Command::Demo(demo)) {
        Command::Demo(args) => cli::demo::run(&args),
        Command::Run(args) => cli::run::run(&args),
        Command::Compare(args) => cli::compare::run(&args),
        Command::Snapshot(args) => cli::snapshot::run(&args),
        Command::Terminate(args) => cli::terminate::run(&args),
        #[cfg(unix)]
        Command::Swarm(args) => cli::swarm::run(&args),
        #[cfg(unix)]
        Command::Node(args) => cli::node::run(&args),
        #[cfg(unix)]
        Command::Sizes(args) => cli::sizes::run(&args),
        #[cfg(unix)]
        Command::Firmware(args) => cli::firmware::run(&args),
        #[cfg(unix)]
        Command::FlashBoard(args) => cli::flash_board::run(&args),
        #[cfg(unix)]
        Command::Provision(args) => cli::provision::run(&args),
    }
}
