//! Selects the algorithms and the memory map of the board.

#[path = "../boards/choose.rs"]
mod choose;

fn main() -> std::io::Result<()> {
    choose::emit(&["nucleo-h563zi"], &["link.x", "defmt.x"])
}
