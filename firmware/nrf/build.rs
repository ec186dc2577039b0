//! Selects the algorithms and the memory map of the board.

#[path = "../boards/choose.rs"]
mod choose;

fn main() -> std::io::Result<()> {
    choose::emit(&["nrf52840-dk", "microbit-v2"], &["link.x", "defmt.x"])
}
