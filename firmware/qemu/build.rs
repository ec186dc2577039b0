//! Selects the algorithms and the memory map of the board.

#[path = "../boards/choose.rs"]
mod choose;

use std::path::PathBuf;
use std::{env, fs, io};

/// The runtime includes this file for the names of a chip's interrupts; here `vectors.rs` has them.
const DEVICE: &str = "/* Interrupts are named in vectors.rs. */\n";

fn main() -> io::Result<()> {
    let out = env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    fs::write(out.join("device.x"), DEVICE)?;
    choose::emit(&["mps2-an385"], &["link.x", "defmt.x"])
}
