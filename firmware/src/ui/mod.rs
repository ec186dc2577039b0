//! LED and button, and the board that has them.

mod board;
pub mod button;
pub mod led;
mod lock_button;
pub mod pins;

pub use board::{Hardware, UiBoard};
