//! Histories by hand, for tests.

use super::{History, Transit};
use crate::machine::Request;
use crate::queue::Micros;
use crate::trace::{Act, Observer as _, TraceEvent, What};
use protocol::{NodeId, snapshot};

/// The name of the only cut, unless another is told.
pub(super) const CUT: snapshot::Id = snapshot::Id { initiator: NodeId(0), incarnation: 1, number: 1 };

/// What happens, one after the other; times are in milliseconds.
#[derive(Clone, Default)]
pub(super) struct Script(History);

impl Script {
    pub(super) fn act(mut self, at: Micros, node: u32, act: Act) -> Self {
        self.0.see(&TraceEvent { at: at * 1_000, node: Some(node), what: What::App { act } });
        self
    }

    pub(super) fn says(self, at: Micros, from: u32, to: u32, message: u32, amount: u32) -> Self {
        self.act(at, from, Act::Says { to, message, amount })
    }

    pub(super) fn hears(self, at: Micros, to: u32, from: u32, message: u32, amount: u32) -> Self {
        self.act(at, to, Act::Hears { from, message: Some(message), amount })
    }

    pub(super) fn stray(self, at: Micros, to: u32, from: u32, amount: u32) -> Self {
        self.act(at, to, Act::Hears { from, message: None, amount })
    }

    pub(super) fn recorded(self, at: Micros, node: u32, amount: u32) -> Self {
        self.act(at, node, Act::Recorded { snapshot: CUT, amount })
    }

    pub(super) fn state(self, at: Micros, of: u32, amount: u32) -> Self {
        self.act(at, 0, Act::State { snapshot: CUT, of, amount })
    }

    pub(super) fn channel(self, at: Micros, Transit { from, to, amount }: Transit) -> Self {
        self.act(at, 0, Act::Channel { snapshot: CUT, from, to, amount })
    }

    pub(super) fn taken(self, at: Micros, nodes: u32) -> Self {
        self.act(at, 0, Act::Taken { snapshot: CUT, nodes })
    }

    pub(super) fn starts(self, at: Micros, node: u32, units: u32) -> Self {
        self.act(at, node, Act::Asked { request: Request::Start { units } })
    }

    pub(super) fn busy(self, at: Micros, node: u32) -> Self {
        self.act(at, node, Act::Busy)
    }

    pub(super) fn idle(self, at: Micros, node: u32) -> Self {
        self.act(at, node, Act::Idle)
    }

    pub(super) fn wave(self, at: Micros, node: u32, number: u32) -> Self {
        self.act(at, node, Act::Wave { number })
    }

    pub(super) fn over(self, at: Micros, node: u32) -> Self {
        self.act(at, node, Act::Over { by: 0, job: 1, waves: 1 })
    }

    pub(super) fn history(self) -> History {
        self.0
    }
}

/// Three nodes of a bank: the second begins a snapshot that finds 12 tokens on their way.
pub(super) fn bank() -> History {
    Script::default()
        .says(1, 0, 1, 0, 5)
        .hears(2, 1, 0, 0, 5)
        .says(3, 2, 0, 1, 12)
        .recorded(4, 1, 105)
        .says(5, 1, 2, 2, 7)
        .recorded(6, 0, 95)
        .hears(7, 0, 2, 1, 12)
        .recorded(8, 2, 88)
        .hears(9, 2, 1, 2, 7)
        .says(10, 0, 2, 3, 30)
        .history()
}

/// A marker that is late: what was said after the cut is heard before it.
pub(super) fn inconsistent() -> History {
    Script::default().recorded(1, 0, 100).says(2, 0, 1, 0, 40).hears(3, 1, 0, 0, 40).recorded(4, 1, 140).history()
}

/// A job that two nodes do, and that the second wave finds to be over.
pub(super) fn job() -> History {
    Script::default()
        .starts(1, 0, 9)
        .busy(1, 0)
        .wave(2, 0, 1)
        .says(3, 0, 1, 0, 4)
        .hears(4, 1, 0, 0, 4)
        .busy(4, 1)
        .idle(5, 0)
        .idle(6, 1)
        .wave(7, 0, 2)
        .over(8, 0)
        .over(9, 1)
        .history()
}
