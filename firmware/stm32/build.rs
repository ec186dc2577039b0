//! Puts the chosen board's memory map where the linker finds it.

#[path = "../boards/map.rs"]
mod map;

fn main() -> std::io::Result<()> {
    map::place(&["nucleo-h563zi"], &["link.x", "defmt.x"])
}
