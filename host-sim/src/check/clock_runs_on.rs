//! Always: the shared clock of a node never runs backwards.

use super::Always;
use crate::trace::{AppEvent, EventKind, TraceEvent};

#[derive(Default)]
pub(super) struct Checker;

impl Always for Checker {
    const NAME: &'static str = "clock-runs-on";

    fn observe(&mut self, event: &TraceEvent) -> Option<String> {
        let (EventKind::App { event: AppEvent::ClockWentBack { by } }, Some(node)) = (event.kind, event.node) else {
            return None; // no clock ran backwards
        };
        Some(format!("the clock of node {node} runs backwards, by {by} us"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{app, findings};
    use super::*;

    #[test]
    fn a_clock_that_runs_backwards_is_reported() {
        let events = [app(3, AppEvent::ClockAdjusted { by: -20 }), app(3, AppEvent::ClockWentBack { by: 20 })];
        assert_eq!(findings::<Checker>(&events), ["the clock of node 3 runs backwards, by 20 us"]);
    }
}
