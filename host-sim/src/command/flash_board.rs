//! `conclave flash-board`: builds the image of a board and writes it to the one that is plugged in.

use super::PartsArgs;
use clap::Args;
use host_sim::boards::tools::{self, Way};
use host_sim::boards::{Board, Parts};
use std::process::ExitCode;

/// What `conclave flash-board` is given.
#[derive(Args)]
pub(crate) struct FlashBoardArgs {
    /// The board that is plugged in.
    #[arg(value_name = "BOARD", value_parser = Board::by_name)]
    board: &'static Board,
    #[command(flatten)]
    parts: PartsArgs,
    /// Only say what would be done.
    #[arg(long)]
    dry_run: bool,
}

/// Writes; 0 if that worked, 2 if not.
pub(crate) fn run(args: &FlashBoardArgs) -> ExitCode {
    super::end(args.parts.parts().and_then(|parts| flash(args.board, &parts, args.dry_run)))
}

fn flash(board: &Board, parts: &Parts, dry_run: bool) -> Result<(), String> {
    println!("1. build the image of {}: package {}, for {}", board.name, board.package, board.target);
    println!("   with the election {} and the lock {}", parts.election, parts.mutex);
    // What is missing is said before anybody waits for a compiler.
    let way = tools::way(board);
    match &way {
        Ok(Way::Probe(chip)) => {
            println!("2. write it with probe-rs to the chip {chip}, and show the board's log; Ctrl-C ends that");
        }
        Ok(Way::Drive(drive)) => {
            println!("2. copy it to the drive {}; the board then starts by itself", drive.display());
        }
        Err(text) if dry_run => println!("2. not possible yet: {text}"),
        Err(text) => return Err(text.clone()),
    }
    if dry_run {
        return Ok(());
    }
    let files = super::firmware::built(board, parts)?;
    match (way?, &files[..]) {
        (Way::Drive(drive), [file, ..]) => {
            tools::copy(file, &drive)?;
            println!("written; without a debug probe there is no log, but the light tells");
            Ok(())
        }
        (Way::Probe(chip), [.., image]) => {
            let command = tools::run_command(chip, image);
            println!("{}", command.join(" "));
            tools::run(&command)
        }
        (_, []) => Err(format!("there is no image of {}", board.name)),
    }
}
