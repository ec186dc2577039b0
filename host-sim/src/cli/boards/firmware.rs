//! `conclave firmware`: builds the image of a board.

use super::PartsArgs;
use crate::boards::{BOARDS, Board, Flashing, Parts, in_file, uf2};
use clap::Args;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Args)]
pub(crate) struct FirmwareArgs {
    /// The board; all boards if none is given.
    #[arg(value_name = "BOARD", value_parser = Board::by_name)]
    board: Option<&'static Board>,
    #[command(flatten)]
    parts: PartsArgs,
}

/// Builds the images; fails if one does not pass inspection.
pub(super) fn run(args: &FirmwareArgs) -> Result<(), String> {
    let parts = args.parts.parts()?;
    for board in args.board.map_or(&BOARDS[..], std::slice::from_ref) {
        for file in built(board, &parts)? {
            println!("{}", file.display());
        }
    }
    Ok(())
}

/// Builds and inspects the image of a board; for a board with a drive, also converts it to UF2.
pub(super) fn built(board: &Board, parts: &Parts) -> Result<Vec<PathBuf>, String> {
    let (image, elf, inspection) = super::inspected(board, parts)?;
    if !inspection.violations.is_empty() {
        return Err(in_file(&image)(inspection.violations.join("\n")));
    }
    let used = inspection.used;
    eprintln!("{} uses {} bytes of flash and {} of RAM, without the stack", board.name, used.flash, used.ram);
    Ok(match board.flashing {
        Flashing::Drive(_) => vec![drive_file(&image, &elf)?, image],
        Flashing::Emulated | Flashing::Probe(_) => vec![image],
    })
}

/// Writes the image as UF2 beside the ELF file.
fn drive_file(image: &Path, elf: &[u8]) -> Result<PathBuf, String> {
    let file = image.with_extension("uf2");
    let bytes = uf2::pieces(elf).and_then(|pieces| uf2::encode(&pieces, uf2::RP2040))?;
    fs::write(&file, bytes).map_err(in_file(&file))?;
    Ok(file)
}
