//! The state of one node's surroundings. The node itself is kept apart: most events need its surroundings only, and
//! the surroundings of many nodes fit in the space of one node.

use crate::base::Micros;
use crate::sim::clock::Clock;
use protocol::base::records::Records;
use protocol::base::term::Term;
use protocol::election::appointment::Appointment;

/// No wake-up is due.
pub(super) const NEVER: Micros = Micros::MAX;

/// Whether a node runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PowerState {
    /// The node has not booted, or it crashed.
    Down,
    Up,
    /// The node neither receives nor sends, and keeps its state.
    Paused,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct NodeState {
    pub(super) clock: Clock,
    pub(super) ppm: i32,
    /// The moment of the event that wakes it.
    pub(super) wake_at: Micros,
    /// The moment its clock was stopped.
    pub(super) frozen_since: Option<Micros>,
    pub(super) records: Option<Records>,
    pub(super) boots: u32,
    /// Its capacity; `None` is unfit to lead.
    pub(super) capacity: Option<u16>,
    /// Whether it was appointed to lead, by hand.
    pub(super) appointment: Appointment,
    /// Whether its capacity changed while it was paused: it is measured when the node resumes.
    pub(super) measure_due: bool,
    pub(super) may_lead: bool,
    /// The id and term of the leader it last reported.
    pub(super) leader: Option<(u32, Term)>,
}
