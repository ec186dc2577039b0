//! Always: the shared clock of a node never shows less than it did.

use crate::trace::{Act, TraceEvent, What};

pub(super) const NAME: &str = "clock-runs-on";

pub(super) fn see(event: &TraceEvent) -> Option<String> {
    let (What::App { act: Act::Back { by } }, Some(node)) = (event.what, event.node) else {
        return None; // every other event is about no clock that runs backwards
    };
    Some(format!("the clock of node {node} runs backwards, by {by} us"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_runs_backwards_is_reported() {
        let of = |act| see(&TraceEvent { at: 0, node: Some(3), what: What::App { act } });
        assert_eq!(of(Act::Back { by: 20 }).as_deref(), Some("the clock of node 3 runs backwards, by 20 us"));
        assert_eq!(of(Act::Corrected { by: -20 }), None);
    }
}
