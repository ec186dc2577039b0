//! Calm: how long the network has been without disturbance.

use crate::base::Micros;
use crate::trace::{EventKind, TraceEvent};

/// Follows the disturbances of a run, event by event.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Calm {
    /// How long after a disturbance the network has to be settled; `None` if that is not known, and nothing is calm.
    settle_time: Option<Micros>,
    disturbed_at: Micros,
}

impl Calm {
    pub(crate) fn after(settle_time: Micros) -> Self {
        Self { settle_time: Some(settle_time), disturbed_at: 0 }
    }

    /// Observes an event; returns whether it disturbs the network.
    pub(crate) fn observe(&mut self, event: &TraceEvent) -> bool {
        let disturbs = matches!(
            event.kind,
            EventKind::Boot { .. }
                | EventKind::Crash
                | EventKind::Pause
                | EventKind::Resume
                | EventKind::Command { .. }
                | EventKind::Partition
                | EventKind::Heal
                | EventKind::LinkFault { .. }
                | EventKind::CapacityFault
                | EventKind::Steady { .. }
                | EventKind::Moved
                | EventKind::NewList { .. }
        );
        if disturbs {
            self.disturbed_at = event.at;
        }
        disturbs
    }

    /// Returns since when the network has been calm at `now`, if it is.
    pub(crate) fn since(&self, now: Micros) -> Option<Micros> {
        Some(self.disturbed_at + self.settle_time?).filter(|&since| since <= now)
    }
}
