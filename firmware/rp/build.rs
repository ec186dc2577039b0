//! Selects the algorithms and the memory map of the board.

#[path = "../boards/choose.rs"]
mod choose;

fn main() -> std::io::Result<()> {
    choose::emit(&["w5500-evb-pico", "pico-w"], &["link.x", "link-rp.x", "defmt.x"])
}
