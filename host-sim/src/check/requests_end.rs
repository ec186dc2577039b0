//! Always: every request ends exactly once, answered, refused or timed out, while its node is up; and is handled at most
//! once, unless it is repeatable.

use super::Always;
use crate::base::Micros;
use crate::trace::{AppEvent, EventKind, RequestStep, TraceEvent};
use std::collections::{BTreeMap, VecDeque};

/// The longest time a request may be open: far above the timeout of any request.
const OPEN_MAX: Micros = 60_000_000;

/// A request by origin, boot and number.
type Id = (u32, u8, u16);

#[derive(Default)]
pub(super) struct Checker {
    /// When each open request was made.
    open: BTreeMap<Id, Micros>,
    /// The same requests and others that have ended since, in the order of time.
    made: VecDeque<(Micros, Id)>,
    /// Where each request was handled first.
    handled: BTreeMap<Id, u32>,
}

impl Checker {
    fn on_step(&mut self, at: Micros, node: u32, id: Id, step: RequestStep, repeatable: bool) -> Option<String> {
        let (origin, _, number) = id;
        match step {
            RequestStep::Made => {
                self.made.push_back((at, id));
                self.open.insert(id, at).map(|_| format!("node {origin} makes request {number} twice"))
            }
            RequestStep::Handled if repeatable => None,
            RequestStep::Handled => {
                let first = self.handled.insert(id, node)?;
                Some(format!("node {node} handles request {number} of node {origin}, which node {first} has handled"))
            }
            RequestStep::Answered | RequestStep::Refused | RequestStep::TimedOut => {
                let ended = self.open.remove(&id).is_none();
                ended.then(|| format!("request {number} of node {origin} ends, and is not open"))
            }
            RequestStep::Sent | RequestStep::Received | RequestStep::Delivered | RequestStep::Undelivered => None, // no request
        }
    }

    /// Finds a request that is open for too long.
    fn overdue(&mut self, now: Micros) -> Option<String> {
        while let Some(&(at, id)) = self.made.front().filter(|(at, _)| at + OPEN_MAX < now) {
            self.made.pop_front();
            if self.open.get(&id) == Some(&at) {
                let (origin, _, number) = id;
                return Some(format!("request {number} of node {origin} has not ended after {} s", OPEN_MAX / 1_000_000));
            }
        }
        None
    }
}

impl Always for Checker {
    const NAME: &'static str = "requests-end";

    fn observe(&mut self, event: &TraceEvent) -> Option<String> {
        match (event.kind, event.node) {
            (EventKind::App { event: AppEvent::Service { step, origin, boot, number, repeatable } }, Some(node)) => {
                self.on_step(event.at, node, (origin, boot, number), step, repeatable)
            }
            // What a node had asked for ends with it.
            (EventKind::Crash, Some(node)) => {
                self.open.retain(|(origin, ..), _| *origin != node);
                None
            }
            _ => self.overdue(event.at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_support::{NOTHING, app, event, findings};
    use super::*;

    fn step(node: u32, number: u16, step: RequestStep) -> TraceEvent {
        app(node, AppEvent::Service { step, origin: 1, boot: 1, number, repeatable: false })
    }

    #[test]
    fn a_request_that_ends_once_passes_and_one_that_ends_twice_is_reported() {
        let once = [step(1, 1, RequestStep::Made), step(7, 1, RequestStep::Handled), step(1, 1, RequestStep::Answered)];
        assert_eq!(findings::<Checker>(&once), NOTHING);
        let twice = [&once[..], &[step(1, 1, RequestStep::TimedOut)]].concat();
        assert_eq!(findings::<Checker>(&twice), ["request 1 of node 1 ends, and is not open"]);
    }

    #[test]
    fn a_request_that_is_handled_twice_is_reported_unless_it_is_repeatable() {
        let handled = [step(1, 1, RequestStep::Made), step(7, 1, RequestStep::Handled), step(8, 1, RequestStep::Handled)];
        assert_eq!(findings::<Checker>(&handled), ["node 8 handles request 1 of node 1, which node 7 has handled"]);
        let again = AppEvent::Service { step: RequestStep::Handled, origin: 1, boot: 1, number: 1, repeatable: true };
        assert_eq!(findings::<Checker>(&[app(7, again), app(8, again)]), NOTHING);
    }

    #[test]
    fn a_request_that_never_ends_is_reported_unless_its_node_crashed() {
        let late = TraceEvent { at: OPEN_MAX + 1, ..event(2, EventKind::Leaderless) };
        let found = findings::<Checker>(&[step(1, 3, RequestStep::Made), late]);
        assert_eq!(found, ["request 3 of node 1 has not ended after 60 s"]);
        assert_eq!(findings::<Checker>(&[step(1, 3, RequestStep::Made), event(1, EventKind::Crash), late]), NOTHING);
    }
}
