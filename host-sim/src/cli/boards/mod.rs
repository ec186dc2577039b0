//! The commands for boards, and for nodes in real time.

mod firmware;
mod key;
mod mqtt_guard;
mod node;
mod pipe;
mod provision;
pub(super) mod sizes;
pub(super) mod swarm;

use super::files::{FileArgs, Files};
use super::{EXIT_INTERRUPTED, Ended, interrupts, print, print_line, report};
use crate::boards::toolchain::prepare_compiler;
use crate::boards::{App, Board, EMULATED, Inspection, Parts, build, in_file, inspect};
use clap::Subcommand;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Subcommand)]
pub(super) enum BoardCommand {
    /// Boots emulated boards with the real firmware and narrates their election.
    #[command(after_help = swarm::EXAMPLES)]
    Swarm(swarm::SwarmArgs),
    /// Runs this desktop as a node of a real network.
    #[command(after_help = node::EXAMPLES)]
    Node(node::NodeArgs),
    /// Reads what an elected gateway publishes at an MQTT broker, and accepts each message once.
    ///
    /// A gateway that was superseded, such as one that was paused and wakes up late, publishes under an older fence: that is
    /// refused, and so is what was accepted before.
    #[command(after_help = mqtt_guard::EXAMPLES)]
    MqttGuard(mqtt_guard::MqttGuardArgs),
    /// Joins standard input and output with a port of this machine.
    #[command(hide = true)]
    Pipe(pipe::PipeArgs),
    /// Shows what uses a board's flash and RAM, and checks every image.
    Sizes(sizes::SizesArgs),
    /// Builds the image of a board.
    #[command(after_help = firmware::EXAMPLES)]
    Firmware(firmware::FirmwareArgs),
    /// Builds the image of a board and writes it to the board plugged in.
    FlashBoard(firmware::FlashBoardArgs),
    /// Writes a board's identity, group key and access point to the board plugged in.
    #[command(after_help = provision::EXAMPLES)]
    Provision(provision::ProvisionArgs),
}

pub(super) fn run(command: &BoardCommand) -> Ended {
    match command {
        BoardCommand::Swarm(args) => return swarm::run(args),
        BoardCommand::Node(args) => return node::run(args),
        BoardCommand::MqttGuard(args) => return mqtt_guard::run(args),
        BoardCommand::Pipe(args) => return pipe::run(args),
        BoardCommand::Sizes(args) => return sizes::run(args),
        BoardCommand::Firmware(args) => firmware::run(args)?,
        BoardCommand::FlashBoard(args) => firmware::flash(args)?,
        BoardCommand::Provision(args) => provision::run(args)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The algorithms and the application of an image.
#[derive(clap::Args)]
struct PartsArgs {
    /// The election algorithm, the only one in the image.
    #[arg(long, value_name = "NAME")]
    election: Option<String>,
    /// The lock algorithm; without it, the image has no locks.
    #[arg(long, value_name = "NAME")]
    mutex: Option<String>,
    /// The application: tokens, diffusing, clock or uplink. With `clock` the LEDs of all boards flash together; with `uplink` the
    /// leader publishes everybody's readings at an MQTT broker.
    #[arg(long, value_name = "NAME", value_parser = App::by_name)]
    app: Option<App>,
}

impl PartsArgs {
    fn parts(&self) -> Result<Parts, String> {
        let parts = Parts::choose(self.election.as_deref(), self.mutex.as_deref())?;
        Ok(Parts { app: self.app.unwrap_or_default(), ..parts })
    }
}

/// Builds the image of a board, after setting up the toolchain.
fn image(board: &Board, parts: &Parts) -> Result<PathBuf, String> {
    if parts.app == App::Uplink && board.name != EMULATED.name {
        return Err(format!("the uplink is an application of {}, not of {}", EMULATED.name, board.name));
    }
    let toolchain = prepare_compiler(board.target)?;
    eprintln!("building the image of {}", board.name);
    build(board, parts, toolchain)
}

/// Builds and inspects the image of a board; returns its file and the bytes in it.
fn inspected(board: &Board, parts: &Parts) -> Result<(PathBuf, Vec<u8>, Inspection), String> {
    let image = image(board, parts)?;
    let elf = fs::read(&image).map_err(in_file(&image))?;
    // Only the default parts are held to the limits of a board.
    let limits = parts.are_default().then_some(board.limits);
    let inspection = inspect(board, limits, &elf).map_err(in_file(&image))?;
    Ok((image, elf, inspection))
}
