//! Metrics of requests: how they end, how long they take, and how many each super-peer handles.

use crate::base::Micros;
use crate::trace::{AppEvent, EventKind, Observer, RequestStep, TraceEvent};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default)]
pub(super) struct RequestMetrics {
    /// When each open request was made, by origin, boot and number.
    made: BTreeMap<(u32, u8, u16), Micros>,
    requested: bool,
    ends: [u64; 3],
    /// Messages to clients: sent, received, to one client and acknowledged, and not acknowledged.
    messages: [u64; 4],
    /// By super-peer, how many requests it handled.
    handled: BTreeMap<u32, u64>,
    round_trips: Vec<u64>,
}

impl RequestMetrics {
    pub(super) fn samples(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let names = ["requests_answered", "requests_refused", "requests_timed_out"];
        let ends = names.into_iter().zip(self.ends).filter(|_| self.requested);
        let names = ["messages_sent", "messages_received", "messages_delivered", "messages_undelivered"];
        let messages = names.into_iter().zip(self.messages).filter(|_| self.messages[0] > 0);
        let loads = self.handled.values().map(|&count| ("super_peer_requests", count));
        self.round_trips.iter().map(|&took| ("round_trip_us", took)).chain(ends).chain(messages).chain(loads)
    }
}

impl Observer for RequestMetrics {
    fn observe(&mut self, event: &TraceEvent) {
        let (EventKind::App { event: AppEvent::Service { step, origin, boot, number, .. } }, Some(node)) =
            (event.kind, event.node)
        else {
            return; // no request
        };
        let id = (origin, boot, number);
        let made = match step {
            RequestStep::Made => {
                self.requested = true;
                self.made.insert(id, event.at);
                return;
            }
            RequestStep::Handled => {
                *self.handled.entry(node).or_default() += 1;
                return;
            }
            RequestStep::Answered | RequestStep::Refused | RequestStep::TimedOut => self.made.remove(&id),
            RequestStep::Sent => return self.messages[0] += 1,
            RequestStep::Received => return self.messages[1] += 1,
            RequestStep::Delivered => return self.messages[2] += 1,
            RequestStep::Undelivered => return self.messages[3] += 1,
        };
        let end =
            [RequestStep::Answered, RequestStep::Refused, RequestStep::TimedOut].iter().position(|&end| end == step);
        if let Some(end) = end {
            self.ends[end] += 1;
        }
        if step == RequestStep::Answered {
            self.round_trips.extend(made.map(|made| event.at - made));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_measured_by_how_they_end_and_where_they_were_handled() {
        let mut metrics = RequestMetrics::default();
        assert_eq!(metrics.samples().count(), 0);
        let steps = [
            (10, 1, 1, RequestStep::Made),
            (15, 9, 1, RequestStep::Handled),
            (20, 1, 2, RequestStep::Made),
            (30, 1, 1, RequestStep::Answered),
            (40, 1, 2, RequestStep::TimedOut),
            (50, 1, 3, RequestStep::Made),
            (60, 1, 3, RequestStep::Refused),
        ];
        for (at, node, number, step) in steps {
            let event = AppEvent::Service { step, origin: 1, boot: 1, number, repeatable: false };
            metrics.observe(&TraceEvent { at, node: Some(node), kind: EventKind::App { event } });
        }
        let expected = [
            ("round_trip_us", 20),
            ("requests_answered", 1),
            ("requests_refused", 1),
            ("requests_timed_out", 1),
            ("super_peer_requests", 1),
        ];
        assert!(metrics.samples().eq(expected), "{:?}", metrics.samples().collect::<Vec<_>>());
    }
}
