//! Selects the algorithms and the memory map of the board.

#[path = "../boards/choose.rs"]
mod choose;
#[path = "../boards/map.rs"]
mod map;

fn main() -> std::io::Result<()> {
    choose::emit()?;
    map::emit(&["nucleo-h563zi"], &["link.x", "defmt.x"])
}
