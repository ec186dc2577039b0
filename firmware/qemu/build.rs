//! Puts the board's memory map where the linker finds it, and names the linker scripts.

#[expect(dead_code, reason = "this package has one board, and no feature to choose it")]
#[path = "../boards/map.rs"]
mod map;

use std::path::PathBuf;
use std::{env, fs, io};

/// The runtime asks for this file to name a chip's interrupts; ours are in `vectors.rs`.
const DEVICE: &str = "/* Interrupts are named in vectors.rs. */\n";

/// The elections an image can be built with: `CONCLAVE_ELECTION` says which, and nothing else of it is linked.
const ELECTIONS: [&str; 6] = ["wireless", "wireless-flat", "bully", "ring", "chang-roberts", "lelann"];

fn choose_election() {
    let chosen = env::var("CONCLAVE_ELECTION").unwrap_or_else(|_| ELECTIONS[0].to_owned());
    assert!(ELECTIONS.contains(&&*chosen), "CONCLAVE_ELECTION is one of {ELECTIONS:?}, not \"{chosen}\"");
    println!("cargo::rerun-if-env-changed=CONCLAVE_ELECTION");
    println!("cargo::rustc-check-cfg=cfg(election, values({}))", ELECTIONS.map(|name| format!("{name:?}")).join(", "));
    println!("cargo::rustc-cfg=election={chosen:?}");
}

fn main() -> io::Result<()> {
    let out = env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    fs::write(out.join("device.x"), DEVICE)?;
    choose_election();
    map::place_map("mps2-an385", &["link.x", "defmt.x"])
}
