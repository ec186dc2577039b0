//! Space-time diagrams: who said what to whom when, and where the cut of a snapshot passes.
//!
//! A [`History`] is what a run's applications did, taken from its trace. A [`Picture`] is the part of it that is worth
//! looking at, and can be drawn as [`text`](Picture::text), with time downwards, and as [`svg`](Picture::svg), with time to
//! the right. In both a message that was said after the cut and heard before it, which must not be, is drawn so that it is
//! seen.

mod glyphs;
mod history;
mod picture;
#[cfg(test)]
mod script;
mod svg;
mod text;
mod tracks;

pub use history::{Crossing, Cut, Event, Happening, History, Message, Moment, Transit};
pub use picture::{Picture, Row};
pub use text::NODES_MAX;
