//! Writing to boards: by probe-rs, or by the USB drive of a bootloader.

use super::toolchain::on_path;
use super::{Board, Flashing, in_file};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const PROBE: &str = "probe-rs";
/// The name of the drive of a Raspberry Pi Pico.
const DRIVE: &str = "RPI-RP2";
const DRIVE_MARK: &str = "INFO_UF2.TXT";
const PROBE_ADVICE: &str = "install probe-rs: `cargo install probe-rs-tools --locked` (on Linux it needs the package \
                                libudev-dev first), or as https://probe.rs/docs/getting-started/installation says";
const DRIVE_ADVICE: &str =
    "hold the board's button BOOTSEL while you plug it in, and wait until the drive RPI-RP2 is there";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FlashMethod {
    /// By probe-rs, with this name of the chip.
    Probe(&'static str),
    /// By copying a file to this drive.
    Drive(PathBuf),
}

/// Returns how to write to a board from this machine.
pub(crate) fn flash_method(board: &Board) -> Result<FlashMethod, String> {
    choose(board, drive(), on_path(PROBE).is_some())
}

fn choose(board: &Board, drive: Option<PathBuf>, probe: bool) -> Result<FlashMethod, String> {
    match (board.flashing, drive) {
        (Flashing::Emulated, _) => Err(format!("{} is emulated: `conclave swarm` runs its image", board.name)),
        (Flashing::Probe(chip), _) | (Flashing::Drive(chip), None) if probe => Ok(FlashMethod::Probe(chip)),
        (Flashing::Probe(_), _) => Err(format!("probe-rs is missing, which writes to {}; {PROBE_ADVICE}", board.name)),
        (Flashing::Drive(_), Some(drive)) => Ok(FlashMethod::Drive(drive)),
        (Flashing::Drive(_), None) => {
            Err(format!("{} shows no drive; {DRIVE_ADVICE}; with a debug probe, {PROBE_ADVICE}", board.name))
        }
    }
}

fn drive() -> Option<PathBuf> {
    let user = env::var("USER").unwrap_or_default();
    let folders = [format!("/media/{user}"), format!("/run/media/{user}"), "/media".to_owned(), "/Volumes".to_owned()];
    let drives = folders.iter().map(|folder| Path::new(folder).join(DRIVE));
    drives.into_iter().find(|drive| drive.join(DRIVE_MARK).is_file())
}

/// Writes an image, and then shows the board's log.
pub(crate) fn write_and_run(chip: &str, image: &Path) -> Result<(), String> {
    probe(&["run", "--chip", chip], image)
}

/// Writes a file to an address.
pub(crate) fn write(chip: &str, file: &Path, address: u64) -> Result<(), String> {
    let address = format!("{address:#x}");
    probe(&["download", "--chip", chip, "--binary-format", "bin", "--base-address", &address], file)
}

/// Runs probe-rs with its output visible.
fn probe(words: &[&str], file: &Path) -> Result<(), String> {
    println!("{PROBE} {} {}", words.join(" "), file.display());
    let status = Command::new(PROBE).args(words).arg(file).status();
    let status = status.map_err(|error| format!("{PROBE} cannot be started: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{PROBE} ended with {status}")) }
}

/// Copies a file to a board's drive; the board writes it to flash and reboots.
pub(crate) fn copy(file: &Path, drive: &Path) -> Result<(), String> {
    let name = file.file_name().unwrap_or_default();
    fs::copy(file, drive.join(name)).map(|_| ()).map_err(in_file(drive))
}

#[cfg(test)]
mod tests {
    use super::{FlashMethod, choose};
    use crate::boards::{Board, EMULATED};
    use std::path::PathBuf;

    #[test]
    fn a_board_is_written_by_the_method_that_is_available() {
        let (nrf, pico) = (Board::by_name("nrf52840-dk").unwrap(), Board::by_name("pico-w").unwrap());
        let drive = Some(PathBuf::from("/media/RPI-RP2"));
        assert_eq!(choose(nrf, drive.clone(), true), Ok(FlashMethod::Probe("nRF52840_xxAA")));
        assert_eq!(choose(pico, drive.clone(), true), Ok(FlashMethod::Drive(PathBuf::from("/media/RPI-RP2"))));
        assert_eq!(choose(pico, None, true), Ok(FlashMethod::Probe("RP2040")));
    }

    #[test]
    fn a_missing_tool_is_reported_with_how_to_get_it() {
        let (nrf, pico) = (Board::by_name("nrf52840-dk").unwrap(), Board::by_name("pico-w").unwrap());
        assert!(choose(nrf, None, false).unwrap_err().contains("cargo install probe-rs-tools"));
        assert!(choose(pico, None, false).unwrap_err().contains("BOOTSEL"));
        assert!(choose(&EMULATED, None, true).unwrap_err().contains("conclave swarm"));
    }
}
