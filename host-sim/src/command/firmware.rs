//! `conclave firmware`: builds the image of a board.

use super::PartsArgs;
use clap::Args;
use host_sim::boards::{BOARDS, Board, Flashing, Parts, inspect};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What `conclave firmware` is given.
#[derive(Args)]
pub(crate) struct FirmwareArgs {
    /// The board; all boards, if none is named.
    #[arg(value_name = "BOARD", value_parser = Board::by_name)]
    board: Option<&'static Board>,
    #[command(flatten)]
    parts: PartsArgs,
}

/// Builds; 0 if the images are as they must be, 2 if not.
pub(crate) fn run(args: &FirmwareArgs) -> ExitCode {
    let boards = args.board.map_or(&BOARDS[..], std::slice::from_ref);
    super::end(args.parts.parts().and_then(|parts| {
        boards.iter().try_for_each(|board| {
            for file in built(board, &parts)? {
                println!("{}", file.display());
            }
            Ok(())
        })
    }))
}

/// Builds the image of a board, and holds it to what it must be. Boards that show a drive get a file for it, too.
pub(super) fn built(board: &Board, parts: &Parts) -> Result<Vec<PathBuf>, String> {
    let image = super::image(board, parts)?;
    let complain = |error: &dyn std::fmt::Display| format!("{}: {error}", image.display());
    let elf = fs::read(&image).map_err(|error| complain(&error))?;
    let verdict = inspect(board, parts.are_usual().then_some(board.limits), &elf).map_err(|error| complain(&error))?;
    if !verdict.violations.is_empty() {
        return Err(complain(&verdict.violations.join("\n")));
    }
    let taken = verdict.taken;
    eprintln!("{} takes {} bytes of flash and {} of RAM, without the stack", board.name, taken.flash, taken.ram);
    Ok(match board.flashing {
        Flashing::Drive(_) => vec![drive_file(&image, &elf)?, image],
        Flashing::Emulated | Flashing::Probe(_) => vec![image],
    })
}

/// The image as a file for the board's drive, beside it.
fn drive_file(image: &Path, elf: &[u8]) -> Result<PathBuf, String> {
    use host_sim::boards::uf2;
    let file = image.with_extension("uf2");
    let bytes = uf2::pieces(elf).and_then(|pieces| uf2::encode(&pieces, uf2::RP2040))?;
    fs::write(&file, bytes).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(file)
}
