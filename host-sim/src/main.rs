//! The command line.

#![allow(clippy::cast_precision_loss, reason = "times and counts are shown to three digits")]

mod command;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// A swarm of microcontrollers that agrees, simulated.
#[derive(Parser)]
#[command(name = "conclave", version, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    demo: command::demo::DemoArgs,
}

#[derive(Subcommand)]
enum Command {
    /// Tells an election on a small radio network (runs without a command, too).
    Demo(command::demo::DemoArgs),
    /// Runs a scenario, once or over many seeds.
    Run(command::run::RunArgs),
    /// Compares algorithms with each other and with what textbooks say of them.
    Compare(command::compare::CompareArgs),
    /// Takes a snapshot of a bank that goes on meanwhile, and draws it.
    ///
    /// The real nodes run in the simulator and pass tokens to each other, which take 1 to 10 ms from
    /// node to node. After some seconds one of them takes a snapshot, as Chandy and Lamport do.
    ///
    /// The picture has a column for each node, and time goes downwards. The line of a node changes where
    /// the cut passes it. A message that crosses the cut was on its way, and is part of the snapshot; none
    /// comes from after the cut to before it. What each node had and what was on its way is summed up
    /// below: no token is missing, and none is there twice. If that is not so, the exit code is 1.
    #[command(verbatim_doc_comment)]
    Snapshot(command::snapshot::SnapshotArgs),
    /// Lets a job spread over the nodes, finds out when it is over, and draws it.
    ///
    /// The real nodes run in the simulator. One of them is given a job; while it works it gives parts of it
    /// to others, which do the same. The job is over when nobody works any more and no work is on its way,
    /// and no single node can see that. It is found out all the same: by waves of questions, which another
    /// node sends, or by having all work acknowledged to where it came from, as Dijkstra and Scholten do.
    ///
    /// The picture has a column for each node, and time goes downwards. It shows who works when, the waves,
    /// when the job was really over, and when each node knew. If that was too early, or never, the exit
    /// code is 1.
    #[command(verbatim_doc_comment)]
    Terminate(command::terminate::TerminateArgs),
    /// Boots emulated boards with the real firmware and tells their election.
    #[cfg(unix)]
    Swarm(command::swarm::SwarmArgs),
    /// Makes this desktop a node of a real network.
    #[cfg(unix)]
    Node(command::node::NodeArgs),
    /// Shows what takes how much of a board's flash and RAM, and whether every image is as it must be.
    #[cfg(unix)]
    Sizes(command::sizes::SizesArgs),
    /// Builds the image of a board.
    #[cfg(unix)]
    Firmware(command::firmware::FirmwareArgs),
    /// Builds the image of a board and writes it to the board that is plugged in.
    #[cfg(unix)]
    FlashBoard(command::flash_board::FlashBoardArgs),
    /// Gives the board that is plugged in its identity, its group's key and its access point.
    #[cfg(unix)]
    Provision(command::provision::ProvisionArgs),
}

fn main() -> ExitCode {
    let Cli { command, demo } = Cli::parse();
    match command.unwrap_or(Command::Demo(demo)) {
        Command::Demo(args) => command::demo::run(&args),
        Command::Run(args) => command::run::run(&args),
        Command::Compare(args) => command::compare::run(&args),
        Command::Snapshot(args) => command::snapshot::run(&args),
        Command::Terminate(args) => command::terminate::run(&args),
        #[cfg(unix)]
        Command::Swarm(args) => command::swarm::run(&args),
        #[cfg(unix)]
        Command::Node(args) => command::node::run(&args),
        #[cfg(unix)]
        Command::Sizes(args) => command::sizes::run(&args),
        #[cfg(unix)]
        Command::Firmware(args) => command::firmware::run(&args),
        #[cfg(unix)]
        Command::FlashBoard(args) => command::flash_board::run(&args),
        #[cfg(unix)]
        Command::Provision(args) => command::provision::run(&args),
    }
}
