//! Puts the board's memory map where the linker finds it, and names the linker scripts.

#[path = "../boards/choose.rs"]
mod choose;
#[expect(dead_code, reason = "this package has one board, and no feature to choose it")]
#[path = "../boards/map.rs"]
mod map;

use std::path::PathBuf;
use std::{env, fs, io};

/// The runtime asks for this file to name a chip's interrupts; ours are in `vectors.rs`.
const DEVICE: &str = "/* Interrupts are named in vectors.rs. */\n";

fn main() -> io::Result<()> {
    let out = env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    fs::write(out.join("device.x"), DEVICE)?;
    choose::tell();
    map::place_map("mps2-an385", &["link.x", "defmt.x"])
}
