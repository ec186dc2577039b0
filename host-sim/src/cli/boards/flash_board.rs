//! `conclave flash-board`: builds the image of a board and writes it to the board plugged in.

use super::PartsArgs;
use crate::boards::Board;
use crate::boards::tools::{self, FlashMethod};
use clap::Args;

#[derive(Args)]
pub(crate) struct FlashBoardArgs {
    /// The board plugged in.
    #[arg(value_name = "BOARD", value_parser = Board::by_name)]
    board: &'static Board,
    #[command(flatten)]
    parts: PartsArgs,
    /// Only print the steps.
    #[arg(long)]
    dry_run: bool,
}

/// Builds the image and writes it.
pub(super) fn run(args: &FlashBoardArgs) -> Result<(), String> {
    let FlashBoardArgs { board, dry_run, .. } = *args;
    let parts = args.parts.parts()?;
    println!("1. build the image of {}: package {}, for {}", board.name, board.package, board.target);
    println!("   with the election {} and the lock {}", parts.election, parts.mutex);
    // A missing tool is reported before the build.
    let method = tools::flash_method(board);
    match &method {
        Ok(FlashMethod::Probe(chip)) => {
            println!("2. write it with probe-rs to the chip {chip}, and show the board's log; Ctrl-C ends that");
        }
        Ok(FlashMethod::Drive(drive)) => {
            println!("2. copy it to the drive {}; the board then starts by itself", drive.display());
        }
        Err(text) if dry_run => println!("2. not possible yet: {text}"),
        Err(text) => return Err(text.clone()),
    }
    if dry_run {
        return Ok(());
    }
    let files = super::firmware::built(board, &parts)?;
    match (method?, &files[..]) {
        (FlashMethod::Drive(drive), [file, ..]) => {
            tools::copy(file, &drive)?;
            println!("written; without a debug probe there is no log; watch the LED");
            Ok(())
        }
        (FlashMethod::Probe(chip), [.., image]) => tools::write_and_run(chip, image),
        (_, []) => Err(format!("there is no image of {}", board.name)),
    }
}
