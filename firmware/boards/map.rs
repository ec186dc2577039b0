//! For the build scripts of all boards: puts the memory map of the chosen board where the linker finds it.
//!
//! A board is chosen by the feature of its name. The map is `NAME.x` beside this file; the linker reads it as `board.x`,
//! which is what the `memory.x` in the workspace's root includes.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Places the map of the one board of `boards` that is chosen, and names the linker `scripts`.
pub(crate) fn place(boards: &[&str], scripts: &[&str]) -> io::Result<()> {
    let chosen = |board: &&&str| {
        let feature = board.to_uppercase().replace('-', "_");
        env::var_os(format!("CARGO_FEATURE_{feature}")).is_some()
    };
    let [board] = boards.iter().filter(chosen).collect::<Vec<_>>()[..] else {
        let names = boards.join(", ");
        return Err(io::Error::other(format!("choose exactly one board as a feature: {names}")));
    };
    place_map(board, scripts)
}

/// Places the map of `board`, and names the linker `scripts`.
pub(crate) fn place_map(board: &str, scripts: &[&str]) -> io::Result<()> {
    let out = env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    let map = Path::new("../boards").join(format!("{board}.x"));
    fs::copy(&map, out.join("board.x"))?;
    println!("cargo::rustc-link-search={}", out.display());
    // Sections keep the addresses of the map: without this, the linker would align them to pages of a desktop.
    println!("cargo::rustc-link-arg-bins=--nmagic");
    // Functions that came out the same are kept once.
    println!("cargo::rustc-link-arg-bins=--icf=all");
    for script in scripts {
        println!("cargo::rustc-link-arg-bins=-T{script}");
    }
    for file in [map.as_path(), Path::new("../boards/map.rs"), Path::new("../../memory.x"), Path::new("build.rs")] {
        println!("cargo::rerun-if-changed={}", file.display());
    }
    Ok(())
}
