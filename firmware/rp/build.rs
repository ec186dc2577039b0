//! Puts the chosen board's memory map where the linker finds it, and tells the compiler what the board runs.

#[path = "../boards/choose.rs"]
mod choose;
#[path = "../boards/map.rs"]
mod map;

fn main() -> std::io::Result<()> {
    choose::tell();
    map::place(&["w5500-evb-pico", "pico-w"], &["link.x", "link-rp.x", "defmt.x"])
}
