//! `conclave firmware`: builds the image of a board.

use super::PartsArgs;
use clap::Args;
use host_sim::boards::{BOARDS, Board, Flashing, Parts, inspect};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The arguments of `conclave firmware`.
#[derive(Args)]
pub(crate) struct FirmwareArgs {
    /// The board; all boards if none is given.
    #[arg(value_name = "BOARD", value_parser = Board::by_name)]
    board: Option<&'static Board>,
    #[command(flatten)]
    parts: PartsArgs,
}

/// Builds the images; returns 0 if they pass inspection, 2 if not.
pub(crate) fn run(args: &FirmwareArgs) -> ExitCode {
    let boards = args.board.map_or(&BOARDS[..], std::slice::from_ref);
    super::exit_code(args.parts.parts().and_then(|parts| {
        boards.iter().try_for_each(|board| {
            for file in built(board, &parts)? {
                println!("{}", file.display());
            }
            Ok(())
        })
    }))
}

/// Builds and inspects the image of a board; for a board with a drive, also converts it to UF2.
pub(super) fn built(board: &Board, parts: &Parts) -> Result<Vec<PathBuf>, String> {
    let image = super::image(board, parts)?;
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", image.display());
    let elf = fs::read(&image).map_err(|error| failed(&error))?;
    let inspection =
        inspect(board, parts.are_default().then_some(board.limits), &elf).map_err(|error| failed(&error))?;
    if !inspection.violations.is_empty() {
        return Err(failed(&inspection.violations.join("\n")));
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
    use host_sim::boards::uf2;
    let file = image.with_extension("uf2");
    let bytes = uf2::pieces(elf).and_then(|pieces| uf2::encode(&pieces, uf2::RP2040))?;
    fs::write(&file, bytes).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(file)
}
