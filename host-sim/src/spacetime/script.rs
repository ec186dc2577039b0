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
