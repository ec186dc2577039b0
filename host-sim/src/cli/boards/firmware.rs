//! `conclave firmware` and `conclave flash-board`: build the image of a board, and write it to the board plugged in.

use super::PartsArgs;
use crate::boards::tools::{self, FlashMethod};
use crate::boards::{BOARDS, Board, Flashing, Parts, hex, in_file, uf2};
use clap::Args;
use std::fs;
use std::path::{Path, PathBuf};

pub(super) const EXAMPLES: &str = "Examples:
  conclave firmware nrf52840-dk
  conclave firmware nrf52840-dk --election bully --mutex central";

#[derive(Args)]
pub(crate) struct FirmwareArgs {
    /// The board; all boards if none is given.
    #[arg(value_name = "BOARD", value_parser = Board::by_name)]
    board: Option<&'static Board>,
    #[command(flatten)]
    parts: PartsArgs,
}

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

/// Builds the images; fails if one does not pass inspection.
pub(super) fn run(args: &FirmwareArgs) -> Result<(), String> {
    let parts = args.parts.parts()?;
    for board in args.board.map_or(&BOARDS[..], std::slice::from_ref) {
        for file in built(board, &parts)? {
            super::print_line(format_args!("{}", file.display()));
        }
    }
    Ok(())
}

/// Builds the image of a board and writes it.
pub(super) fn flash(args: &FlashBoardArgs) -> Result<(), String> {
    let FlashBoardArgs { board, dry_run, .. } = *args;
    let parts = args.parts.parts()?;
    super::print_line(format_args!(
        "1. build the image of {}: package {}, for {}",
        board.name, board.package, board.target
    ));
    super::print_line(format_args!("   with the election {} and the lock {}", parts.election, parts.mutex));
    // A missing tool is reported before the build.
    let method = tools::flash_method(board);
    match &method {
        Ok(FlashMethod::Probe(chip)) => {
            super::print_line(format_args!(
                "2. write it with probe-rs to the chip {chip}, and show the board's log; Ctrl-C ends that"
            ));
        }
        Ok(FlashMethod::Drive(drive)) => {
            super::print_line(format_args!(
                "2. copy it to the drive {}; the board then starts by itself",
                drive.display()
            ));
        }
        Err(text) if dry_run => super::print_line(format_args!("2. not possible yet: {text}")),
        Err(text) => return Err(text.clone()),
    }
    if dry_run {
        return Ok(());
    }
    let files = built(board, &parts)?;
    match (method?, &files[..]) {
        (FlashMethod::Drive(drive), [file, ..]) => {
            tools::copy(file, &drive)?;
            super::print_line(format_args!("written; without a debug probe there is no log; watch the LED"));
            Ok(())
        }
        (FlashMethod::Probe(chip), [.., image]) => tools::write_and_run(chip, image),
        (_, []) => Err(format!("there is no image of {}", board.name)),
    }
}

/// Builds and inspects the image of a board; converts it to Intel HEX and, for a board with a drive, to UF2.
fn built(board: &Board, parts: &Parts) -> Result<Vec<PathBuf>, String> {
    let (image, elf, inspection) = super::inspected(board, parts)?;
    if !inspection.violations.is_empty() {
        return Err(in_file(&image)(inspection.violations.join("\n")));
    }
    let used = inspection.used;
    eprintln!("{} uses {} bytes of flash and {} of RAM, without the stack", board.name, used.flash, used.ram);
    let hex = hex_file(&image, &elf)?;
    Ok(match board.flashing {
        Flashing::Drive(_) => vec![drive_file(&image, &elf)?, hex, image],
        Flashing::Emulated | Flashing::Probe(_) => vec![hex, image],
    })
}

/// Writes the image as Intel HEX beside the ELF file.
fn hex_file(image: &Path, elf: &[u8]) -> Result<PathBuf, String> {
    let file = image.with_extension("hex");
    fs::write(&file, hex::encode(&uf2::pieces(elf)?)).map_err(in_file(&file))?;
    Ok(file)
}

/// Writes the image as UF2 beside the ELF file.
fn drive_file(image: &Path, elf: &[u8]) -> Result<PathBuf, String> {
    let file = image.with_extension("uf2");
    let bytes = uf2::pieces(elf).and_then(|pieces| uf2::encode(&pieces, uf2::RP2040))?;
    fs::write(&file, bytes).map_err(in_file(&file))?;
    Ok(file)
}
