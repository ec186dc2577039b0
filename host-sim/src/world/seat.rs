//! What surrounds one node. The node itself is kept apart: most events look at its surroundings only, and those of many
//! nodes fit in the space of one node.

use crate::clock::Clock;
use crate::queue::Micros;
use protocol::clock::Term;
use protocol::records::Records;

/// No wake-up is due.
pub(super) const NEVER: Micros = Micros::MAX;

/// Whether a node hears and speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// It has not started, or it crashed.
    Down,
    /// It hears and speaks.
    Up,
    /// It neither hears nor speaks, and will go on where it stopped.
    Paused,
}

/// What surrounds one node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seat {
    pub(super) clock: Clock,
    pub(super) ppm: i32,
    /// When the event that wakes it is due.
    pub(super) wake_at: Micros,
    /// Since when its clock stands still.
    pub(super) frozen_since: Option<Micros>,
    /// What it stored.
    pub(super) records: Option<Records>,
    pub(super) boots: u32,
    /// What it is worth; `None` is unfit to lead.
    pub(super) capacity: Option<u16>,
    pub(super) may_lead: bool,
    /// Whom it last said to follow, by name.
    pub(super) belief: Option<(u32, Term)>,
}
