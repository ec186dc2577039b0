//! Space-time diagrams: the messages of applications, and the cuts of snapshots.
//!
//! A [`History`] holds what the applications of a run did, from its trace. A [`Picture`] is the part of it to be
//! drawn, as [`text`](Picture::text) with time downwards or as [`svg`](Picture::svg) with time to the right. Both
//! highlight a message that was sent after the cut and received before it: the cut is then inconsistent.

mod glyphs;
mod history;
mod picture;
#[cfg(test)]
mod script;
mod svg;
mod text;

pub(crate) use history::{Action, Crossing, Cut, Event, History, Message, Moment};
pub(crate) use picture::{Picture, Row};
