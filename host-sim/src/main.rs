//! The command line.

#![allow(clippy::cast_precision_loss, reason = "times and counts are shown to three digits")]

mod command;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// A swarm of microcontrollers that agrees, simulated.
#[derive(Parser)]
#[command(name = "conclave", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs a scenario, once or over many seeds.
    Run(command::run::RunArgs),
}

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Run(args) => command::run::run(&args),
    }
}
