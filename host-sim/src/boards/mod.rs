//! The boards there are, and what can be done with them from a desktop: build their images, look into these, write them.
//!
//! [`BOARDS`] is the one table; whatever names a board takes it from there. Flash and RAM of a board are in its memory
//! map, `firmware/boards/NAME.x`, which the linker and this program read alike.

mod build;
mod calls;
mod check;
mod layout;
mod panics;
mod parts;
pub mod tools;
pub mod uf2;

pub use build::{build, workspace};
pub use check::{Taken, Verdict, inspect};
pub use layout::{Layout, Region};
pub use panics::{Path as PanicPath, panic_paths};
pub use parts::{App, Parts};

use crate::swarm::setup::{self, Toolchain};

/// How a board gets its image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flashing {
    /// It is emulated: the emulator loads it.
    Emulated,
    /// By a debug probe: what probe-rs calls its chip.
    Probe(&'static str),
    /// As a file on the drive that the board shows while its button is held, or by a debug probe.
    Drive(&'static str),
}

impl Flashing {
    /// What probe-rs calls the chip; nothing where there is none to write.
    #[must_use]
    pub const fn chip(self) -> Option<&'static str> {
        match self {
            Self::Emulated => None,
            Self::Probe(chip) | Self::Drive(chip) => Some(chip),
        }
    }
}

/// How a board speaks to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// IEEE 802.15.4.
    Radio,
    /// UDP over Ethernet.
    Ethernet,
    /// UDP over Wi-Fi.
    Wifi,
}

/// What an image may take at most, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Of flash.
    pub flash: u64,
    /// Of RAM, without the stack.
    pub ram: u64,
}

/// A board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Board {
    /// Its name: on the command line, of its binary, and of its feature.
    pub name: &'static str,
    /// The package its image is built from.
    pub package: &'static str,
    /// Its processor, as compilers call it.
    pub target: &'static str,
    /// The feature that chooses it among the boards of its package.
    pub feature: Option<&'static str>,
    /// How it gets its image.
    pub flashing: Flashing,
    /// How it speaks to others.
    pub network: Network,
    /// What its image may take.
    pub limits: Limits,
    /// Its memory map.
    map: &'static str,
}

/// What a radio alone needs.
const SMALL: Limits = Limits { flash: 64 * 1024, ram: 16 * 1024 };
/// What a network stack needs besides.
const LARGE: Limits = Limits { flash: 128 * 1024, ram: 48 * 1024 };

/// A board whose feature has its name.
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

/// The board that every machine has.
pub const EMULATED: Board = Board {
    feature: None,
    ..board!("mps2-an385", "firmware-qemu", "thumbv7m-none-eabi", Flashing::Emulated, Network::Ethernet, LARGE)
};

/// All boards.
#[rustfmt::skip]
pub const BOARDS: [Board; 6] = [
    board!("nrf52840-dk", "firmware-nrf", "thumbv7em-none-eabihf", Flashing::Probe("nRF52840_xxAA"), Network::Radio, SMALL),
    board!("microbit-v2", "firmware-nrf", "thumbv7em-none-eabihf", Flashing::Probe("nRF52833_xxAA"), Network::Radio, SMALL),
    board!("nucleo-h563zi", "firmware-stm32", "thumbv8m.main-none-eabihf", Flashing::Probe("STM32H563ZITx"), Network::Ethernet, LARGE),
    board!("w5500-evb-pico", "firmware-rp", "thumbv6m-none-eabi", RP2040, Network::Ethernet, LARGE),
    board!("pico-w", "firmware-rp", "thumbv6m-none-eabi", RP2040, Network::Wifi, LARGE),
    EMULATED,
];

impl Board {
    /// The board of this name.
    ///
    /// # Errors
    /// A sentence with the names there are, the nearest first.
    pub fn by_name(name: &str) -> Result<&'static Self, String> {
        BOARDS
            .iter()
            .find(|board| board.name == name)
            .ok_or_else(|| parts::unknown("board", name, &BOARDS.map(|board| board.name)))
    }

    /// What its memory map says.
    ///
    /// # Panics
    /// Never: a test reads the map of every board.
    #[must_use]
    pub fn layout(&self) -> Layout {
        Layout::parse(self.map).expect("the map of every board is read in a test")
    }

    /// What there is on it for a program.
    #[must_use]
    pub fn memory(&self) -> Limits {
        let layout = self.layout();
        let bytes = |name| layout.region(name).map_or(0, |region| region.bytes);
        Limits { flash: bytes("FLASH"), ram: bytes("RAM") }
    }

    /// Finds or installs what building its image needs, telling each step in a line.
    ///
    /// # Errors
    /// A sentence with the command that the user has to run.
    pub fn prepare(&self, tell: impl FnMut(&str)) -> Result<Toolchain, String> {
        setup::prepare_compiler(self.target, tell)
    }
}

#[cfg(test)]
mod tests {
    use super::{BOARDS, Board, Flashing, Network};

    #[test]
    fn every_map_can_be_read_and_sets_room_aside() {
        for board in BOARDS {
            let layout = board.layout();
            let place = |name| layout.region(name).unwrap_or_else(|| panic!("{} has no {name}", board.name));
            assert!(
                place("FLASH").bytes >= board.limits.flash && place("RAM").bytes >= board.limits.ram,
                "{}",
                board.name
            );
            assert!(place("CONFIG").bytes >= 4096, "{}", board.name);
            if board.flashing != Flashing::Emulated {
                assert!(place("RECORDS").bytes >= 2 * place("CONFIG").bytes, "{}", board.name);
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
    fn a_name_that_is_no_board_is_answered_with_the_nearest() {
        assert_eq!(Board::by_name("pico-w").map(|board| board.package), Ok("firmware-rp"));
        let text = Board::by_name("picow").unwrap_err();
        assert!(text.starts_with("there is no board \"picow\"; there are pico-w, "), "{text}");
    }
}
