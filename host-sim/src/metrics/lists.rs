//! Metrics of changes of the list of members.

use crate::base::Micros;
use crate::trace::{EventKind, Observer, TraceEvent};

#[derive(Clone, Debug, Default)]
pub(super) struct ListMetrics {
    /// When the leader was told to change the list last; none once that is decided.
    asked_at: Option<Micros>,
    changed: bool,
    decided: u64,
    times: Vec<Micros>,
}

impl ListMetrics {
    pub(super) fn samples(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let count = self.changed.then_some(("list_changes", self.decided));
        self.times.iter().map(|&time| ("list_decision_us", time)).chain(count)
    }
}

impl Observer for ListMetrics {
    fn observe(&mut self, event: &TraceEvent) {
        match event.kind {
            EventKind::Command { command: "add-member" | "remove-member" } => {
                (self.asked_at, self.changed) = (Some(event.at), true);
            }
            EventKind::ListDecided => {
                self.decided += 1;
                self.times.extend(self.asked_at.take().map(|asked| event.at - asked));
            }
            _ => {} // no change of the list
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_lasts_from_the_word_to_its_decision_and_is_counted_once() {
        let mut metrics = ListMetrics::default();
        assert_eq!(metrics.samples().count(), 0);
        let add = EventKind::Command { command: "add-member" };
        let events = [(10, add), (15, EventKind::ListDecided), (20, add), (30, add), (34, EventKind::ListDecided)];
        for (at, kind) in events {
            metrics.observe(&TraceEvent { at, node: Some(1), kind });
        }
        let expected = [("list_decision_us", 5), ("list_decision_us", 4), ("list_changes", 2)];
        assert!(metrics.samples().eq(expected), "{metrics:?}");
    }
}
