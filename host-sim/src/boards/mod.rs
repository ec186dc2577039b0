//! The supported boards: building, inspecting and writing their images.
//!
//! `BOARDS` is the only table of boards. The flash and RAM of a board are in its memory map,
//! `firmware/boards/NAME.x`, which both the linker and this program read.

mod build;
mod calls;
mod check;
pub(crate) mod hex;
mod layout;
mod panics;
mod parts;
pub mod toolchain;
pub(crate) mod tools;
pub(crate) mod uf2;

pub(crate) use build::{build, target_folder, workspace};
pub(crate) use check::{Inspection, inspect};
pub(crate) use layout::{Layout, Region};
pub(crate) use panics::{LineTable, PanicPath, line_table, panic_paths};
pub use parts::{App, Parts};

use crate::base::nearest::unknown;
use serde::Serialize;
use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flashing {
    Emulated,
    /// By a debug probe; the name of the chip in probe-rs.
    Probe(&'static str),
    /// As a file on the USB drive of the bootloader, or by a debug probe; the name of the chip in probe-rs.
    Drive(&'static str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Network {
    /// IEEE 802.15.4.
    Radio,
    /// UDP over Ethernet.
    Ethernet,
    /// UDP over Wi-Fi.
    Wifi,
}

/// Bytes of each memory of a board.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Bytes {
    pub flash: u64,
    /// Without the stack.
    pub ram: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Board {
    /// Its name: on the command line, of its binary and of its feature.
    pub name: &'static str,
    pub package: &'static str,
    pub target: &'static str,
    /// The feature that selects it among the boards of its package.
    pub feature: Option<&'static str>,
    pub flashing: Flashing,
    pub network: Network,
    /// The most bytes its image may use.
    pub limits: Bytes,
    map: &'static str,
}

/// For a radio.
const SMALL: Bytes = Bytes { flash: 70 * 1024, ram: 16 * 1024 };
/// For an IP stack.
const LARGE: Bytes = Bytes { flash: 136 * 1024, ram: 48 * 1024 };

/// A board with a feature of its own name.
macro_rules! board {
    ($name:literal, $package:literal, $target:literal, $flashing:expr, $network:expr, $limits:expr) => {
        Board {
            name: $name,
            package: $package,
            target: $target,
            feature: Some($name),
            flashing: $flashing,
            network: $network,
            limits: $limits,
            map: include_str!(concat!("../../../firmware/boards/", $name, ".x")),
        }
    };
}

const RP2040: Flashing = Flashing::Drive("RP2040");

pub(crate) const EMULATED: Board = Board {
    feature: None,
    ..board!("mps2-an385", "firmware-qemu", "thumbv7m-none-eabi", Flashing::Emulated, Network::Ethernet, LARGE)
};

#[rustfmt::skip]
pub(crate) const BOARDS: [Board; 6] = [
    board!("nrf52840-dk", "firmware-nrf", "thumbv7em-none-eabihf", Flashing::Probe("nRF52840_xxAA"), Network::Radio, SMALL),
    board!("microbit-v2", "firmware-nrf", "thumbv7em-none-eabihf", Flashing::Probe("nRF52833_xxAA"), Network::Radio, SMALL),
    board!("nucleo-h563zi", "firmware-stm32", "thumbv8m.main-none-eabihf", Flashing::Probe("STM32H563ZITx"), Network::Ethernet, LARGE),
    board!("w5500-evb-pico", "firmware-rp", "thumbv6m-none-eabi", RP2040, Network::Ethernet, LARGE),
    board!("pico-w", "firmware-rp", "thumbv6m-none-eabi", RP2040, Network::Wifi, LARGE),
    EMULATED,
];

impl Board {
    pub(crate) fn by_name(name: &str) -> Result<&'static Self, String> {
        BOARDS
            .iter()
            .find(|board| board.name == name)
            .ok_or_else(|| unknown("board", name, BOARDS.map(|board| board.name).into_iter()))
    }

    pub(crate) fn layout(&self) -> Layout {
        Layout::parse(self.map).expect("the map of every board is read in a test")
    }

    /// Returns the memory for a program.
    pub(crate) fn memory(&self) -> Bytes {
        let layout = self.layout();
        let bytes = |name| layout.region(name).map_or(0, |region| region.bytes);
        Bytes { flash: bytes("FLASH"), ram: bytes("RAM") }
    }
}

/// Returns the bits of the options that are on.
pub(crate) fn option_bits(options: &[(u32, bool)]) -> u32 {
    options.iter().filter(|(_, on)| *on).fold(0, |bits, (option, _)| bits | option)
}

/// Returns how an error is reported: after the name of its file.
pub(crate) fn in_file<E: std::fmt::Display>(file: &Path) -> impl Fn(E) -> String {
    move |error| format!("{}: {error}", file.display())
}

#[cfg(test)]
mod tests {
    use super::{BOARDS, Board, Flashing, Network};

    #[test]
    fn every_memory_map_can_be_parsed_and_reserves_its_regions() {
        for board in BOARDS {
            let layout = board.layout();
            let region = |name| layout.region(name).unwrap_or_else(|| panic!("{} has no {name}", board.name));
            let (flash, ram) = (region("FLASH").bytes, region("RAM").bytes);
            assert!(flash >= board.limits.flash && ram >= board.limits.ram, "{}", board.name);
            assert!(region("CONFIG").bytes >= 4096, "{}", board.name);
            if board.flashing != Flashing::Emulated {
                assert!(region("RECORDS").bytes >= 2 * region("CONFIG").bytes, "{}", board.name);
            }
            assert_eq!(layout.region("BLOBS").is_some(), board.network == Network::Wifi, "{}", board.name);
        }
    }

    #[test]
    fn no_two_regions_of_a_map_overlap() {
        for board in BOARDS {
            let mut regions = board.layout().regions;
            regions.sort_by_key(|region| region.origin);
            for two in regions.windows(2) {
                assert!(two[0].origin + two[0].bytes <= two[1].origin, "{}: {two:?}", board.name);
            }
        }
    }

    #[test]
    fn an_unknown_board_is_refused_with_the_nearest_name() {
        assert_eq!(Board::by_name("pico-w").map(|board| board.package), Ok("firmware-rp"));
        let text = Board::by_name("picow").unwrap_err();
        assert_eq!(text, "there is no board \"picow\" here; the nearest is \"pico-w\"");
    }
}
