//! Puts the chosen board's memory map where the linker finds it.

#[path = "../boards/map.rs"]
mod map;

fn main() -> std::io::Result<()> {
    map::place(&["nrf52840-dk", "microbit-v2"], &["link.x", "defmt.x"])
}
