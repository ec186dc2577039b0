//! Puts the board's memory map where the linker finds it, and names the linker scripts.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

const MAP: &str = "../boards/mps2-an385.x";

/// The runtime asks for this file to name a chip's interrupts; ours are in `vectors.rs`.
const DEVICE: &str = "/* Interrupts are named in vectors.rs. */\n";

fn main() -> io::Result<()> {
    let out = env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    fs::copy(Path::new(MAP), out.join("board.x"))?;
    fs::write(out.join("device.x"), DEVICE)?;

    println!("cargo::rustc-link-search={}", out.display());
    // Sections keep the addresses of the map: without this, the linker would align them to pages of a desktop.
    println!("cargo::rustc-link-arg-bins=--nmagic");
    println!("cargo::rustc-link-arg-bins=-Tlink.x");
    println!("cargo::rustc-link-arg-bins=-Tdefmt.x");
    println!("cargo::rerun-if-changed={MAP}");
    println!("cargo::rerun-if-changed=../../memory.x");
    println!("cargo::rerun-if-changed=build.rs");
    Ok(())
}
