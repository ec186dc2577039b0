//! What writes to boards: probe-rs, or a drive that a board shows.

use super::{Board, Flashing};
use crate::swarm::setup::on_path;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

const PROBE: &str = "probe-rs";
/// What a Raspberry Pi Pico calls the drive it shows while its button is held.
const DRIVE: &str = "RPI-RP2";
/// The file that is on such a drive.
const DRIVE_MARK: &str = "INFO_UF2.TXT";
/// How to come by the program that speaks to debug probes.
pub const PROBE_ADVICE: &str = "install probe-rs: `cargo install probe-rs-tools --locked` (on Linux it needs the package \
                                libudev-dev first), or as https://probe.rs/docs/getting-started/installation says";
/// How to make a board show its drive.
pub const DRIVE_ADVICE: &str =
    "hold the board's button BOOTSEL while you plug it in, and wait until the drive RPI-RP2 is there";

/// A way to write to a board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// By probe-rs, which calls the chip so.
    Probe(&'static str),
    /// By a file on this drive.
    Drive(PathBuf),
}

/// How to write to a board from here.
///
/// # Errors
/// A sentence that says what to install or to do.
pub fn way(board: &Board) -> Result<Way, String> {
    choose(board, drive(), on_path(PROBE).is_some())
}

fn choose(board: &Board, drive: Option<PathBuf>, probe: bool) -> Result<Way, String> {
    match (board.flashing, drive) {
        (Flashing::Emulated, _) => Err(format!("{} is emulated: `conclave swarm` runs its image", board.name)),
        (Flashing::Probe(chip), _) | (Flashing::Drive(chip), None) if probe => Ok(Way::Probe(chip)),
        (Flashing::Probe(_), _) => Err(format!("probe-rs is missing, which writes to {}; {PROBE_ADVICE}", board.name)),
        (Flashing::Drive(_), Some(drive)) => Ok(Way::Drive(drive)),
        (Flashing::Drive(_), None) => {
            Err(format!("{} shows no drive; {DRIVE_ADVICE}; with a debug probe, {PROBE_ADVICE}", board.name))
        }
    }
}

/// The drive of a board that waits for a file, where systems put such drives.
fn drive() -> Option<PathBuf> {
    let user = env::var("USER").unwrap_or_default();
    let places = [format!("/media/{user}"), format!("/run/media/{user}"), "/media".to_owned(), "/Volumes".to_owned()];
    let drives = places.iter().map(|place| Path::new(place).join(DRIVE));
    drives.into_iter().find(|drive| drive.join(DRIVE_MARK).is_file())
}

/// The command that writes an image and then shows the board's log.
#[must_use]
pub fn run_command(chip: &str, image: &Path) -> Vec<String> {
    let words = [PROBE, "run", "--chip", chip];
    words.into_iter().map(str::to_owned).chain([image.display().to_string()]).collect()
}

/// The command that writes bytes from a file to an address.
#[must_use]
pub fn write_command(chip: &str, file: &Path, address: u64) -> Vec<String> {
    let address = format!("{address:#x}");
    let words = [PROBE, "download", "--chip", chip, "--binary-format", "bin", "--base-address", &address];
    words.into_iter().map(str::to_owned).chain([file.display().to_string()]).collect()
}

/// Runs a command in sight of the user.
///
/// # Errors
/// When it cannot be started, or fails.
pub fn run(words: &[String]) -> Result<(), String> {
    let [program, arguments @ ..] = words else { return Ok(()) };
    let status = Command::new(program).args(arguments).stdin(Stdio::inherit()).status();
    let status = status.map_err(|error| format!("{program} cannot be started: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{program} ended with {status}")) }
}

/// Puts a file on a board's drive; the board takes it and starts over.
///
/// # Errors
/// When it cannot be written.
pub fn copy(file: &Path, drive: &Path) -> Result<(), String> {
    let name = file.file_name().unwrap_or_default();
    fs::copy(file, drive.join(name)).map(|_| ()).map_err(|error| format!("{}: {error}", drive.display()))
}

#[cfg(test)]
mod tests {
    use super::{Way, choose};
    use crate::boards::{Board, EMULATED};
    use std::path::PathBuf;

    #[test]
    fn a_board_is_written_by_what_is_there() {
        let (nrf, pico) = (Board::by_name("nrf52840-dk").unwrap(), Board::by_name("pico-w").unwrap());
        let drive = Some(PathBuf::from("/media/RPI-RP2"));
        assert_eq!(choose(nrf, drive.clone(), true), Ok(Way::Probe("nRF52840_xxAA")));
        assert_eq!(choose(pico, drive.clone(), true), Ok(Way::Drive(PathBuf::from("/media/RPI-RP2"))));
        assert_eq!(choose(pico, None, true), Ok(Way::Probe("RP2040")));
    }

    #[test]
    fn what_is_missing_is_said_with_how_to_get_it() {
        let (nrf, pico) = (Board::by_name("nrf52840-dk").unwrap(), Board::by_name("pico-w").unwrap());
        assert!(choose(nrf, None, false).unwrap_err().contains("cargo install probe-rs-tools"));
        assert!(choose(pico, None, false).unwrap_err().contains("BOOTSEL"));
        assert!(choose(&EMULATED, None, true).unwrap_err().contains("conclave swarm"));
    }
}
