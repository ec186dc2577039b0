//! Puts the chosen board's memory map where the linker finds it.

#[path = "../boards/map.rs"]
mod map;

fn main() -> std::io::Result<()> {
    map::place(&["w5500-evb-pico", "pico-w"], &["link.x", "link-rp.x", "defmt.x"])
}
