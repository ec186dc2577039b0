//! Histories for tests, written by hand.

use super::History;
use super::history::Transit;
use crate::base::Micros;
use crate::trace::{AppEvent, AppRequest, EventKind, Observer as _, TraceEvent};
use protocol::NodeId;
use protocol::service::snapshot;

/// The id of the cut, unless another is given.
pub(super) const CUT: snapshot::Id = snapshot::Id { initiator: NodeId(0), incarnation: 1, number: 1 };

/// Builds a history; times are in milliseconds.
#[derive(Clone, Default)]
pub(super) struct Script(History);

impl Script {
    pub(super) fn app(mut self, at: Micros, node: u32, app_event: AppEvent) -> Self {
        self.0.observe(&TraceEvent { at: at * 1_000, node: Some(node), kind: EventKind::App { event: app_event } });
        self
    }

    pub(super) fn sends(self, at: Micros, from: u32, to: u32, message: u32, amount: u32) -> Self {
        self.app(at, from, AppEvent::Sends { to, message, amount })
    }

    pub(super) fn receives(self, at: Micros, to: u32, from: u32, message: u32, amount: u32) -> Self {
        self.app(at, to, AppEvent::Receives { from, message: Some(message), amount })
    }

    pub(super) fn stray(self, at: Micros, to: u32, from: u32, amount: u32) -> Self {
        self.app(at, to, AppEvent::Receives { from, message: None, amount })
    }

    pub(super) fn recorded(self, at: Micros, node: u32, amount: u32) -> Self {
        self.app(at, node, AppEvent::Recorded { snapshot: CUT, amount })
    }

    pub(super) fn state(self, at: Micros, of: u32, amount: u32) -> Self {
        self.app(at, 0, AppEvent::State { snapshot: CUT, of, amount })
    }

    pub(super) fn channel(self, at: Micros, Transit { from, to, amount }: Transit) -> Self {
        self.app(at, 0, AppEvent::Channel { snapshot: CUT, from, to, amount })
    }

    pub(super) fn taken(self, at: Micros, nodes: u32) -> Self {
        self.app(at, 0, AppEvent::Completed { snapshot: CUT, nodes })
    }

    pub(super) fn starts(self, at: Micros, node: u32, units: u32) -> Self {
        self.app(at, node, AppEvent::Request { request: AppRequest::Start { units } })
    }

    pub(super) fn busy(self, at: Micros, node: u32) -> Self {
        self.app(at, node, AppEvent::Busy)
    }

    pub(super) fn idle(self, at: Micros, node: u32) -> Self {
        self.app(at, node, AppEvent::Idle)
    }

    pub(super) fn wave(self, at: Micros, node: u32, number: u32) -> Self {
        self.app(at, node, AppEvent::Wave { number })
    }

    pub(super) fn terminated(self, at: Micros, node: u32) -> Self {
        self.app(at, node, AppEvent::Terminated { by: 0, job: 1, waves: 1 })
    }

    pub(super) fn history(self) -> History {
        self.0
    }
}

/// A bank of three nodes: the second begins a snapshot that finds 12 tokens in flight.
pub(super) fn bank() -> History {
    Script::default()
        .sends(1, 0, 1, 0, 5)
        .receives(2, 1, 0, 0, 5)
        .sends(3, 2, 0, 1, 12)
        .recorded(4, 1, 105)
        .sends(5, 1, 2, 2, 7)
        .recorded(6, 0, 95)
        .receives(7, 0, 2, 1, 12)
        .recorded(8, 2, 88)
        .receives(9, 2, 1, 2, 7)
        .sends(10, 0, 2, 3, 30)
        .history()
}

/// A late marker: a message sent after the cut is received before it.
pub(super) fn inconsistent() -> History {
    Script::default().recorded(1, 0, 100).sends(2, 0, 1, 0, 40).receives(3, 1, 0, 0, 40).recorded(4, 1, 140).history()
}

/// A marker that overtakes: a message in flight across the cut is not in the snapshot.
pub(super) fn overtaken() -> History {
    let script = Script::default().sends(1, 1, 0, 0, 40).recorded(2, 0, 100).recorded(3, 1, 60);
    script.receives(4, 0, 1, 0, 40).state(5, 0, 100).state(5, 1, 60).taken(6, 2).history()
}

/// A job of two nodes whose end the second wave detects.
pub(super) fn job() -> History {
    Script::default()
        .starts(1, 0, 9)
        .busy(1, 0)
        .wave(2, 0, 1)
        .sends(3, 0, 1, 0, 4)
        .receives(4, 1, 0, 0, 4)
        .busy(4, 1)
        .idle(5, 0)
        .idle(6, 1)
        .wave(7, 0, 2)
        .terminated(8, 0)
        .terminated(9, 1)
        .history()
}
