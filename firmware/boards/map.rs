//! For the build scripts of all boards: the memory map and the linker scripts.
//!
//! The map of a board is `NAME.x` beside this file. The linker reads it as `board.x`, which the `memory.x` in the
//! workspace's root includes.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Copies the map of the board to the linker's search path, and passes the linker `scripts`.
///
/// Of several `boards`, exactly one is enabled as a feature.
pub(crate) fn emit(boards: &[&str], scripts: &[&str]) -> io::Result<()> {
    let enabled = |board: &&&str| {
        let feature = board.to_uppercase().replace('-', "_");
        boards.len() == 1 || env::var_os(format!("CARGO_FEATURE_{feature}")).is_some()
    };
    let [board] = boards.iter().filter(enabled).collect::<Vec<_>>()[..] else {
        return Err(io::Error::other(format!("enable exactly one board as a feature: {}", boards.join(", "))));
    };
    let out = env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    let map = Path::new("../boards").join(format!("{board}.x"));
    fs::copy(&map, out.join("board.x"))?;
    println!("cargo::rustc-link-search={}", out.display());
    // Sections keep the addresses of the map; the default aligns them to the pages of a desktop.
    println!("cargo::rustc-link-arg-bins=--nmagic");
    // Identical functions are linked once.
    println!("cargo::rustc-link-arg-bins=--icf=all");
    for script in scripts {
        println!("cargo::rustc-link-arg-bins=-T{script}");
    }
    for file in [map.as_path(), Path::new("../boards/map.rs"), Path::new("../../memory.x"), Path::new("build.rs")] {
        println!("cargo::rerun-if-changed={}", file.display());
    }
    Ok(())
}
