//! Always: termination is announced only when all nodes are idle and no message is in flight, so that no message sent
//! before is received after; and a detection needs no third wave once the job is over and no member is suspected. Waves
//! are counted until a node crashes or the network is partitioned: from then on members may disagree on who takes part.

use super::Always;
use crate::check::quiescence::Quiescence;
use crate::trace::{AppEvent, EventKind, Observer, TraceEvent};

/// How many waves a detection may need once the job is over.
const WAVES_MAX: u64 = 2;

#[derive(Default)]
pub(super) struct Checker {
    quiescence: Quiescence,
    /// Messages sent so far.
    sent: u32,
    /// Messages sent before the last detection.
    before_end: u32,
    /// Whether members may disagree on who takes part.
    membership_unsettled: bool,
}

impl Always for Checker {
    const NAME: &'static str = "no-early-end";

    fn observe(&mut self, event: &TraceEvent) -> Option<String> {
        self.quiescence.observe(event);
        let (EventKind::App { event: app_event }, Some(node)) = (event.kind, event.node) else {
            self.membership_unsettled |= matches!(event.kind, EventKind::Crash | EventKind::Partition);
            return None; // no application event
        };
        match app_event {
            AppEvent::Sends { message, .. } => self.sent = message + 1,
            AppEvent::Receives { from, message: Some(message), .. } if message < self.before_end => {
                return Some(format!("node {node} receives from node {from} a message sent before the end"));
            }
            AppEvent::Terminated { by, job, .. } if by == node => {
                self.before_end = self.sent;
                return self.violation(node, job);
            }
            _ => {} // neither a message nor an end
        }
        None
    }
}

impl Checker {
    fn violation(&self, node: u32, job: u32) -> Option<String> {
        if let Some(activity) = self.quiescence.activity() {
            return Some(format!("node {node} announces the end of job {job} while {activity}"));
        }
        let waves = self.quiescence.waves(node);
        (waves > WAVES_MAX && !self.membership_unsettled)
            .then(|| format!("node {node} needed {waves} waves to detect the end of job {job}"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{NOTHING, app, findings};
    use super::*;

    fn found(events: &[(u32, AppEvent)]) -> Vec<String> {
        findings::<Checker>(&events.iter().map(|&(node, app_event)| app(node, app_event)).collect::<Vec<_>>())
    }

    const OVER: AppEvent = AppEvent::Terminated { by: 0, job: 1, waves: 1 };

    #[test]
    fn an_end_that_is_announced_while_a_node_works_or_a_message_is_in_flight_is_reported() {
        let sent = (1, AppEvent::Sends { to: 2, message: 0, amount: 1 });
        let received = (2, AppEvent::Receives { from: 1, message: Some(0), amount: 1 });
        let events =
            [(1, AppEvent::Busy), (0, OVER), sent, (1, AppEvent::Idle), (0, OVER), received, (0, OVER), (1, OVER)];
        let expected = [
            "node 0 announces the end of job 1 while node 1 works",
            "node 0 announces the end of job 1 while a message from node 1 to node 2 is in flight",
            "node 2 receives from node 1 a message sent before the end",
        ];
        assert_eq!(found(&events), expected);
    }

    #[test]
    fn an_end_that_is_found_too_late_is_reported() {
        let wave = (0, AppEvent::Wave { number: 1 });
        let before = [(1, AppEvent::Busy), wave, wave, wave, (1, AppEvent::Idle)];
        assert_eq!(found(&[&before[..], &[wave, wave, (0, OVER)]].concat()), NOTHING);
        let expected = ["node 0 needed 3 waves to detect the end of job 1"];
        assert_eq!(found(&[&before[..], &[wave, wave, wave, (0, OVER)]].concat()), expected);
    }
}
